//! A project is found again wherever its directory went.

use crate::world::{World, at, place};
use agar_store::{Place, Repository};
use proptest::prelude::*;
use std::path::PathBuf;

fn worktree(path: &str, within: &str) -> Place {
    Place {
        repository: Some(Repository {
            common_dir: PathBuf::from("/src/shop/.git"),
            device: 1,
            inode: 99,
            within: PathBuf::from(within),
        }),
        ..place(path)
    }
}

impl World {
    fn id_at(&mut self, place: &Place) -> agar_core::id::ProjectId {
        let fresh = self.project_id();
        self.store.project(place, fresh, at(1)).unwrap().id
    }
}

#[test]
fn a_project_follows_its_directory() {
    let mut world = World::new();
    let before = world.id_at(&place("/src/shop"));
    let moved = Place {
        path: PathBuf::from("/home/me/shop"),
        ..place("/src/shop")
    };
    assert_eq!(world.id_at(&moved), before);
    let project = world.store.read().project(before).unwrap();
    assert_eq!(project.path, moved.path);
    // What is made where it was is another project.
    let other = Place {
        inode: 12345,
        ..place("/src/shop")
    };
    assert_ne!(world.id_at(&other), before);
}

#[test]
fn a_project_cloned_again_in_the_same_place_is_the_same() {
    let mut world = World::new();
    let before = world.id_at(&place("/src/shop"));
    let again = Place {
        inode: 4242,
        born_ns: Some(9),
        ..place("/src/shop")
    };
    assert_eq!(world.id_at(&again), before);
}

#[test]
fn a_directory_that_got_the_number_of_a_deleted_one_is_another_project() {
    let mut world = World::new();
    let before = world.id_at(&place("/src/shop"));
    let reused = Place {
        path: PathBuf::from("/src/other"),
        born_ns: Some(77),
        ..place("/src/shop")
    };
    assert_ne!(world.id_at(&reused), before);
    let unknown_birth = Place {
        path: PathBuf::from("/src/third"),
        born_ns: None,
        ..place("/src/shop")
    };
    assert_ne!(world.id_at(&unknown_birth), before);
}

#[test]
fn linked_worktrees_of_one_repository_are_one_project() {
    let mut world = World::new();
    let main = world.id_at(&worktree("/src/shop", ""));
    assert_eq!(world.id_at(&worktree("/src/shop-fix", "")), main);
    let part = world.id_at(&worktree("/src/shop/api", "api"));
    assert_ne!(part, main, "a part of a monorepo is a project of its own");
    assert_eq!(world.id_at(&worktree("/src/shop-fix/api", "api")), part);
    assert_eq!(world.store.read().places(main).unwrap().len(), 2);
}

#[test]
fn a_place_seen_before_costs_no_write() {
    let mut world = World::new();
    let before = world.id_at(&worktree("/src/shop", ""));
    let other = rusqlite::Connection::open(world.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    // Another process holds the store for writing: a read goes on.
    assert_eq!(world.id_at(&worktree("/src/shop", "")), before);
}

#[test]
fn a_path_is_bytes() {
    use std::os::unix::ffi::OsStringExt as _;
    let mut world = World::new();
    let path: PathBuf = std::ffi::OsString::from_vec(b"/src/\xff\n\0x".to_vec()).into();
    let odd = Place {
        path: path.clone(),
        ..place("/x")
    };
    let id = world.id_at(&odd);
    assert_eq!(world.store.read().project(id).unwrap().path, path);
    assert_eq!(world.store.read().places(id).unwrap(), [odd]);
}

proptest! {
    #[test]
    fn whatever_moves_a_directory_is_in_one_project(steps in prop::collection::vec((0_u8..4, 0_u64..3, prop::bool::ANY), 1..12)) {
        let mut world = World::new();
        for (path, inode, git) in steps {
            let path = format!("/src/{path}");
            let seen = Place { inode, ..if git { worktree(&path, "") } else { place(&path) } };
            let id = world.id_at(&seen);
            prop_assert_eq!(world.id_at(&seen), id, "asking twice gives one answer");
            let known = world.store.read().project_at(&seen).unwrap().unwrap();
            prop_assert_eq!(known.id, id);
            prop_assert_eq!(known.path, seen.path);
        }
        let read = world.store.read();
        let mut inodes = Vec::new();
        for project in read.projects().unwrap() {
            inodes.extend(read.places(project.id).unwrap().into_iter().map(|place| place.inode));
        }
        let places = inodes.len();
        inodes.sort_unstable();
        inodes.dedup();
        prop_assert_eq!(inodes.len(), places, "a directory is in one place");
    }
}
