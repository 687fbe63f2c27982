//! What the mask rules hide in a real home directory.

use agar_core::mask::MaskRules;
use rustix::fs::{CWD, FileType, Mode, OFlags, RawDir, openat};
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};

/// Enough for some hundred names at a time.
const BUFFER_BYTES: usize = 16 << 10;

/// The absolute paths that exist below `home` and are hidden. Nothing at or below one of `skip`,
/// relative to home, is looked at.
///
/// This is on the way of every sandbox that is made: names are looked at where the kernel put them,
/// and only those that a rule is about are copied. A directory that cannot be read here cannot be
/// read inside either.
pub fn hidden_in_home(rules: &MaskRules, home: &Path, skip: &[&Path]) -> Vec<PathBuf> {
    let mut buffer = [MaybeUninit::uninit(); BUFFER_BYTES];
    let found = rules.search_home(skip, &mut |directory, meet| {
        list(&home.join(directory), &mut buffer, meet);
    });
    found.into_iter().map(|path| home.join(path)).collect()
}

fn list(
    directory: &Path,
    buffer: &mut [MaybeUninit<u8>],
    meet: &mut dyn FnMut(&[u8], bool),
) -> Option<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = openat(CWD, directory, flags, Mode::empty()).ok()?;
    let mut entries = RawDir::new(&directory, buffer);
    while let Some(Ok(entry)) = entries.next() {
        let name = entry.file_name().to_bytes();
        if !matches!(name, b"." | b"..") {
            meet(name, entry.file_type() == FileType::Directory);
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_and_hidden_is_found() {
        let home = tempfile::tempdir().unwrap();
        for name in [
            ".ssh/id_rsa",
            ".config/gh/hosts.yml",
            ".gitconfig",
            "shop/server.key",
        ] {
            let path = home.path().join(name);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(path, "").unwrap();
        }
        for number in 0..2000 {
            fs_err::write(home.path().join(format!("plain-{number}")), "").unwrap();
        }
        fs_err::write(home.path().join("last.pem"), "").unwrap();
        let skip = [Path::new("shop")];
        let found = hidden_in_home(&MaskRules::default(), home.path(), &skip);
        let expected = [".config/gh", ".ssh", "last.pem"].map(|name| home.path().join(name));
        assert_eq!(found, expected);
    }

    #[test]
    fn a_home_that_is_not_there_hides_nothing() {
        let found = hidden_in_home(&MaskRules::default(), Path::new("/nonexistent"), &[]);
        assert_eq!(found, [] as [&Path; 0]);
    }
}
