//! What a copy of a project was when it was made.
//!
//! Where there are no layers a sandbox works on a copy, and everything is in it, touched or not. What
//! a person edits outside meanwhile makes the two differ, and must not be taken for a change made
//! inside. So each entry's inode is written down when the copy is done: an entry that still has it and
//! whose change stamp, which nobody inside can set, is earlier than that, was not touched.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Every entry of a fresh copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    /// When the copy was done, by the filesystem's own clock.
    at: (i64, i64),
    inodes: BTreeMap<PathBuf, u64>,
}

impl Copied {
    /// Writes down what a copy is now.
    pub fn note(copy: &Path, note: &Path) -> io::Result<()> {
        let mut text = Vec::new();
        let mut latest = (0, 0);
        let mut ahead = vec![PathBuf::new()];
        while let Some(directory) = ahead.pop() {
            let listed = list(copy, &directory, (&mut text, &mut ahead))?;
            latest = latest.max(listed);
        }
        // Its own stamp is the moment. Stamps are as coarse as the kernel's tick: it must come after
        // every entry, so that an entry which has the same one was changed since.
        for _ in 0..TICKS_MAX {
            fs_err::write(note, &text)?;
            let found = fs_err::symlink_metadata(note)?;
            if (found.mtime(), found.mtime_nsec()) > latest {
                break;
            }
            std::thread::park_timeout(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Reads it back; nothing if there is none, or it says nothing sensible.
    pub fn read(note: &Path) -> Option<Self> {
        let text = fs_err::read(note).ok()?;
        let stamp = fs_err::symlink_metadata(note).ok()?;
        let mut inodes = BTreeMap::new();
        for line in text
            .split(|byte| *byte == 0)
            .filter(|line| !line.is_empty())
        {
            let space = line.iter().position(|byte| *byte == b' ')?;
            let inode = std::str::from_utf8(&line[..space]).ok()?.parse().ok()?;
            inodes.insert(PathBuf::from(OsStr::from_bytes(&line[space + 1..])), inode);
        }
        Some(Self {
            at: (stamp.mtime(), stamp.mtime_nsec()),
            inodes,
        })
    }

    /// Whether the copy had an entry at the path.
    pub fn had(&self, path: &Path) -> bool {
        self.inodes.contains_key(path)
    }

    /// Whether what lies at a path is what was copied there. What cannot be told was touched.
    pub fn is_untouched(&self, path: &Path, found: Option<rustix::fs::Stat>) -> bool {
        let (Some(inode), Some(found)) = (self.inodes.get(path), found) else {
            return false;
        };
        let nanoseconds = i64::try_from(found.st_ctime_nsec).unwrap_or(i64::MAX);
        *inode == found.st_ino && (found.st_ctime, nanoseconds) < self.at
    }
}

/// How often the note is written again, a millisecond apart, until the kernel's clock has ticked. If it
/// never does, entries count as touched, which costs a comparison.
const TICKS_MAX: u32 = 100;

/// Adds a line for each entry of a directory, and its directories to what lies ahead. The latest change
/// stamp of them.
fn list(
    copy: &Path,
    directory: &Path,
    (text, ahead): (&mut Vec<u8>, &mut Vec<PathBuf>),
) -> io::Result<(i64, i64)> {
    let mut latest = (0, 0);
    for entry in fs_err::read_dir(copy.join(directory))? {
        let entry = entry?;
        let path = directory.join(entry.file_name());
        let found = fs_err::symlink_metadata(entry.path())?;
        latest = latest.max((found.ctime(), found.ctime_nsec()));
        text.extend_from_slice(found.ino().to_string().as_bytes());
        text.push(b' ');
        text.extend_from_slice(path.as_os_str().as_bytes());
        text.push(0);
        if found.is_dir() {
            ahead.push(path);
        }
    }
    Ok(latest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(root: &Path, path: &str) -> Option<rustix::fs::Stat> {
        rustix::fs::lstat(root.join(path)).ok()
    }

    #[test]
    fn only_what_was_left_alone_is_untouched() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path();
        let copy = root.join("copy");
        for directory in ["a", "b"] {
            fs_err::create_dir_all(copy.join(directory)).unwrap();
        }
        for file in ["left", "written", "replaced", "chmod", "a/x", "b/x"] {
            fs_err::write(copy.join(file), file).unwrap();
        }
        Copied::note(&copy, &root.join("note")).unwrap();
        fs_err::write(copy.join("written"), "other").unwrap();
        fs_err::write(copy.join("new"), "new").unwrap();
        fs_err::rename(copy.join("new"), copy.join("replaced")).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs_err::set_permissions(copy.join("chmod"), mode).unwrap();
        // A directory that is moved takes its files along, whose own stamps stay.
        fs_err::rename(copy.join("a"), copy.join("c")).unwrap();
        fs_err::rename(copy.join("b"), copy.join("a")).unwrap();
        let copied = Copied::read(&root.join("note")).unwrap();
        let untouched = |path: &str| copied.is_untouched(Path::new(path), look(&copy, path));
        assert!(untouched("left"));
        for path in ["written", "replaced", "chmod", "a/x", "c/x", "b/x", "new"] {
            assert!(!untouched(path), "{path}");
        }
        assert!(copied.had(Path::new("b/x")) && !copied.had(Path::new("c/x")));
    }

    #[test]
    fn a_note_that_makes_no_sense_says_nothing() {
        let home = tempfile::tempdir().unwrap();
        let note = home.path().join("note");
        assert_eq!(Copied::read(&note), None);
        fs_err::write(&note, "nonsense\0").unwrap();
        assert_eq!(Copied::read(&note), None);
    }
}
