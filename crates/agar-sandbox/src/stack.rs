//! The overlays that make up a sandbox, as plain data.
//!
//! The jail mounts them, the base provides their lower layers, and change sets and promotion read
//! their upper ones. All of them speak of the same [`Stack`].

use crate::spelling;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// One overlay of a sandbox: where it appears, where its changes go and what lies below.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stack {
    /// What the overlay is for.
    pub role: Role,
    /// The absolute path on the host, which is also its path inside.
    #[serde(with = "spelling::path")]
    pub target: PathBuf,
    /// The directory that receives every change.
    #[serde(with = "spelling::path")]
    pub upper: PathBuf,
    /// The scratch directory that the kernel asks for; never reused.
    #[serde(with = "spelling::path")]
    pub work: PathBuf,
    /// Earlier uppers of the sandbox or of those it was forked from, topmost first: they lie between
    /// the upper and the base, hold changes like the upper, and never change again.
    #[serde(
        with = "spelling::siblings",
        default,
        skip_serializing_if = "Vec::is_empty"
    )]
    pub kept: Vec<PathBuf>,
    /// The layers of the base, topmost first.
    #[serde(with = "spelling::siblings")]
    pub lowers: Vec<PathBuf>,
}

/// What an overlay is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The project itself.
    Project,
    /// An ignored directory (`target/`, `node_modules/`) left live below a frozen project.
    Bulk,
    /// The home directory of an ordinary user.
    Home,
    /// The whole machine, for root.
    Root,
}

impl Role {
    /// Whether changes here lie outside the project, and are never applied unless named.
    pub const fn is_outside(self) -> bool {
        match self {
            Self::Project | Self::Bulk => false,
            Self::Home | Self::Root => true,
        }
    }

    /// The word for it, everywhere.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::Bulk => "bulk",
            Self::Home => "home",
            Self::Root => "root",
        }
    }
}

impl Stack {
    /// The layers as the kernel would merge them, topmost first.
    pub fn layers(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(self.upper.as_path()).chain(self.below())
    }

    /// The layers that nothing writes to, topmost first: what was kept, then the base.
    pub fn below(&self) -> impl Iterator<Item = &Path> {
        self.kept.iter().chain(&self.lowers).map(PathBuf::as_path)
    }

    /// The layers that hold the sandbox's changes, topmost first.
    pub fn written(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(&self.upper)
            .chain(&self.kept)
            .map(PathBuf::as_path)
    }
}

/// The stack that a path inside belongs to: the one mounted deepest on the way to it.
pub fn owner<'a>(stacks: &'a [Stack], path: &Path) -> Option<&'a Stack> {
    stacks
        .iter()
        .filter(|stack| path.starts_with(&stack.target))
        .max_by_key(|stack| stack.target.components().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(role: Role, target: &str) -> Stack {
        Stack {
            role,
            target: target.into(),
            upper: "/state/upper".into(),
            work: "/state/work".into(),
            kept: Vec::new(),
            lowers: vec![target.into()],
        }
    }

    #[test]
    fn a_path_belongs_to_the_deepest_overlay_above_it() {
        let stacks = [
            stack(Role::Home, "/home/ann"),
            stack(Role::Project, "/home/ann/shop"),
            stack(Role::Bulk, "/home/ann/shop/target"),
        ];
        let role = |path: &str| owner(&stacks, Path::new(path)).map(|stack| stack.role);
        assert_eq!(role("/home/ann/shop/target/debug"), Some(Role::Bulk));
        assert_eq!(role("/home/ann/shop/targets"), Some(Role::Project));
        assert_eq!(role("/home/ann/shopping"), Some(Role::Home));
        assert_eq!(role("/etc/passwd"), None);
    }

    #[test]
    fn a_stack_is_read_back_as_it_was_written() {
        use std::os::unix::ffi::OsStrExt as _;
        let mut odd = stack(Role::Project, "/home/ann/shop");
        odd.lowers
            .push(std::ffi::OsStr::from_bytes(b"/odd/\xff").into());
        let text = serde_json::to_string(&odd).unwrap();
        assert_eq!(serde_json::from_str::<Stack>(&text).unwrap(), odd);
    }
}
