//! Where the directory is now that a sandbox was made from.
//!
//! The record of a sandbox speaks of the place where its project was when the sandbox was made, and
//! inside that is where the project stays. Outside, people move directories and put others in their
//! place. So whoever compares with the project, lays layers over it or writes to it asks here first,
//! and goes by what a directory is, not by what it is called.

use crate::blueprint::Blueprint;
use crate::failure::EngineError;
use crate::here::Here;
use agar_sandbox::stack::{Role, Stack};
use agar_store::{Place, Sandbox};
use rustix::fs::{AtFlags, CWD, FileType, StatxFlags};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// What a directory is, whatever it is called. The store recognises a moved project by the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Directory {
    device: u64,
    inode: u64,
    born_ns: Option<i64>,
}

impl Directory {
    /// The directory at a place, if it is one and not a link to one.
    fn at(path: &Path) -> Option<Self> {
        let wanted = StatxFlags::TYPE | StatxFlags::INO | StatxFlags::BTIME;
        let status = rustix::fs::statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, wanted).ok()?;
        let is_directory =
            FileType::from_raw_mode(u32::from(status.stx_mode)) == FileType::Directory;
        is_directory.then(|| Self {
            device: rustix::fs::makedev(status.stx_dev_major, status.stx_dev_minor),
            inode: status.stx_ino,
            born_ns: born(&status),
        })
    }

    /// Whether what is now at the place where this one was is still the same. Numbers of devices
    /// and, with them, of directories may change when the machine is started again; the birth does not. By
    /// itself it tells too little: directories that are made together are born in one tick of the clock.
    fn stayed(&self, now: &Self) -> bool {
        let is_same_birth = match (self.born_ns, now.born_ns) {
            (Some(then), Some(now)) => then == now,
            (None, _) | (_, None) => self.inode == now.inode,
        };
        is_same_birth && (self.device != now.device || self.inode == now.inode)
    }
}

impl From<&Place> for Directory {
    fn from(place: &Place) -> Self {
        Self {
            device: place.device,
            inode: place.inode,
            born_ns: place.born_ns,
        }
    }
}

/// When a directory was made, where the filesystem knows.
pub(crate) fn born(status: &rustix::fs::Statx) -> Option<i64> {
    let known = StatxFlags::from_bits_retain(status.stx_mask).contains(StatxFlags::BTIME);
    let birth = status.stx_btime;
    known.then_some(birth.tv_sec.checked_mul(1_000_000_000)? + i64::from(birth.tv_nsec))
}

/// Where the directory is now that a sandbox was made from; nothing if nobody has seen it since it
/// left its place.
pub(crate) fn root(here: &Here, blueprint: &Blueprint) -> Option<PathBuf> {
    let Some(made_from) = &blueprint.made_from else {
        // Recorded before this was: there is only the path to go by.
        return blueprint.root.is_dir().then(|| blueprint.root.clone());
    };
    if Directory::at(&blueprint.root).is_some_and(|now| made_from.stayed(&now)) {
        return Some(blueprint.root.clone());
    }
    let born = made_from.born_ns?;
    let seen = here.read(|store| store.path_of(made_from.device, made_from.inode, born));
    let path = seen.ok().flatten()?;
    (Directory::at(&path)? == *made_from).then_some(path)
}

/// The same for somebody who is about to write there.
pub(crate) fn root_to_write(
    here: &Here,
    blueprint: &Blueprint,
    doing: &'static str,
) -> Result<PathBuf, EngineError> {
    root(here, blueprint).ok_or_else(|| EngineError::Elsewhere {
        doing,
        path: blueprint.root.clone(),
    })
}

/// A sandbox as it is seen from outside: everything that was said of the place where the project was
/// is said of the place where it is. A project that is nowhere to be found holds nothing.
pub(crate) fn outside(here: &Here, blueprint: Blueprint) -> Blueprint {
    match root(here, &blueprint) {
        Some(root) => seen_at(blueprint, &root),
        None => without_ground(blueprint),
    }
}

/// A recorded sandbox as it is seen from outside.
pub(crate) fn outside_of(here: &Here, record: &Sandbox) -> Result<Blueprint, EngineError> {
    Ok(outside(here, Blueprint::of(record)?))
}

/// A sandbox as it is seen from outside, for a project that is at this place.
pub(crate) fn seen_at(mut blueprint: Blueprint, root: &Path) -> Blueprint {
    if blueprint.root == root {
        return blueprint;
    }
    let was = std::mem::replace(&mut blueprint.root, root.to_owned());
    for stack in blueprint.stacks.iter_mut().filter(|it| is_project(it)) {
        follow(&mut stack.target, &was, root);
        rest_on(stack, &was, root);
    }
    for mask in &mut blueprint.masks {
        follow(mask, &was, root);
    }
    blueprint
}

