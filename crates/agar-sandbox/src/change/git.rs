//! What a sandbox did to git repositories: refs and commits, never files.

mod log;
mod refs;

use super::{Unread, content};
use crate::layer::{Entry, Kind, View, ViewError};
use crate::stack::{self, Role, Stack};
use serde::Serialize;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The longest ref or pointer file that is read.
const SMALL_BYTES_MAX: u64 = 1 << 16;

/// How many directories are searched for submodules.
const SUBMODULE_FOLDERS_MAX: usize = 1000;

/// The names in a git directory under which refs are found.
const REF_NAMES: [&str; 5] = ["HEAD", "refs", "packed-refs", "worktrees", "reftable"];

/// What happened to one repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Repository {
    /// Its git directory, absolute, as the sandbox and the host both name it.
    #[serde(with = "crate::spelling::path")]
    pub directory: PathBuf,
    /// Whether it is not the project's own, nor within the project.
    pub outside: bool,
    /// Whether the git directory was deleted.
    pub deleted: bool,
    /// The refs that differ, `HEAD` among them.
    pub refs: Vec<RefChange>,
    /// Commits that no ref of the base reaches, newest first.
    pub commits: Vec<Commit>,
    /// Why `commits` is not the whole list, when it is not.
    pub incomplete: Option<String>,
    /// What changed in it that never leaves the sandbox: hooks, configuration and the like.
    #[serde(with = "crate::spelling::paths")]
    pub kept_back: Vec<PathBuf>,
    /// The object directories of the layers, topmost first, that hold the commits.
    #[serde(skip)]
    pub objects: Vec<PathBuf>,
}

impl Repository {
    /// Whether something was committed in it that is nowhere else. What cannot be read may be anything.
    pub const fn holds_work(&self) -> bool {
        !self.refs.is_empty() || self.incomplete.is_some()
    }
}

/// A ref that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RefChange {
    /// The full name: `refs/heads/main`, `HEAD`.
    pub name: String,
    /// What it pointed to: an object id, or `ref: …`; `None` when it was not there.
    pub before: Option<String>,
    /// What it points to.
    pub after: Option<String>,
}

/// A commit made inside. Its words are the sandbox's: a front end makes them printable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Commit {
    /// The object id.
    pub id: String,
    /// The ids of its parents.
    pub parents: Vec<String>,
    /// The author's name, as far as it is text.
    pub author: String,
    /// When it was written, in seconds since 1970.
    pub time: i64,
    /// The first line of the message.
    pub subject: String,
}

/// What is said of a repository whose refs cannot be read.
const REFTABLE: &str = "its refs are kept in a reftable, which agar does not read";

/// Compares the git directories that a sandbox wrote to.
pub(super) fn compare(
    stacks: &[Stack],
    touched: &BTreeSet<PathBuf>,
    unread: &mut Vec<Unread>,
) -> Vec<Repository> {
    let own = own_directory(stacks);
    let mut repositories = Vec::new();
    let mut waiting: Vec<PathBuf> = touched.iter().rev().cloned().collect();
    while let Some(directory) = waiting.pop() {
        let Some(stack) = stack::owner(stacks, &directory) else {
            continue;
        };
        match Pair::open(stack, &directory).and_then(|pair| pair.compare(&mut waiting)) {
            Ok(None) => {}
            Ok(Some(mut repository)) => {
                repository.outside = is_outside(stacks, own.as_deref(), &directory);
                repositories.push(repository);
            }
            Err(error) => unread.push(Unread {
                path: directory,
                reason: error.to_string(),
            }),
        }
    }
    repositories
}

/// Where the project's own `.git` leads when it is a file: a linked worktree or a submodule.
fn own_directory(stacks: &[Stack]) -> Option<PathBuf> {
    let stack = stacks.iter().find(|stack| stack.role == Role::Project)?;
    let link = View::merged(stack).ok()?.lookup(Path::new(".git")).ok()??;
    let text = link.place.read(SMALL_BYTES_MAX).ok()??;
    let path = text.strip_prefix(b"gitdir: ")?.trim_ascii_end();
    Some(stack.target.join(OsStr::from_bytes(path)))
}

fn is_outside(stacks: &[Stack], own: Option<&Path>, directory: &Path) -> bool {
    let project = stacks.iter().find(|stack| stack.role == Role::Project);
    let Some(project) = project.map(|stack| stack.target.as_path()) else {
        return true;
    };
    let within = directory.starts_with(project);
    let above = directory
        .parent()
        .is_some_and(|work_tree| project.starts_with(work_tree));
    let linked = own.is_some_and(|own| own.starts_with(directory));
    !(within || above || linked)
}

/// One git directory, before and after.
struct Pair {
    directory: PathBuf,
    /// Relative to the stack.
    path: PathBuf,
    written: View,
    base: View,
    merged: View,
}

impl Pair {
    fn open(stack: &Stack, directory: &Path) -> Result<Self, ViewError> {
        Ok(Self {
            directory: directory.into(),
            path: directory
                .strip_prefix(&stack.target)
                .unwrap_or(directory)
                .into(),
            written: View::written(stack)?,
            base: View::base(stack)?,
            merged: View::merged(stack)?,
        })
    }

