//! What is fresh inside lies in one filesystem in memory, a directory for each.
//!
//! Each filesystem more would take 5 KiB of the kernel's memory for every sandbox, and time. And what a
//! jail may hold in memory is bounded once, not once for each directory.

use crate::mount::{self, During, Failed};
use crate::place::Place;
use crate::plan::{Plan, Root};
use rustix::fd::AsFd;
use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::mount::MountAttrFlags;
use std::path::{Path, PathBuf};

/// Where it is mounted while the tree is put together, beside the tree.
const SPACE: &str = "fresh";

/// The directory that stays empty.
const NOTHING: &str = "nothing";

pub(super) struct Fresh {
    space: PathBuf,
    room_bytes: u64,
    /// Whether the filesystem is there.
    stands: bool,
}

impl Fresh {
    /// One that is made when the first directory is.
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            space: plan.policy.staging.as_path().with_file_name(SPACE),
            room_bytes: plan.room_bytes,
            stands: false,
        }
    }

    /// The one that was made before the user namespace, if there was one.
    pub(super) fn inside(plan: &Plan) -> Self {
        Self {
            stands: plan.root == Root::Staged,
            ..Self::new(plan)
        }
    }

    /// Makes the filesystem where it is not there yet.
    pub(super) fn stand(&mut self) -> Result<(), Failed> {
        if !self.stands {
            in_memory(&self.space, self.room_bytes)?;
            self.stands = true;
        }
        Ok(())
    }

    /// Puts an empty directory in the place of one of the tree.
    pub(super) fn lay(&mut self, target: &Place, mode: u32) -> Result<(), Failed> {
        let directory = self.directory(&flat(target.path()), mode)?;
        let tree = mount::clone_one(&directory)?;
        mount::attach(tree.as_fd(), target)
    }

    /// Puts a directory in the place of one of the tree that is empty and stays so.
    pub(super) fn lay_nothing(&mut self, target: &Place) -> Result<(), Failed> {
        let nothing = self.directory(NOTHING, 0o555)?;
        mount::bind(&nothing, target)
    }

    fn directory(&mut self, name: &str, mode: u32) -> Result<Place, Failed> {
        self.stand()?;
        let directory = self.space.join(name);
        let step = || format!("make {name} in memory");
        match rustix::fs::mkdir(&directory, Mode::from_raw_mode(0o700)) {
            Ok(()) => {
                // By itself, since the caller's umask has no say in it.
                rustix::fs::chmod(&directory, Mode::from_raw_mode(mode)).during(step)?;
            }
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno).during(step),
        }
        Place::at(&directory)
    }
}

/// A filesystem in memory of its own.
pub(super) fn in_memory(target: &Path, room_bytes: u64) -> Result<(), Failed> {
    let room = room_bytes.to_string();
    let options = [("mode", "755"), ("size", room.as_str())];
    let flags = MountAttrFlags::MOUNT_ATTR_NODEV | MountAttrFlags::MOUNT_ATTR_NOSUID;
    let memory = mount::fresh("tmpfs", &options, flags)?;
    mount::attach(memory.as_fd(), &Place::at(target)?)
}

/// `/var/tmp` as one name. What lies in the tree has no other character in its name that could clash.
fn flat(path: &Path) -> String {
    let path = path.to_string_lossy();
    path.trim_start_matches('/').replace('/', "-")
}
