//! The one-line files of control groups.

use rustix::fs::{Mode, OFlags, RawDir, open};
use rustix::io::Errno;
use std::mem::MaybeUninit;
use std::path::Path;

/// Reads a whole file as text.
pub(super) fn read(path: &Path) -> Result<String, Errno> {
    let file = open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut bytes = Vec::new();
    loop {
        bytes.reserve(1024);
        if rustix::io::read(&file, rustix::buffer::spare_capacity(&mut bytes))? == 0 {
            break;
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Writes to a file that is there; the kernel takes each write as one command.
pub(super) fn write(path: &Path, text: &str) -> Result<(), Errno> {
    let flags = OFlags::WRONLY | OFlags::TRUNC | OFlags::CLOEXEC;
    let file = open(path, flags, Mode::empty())?;
    rustix::io::write(&file, text.as_bytes()).map(drop)
}

/// The number in a file that holds one.
pub(super) fn number(path: &Path) -> Option<u64> {
    read(path).ok()?.trim().parse().ok()
}

/// The number behind a word in a file of words and numbers.
pub(super) fn keyed(path: &Path, key: &str) -> Option<u64> {
    let text = read(path).ok()?;
    text.lines()
        .filter_map(|line| line.split_once(' '))
        .find(|(word, _)| *word == key)
        .and_then(|(_, number)| number.trim().parse().ok())
}

/// The names of the directories in a directory; none if it is not there.
pub(super) fn entries(path: &Path) -> Vec<String> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(directory) = open(path, flags, Mode::empty()) else {
        return Vec::new();
    };
    let mut names = Vec::new();
    let mut buffer = [MaybeUninit::uninit(); 2048];
    let mut found = RawDir::new(directory, &mut buffer);
    while let Some(Ok(entry)) = found.next() {
        let name = entry.file_name().to_bytes();
        let is_directory = entry.file_type() == rustix::fs::FileType::Directory;
        if is_directory && !matches!(name, b"." | b"..") {
            names.push(String::from_utf8_lossy(name).into_owned());
        }
    }
    names
}
