//! What a stack of layers holds, read without mounting it.
//!
//! A mount needs a namespace, a work directory and a moment when nobody else uses the upper. Change
//! sets and promotion need only to look, often while the sandbox runs, so they merge the layers
//! here by the kernel's own rules: the topmost entry wins, a whiteout hides what lies below it, an
//! opaque directory hides the whole directory below it, and directories merge with directories.
//!
//! The upper layer belongs to whatever ran in the sandbox and may change under the reader. Nothing
//! here follows a symbolic link: a directory swapped for a link to `~/.ssh` is an error or an
//! absence, never a way out of the layer.

mod beneath;
mod folder;
mod mark;
mod place;

pub use folder::{Entry, Folder, Found, Kind};
pub use place::Place;

use agar_core::fault::{self, Fault};
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Layers as the kernel would merge them.
#[derive(Debug)]
pub struct View {
    layers: Vec<Layer>,
    /// Whether the first layer is the upper of a sandbox.
    upper: Upper,
}

/// Whether a view begins with the layer that a sandbox writes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upper {
    /// The first layer is an upper.
    First,
    /// So many layers from the top were written by the sandbox.
    Topmost(usize),
    /// Every layer is a lower one.
    None,
}

/// One layer, held open so that a renamed directory above it cannot lead elsewhere.
#[derive(Debug)]
struct Layer {
    root: Arc<Path>,
    directory: OwnedFd,
}

/// A layer could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    /// The layer's own directory is not there or may not be read.
    #[error("cannot open the layer {}", root.display())]
    Layer {
        /// The layer's directory.
        root: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// An entry of a layer may not be read.
    #[error("cannot read {} in the layer {}", path.display(), root.display())]
    Read {
        /// The layer's directory.
        root: PathBuf,
        /// The entry, relative to the layer.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The directory was written by an overlay with features that agar's never have.
    #[error("{} in the layer {} uses the overlay feature `{feature}`", path.display(), root.display())]
    Foreign {
        /// The layer's directory.
        root: PathBuf,
        /// The entry, relative to the layer.
        path: PathBuf,
        /// The feature, by its extended attribute.
        feature: String,
    },
    /// The path leaves the view.
    #[error("{} is not a path within a layer", path.display())]
    Outside {
        /// The path as asked for.
        path: PathBuf,
    },
}

impl Fault for ViewError {
    fn kind(&self) -> fault::Kind {
        match self {
            Self::Layer { .. } | Self::Read { .. } => fault::Kind::Internal,
            Self::Foreign { .. } => fault::Kind::Unsupported,
            Self::Outside { .. } => fault::Kind::Invalid,
        }
    }
}

impl View {
    /// Opens layers, topmost first.
    pub fn open<I>(layers: I, upper: Upper) -> Result<Self, ViewError>
    where
        I: IntoIterator,
        I::Item: AsRef<Path>,
    {
        let layers = layers
            .into_iter()
            .map(|root| Layer::open(root.as_ref()))
            .collect::<Result<_, _>>()?;
        Ok(Self { layers, upper })
    }

    /// What the sandbox sees: the upper of a stack over its lowers.
    pub fn merged(stack: &crate::stack::Stack) -> Result<Self, ViewError> {
        Self::open(stack.layers(), Upper::Topmost(1 + stack.kept.len()))
    }

    /// What the sandbox started from: the lowers of a stack.
    pub fn base(stack: &crate::stack::Stack) -> Result<Self, ViewError> {
        Self::open(&stack.lowers, Upper::None)
    }

    /// What the sandbox wrote: the upper of a stack and what was kept below it.
    pub fn written(stack: &crate::stack::Stack) -> Result<Self, ViewError> {
        Self::open(stack.written(), Upper::Topmost(1 + stack.kept.len()))
    }

    /// The directory that every layer shares.
    pub fn root(&self) -> Result<Folder<'_>, ViewError> {
        let all: Vec<usize> = (0..self.layers.len()).collect();
        Ok(self.enter(Path::new(""), &all)?.unwrap_or(Folder {
            view: self,
            path: PathBuf::new(),
            parts: Vec::new(),
            closed: false,
        }))
    }

    /// What is at a path relative to the view's root, if anything.
    ///
    /// The last component is not followed when it is a symbolic link, and a link on the way to it
    /// is not a directory: `None`.
    pub fn lookup(&self, path: &Path) -> Result<Option<Entry>, ViewError> {
        let mut names = names(path)?;
        let Some(name) = names.pop() else {
            return self.root()?.itself();
        };
        match self.descend(&names)? {
            Some(folder) => folder.find(name),
            None => Ok(None),
        }
    }

    /// The merged directory at a path, or `None` when there is no directory there.
    pub fn folder(&self, path: &Path) -> Result<Option<Folder<'_>>, ViewError> {
        self.descend(&names(path)?)
    }

    fn descend(&self, names: &[&OsStr]) -> Result<Option<Folder<'_>>, ViewError> {
        let mut folder = self.root()?;
        for name in names {
            match self.enter(&folder.path().join(name), &folder.layers())? {
                Some(next) => folder = next,
                None => return Ok(None),
            }
        }
        Ok(Some(folder))
    }

    /// The entries of the merged directory at a path, sorted by name; none when it is not one.
    pub fn read_dir(&self, path: &Path) -> Result<Vec<(std::ffi::OsString, Entry)>, ViewError> {
        match self.folder(path)? {
            Some(folder) => folder.entries(),
            None => Ok(Vec::new()),
        }
    }

    /// The directory at a path, merged from those of the layers that the directory above it was
    /// merged from. Cheaper than [`View::folder`], which starts at the root.
    pub fn enter(
        &self,
        path: &Path,
        parent_layers: &[usize],
    ) -> Result<Option<Folder<'_>>, ViewError> {
        Folder::open(self, path, parent_layers)
    }

    /// The directory of a layer.
    pub fn layer_root(&self, layer: usize) -> Option<&Path> {
        self.layers.get(layer).map(|layer| &*layer.root)
    }

    fn is_upper(&self, layer: usize) -> bool {
        match self.upper {
            Upper::First => layer == 0,
            Upper::Topmost(count) => layer < count,
            Upper::None => false,
        }
    }
}

impl Layer {
    fn open(root: &Path) -> Result<Self, ViewError> {
        let directory = beneath::open_root(root).map_err(|source| ViewError::Layer {
            root: root.into(),
            source,
        })?;
        Ok(Self {
            root: root.into(),
            directory,
        })
    }

    fn failed(&self, path: &Path, source: io::Error) -> ViewError {
        ViewError::Read {
            root: self.root.to_path_buf(),
            path: path.into(),
            source,
        }
    }
}

/// The components of a path that stays within the view.
fn names(path: &Path) -> Result<Vec<&OsStr>, ViewError> {
    let mut names = Vec::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::Normal(name) => names.push(name),
            Component::Prefix(_) | Component::RootDir | Component::ParentDir => {
                return Err(ViewError::Outside { path: path.into() });
            }
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests;
