//! Three trees to play a promotion with: base, mine and theirs.

use agar_core::id::PromotionId;
use agar_core::seam::Timestamp;
use agar_sandbox::promote::{Item, Label, Promotions, compare};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

/// The trees and the promotions' directory.
pub(crate) struct Stage {
    world: tempfile::TempDir,
    /// Where the promotions are, if not beside the trees.
    elsewhere: Option<tempfile::TempDir>,
}

/// The name of a promotion; higher is later.
pub(crate) fn label(number: u8) -> Label {
    let at = Timestamp::from_millis(u64::from(number));
    Label {
        id: PromotionId::new(at, [number; 10]),
        at,
        title: format!("promotion {number}"),
    }
}

/// The names in a directory; none if it is not there.
pub(crate) fn sides(directory: &Path) -> Vec<String> {
    let Ok(entries) = fs_err::read_dir(directory) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

impl Stage {
    /// On the filesystem that temporary files are on.
    pub(crate) fn new() -> Self {
        Self::within(&std::env::temp_dir())
    }

    /// In memory where possible: for what is played thousands of times.
    pub(crate) fn fast() -> Self {
        let memory = Path::new("/dev/shm");
        if memory.is_dir() {
            Self::within(memory)
        } else {
            Self::new()
        }
    }

    fn within(directory: &Path) -> Self {
        let world = tempfile::tempdir_in(directory).unwrap();
        for name in ["base", "mine", "theirs"] {
            fs_err::create_dir(world.path().join(name)).unwrap();
        }
        Self {
            world,
            elsewhere: None,
        }
    }

    /// With the promotions on another mount than the trees, if there are two to be had.
    pub(crate) fn apart() -> Option<Self> {
        let (here, there) = (std::env::temp_dir(), Path::new("/dev/shm"));
        let device = |path: &Path| fs_err::metadata(path).ok().map(|meta| meta.dev());
        if device(&here) == device(there) || !there.is_dir() {
            return None;
        }
        let mut stage = Self::within(there);
        stage.elsewhere = Some(tempfile::tempdir_in(here).unwrap());
        Some(stage)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.world.path().join(name)
    }

    pub(crate) fn mine_dir(&self) -> PathBuf {
        self.path("mine")
    }

    pub(crate) fn promotions_dir(&self) -> PathBuf {
        match &self.elsewhere {
            Some(directory) => directory.path().join("promotions"),
            None => self.path("promotions"),
        }
    }

    pub(crate) fn promotions(&self) -> Promotions {
        Promotions::at(&self.promotions_dir())
    }

    /// What the sandbox changed.
    pub(crate) fn items(&self) -> Vec<Item> {
        compare(&self.path("base"), &self.path("theirs")).unwrap()
    }

    fn write(&self, side: &str, path: &str, content: &[u8]) -> &Self {
        let path = self.path(side).join(path);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, content).unwrap();
        self
    }

    /// Puts a file into the base.
    pub(crate) fn base(&self, path: &str, content: impl AsRef<[u8]>) -> &Self {
        self.write("base", path, content.as_ref())
    }

    /// Puts a link into the base.
    pub(crate) fn link_base(&self, path: &str, target: &str) -> &Self {
        symlink(target, self.path("base").join(path)).unwrap();
        self
    }

    /// Lets the person and the sandbox start from the base.
    pub(crate) fn start(&self) -> &Self {
        // Not by `cp`: a child that is being started holds every open file for a moment, locks too.
        for side in ["mine", "theirs"] {
            copy(&self.path("base"), &self.path(side));
        }
        self
    }

    /// Lets the person write a file.
    pub(crate) fn mine(&self, path: &str, content: impl AsRef<[u8]>) -> &Self {
        self.write("mine", path, content.as_ref())
    }

    /// Lets the sandbox write a file.
    pub(crate) fn theirs(&self, path: &str, content: impl AsRef<[u8]>) -> &Self {
        self.write("theirs", path, content.as_ref())
    }

    /// Lets the sandbox make a link.
    pub(crate) fn link_theirs(&self, path: &str, target: &str) -> &Self {
        symlink(target, self.path("theirs").join(path)).unwrap();
        self
    }

    fn delete(&self, side: &str, path: &str) -> &Self {
        let path = self.path(side).join(path);
        if path.is_dir() && !path.is_symlink() {
            fs_err::remove_dir_all(path).unwrap();
        } else {
            fs_err::remove_file(path).unwrap();
        }
        self
    }

    /// Lets the person delete a file or directory.
    pub(crate) fn delete_mine(&self, path: &str) -> &Self {
        self.delete("mine", path)
    }

    /// Lets the sandbox delete a file or directory.
    pub(crate) fn delete_theirs(&self, path: &str) -> &Self {
        self.delete("theirs", path)
    }

    /// Sets permission bits in the base.
    pub(crate) fn chmod_base(&self, path: &str, mode: u32) -> &Self {
        self.chmod("base", path, mode)
    }

    /// Lets the sandbox change permission bits.
    pub(crate) fn chmod_theirs(&self, path: &str, mode: u32) -> &Self {
        self.chmod("theirs", path, mode)
    }

    fn chmod(&self, side: &str, path: &str, mode: u32) -> &Self {
        let permissions = std::fs::Permissions::from_mode(mode);
        fs_err::set_permissions(self.path(side).join(path), permissions).unwrap();
        self
    }

    /// What the person's file holds.
    pub(crate) fn read(&self, path: &str) -> String {
        let bytes = fs_err::read(self.mine_dir().join(path)).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // What is closed could not be removed by an ordinary user.
        open(self.world.path());
    }
}

fn open(directory: &Path) {
    let permissions = std::fs::Permissions::from_mode(0o700);
    drop(fs_err::set_permissions(directory, permissions));
    for entry in fs_err::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open(&entry.path());
        }
    }
}

/// Copies a tree with its links and permission bits.
fn copy(from: &Path, to: &Path) {
    for entry in fs_err::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().unwrap();
        if kind.is_symlink() {
            symlink(fs_err::read_link(from).unwrap(), to).unwrap();
        } else if kind.is_dir() {
            fs_err::create_dir(&to).unwrap();
            copy(&from, &to);
            fs_err::set_permissions(to, entry.metadata().unwrap().permissions()).unwrap();
        } else {
            fs_err::copy(from, to).unwrap();
        }
    }
}
