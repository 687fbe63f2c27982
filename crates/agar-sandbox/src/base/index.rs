//! The git index of a frozen work tree.
//!
//! The index remembers inode and change time of every tracked file. In a generation both are the
//! copy's, so git would read every file again, in each sandbox. Running git to refresh it would
//! start a program that the repository's own configuration can steer, and would read every file
//! once. But nothing needs to be read: an entry whose memory agrees with the host's file, as it was
//! when it was copied, is given the copy's numbers instead. What git would have called modified
//! outside it still calls modified inside.

/// Where a tracked file was, and where its copy is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moved {
    /// Inode of the file that the index remembers.
    pub ino: u64,
    /// Its change time.
    pub ctime_ns: i64,
    /// Its modification time, which the copy shares.
    pub mtime_ns: i64,
    /// Its size.
    pub size: u64,
    /// Inode of the copy.
    pub new_ino: u64,
    /// Change time of the copy.
    pub new_ctime_ns: i64,
}

/// How wide the object names of a repository are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectFormat {
    /// 20 bytes.
    Sha1,
    /// 32 bytes.
    Sha256,
}

impl ObjectFormat {
    const fn width(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }

    /// Reads the format from a repository's `config`.
    pub fn of_config(config: &[u8]) -> Self {
        let names_sha256 = config.split(|&byte| byte == b'\n').any(|line| {
            let line: Vec<u8> = line
                .iter()
                .filter(|byte| !byte.is_ascii_whitespace())
                .map(u8::to_ascii_lowercase)
                .collect();
            line == b"objectformat=sha256"
        });
        if names_sha256 {
            Self::Sha256
        } else {
            Self::Sha1
        }
    }
}

/// How many entries an index claims to hold; only its first twelve bytes are needed.
pub fn entry_count(header: &[u8]) -> Option<u32> {
    let rest = header.strip_prefix(b"DIRC")?;
    Some(u32::from_be_bytes(rest.get(4..8)?.try_into().ok()?))
}

/// Gives every entry that agrees with its file the numbers of the copy.
///
/// Answers nothing for an index that is damaged, split over two files, or checksummed in a way that
/// cannot be renewed here; it is then carried as it is.
pub fn refresh(
    index: &[u8],
    format: ObjectFormat,
    moved: &mut dyn FnMut(&[u8]) -> Option<Moved>,
) -> Option<Vec<u8>> {
    let body = index.len().checked_sub(format.width())?;
    let mut fresh = index.to_vec();
    let end = each_entry(index, format, &mut |at, path| {
        let Some(moved) = moved(path) else { return };
        let Some(entry) = fresh.get_mut(at..at + 40) else {
            return;
        };
        if agrees(entry, &moved) {
            put_time(&mut entry[0..8], moved.new_ctime_ns);
            entry[20..24].copy_from_slice(&low(moved.new_ino).to_be_bytes());
        }
    })?;
    if has_extension(index.get(end..body)?, *b"link") {
        return None;
    }
    let zero = index[body..].iter().all(|&byte| byte == 0);
    match format {
        // `index.skipHash`: there is no checksum to renew.
        ObjectFormat::Sha1 | ObjectFormat::Sha256 if zero => {}
        ObjectFormat::Sha1 => {
            let sum = sha1_smol::Sha1::from(&fresh[..body]).digest().bytes();
            fresh[body..].copy_from_slice(&sum);
        }
        ObjectFormat::Sha256 => return None,
    }
    Some(fresh)
}

/// Calls `visit` with the offset and path of each entry. Answers where the entries end.
pub fn each_entry(
    index: &[u8],
    format: ObjectFormat,
    visit: &mut dyn FnMut(usize, &[u8]),
) -> Option<usize> {
    let count = entry_count(index)?;
    let version = u32::from_be_bytes(index.get(4..8)?.try_into().ok()?);
    if !(2..=4).contains(&version) {
        return None;
    }
    let mut at = 12;
    let mut path = Vec::new();
    for _ in 0..count {
        let flags_at = at + 40 + format.width();
        let flags = u16::from_be_bytes(index.get(flags_at..flags_at + 2)?.try_into().ok()?);
        let extended = version >= 3 && flags & 0x4000 != 0;
        let name_at = flags_at + if extended { 4 } else { 2 };
        let mut suffix_at = name_at;
        if version == 4 {
            let (strip, length) = variable(index.get(name_at..)?)?;
            suffix_at += length;
            path.truncate(path.len().checked_sub(strip)?);
        } else {
            path.clear();
        }
        let suffix = index.get(suffix_at..)?;
        let length = suffix.iter().position(|&byte| byte == 0)?;
        path.extend_from_slice(&suffix[..length]);
        visit(at, &path);
        let end = suffix_at + length;
        // Older versions pad each entry with one to eight zeros.
        at = if version == 4 {
            end + 1
        } else {
            at + ((end - at + 8) & !7)
        };
    }
    (at <= index.len()).then_some(at)
}

/// Git's variable-length numbers: seven bits a byte, each further byte adding one.
fn variable(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value: usize = 0;
    for (index, &byte) in bytes.iter().take(9).enumerate() {
        if index > 0 {
            value = value.checked_add(1)?.checked_mul(128)?;
        }
        value = value.checked_add(usize::from(byte & 127))?;
        if byte & 128 == 0 {
            return Some((value, index + 1));
        }
    }
    None
}

fn has_extension(mut rest: &[u8], wanted: [u8; 4]) -> bool {
    while let Some((header, after)) = rest.split_at_checked(8) {
        if header[..4] == wanted {
            return true;
        }
        let length = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
        let Some(next) = usize::try_from(length)
            .ok()
            .and_then(|length| after.get(length..))
        else {
            return false;
        };
        rest = next;
    }
    false
}

fn agrees(entry: &[u8], moved: &Moved) -> bool {
    same_time(&entry[0..8], moved.ctime_ns)
        && same_time(&entry[8..16], moved.mtime_ns)
        && entry[20..24] == low(moved.ino).to_be_bytes()
        && entry[36..40] == low(moved.size).to_be_bytes()
}

/// The low half, which is all that the index keeps.
fn low(value: u64) -> u32 {
    u32::try_from(value & 0xffff_ffff).unwrap_or(0)
}

fn split(time_ns: i64) -> (u32, u32) {
    let seconds = time_ns.div_euclid(1_000_000_000).cast_unsigned();
    let rest = time_ns.rem_euclid(1_000_000_000);
    (low(seconds), u32::try_from(rest).unwrap_or(0))
}

/// Some programs that write indexes leave the nanoseconds out.
fn same_time(field: &[u8], time_ns: i64) -> bool {
    let (seconds, rest) = split(time_ns);
    field[..4] == seconds.to_be_bytes()
        && (field[4..] == rest.to_be_bytes() || field[4..] == [0; 4])
}

fn put_time(field: &mut [u8], time_ns: i64) {
    let (seconds, rest) = split(time_ns);
    field[..4].copy_from_slice(&seconds.to_be_bytes());
    field[4..].copy_from_slice(&rest.to_be_bytes());
}

#[cfg(test)]
mod tests;