/// A sandbox as it is seen from inside, where the project stays where it was, with layers that can be
/// read where they are.
pub(crate) fn inside(here: &Here, mut blueprint: Blueprint) -> Blueprint {
    match root(here, &blueprint) {
        Some(root) => {
            let was = blueprint.root.clone();
            let project = blueprint.stacks.iter_mut().filter(|it| is_project(it));
            project.for_each(|stack| rest_on(stack, &was, &root));
            blueprint
        }
        None => without_ground(blueprint),
    }
}

/// The copy-on-write trees of a jail, which rest on the project where it is.
pub(crate) fn stacks<'a>(
    here: &Here,
    blueprint: &'a Blueprint,
) -> Result<Cow<'a, [Stack]>, EngineError> {
    let (was, stacks) = (&blueprint.root, &blueprint.stacks);
    let live = |stack: &Stack| {
        is_project(stack) && stack.lowers.iter().any(|lower| lower.starts_with(was))
    };
    if !stacks.iter().any(live) {
        return Ok(Cow::Borrowed(stacks));
    }
    let root = root_to_write(here, blueprint, "start the sandbox")?;
    if root == *was {
        return Ok(Cow::Borrowed(stacks));
    }
    let mut moved = stacks.clone();
    for stack in moved.iter_mut().filter(|it| is_project(it)) {
        rest_on(stack, was, &root);
    }
    Ok(Cow::Owned(moved))
}

/// One copy-on-write tree of a sandbox with its layers where they are.
pub(crate) fn laid<'a>(here: &Here, blueprint: &Blueprint, stack: &'a Stack) -> Cow<'a, Stack> {
    let was = &blueprint.root;
    let lies_there = is_project(stack) && stack.lowers.iter().any(|lower| lower.starts_with(was));
    match lies_there.then(|| root(here, blueprint)).flatten() {
        Some(root) if root != *was => {
            let mut moved = stack.clone();
            rest_on(&mut moved, was, &root);
            Cow::Owned(moved)
        }
        Some(_) | None => Cow::Borrowed(stack),
    }
}

/// Turns a path in the project as it is outside into the one that it has inside.
pub(crate) fn enter(here: &Here, blueprint: &Blueprint, path: &mut PathBuf) {
    if let Some(root) = root(here, blueprint) {
        follow(path, &root, &blueprint.root);
    }
}

/// A sandbox from which another is made that runs on the same ground.
pub(crate) fn to_build_on(here: &Here, mut blueprint: Blueprint) -> Result<Blueprint, EngineError> {
    if let Cow::Owned(moved) = stacks(here, &blueprint)? {
        blueprint.stacks = moved;
    }
    Ok(blueprint)
}

const fn is_project(stack: &Stack) -> bool {
    match stack.role {
        Role::Project | Role::Bulk => true,
        Role::Home | Role::Root => false,
    }
}

fn rest_on(stack: &mut Stack, was: &Path, root: &Path) {
    for lower in &mut stack.lowers {
        follow(lower, was, root);
    }
}

/// What somebody else put where the project was is not what the sandbox was made from.
fn without_ground(mut blueprint: Blueprint) -> Blueprint {
    let was = blueprint.root.clone();
    for stack in blueprint.stacks.iter_mut().filter(|it| is_project(it)) {
        stack.lowers.retain(|lower| !lower.starts_with(&was));
    }
    blueprint
}

/// Takes a path along that lies where the project was.
fn follow(path: &mut PathBuf, was: &Path, root: &Path) {
    let below = path.strip_prefix(was).map(|below| {
        let below = below.components();
        below.fold(root.to_owned(), |path, part| path.join(part))
    });
    if let Ok(moved) = below {
        *path = moved;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(inode: u64, born_ns: Option<i64>) -> Directory {
        Directory {
            device: 1,
            inode,
            born_ns,
        }
    }

    #[test]
    fn a_path_below_the_project_follows_it_and_no_other_does() {
        let followed = |path: &str| {
            let mut path = PathBuf::from(path);
            follow(&mut path, Path::new("/src/shop"), Path::new("/home/shop"));
            path.into_os_string().into_string().unwrap()
        };
        assert_eq!(followed("/src/shop"), "/home/shop");
        assert_eq!(followed("/src/shop/target"), "/home/shop/target");
        assert_eq!(followed("/src/shopping"), "/src/shopping");
    }

    #[test]
    fn what_was_born_later_is_another_directory_whatever_its_number() {
        assert!(directory(7, Some(5)).stayed(&directory(7, Some(5))));
        assert!(!directory(7, Some(5)).stayed(&directory(7, Some(6))));
        assert!(directory(7, None).stayed(&directory(7, Some(6))));
        assert!(!directory(7, None).stayed(&directory(8, None)));
    }

    #[test]
    fn of_two_that_were_born_together_each_is_itself_until_the_machine_is_started_again() {
        assert!(!directory(7, Some(5)).stayed(&directory(8, Some(5))));
        let restarted = Directory {
            device: 2,
            ..directory(8, Some(5))
        };
        assert!(directory(7, Some(5)).stayed(&restarted));
    }
}
