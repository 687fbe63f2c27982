//! Reading what a stranger's pointers point to, in bounded pieces.

#![expect(unsafe_code, reason = "process_vm_readv(2) has no safe wrapper")]

/// The memory of the process that asks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Memory {
    pid: libc::pid_t,
}

/// A read never crosses a multiple of this, so that the part before an unmapped page is had.
const PAGE: u64 = 4096;

impl Memory {
    pub(super) fn of(pid: u32) -> Self {
        Self {
            pid: pid.cast_signed(),
        }
    }

    /// The 64-bit word at the address.
    pub(super) fn word(self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        (self.read(address, &mut bytes)? == bytes.len()).then(|| u64::from_ne_bytes(bytes))
    }

    /// The zero-terminated string at the address, into `text`; `None` when it is unreadable or not
    /// shorter than `max`.
    pub(super) fn string(self, address: u64, max: usize, text: &mut Vec<u8>) -> Option<()> {
        self.string_cut(address, max, text)?;
        (text.len() < max).then_some(())
    }

    /// The same, and a longer string is cut.
    pub(super) fn string_cut(self, address: u64, max: usize, text: &mut Vec<u8>) -> Option<()> {
        text.clear();
        let mut address = address;
        let mut piece = [0; 256];
        while text.len() < max {
            let until_page = (PAGE - address % PAGE).min(piece.len() as u64);
            let room = usize::try_from(until_page)
                .unwrap_or(piece.len())
                .min(max - text.len());
            let got = self.read(address, &mut piece[..room])?;
            if let Some(end) = piece[..got].iter().position(|byte| *byte == 0) {
                text.extend_from_slice(&piece[..end]);
                return Some(());
            }
            text.extend_from_slice(&piece[..got]);
            address = address.checked_add(got as u64)?;
        }
        Some(())
    }

    /// Fills the buffer as far as memory goes; `None` when there is none at the address.
    fn read(self, address: u64, buffer: &mut [u8]) -> Option<usize> {
        let local = libc::iovec {
            iov_base: buffer.as_mut_ptr().cast(),
            iov_len: buffer.len(),
        };
        let remote = libc::iovec {
            iov_base: std::ptr::without_provenance_mut(usize::try_from(address).ok()?),
            iov_len: buffer.len(),
        };
        // SAFETY: the kernel writes at most `iov_len` bytes into `buffer`, which is borrowed for
        // the call; the remote address is looked up in the other process only, and may be anything.
        let got = unsafe {
            libc::process_vm_readv(self.pid, &raw const local, 1, &raw const remote, 1, 0)
        };
        usize::try_from(got).ok().filter(|got| *got > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> Memory {
        Memory::of(std::process::id())
    }

    #[test]
    fn a_string_is_read_to_its_end() {
        let long = std::ffi::CString::new(vec![b'x'; 1000]).unwrap();
        let mut text = Vec::new();
        own()
            .string(long.as_ptr().addr() as u64, 4096, &mut text)
            .unwrap();
        assert_eq!(text, vec![b'x'; 1000]);
    }

    #[test]
    fn a_string_without_an_end_is_no_path_and_a_cut_argument() {
        let endless = vec![b'x'; 5000];
        let address = endless.as_ptr().addr() as u64;
        let mut text = Vec::new();
        assert!(own().string(address, 100, &mut text).is_none());
        own().string_cut(address, 100, &mut text).unwrap();
        assert_eq!(text.len(), 100);
    }

    #[test]
    fn rubbish_pointers_are_nothing() {
        let mut text = Vec::new();
        for address in [0, 1, 4095, u64::MAX, u64::MAX - 3, 1 << 63] {
            assert!(own().string(address, 4096, &mut text).is_none());
            assert!(own().word(address).is_none());
        }
    }
}
