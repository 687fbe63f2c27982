//! Finding what is to be hidden without reading a whole home directory.
//!
//! Most rules name a path from the top, so only the few directories on the way to one are listed.
//! Rules about names would need every directory; they are followed to a small depth.

use super::pattern::{Reach, matches};
use super::{Judgement, MaskRules};
use crate::walls::Network;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// How many directories deep the home directory is searched for key files by name. Deeper ones need
/// a mask that names their directory.
pub const KEY_DEPTH: usize = 2;

/// What a directory holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name in the directory.
    pub name: OsString,
    /// Whether it is a directory itself; a symbolic link to one is not.
    pub is_directory: bool,
}

/// What was found, and the directories yet to be listed with their depth.
struct Search {
    found: Vec<PathBuf>,
    ahead: Vec<(PathBuf, usize)>,
}

impl MaskRules {
    /// The hidden paths that exist in the home directory, relative to it.
    ///
    /// `list` is asked for the entries of directories relative to home. Nothing at or below one of
    /// `skip` (the project) is looked at.
    pub fn hidden_in_home(
        &self,
        skip: &[&Path],
        list: &mut dyn FnMut(&Path) -> Vec<Entry>,
    ) -> Vec<PathBuf> {
        let mut search = Search {
            found: Vec::new(),
            ahead: vec![(PathBuf::new(), 0)],
        };
        while let Some((directory, depth)) = search.ahead.pop() {
            let entries = list(&directory).into_iter();
            let entries = entries.map(|entry| (directory.join(&entry.name), entry.is_directory));
            let entries = entries.filter(|(path, _)| !skip.contains(&path.as_path()));
            self.sort_out(entries, depth, &mut search);
        }
        search.found.sort();
        search.found
    }

    fn sort_out(
        &self,
        entries: impl Iterator<Item = (PathBuf, bool)>,
        depth: usize,
        search: &mut Search,
    ) {
        for (path, is_directory) in entries {
            let judgement = self.judge_in_home(&path);
            if judgement == Judgement::Hidden {
                search.found.push(path);
            } else if is_directory
                && (judgement == Judgement::Partly || self.leads_on(&path, depth))
            {
                search.ahead.push((path, depth + 1));
            }
        }
    }

    /// Whether something below this directory may be hidden.
    fn leads_on(&self, path: &Path, depth: usize) -> bool {
        let software = self.shows(path, Reach::KeyName);
        let near = depth + 1 < KEY_DEPTH && !software;
        near || self
            .hidden
            .iter()
            .any(|pattern| pattern.reach == Reach::Home && pattern.lies_below(path))
    }

    /// The hidden paths among those of the project, relative to it. The outermost only.
    pub fn hidden_in_project<'a>(
        &self,
        network: &Network,
        paths: impl Iterator<Item = &'a Path>,
    ) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = paths
            .filter(|path| self.applies_in_project(path, network))
            .map(Path::to_owned)
            .collect();
        found.sort();
        found.dedup_by(|path, above| path.starts_with(&*above));
        found
    }

    /// Whether a file of this name could be hidden in a project: a quick test before the whole path
    /// is looked at.
    pub fn may_hide_name(&self, name: &std::ffi::OsStr, network: &Network) -> bool {
        self.hidden.iter().any(|pattern| {
            let concerns = match pattern.reach {
                Reach::Name | Reach::Project => true,
                Reach::EnvName => network.is_open(),
                Reach::Home | Reach::Machine | Reach::KeyName => false,
            };
            let last = pattern.parts.last();
            concerns && last.is_some_and(|last| matches(last, name.as_bytes()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    /// Directory listings for a set of files.
    fn tree(files: &[&str]) -> BTreeMap<PathBuf, BTreeSet<(OsString, bool)>> {
        let mut tree: BTreeMap<PathBuf, BTreeSet<(OsString, bool)>> = BTreeMap::new();
        for file in files {
            let mut path = Path::new(file);
            let mut is_directory = false;
            while let (Some(parent), Some(name)) = (path.parent(), path.file_name()) {
                let entries = tree.entry(parent.to_owned()).or_default();
                entries.insert((name.to_owned(), is_directory));
                path = parent;
                is_directory = true;
            }
        }
        tree
    }

    fn hidden(rules: &MaskRules, files: &[&str], skip: &[&Path]) -> (Vec<PathBuf>, usize) {
        let tree = tree(files);
        let mut listed = 0;
        let found = rules.hidden_in_home(skip, &mut |path| {
            listed += 1;
            let entries = tree.get(path).into_iter().flatten();
            entries
                .map(|(name, is_directory)| Entry {
                    name: name.clone(),
                    is_directory: *is_directory,
                })
                .collect()
        });
        (found, listed)
    }

    #[test]
    fn the_outermost_hidden_paths_are_found() {
        let files = [
            ".ssh/id_rsa",
            ".config/gh/hosts.yml",
            ".config/nvim/init.lua",
            ".cargo/credentials.toml",
            ".cargo/config.toml",
            "work/tls.key",
            "shop/server.key",
        ];
        let (found, _) = hidden(&MaskRules::default(), &files, &[Path::new("shop")]);
        let expected = [
            ".cargo/credentials.toml",
            ".config/gh",
            ".ssh",
            "work/tls.key",
        ];
        assert_eq!(found, expected.map(PathBuf::from));
    }

    #[test]
    fn deep_trees_are_not_read() {
        let files = ["a/b/c/d/e/f/g", ".cargo/registry/src/x/y.pem", "a/x/y/z"];
        let (found, listed) = hidden(&MaskRules::default(), &files, &[]);
        assert_eq!((found, listed), (Vec::new(), 3));
    }

    #[test]
    fn a_directory_with_something_shown_is_hidden_piece_by_piece() {
        let rules = MaskRules::with(&[], &["~/.docker/config.json".to_owned()]).unwrap();
        let files = [".docker/config.json", ".docker/contexts/a", ".docker/x"];
        let (found, _) = hidden(&rules, &files, &[]);
        let expected = [".docker/contexts", ".docker/x"];
        assert_eq!(found, expected.map(PathBuf::from));
    }

    #[test]
    fn what_lies_below_a_hidden_path_of_the_project_is_not_listed_again() {
        let rules = MaskRules::with(&["secrets/keys".to_owned()], &[]).unwrap();
        let paths = ["secrets/keys", "secrets/keys/a", "secrets/keys-b", ".env"];
        let found = rules.hidden_in_project(&Network::None, paths.iter().map(Path::new));
        assert_eq!(found, [Path::new("secrets/keys")]);
    }
}
