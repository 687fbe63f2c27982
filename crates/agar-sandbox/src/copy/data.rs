//! The contents of one file, by the cheapest means that the filesystem offers.

use super::entry::Entry;
use rustix::fs::{SeekFrom, copy_file_range, ftruncate, ioctl_ficlone, seek};
use rustix::io::{Errno, read, write};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};

/// Files up to this size are read and written in one go.
pub(super) const BUFFER: usize = 128 * 1024;

/// What filesystems hand out at least.
const BLOCK: u64 = 4096;

/// What has been learned about the filesystem during a copy.
#[derive(Debug)]
pub(super) struct Means {
    reflink: AtomicBool,
    range: AtomicBool,
}

impl Means {
    pub(super) const fn new() -> Self {
        Self {
            reflink: AtomicBool::new(true),
            range: AtomicBool::new(true),
        }
    }

    /// Brings the contents over.
    pub(super) fn copy(
        &self,
        from: &OwnedFd,
        to: &OwnedFd,
        entry: &Entry,
        buffer: &mut [u8],
    ) -> Result<(), Errno> {
        if entry.size == 0 || self.reflink(from, to)? {
            return Ok(());
        }
        // Within one block there is no hole, and what is that small may lie where no block is counted.
        if entry.size > BLOCK && entry.blocks.saturating_mul(512) < entry.size {
            return self.copy_sparse(from, to, entry.size, buffer);
        }
        let size = usize::try_from(entry.size).unwrap_or(usize::MAX);
        if size < buffer.len() {
            // One read is the whole file: a regular file gives less than asked only at its end.
            let count = read(from, &mut *buffer)?;
            return write_all(to, &buffer[..count]);
        }
        // No more than there was: whoever appends as fast as this copies would never let it end.
        self.copy_range(from, to, entry.size, buffer)
    }

    fn reflink(&self, from: &OwnedFd, to: &OwnedFd) -> Result<bool, Errno> {
        if !self.reflink.load(Ordering::Relaxed) {
            return Ok(false);
        }
        match ioctl_ficlone(to, from) {
            Ok(()) => Ok(true),
            Err(error @ (Errno::NOSPC | Errno::DQUOT | Errno::IO)) => Err(error),
            // This file cannot; others may.
            Err(Errno::INVAL | Errno::TXTBSY | Errno::PERM) => Ok(false),
            Err(_) => {
                self.reflink.store(false, Ordering::Relaxed);
                Ok(false)
            }
        }
    }

    /// Copies from the current positions, at most `length` bytes, until the end.
    fn copy_range(
        &self,
        from: &OwnedFd,
        to: &OwnedFd,
        mut length: u64,
        buffer: &mut [u8],
    ) -> Result<(), Errno> {
        while length > 0 && self.range.load(Ordering::Relaxed) {
            let portion = usize::try_from(length.min(1 << 30)).unwrap_or(1 << 30);
            match copy_file_range(from, None, to, None, portion) {
                Ok(0) => return Ok(()),
                Ok(count) => length -= count as u64,
                Err(Errno::INTR) => {}
                Err(Errno::XDEV | Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS | Errno::PERM) => {
                    self.range.store(false, Ordering::Relaxed);
                }
                Err(error) => return Err(error),
            }
        }
        while length > 0 {
            let portion = usize::try_from(length)
                .unwrap_or(usize::MAX)
                .min(buffer.len());
            let count = match read(from, &mut buffer[..portion]) {
                Ok(0) => return Ok(()),
                Ok(count) => count,
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error),
            };
            write_all(to, &buffer[..count])?;
            length -= count as u64;
        }
        Ok(())
    }

    /// Copies the parts that hold data and leaves the holes.
    fn copy_sparse(
        &self,
        from: &OwnedFd,
        to: &OwnedFd,
        size: u64,
        buffer: &mut [u8],
    ) -> Result<(), Errno> {
        let mut at = 0;
        while at < size {
            let start = match seek(from, SeekFrom::Data(at)) {
                Ok(start) => start,
                // No data after this point.
                Err(Errno::NXIO) => break,
                Err(Errno::INVAL | Errno::OPNOTSUPP) if at == 0 => {
                    return self.copy_range(from, to, u64::MAX, buffer);
                }
                Err(error) => return Err(error),
            };
            let end = match seek(from, SeekFrom::Hole(start)) {
                Ok(end) if end > start => end,
                // It was cut short under us; whoever compares afterwards will see that.
                Ok(_) | Err(Errno::NXIO) => break,
                Err(error) => return Err(error),
            };
            seek(from, SeekFrom::Start(start))?;
            seek(to, SeekFrom::Start(start))?;
            self.copy_range(from, to, end - start, buffer)?;
            at = end;
        }
        ftruncate(to, size)
    }
}

fn write_all(to: &OwnedFd, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match write(to, bytes) {
            Ok(0) => return Err(Errno::IO),
            Ok(count) => bytes = &bytes[count..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
