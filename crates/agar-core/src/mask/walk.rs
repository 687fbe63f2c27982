//! Finding what is to be hidden without reading a whole home directory.
//!
//! Most rules name a path from the top, so only the few directories on the way to one are listed.
//! Rules about names would need every directory; they are followed to a small depth.

use super::pattern::{Pattern, Reach, matches};
use super::{Judgement, MaskRules};
use crate::walls::Network;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// How many directories deep the home directory is searched for key files by name: its top, and
/// the directories at its top that are not themselves hidden by a leading dot. Keys elsewhere need
/// a mask that names them or their directory.
pub const KEY_DEPTH: usize = 2;

/// What a directory holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name in the directory.
    pub name: OsString,
    /// Whether it is a directory itself; a symbolic link to one is not.
    pub is_directory: bool,
}

/// What was found, and the directories yet to be listed.
struct Search<'a> {
    found: Vec<PathBuf>,
    ahead: Vec<Ahead<'a>>,
}

/// A directory yet to be listed, with the patterns that may name something below it.
struct Ahead<'a> {
    directory: PathBuf,
    depth: usize,
    patterns: Vec<&'a Pattern>,
    /// Whether everything in it is hidden that is not shown.
    is_partly: bool,
}

/// A name that some rule may be about.
struct Met<'a> {
    is_directory: bool,
    /// Whether keys are looked for in it.
    is_near: bool,
    /// The patterns that fit so far.
    patterns: Vec<&'a Pattern>,
}

impl<'a> Met<'a> {
    /// Looks at a name; most are not of interest, and nothing is put together for them.
    fn new(
        here: &Ahead<'a>,
        names: &[&'a Pattern],
        name: &[u8],
        is_directory: bool,
    ) -> Option<Self> {
        let fits = |pattern: &&&Pattern| matches(&pattern.parts[here.depth], name);
        let patterns: Vec<&Pattern> = here.patterns.iter().filter(fits).copied().collect();
        let is_near = is_directory && here.depth + 1 < KEY_DEPTH && name.first() != Some(&b'.');
        let is_named = || {
            let mut parts = names.iter().flat_map(|pattern| &pattern.parts);
            parts.any(|part| matches(part, name))
        };
        let of_interest = !patterns.is_empty() || here.is_partly || is_near || is_named();
        of_interest.then_some(Self {
            is_directory,
            is_near,
            patterns,
        })
    }
}

/// Lists a directory relative to home: tells each name in it and whether that is a directory.
pub type List<'a> = dyn FnMut(&Path, &mut dyn FnMut(&[u8], bool)) + 'a;

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
        self.search_home(skip, &mut |directory, meet| {
            for entry in list(directory) {
                meet(entry.name.as_bytes(), entry.is_directory);
            }
        })
    }

    /// The same for a listing that hands over one name at a time, which costs nothing for the many
    /// names that no rule is about.
    pub fn search_home(&self, skip: &[&Path], list: &mut List<'_>) -> Vec<PathBuf> {
        let in_home = |pattern: &&Pattern| pattern.reach == Reach::Home;
        let by_name = |pattern: &&Pattern| matches!(pattern.reach, Reach::Name | Reach::KeyName);
        let patterns = self.hidden.iter().chain(&self.shown).filter(in_home);
        let names: Vec<&Pattern> = self.hidden.iter().filter(by_name).collect();
        let mut search = Search {
            found: Vec::new(),
            ahead: vec![Ahead {
                directory: PathBuf::new(),
                depth: 0,
                patterns: patterns.collect(),
                is_partly: false,
            }],
        };
        while let Some(here) = search.ahead.pop() {
            let mut of_interest = Vec::new();
            list(&here.directory, &mut |name, is_directory| {
                let met = Met::new(&here, &names, name, is_directory);
                of_interest
                    .extend(met.map(|met| (here.directory.join(OsStr::from_bytes(name)), met)));
            });
            of_interest.retain(|(path, _)| !skip.contains(&path.as_path()));
            for (path, met) in of_interest {
                self.decide(path, met, here.depth, &mut search);
            }
        }
        search.found.sort();
        search.found
    }

    fn decide<'a>(&'a self, path: PathBuf, met: Met<'a>, depth: usize, search: &mut Search<'a>) {
        let judgement = self.judge_in_home(&path);
        if judgement == Judgement::Hidden {
            search.found.push(path);
            return;
        }
        let mut patterns = met.patterns;
        patterns.retain(|pattern| pattern.parts.len() > depth + 1);
        let is_near = met.is_near && !self.shows(&path, Reach::KeyName);
        if met.is_directory && (is_near || !patterns.is_empty()) {
            search.ahead.push(Ahead {
                directory: path,
                depth: depth + 1,
                patterns,
                is_partly: judgement == Judgement::Partly,
            });
        }
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
    pub fn may_hide_name(&self, name: &OsStr, network: &Network) -> bool {
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
    use proptest::prelude::*;
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
            "id_rsa",
        ];
        let (found, _) = hidden(&MaskRules::default(), &files, &[Path::new("shop")]);
        let expected = [
            ".cargo/credentials.toml",
            ".config/gh",
            ".ssh",
            "id_rsa",
            "work/tls.key",
        ];
        assert_eq!(found, expected.map(PathBuf::from));
    }

    proptest! {
        #[test]
        fn the_search_and_the_rules_agree(
            files in prop::collection::btree_set(
                "(\\.ssh|\\.config|gh|\\.cargo|credentials\\.toml|x|a\\.key|id_x|\\.docker|config\\.json)(/(gh|x|a\\.key|credentials|config\\.json|\\.npmrc)){0,1}", 0..8),
            show in prop::bool::ANY,
        ) {
            // A name cannot be a file and a directory.
            let files: Vec<&str> = files.iter().map(String::as_str)
                .filter(|file| !files.iter().any(|other| other.starts_with(&format!("{file}/"))))
                .collect();
            let unmask: &[String] = if show { &["~/.docker/config.json".to_owned()] } else { &[] };
            let rules = MaskRules::with(&[], unmask).unwrap();
            let (found, _) = hidden(&rules, &files, &[]);
            for file in files {
                let path = Path::new(file);
                let covered = found.iter().any(|found| path.starts_with(found));
                // Keys in directories with a leading dot are beyond the search.
                let beyond = file.starts_with('.') && (file.contains("a.key") || file.contains("id_"));
                prop_assert!(covered == rules.applies(path) || beyond, "{}", file);
            }
        }
    }

    #[test]
    fn deep_trees_are_not_read() {
        let files = [
            "a/b/c/d/e/f/g",
            ".cargo/registry/src/x/y.pem",
            ".tool/a/b",
            "a/x/y/z",
        ];
        let (found, listed) = hidden(&MaskRules::default(), &files, &[]);
        // The top, `a` for keys, `.cargo` for its credentials.
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
