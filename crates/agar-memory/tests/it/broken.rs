//! Files that are cut, damaged, or from another time.

use crate::world::{World, command, open, project};
use agar_core::fault::{Fault as _, Kind};
use agar_memory::{Health, Memory, MemoryError, Tuning, check};
use std::path::{Path, PathBuf};

fn filled() -> World {
    let mut world = World::new();
    world.bulk(600, |number| {
        (format!("make target{}", number % 20), number % 4 != 0)
    });
    world
}

fn settle(directory: &Path) -> PathBuf {
    let path = directory.join("memory.db");
    // Folds the log in, so that the damage below is to what is read.
    agar_store::memory::MemoryStore::open(&path)
        .unwrap()
        .truncate_log()
        .unwrap();
    path
}

fn reopen(directory: &Path) -> Result<Memory, MemoryError> {
    Memory::open(directory, project(1), Tuning::default())
}

#[test]
fn a_truncated_memory_is_reported_and_never_replaced() {
    let world = filled();
    let path = settle(world.directory.path());
    drop(world.memory);
    let bytes = fs_err::read(&path).unwrap();
    fs_err::write(&path, &bytes[..bytes.len() / 3]).unwrap();
    assert!(matches!(
        check(world.directory.path()),
        Ok(Health::Damaged(_)) | Err(_)
    ));
    assert_eq!(
        fs_err::metadata(&path).unwrap().len(),
        bytes.len() as u64 / 3
    );
}

#[test]
fn a_corrupted_memory_is_a_clear_error_with_a_way_out() {
    let world = filled();
    let path = settle(world.directory.path());
    drop(world.memory);
    fs_err::write(
        &path,
        b"this is no database at all, whatever its name says, and long enough",
    )
    .unwrap();
    let error = reopen(world.directory.path()).unwrap_err();
    assert_eq!(error.kind(), Kind::Internal);
    assert!(error.to_string().contains("is damaged"), "{error}");
    assert!(error.remedy().is_some());
}

#[test]
fn a_memory_of_a_newer_agar_is_refused_unread() {
    let world = filled();
    let path = settle(world.directory.path());
    drop(world.memory);
    let mut bytes = fs_err::read(&path).unwrap();
    // SQLite keeps the schema number at byte 60.
    bytes[60..64].copy_from_slice(&99_u32.to_be_bytes());
    fs_err::write(&path, &bytes).unwrap();
    let error = reopen(world.directory.path()).unwrap_err();
    assert_eq!(error.kind(), Kind::Unsupported);
    assert!(error.to_string().contains("newer agar"), "{error}");
}

#[test]
fn an_index_that_is_lost_or_damaged_is_made_again_and_answers_stay_true() {
    let mut world = filled();
    let ask = |memory: &Memory, world: &World| {
        let said = memory
            .predict(&command("make target7"), world.now())
            .unwrap();
        (said.p, said.similar.len(), said.here)
    };
    let before = ask(&world.memory, &world);
    let index = world.directory.path().join("index");
    let files = || -> Vec<PathBuf> {
        fs_err::read_dir(&index)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|ending| ending == "idx"))
            .collect()
    };
    let file = files().pop().unwrap();
    let whole = fs_err::read(&file).unwrap();
    for damage in [
        whole[..whole.len() / 2].to_vec(),
        vec![0; whole.len()],
        Vec::new(),
    ] {
        fs_err::write(files().pop().unwrap(), damage).unwrap();
        let fresh = open(world.directory.path());
        assert_eq!(ask(&fresh, &world), before);
        world.memory.tidy().unwrap();
        assert_eq!(ask(&open(world.directory.path()), &world), before);
    }
    fs_err::remove_file(files().pop().unwrap()).unwrap();
    assert_eq!(ask(&open(world.directory.path()), &world), before);
    world.memory.tidy().unwrap();
    assert_eq!(files().len(), 1);
}
