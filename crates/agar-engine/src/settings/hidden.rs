//! What the mask rules hide in a real home directory.

use agar_core::mask::MaskRules;
use rustix::fs::{CWD, FileType, Mode, OFlags, RawDir, openat};
use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Enough for some hundred names at a time.
const BUFFER_BYTES: usize = 16 << 10;

/// The absolute paths that exist below `home` and are hidden. Nothing at or below one of `skip`,
/// relative to home, is looked at.
///
/// Where people keep their settings elsewhere and link to them, both the link and what it leads to
/// are hidden, under its real name; what a link leads to within `skip` is the project's own.
///
/// This is on the way of every sandbox that is made: names are looked at where the kernel put them,
/// and only those that a rule is about are copied. A directory that cannot be read here cannot be
/// read inside either.
pub fn hidden_in_home(rules: &MaskRules, home: &Path, skip: &[&Path]) -> Vec<PathBuf> {
    let mut buffer = [MaybeUninit::uninit(); BUFFER_BYTES];
    let mut has_links = false;
    let found = rules.search_home(skip, &mut |directory, meet| {
        let met = list(&home.join(directory), &mut buffer, meet);
        has_links |= met == Links::Some;
    });
    let mut hidden: Vec<PathBuf> = found.into_iter().map(|path| home.join(path)).collect();
    if has_links {
        follow(&mut hidden, home, skip);
    }
    hidden
}

/// Whether a directory holds symbolic links.
#[derive(PartialEq, Eq)]
enum Links {
    None,
    Some,
}

fn list(path: &Path, buffer: &mut [MaybeUninit<u8>], meet: &mut dyn FnMut(&[u8], bool)) -> Links {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(directory) = openat(CWD, path, flags, Mode::empty()) else {
        return Links::None;
    };
    let mut links = Links::None;
    let mut entries = RawDir::new(&directory, buffer);
    while let Some(Ok(entry)) = entries.next() {
        let name = entry.file_name().to_bytes();
        if matches!(name, b"." | b"..") {
            continue;
        }
        let kind = entry.file_type();
        let is_link = kind == FileType::Symlink || kind == FileType::Unknown;
        if is_link {
            links = Links::Some;
        }
        let leads_on = || path.join(OsStr::from_bytes(name)).is_dir();
        meet(name, kind == FileType::Directory || (is_link && leads_on()));
    }
    links
}

/// Puts each path where it really lies, and adds what hidden links lead to.
///
/// A mask on a path that passes through a link would put a directory in place of the link.
fn follow(hidden: &mut Vec<PathBuf>, home: &Path, skip: &[&Path]) {
    let real_home = home.canonicalize().unwrap_or_else(|_| home.to_owned());
    let is_projects = |path: &Path| {
        let within = path.strip_prefix(&real_home).unwrap_or(path);
        skip.iter().any(|skip| within.starts_with(skip))
    };
    let mut real = Vec::with_capacity(hidden.len());
    for path in hidden.drain(..) {
        real.extend(path.canonicalize());
        let parent = path.parent().and_then(|parent| parent.canonicalize().ok());
        let here = parent.zip(path.file_name());
        real.push(here.map_or(path.clone(), |(parent, name)| parent.join(name)));
    }
    real.retain(|path| !is_projects(path));
    real.sort();
    real.dedup();
    *hidden = real;
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
    fn what_links_lead_to_is_hidden_as_well() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        for name in [
            "dotfiles/ssh/config",
            "dotfiles/config/gh/hosts.yml",
            "shop/netrc",
        ] {
            let path = home.join(name);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(path, "").unwrap();
        }
        let link = |to: &str, from: &str| {
            std::os::unix::fs::symlink(home.join(to), home.join(from)).unwrap();
        };
        link("dotfiles/ssh", ".ssh");
        link("dotfiles/config", ".config");
        link("shop/netrc", ".netrc");
        link("nowhere", ".aws");
        let found = hidden_in_home(&MaskRules::default(), &home, &[Path::new("shop")]);
        let expected = [
            ".aws",
            ".netrc",
            ".ssh",
            "dotfiles/config/gh",
            "dotfiles/ssh",
        ];
        assert_eq!(found, expected.map(|name| home.join(name)));
    }

    #[test]
    fn a_home_that_is_not_there_hides_nothing() {
        let found = hidden_in_home(&MaskRules::default(), Path::new("/nonexistent"), &[]);
        assert_eq!(found, [] as [&Path; 0]);
    }
}
