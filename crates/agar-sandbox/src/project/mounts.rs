//! The mount table, read from the text of `/proc/self/mountinfo`.
//!
//! An overlay does not follow mounts below its lower layer, and inside a user namespace it refuses
//! a lower layer that has any. So they must be known before anything is mounted.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

/// One mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Where it is mounted.
    pub point: PathBuf,
    /// Which directory of the filesystem is mounted there; `/` unless it is a bind mount or a
    /// subvolume.
    pub root: PathBuf,
    /// `major:minor` of the filesystem.
    pub device: String,
    /// The name of the filesystem, `ext4`.
    pub filesystem: String,
    /// Whether it can be written to at all.
    pub writable: bool,
}

/// Every mount of the machine, in the order in which they were made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MountTable {
    mounts: Vec<Mount>,
}

impl MountTable {
    /// Reads the text of `mountinfo`. Lines that do not read as mounts are passed over: a newer
    /// kernel may add fields, never remove them.
    pub fn parse(text: &[u8]) -> Self {
        Self {
            mounts: text.split(|&byte| byte == b'\n').filter_map(line).collect(),
        }
    }

    /// The mount that a path lies on.
    pub fn covering(&self, path: &Path) -> Option<&Mount> {
        // A later mount on the same point hides the earlier one; a later mount on a shorter prefix
        // hides everything below it.
        let mut found: Option<&Mount> = None;
        for mount in &self.mounts {
            let hides = |old: &Mount| {
                mount.point.starts_with(&old.point) || old.point.starts_with(&mount.point)
            };
            if path.starts_with(&mount.point) && found.is_none_or(hides) {
                found = Some(mount);
            }
        }
        found
    }

    /// The visible mounts strictly below a directory, sorted, each point once.
    pub fn below(&self, directory: &Path) -> Vec<Mount> {
        let mut below: Vec<Mount> = Vec::new();
        for mount in &self.mounts {
            below.retain(|old| !old.point.starts_with(&mount.point));
            if mount.point.starts_with(directory) && mount.point != directory {
                below.push(mount.clone());
            }
        }
        below.sort_by(|a, b| a.point.cmp(&b.point));
        below
    }
}

/// `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`
fn line(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|&byte| byte == b' ').skip(2);
    let device = String::from_utf8(fields.next()?.to_vec()).ok()?;
    let root = unescape(fields.next()?);
    let point = unescape(fields.next()?);
    let options = fields.next()?;
    let mut fields = fields.skip_while(|field| *field != b"-").skip(1);
    let filesystem = String::from_utf8(fields.next()?.to_vec()).ok()?;
    let _source = fields.next()?;
    let super_options = fields.next().unwrap_or(b"rw");
    let writable = [options, super_options].iter().all(|options| {
        options
            .split(|&byte| byte == b',')
            .all(|option| option != b"ro")
    });
    Some(Mount {
        point,
        root,
        device,
        filesystem,
        writable,
    })
}

/// Undoes the kernel's `\040` for space, tab, newline and backslash.
fn unescape(field: &[u8]) -> PathBuf {
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, after)) = rest.split_first() {
        let octal = (byte == b'\\')
            .then(|| after.get(..3))
            .flatten()
            .and_then(|digits| {
                let digits = std::str::from_utf8(digits).ok()?;
                u8::from_str_radix(digits, 8).ok()
            });
        plain.push(octal.unwrap_or(byte));
        rest = if octal.is_some() { &after[3..] } else { after };
    }
    PathBuf::from(OsString::from_vec(plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[u8] = b"22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n\
        23 22 0:5 / /proc rw - proc proc rw\n\
        24 22 8:2 / /home rw - xfs /dev/sda2 rw\n\
        25 24 8:2 /a /home/u/my\\040work/sub rw - xfs /dev/sda2 rw\n\
        26 24 0:40 / /home/u/my\\040work/ram ro - tmpfs tmpfs rw\n\
        nonsense\n";

    #[test]
    fn a_path_lies_on_the_deepest_mount_above_it() {
        let table = MountTable::parse(TABLE);
        let covering = |path: &str| table.covering(Path::new(path)).unwrap().filesystem.clone();
        assert_eq!(covering("/usr/bin"), "ext4");
        assert_eq!(covering("/home/u"), "xfs");
        assert_eq!(covering("/homework"), "ext4");
        assert_eq!(covering("/home/u/my work/ram/x"), "tmpfs");
    }

    #[test]
    fn mounts_below_a_directory_are_found_with_odd_names() {
        let table = MountTable::parse(TABLE);
        let below: Vec<_> = table
            .below(Path::new("/home/u/my work"))
            .into_iter()
            .map(|m| m.point)
            .collect();
        assert_eq!(
            below,
            [
                PathBuf::from("/home/u/my work/ram"),
                PathBuf::from("/home/u/my work/sub")
            ]
        );
    }

    #[test]
    fn a_later_mount_hides_what_was_below() {
        let table = MountTable::parse(b"1 0 8:1 / / rw - ext4 a rw\n2 1 8:2 / /a/b rw - xfs b rw\n3 1 8:3 / /a rw - btrfs c rw\n");
        assert_eq!(
            table.covering(Path::new("/a/b/c")).unwrap().filesystem,
            "btrfs"
        );
        assert_eq!(table.below(Path::new("/a")), []);
        assert_eq!(table.below(Path::new("/")).len(), 1);
    }
}
