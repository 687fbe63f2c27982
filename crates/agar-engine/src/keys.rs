//! Private keys deep in the home directory, looked for when nobody waits.
//!
//! The masks of a new sandbox look for key files by name in the upper levels of the home only: a walk
//! over all of it would cost more than the sandbox. Upkeep makes that walk, once a day, and leaves a
//! list; the next sandbox reads the list. Deep down a name alone says little (`id_map.rs`), so a file
//! is on the list only if it holds a private key.

use crate::here::Here;
use agar_core::mask::MaskRules;
use agar_core::seam::Timestamp;
use fs_err::os::unix::fs::OpenOptionsExt as _;
use std::ffi::{OsStr, OsString};
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The list, in the state directory: paths relative to home, each ended by a zero.
const LIST: &str = "keys";

/// How long a list is good enough.
const GOOD_FOR_MS: u64 = 24 * 60 * 60 * 1000;

/// More names than this are not looked at.
const NAMES_MAX: usize = 2_000_000;

/// More keys than this are not listed: somebody keeps a collection, and must mask its directory.
const KEYS_MAX: usize = 1000;

/// A key says what it is at its beginning.
const HEAD_BYTES: u64 = 4096;

/// Directories of dependencies and build results, in which keys are test data.
const LEFT_OUT: [&str; 6] = [
    ".git",
    ".venv",
    "node_modules",
    "site-packages",
    "target",
    "vendor",
];

/// The keys on the list that are still there and that the rules hide, as absolute paths. `project`
/// is what lies at or below the project, relative to home: its own keys stay.
pub(crate) fn known(
    here: &Here,
    rules: &MaskRules,
    home: &Path,
    project: Option<&Path>,
) -> Vec<PathBuf> {
    let Ok(list) = fs_err::read(here.state.path().join(LIST)) else {
        return Vec::new();
    };
    let paths = list
        .split(|byte| *byte == 0)
        .filter(|path| !path.is_empty());
    paths
        .map(|path| Path::new(OsStr::from_bytes(path)))
        .filter(|path| project.is_none_or(|project| !path.starts_with(project)))
        .filter(|path| rules.applies(path))
        .map(|path| home.join(path))
        .filter(|path| path.symlink_metadata().is_ok())
        .collect()
}

/// Makes the list anew, if it is old.
pub(crate) fn look(here: &Here, home: &Path, now: Timestamp) -> std::io::Result<()> {
    let path = here.state.path().join(LIST);
    let made = path
        .metadata()
        .map(|found| u64::try_from(found.mtime()).unwrap_or(0));
    let made = made.map(|seconds| Timestamp::from_millis(seconds * 1000));
    if made.is_ok_and(|made| now.since(made) < GOOD_FOR_MS) {
        return Ok(());
    }
    let mut list = OsString::new();
    for key in search(home) {
        list.push(key);
        list.push("\0");
    }
    let new = path.with_extension("new");
    let mut options = fs_err::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = options.open(&new)?;
    file.write_all(&list.into_vec())?;
    // A list that a power cut emptied would hide nothing for a day.
    file.sync_all()?;
    fs_err::rename(new, path)
}

/// Every file below `home` that has a key's name and holds one, relative to it. Stays on one
/// filesystem and follows no link.
fn search(home: &Path) -> Vec<PathBuf> {
    let rules = MaskRules::default();
    let Ok(device) = home.metadata().map(|home| home.dev()) else {
        return Vec::new();
    };
    let (mut found, mut looked_at) = (Vec::new(), 0);
    let mut ahead = vec![PathBuf::new()];
    while let Some(directory) = ahead.pop() {
        for entry in home
            .join(&directory)
            .read_dir()
            .into_iter()
            .flatten()
            .flatten()
        {
            looked_at += 1;
            if looked_at > NAMES_MAX || found.len() >= KEYS_MAX {
                return found;
            }
            let (name, path) = (entry.file_name(), directory.join(entry.file_name()));
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if kind.is_file() && rules.applies(&path) && holds_key(&entry.path()) {
                found.push(path);
            } else if kind.is_dir() && is_worth(&rules, &name, &path) {
                let same = entry.metadata().is_ok_and(|found| found.dev() == device);
                ahead.extend(same.then_some(path));
            }
        }
    }
    found
}

/// Whether keys are looked for in a directory: not where everything is hidden, and not where keys
/// are test data of somebody else.
fn is_worth(rules: &MaskRules, name: &OsStr, path: &Path) -> bool {
    let left_out = LEFT_OUT.iter().any(|it| name == *it);
    !left_out && !rules.applies(path) && !rules.is_software(path)
}

fn holds_key(path: &Path) -> bool {
    let mut head = Vec::new();
    let opened = fs_err::File::open(path);
    let read = opened.and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head));
    let marker = b"PRIVATE KEY";
    read.is_ok() && head.windows(marker.len()).any(|part| part == marker)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_by_name_and_content_wherever_a_person_keeps_them() {
        let home = tempfile::tempdir().unwrap();
        let key = "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n";
        for (name, content) in [
            ("work/clients/one/deploy/id_ed25519", key),
            (".config/tool/a/b/server.pem", key),
            ("work/clients/one/deploy/id_map.rs", "pub struct IdMap;\n"),
            ("work/clients/one/deploy/README", key),
            ("work/shop/node_modules/tls/test/a.key", key),
            (".cargo/registry/src/tls/b.key", key),
            (".ssh/deep/er/id_rsa", key),
        ] {
            let path = home.path().join(name);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(path, content).unwrap();
        }
        let mut found = search(home.path());
        found.sort();
        let expected = [
            ".config/tool/a/b/server.pem",
            "work/clients/one/deploy/id_ed25519",
        ];
        assert_eq!(found, expected.map(PathBuf::from));
    }
}