    /// What happened; `None` when nothing did that anybody would want to know.
    fn compare(&self, waiting: &mut Vec<PathBuf>) -> Result<Option<Repository>, ViewError> {
        let was = self.base.folder(&self.path)?;
        let Some(now) = self.merged.folder(&self.path)? else {
            return Ok(was.map(|_| self.report(Vec::new(), true)));
        };
        self.submodules(waiting)?;
        let (mut refs, mut commits, mut incomplete) = (Vec::new(), Vec::new(), None);
        let wrote_refs = was.is_none() || self.wrote_refs()?;
        if wrote_refs && now.find(OsStr::new("reftable"))?.is_some() {
            incomplete = Some(REFTABLE.to_owned());
        } else if wrote_refs {
            let before = refs::read(&self.base, &self.path)?;
            let after = refs::read(&self.merged, &self.path)?;
            refs = refs::differences(&before, &after);
            if refs.iter().any(|change| change.after.is_some()) {
                let listing = log::commits(self, &before, &after)?;
                (commits, incomplete) = (listing.commits, listing.incomplete);
            }
        }
        let mut report = self.report(refs, false);
        report.commits = commits;
        report.incomplete = incomplete;
        report.kept_back = self.kept_back()?;
        report.objects = self.objects()?;
        let silent = report.refs.is_empty() && report.kept_back.is_empty();
        Ok((!silent || report.incomplete.is_some()).then_some(report))
    }

    fn report(&self, refs: Vec<RefChange>, deleted: bool) -> Repository {
        Repository {
            directory: self.directory.clone(),
            outside: false,
            deleted,
            refs,
            commits: Vec::new(),
            incomplete: None,
            kept_back: Vec::new(),
            objects: Vec::new(),
        }
    }

    /// Whether the sandbox wrote where refs are; a mere `git status` writes only the index.
    fn wrote_refs(&self) -> Result<bool, ViewError> {
        let Some(written) = self.written.folder(&self.path)? else {
            return Ok(false);
        };
        let names = written.mentioned()?;
        let tells = |name: &OsString| REF_NAMES.iter().any(|known| name == known);
        Ok(written.is_opaque() || names.iter().any(tells))
    }

    /// Finds the git directories of submodules that were written to.
    fn submodules(&self, waiting: &mut Vec<PathBuf>) -> Result<(), ViewError> {
        let mut folders = vec![self.path.join("modules")];
        let mut left = SUBMODULE_FOLDERS_MAX;
        while let (Some(path), 1..) = (folders.pop(), left) {
            let Some(folder) = self.written.folder(&path)? else {
                continue;
            };
            let directories = folder.entries()?.into_iter();
            for (name, _) in directories.filter(|(_, entry)| entry.kind == Kind::Directory) {
                let module = path.join(name);
                match self.merged.lookup(&module.join("HEAD"))? {
                    Some(_) => waiting.push(self.absolute(&module)),
                    None => folders.push(module),
                }
            }
            left -= 1;
        }
        Ok(())
    }

    /// What differs among the files that steer git, which never leave the sandbox.
    fn kept_back(&self) -> Result<Vec<PathBuf>, ViewError> {
        let mut candidates = BTreeSet::new();
        for name in ["config", "config.worktree", "hooks", "info"] {
            let path = self.path.join(name);
            for view in [&self.written, &self.base] {
                let entries = view.read_dir(&path)?;
                candidates.extend(entries.into_iter().map(|(name, _)| path.join(name)));
            }
            candidates.insert(path);
        }
        let mut kept = Vec::new();
        for path in candidates {
            if self.file_differs(&path)? {
                kept.push(path.strip_prefix(&self.path).unwrap_or(&path).into());
            }
        }
        Ok(kept)
    }

    fn file_differs(&self, path: &Path) -> Result<bool, ViewError> {
        let file = |entry: &Entry| entry.kind != Kind::Directory;
        let was = self.base.lookup(path)?.filter(file);
        let now = self.merged.lookup(path)?.filter(file);
        Ok(match (was, now) {
            (None, None) => false,
            (Some(was), Some(now)) => {
                was.kind != now.kind
                    || was.mode != now.mode
                    || !content::same(&was.place, &now.place).unwrap_or(false)
            }
            (None, Some(_)) | (Some(_), None) => true,
        })
    }

    /// The object directories of the layers.
    fn objects(&self) -> Result<Vec<PathBuf>, ViewError> {
        let path = self.path.join("objects");
        let Some(folder) = self.merged.folder(&path)? else {
            return Ok(Vec::new());
        };
        let root = |layer: usize| Some(self.merged.layer_root(layer)?.join(&path));
        Ok(folder.layers().into_iter().filter_map(root).collect())
    }

    fn absolute(&self, path: &Path) -> PathBuf {
        let below = path.strip_prefix(&self.path).unwrap_or(path);
        self.directory.join(below)
    }
}
