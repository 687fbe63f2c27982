//! The mount table.

use super::unescape;
use crate::wire::Raw;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// One line of the mount table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountPoint {
    /// Where it is mounted.
    pub target: Raw,
    /// The filesystem's type, `ext4`.
    pub kind: String,
}

impl MountPoint {
    /// Whether it lies strictly below a directory.
    pub fn is_below(&self, directory: &Path) -> bool {
        let target = self.target.as_path();
        target != directory && target.starts_with(directory)
    }

    /// Whether it holds files rather than views of the kernel.
    pub fn holds_files(&self) -> bool {
        !matches!(
            self.kind.as_str(),
            "autofs"
                | "binfmt_misc"
                | "bpf"
                | "cgroup"
                | "cgroup2"
                | "configfs"
                | "debugfs"
                | "devpts"
                | "devtmpfs"
                | "efivarfs"
                | "fusectl"
                | "hugetlbfs"
                | "mqueue"
                | "nsfs"
                | "proc"
                | "pstore"
                | "rpc_pipefs"
                | "securityfs"
                | "sysfs"
                | "tracefs"
        )
    }
}

/// Reads the text of `/proc/self/mountinfo`. Lines that make no sense are left out.
pub fn parse(text: &[u8]) -> Vec<MountPoint> {
    text.split(|&byte| byte == b'\n')
        .filter_map(parse_line)
        .collect()
}

fn parse_line(line: &[u8]) -> Option<MountPoint> {
    let mut fields = line.split(|&byte| byte == b' ');
    let target = unescape(fields.nth(4)?);
    let kind = fields.skip_while(|&field| field != b"-").nth(1)?;
    Some(MountPoint {
        target: target.into_os_string().into(),
        kind: String::from_utf8_lossy(kind).into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_are_read_back() {
        let text = b"27 1 254:0 / / rw - ext4 /dev/vda rw\n\
            40 27 0:5 / /mnt/a\\040b rw,relatime shared:1 master:2 - tmpfs none rw\nnonsense\n";
        let mounts = parse(text);
        assert_eq!(mounts.len(), 2);
        assert_eq!(
            mounts[0],
            MountPoint {
                target: "/".into(),
                kind: "ext4".into()
            }
        );
        assert_eq!(
            mounts[1],
            MountPoint {
                target: "/mnt/a b".into(),
                kind: "tmpfs".into()
            }
        );
    }
}
