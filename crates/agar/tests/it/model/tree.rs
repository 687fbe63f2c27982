//! A tree of files in memory, and the edits that are made to it and to the real one.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What lies under a path.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    File { text: String, mode: u32 },
    Directory { mode: u32 },
    Link { to: String },
}

/// A directory with everything in it, by path.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Tree(BTreeMap<String, Node>);

/// One edit. One that makes no sense in a tree is left out there.
#[derive(Debug, Clone)]
pub(crate) enum Edit {
    Write(&'static str, u16),
    Append(&'static str, u16),
    Delete(&'static str),
    Rename(&'static str, &'static str),
    MakeDirectory(&'static str),
    Permit(&'static str, bool),
    Link(&'static str, &'static str),
}

/// Every path that an edit may name.
pub(crate) const PATHS: [&str; 16] = [
    "a", "b", "c", "d", "a/a", "a/b", "a/c", "b/a", "b/d", "d/a", "d/b", "a/a/a", "a/a/b", "d/a/a",
    "d/a/b", "b/d/c",
];

impl Tree {
    /// What the project holds when it begins.
    pub(crate) fn begin() -> (Self, Vec<(&'static str, &'static str)>) {
        let files = vec![
            ("c", "c0"),
            ("a/b", "ab0"),
            ("a/a/a", "aaa0"),
            ("a/a/b", "aab0"),
            ("d/b", "db0"),
        ];
        let mut tree = Self::default();
        for directory in ["a", "a/a", "d"] {
            tree.insert(directory, Node::Directory { mode: 0o755 });
        }
        for (path, text) in &files {
            let text = (*text).to_owned();
            tree.insert(path, Node::File { text, mode: 0o644 });
        }
        (tree, files)
    }

    fn insert(&mut self, path: &str, node: Node) {
        self.0.insert(path.to_owned(), node);
    }

    fn is_directory(&self, path: &str) -> bool {
        matches!(self.0.get(path), Some(Node::Directory { .. }))
    }

    /// Whether something can be put under the path.
    fn has_room(&self, path: &str) -> bool {
        path.rsplit_once('/')
            .is_none_or(|(above, _)| self.is_directory(above))
    }

    fn below(&self, path: &str) -> Vec<String> {
        let start = format!("{path}/");
        let below = self.0.keys().filter(|key| key.starts_with(&start));
        below.cloned().collect()
    }

    /// Makes an edit, and says how a shell makes the same; nothing if it makes no sense here.
    pub(crate) fn edit(&mut self, edit: &Edit) -> Option<String> {
        match edit {
            Edit::Write(path, text) => self.write(path, text.to_string()),
            Edit::Append(path, text) => self.append(path, *text),
            Edit::Delete(path) => self.delete(path),
            Edit::Rename(from, to) => self.rename(from, to),
            Edit::MakeDirectory(path) => {
                let free = self.has_room(path) && !self.0.contains_key(*path);
                free.then(|| self.insert(path, Node::Directory { mode: 0o755 }))?;
                Some(format!("mkdir {path}"))
            }
            Edit::Permit(path, wide) => self.permit(path, *wide),
            Edit::Link(path, to) => {
                let free = self.has_room(path) && !self.0.contains_key(*path);
                let to = (*to).to_owned();
                free.then(|| self.insert(path, Node::Link { to: to.clone() }))?;
                Some(format!("ln -s {to} {path}"))
            }
        }
    }

    fn write(&mut self, path: &str, text: String) -> Option<String> {
        let mode = match self.0.get(path) {
            None if self.has_room(path) => 0o644,
            Some(Node::File { mode, .. }) => *mode,
            None | Some(Node::Directory { .. } | Node::Link { .. }) => return None,
        };
        let script = format!("echo {text} >{path}");
        self.insert(path, Node::File { text, mode });
        Some(script)
    }

    fn append(&mut self, path: &str, more: u16) -> Option<String> {
        match self.0.get_mut(path) {
            Some(Node::File { text, .. }) => {
                write!(text, "\n{more}").ok()?;
                Some(format!("echo {more} >>{path}"))
            }
            None | Some(Node::Directory { .. } | Node::Link { .. }) => None,
        }
    }

    fn delete(&mut self, path: &str) -> Option<String> {
        self.0.remove(path)?;
        for path in self.below(path) {
            self.0.remove(&path);
        }
        Some(format!("rm -rf {path}"))
    }

    fn rename(&mut self, from: &str, to: &str) -> Option<String> {
        let moving = self.0.get(from)?;
        let is_directory = matches!(moving, Node::Directory { .. });
        let fits = match self.0.get(to) {
            None => self.has_room(to),
            Some(Node::Directory { .. }) => is_directory && self.below(to).is_empty(),
            Some(Node::File { .. } | Node::Link { .. }) => !is_directory,
        };
        if from == to || to.starts_with(&format!("{from}/")) || !fits {
            return None;
        }
        let mut moved = vec![(to.to_owned(), self.0.remove(from)?)];
        for path in self.below(from) {
            let node = self.0.remove(&path)?;
            moved.push((format!("{to}{}", &path[from.len()..]), node));
        }
        self.0.extend(moved);
        Some(format!("mv -fT {from} {to}"))
    }

    fn permit(&mut self, path: &str, wide: bool) -> Option<String> {
        let mode = match self.0.get_mut(path)? {
            Node::File { mode, .. } => {
                *mode = if wide { 0o755 } else { 0o600 };
                *mode
            }
            Node::Directory { mode } => {
                *mode = if wide { 0o755 } else { 0o750 };
                *mode
            }
            Node::Link { .. } => return None,
        };
        Some(format!("chmod {mode:o} {path}"))
    }

    /// What [`LIST`] prints in such a tree.
    pub(crate) fn listed(&self) -> String {
        let mut lines = Vec::new();
        for (path, node) in &self.0 {
            match node {
                Node::File { text, mode } => {
                    lines.push(format!("f {mode:o}  {path}"));
                    lines.extend(text.lines().map(|line| format!("{path}:{line}")));
                }
                Node::Directory { mode } => lines.push(format!("d {mode:o}  {path}")),
                Node::Link { to } => lines.push(format!("l 777 {to} {path}")),
            }
        }
        sorted(lines)
    }
}

/// Lists a tree from inside, with what every file holds.
pub(crate) const LIST: &str = "find . -mindepth 1 -printf '%y %m %l %P\\n'; \
     find . -type f -printf '%P\\n' | xargs -r grep -H ''";

/// Lines in an order that does not depend on who printed them.
pub(crate) fn sorted(mut lines: Vec<String>) -> String {
    // Of one file the order of lines counts, and a stable sort by the name in front keeps it.
    lines.sort_by(|one, other| key(one).cmp(key(other)));
    lines.join("\n")
}

fn key(line: &str) -> &str {
    line.split_once(':').map_or(line, |(path, _)| path)
}
