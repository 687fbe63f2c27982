//! Files that are not as they should be: a clear error, and never another file in their place.

use crate::world::{World, at};
use agar_core::fault::{Fault as _, Kind, Remedy};
use agar_core::state::Event;
use agar_store::{Health, OpenError, Store, StoreError, VERSION, check};
use agar_testkit::random::Random;
use proptest::prelude::*;
use rusqlite::Connection;
use std::path::{Path, PathBuf};

/// A store with something in it, folded into one file.
fn filled() -> (World, PathBuf) {
    let mut world = World::new();
    let project = world.project("/src/shop").id;
    for _ in 0..20 {
        let new = world.new_sandbox(project);
        let numbers = &world.numbers;
        world
            .store
            .write::<_, StoreError>(|writer| {
                writer.create_sandbox(&new, numbers, at(2))?;
                writer.advance_sandbox(new.id, Event::Start, at(3))
            })
            .unwrap();
    }
    world.store.tidy().unwrap();
    let path = world.path();
    (world, path)
}

/// The bytes of a folded store.
fn image() -> Vec<u8> {
    let (world, path) = filled();
    let bytes = fs_err::read(path).unwrap();
    drop(world);
    bytes
}

fn opened(directory: &Path, bytes: &[u8]) -> (PathBuf, Result<Store, OpenError>) {
    let path = directory.join("store.db");
    fs_err::write(&path, bytes).unwrap();
    let store = Store::open(&path);
    (path, store)
}

#[test]
fn a_damaged_store_says_what_to_do_and_is_not_overwritten() {
    let text = "this is no database, but somebody's notes. ".repeat(200);
    for bytes in [&b""[..], b"x", text.as_bytes(), &[0; 4096]] {
        let directory = tempfile::tempdir().unwrap();
        let (path, store) = opened(directory.path(), bytes);
        let error = store.unwrap_err();
        assert!(matches!(error, OpenError::Damaged { .. }), "{error}");
        assert!(error.to_string().contains("move it away"), "{error}");
        let Some(Remedy::Command { line }) = error.remedy() else {
            panic!("no remedy for {error}");
        };
        assert!(line.contains("mv") && line.contains("store.db"), "{line}");
        assert_eq!(fs_err::read(&path).unwrap(), bytes);
        assert!(matches!(check(&path).unwrap(), Health::Damaged(_)));
    }
}

#[test]
fn a_store_cut_short_anywhere_is_recognised() {
    let bytes = image();
    let mut random = Random::new(3);
    for _ in 0..40 {
        let length = random.below(bytes.len());
        let directory = tempfile::tempdir().unwrap();
        let (path, store) = opened(directory.path(), &bytes[..length]);
        drop(store);
        assert!(
            matches!(check(&path), Ok(Health::Damaged(_))),
            "cut to {length}: {:?}",
            check(&path)
        );
        assert_eq!(fs_err::read(&path).unwrap(), &bytes[..length]);
    }
}

#[test]
fn a_store_of_a_newer_agar_is_refused_and_left_alone() {
    let (world, path) = filled();
    drop(world.store);
    let newer = Connection::open(&path).unwrap();
    newer
        .pragma_update(None, "user_version", VERSION + 1)
        .unwrap();
    drop(newer);
    let error = Store::open(&path).unwrap_err();
    assert!(matches!(error, OpenError::Newer { found, .. } if found == VERSION + 1));
    assert_eq!(error.kind(), Kind::Unsupported);
    assert!(error.to_string().contains("newer agar"), "{error}");
}

#[test]
fn a_process_that_outlives_an_upgrade_stops_writing() {
    let mut world = World::new();
    let project = world.project("/src/shop").id;
    let newer = Connection::open(world.path()).unwrap();
    newer
        .pragma_update(None, "user_version", VERSION + 1)
        .unwrap();
    let refused = world
        .store
        .write(|writer| writer.approve(project, "hash", "settings", at(2)));
    assert!(matches!(refused, Err(StoreError::Newer { .. })));
}

#[test]
fn a_database_of_another_program_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    let other = Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE notes (text)").unwrap();
    drop(other);
    let before = fs_err::read(&path).unwrap();
    let error = Store::open(&path).unwrap_err();
    assert!(matches!(error, OpenError::Foreign { .. }), "{error}");
    assert_eq!(fs_err::read(&path).unwrap(), before);
}

#[test]
fn a_path_that_cannot_be_a_store_is_a_clear_error() {
    let directory = tempfile::tempdir().unwrap();
    let error = Store::open(directory.path()).unwrap_err();
    assert!(matches!(error, OpenError::Unusable { .. }), "{error}");
    let file = directory.path().join("file");
    fs_err::write(&file, "").unwrap();
    let error = Store::open(&file.join("store.db")).unwrap_err();
    assert!(matches!(error, OpenError::Unusable { .. }), "{error}");
}

#[test]
fn a_record_that_nobody_can_read_is_found_by_the_check() {
    let (world, path) = filled();
    drop(world.store);
    let connection = Connection::open(&path).unwrap();
    connection
        .execute("UPDATE sandbox SET state = 'melted'", [])
        .unwrap();
    drop(connection);
    let Health::Damaged(findings) = check(&path).unwrap() else {
        panic!("the check did not notice");
    };
    assert!(findings[0].contains("melted"), "{findings:?}");
}

#[test]
fn the_journal_only_grows() {
    let (world, path) = filled();
    drop(world.store);
    let connection = Connection::open(&path).unwrap();
    for change in ["UPDATE journal SET kind = 'x'", "DELETE FROM journal"] {
        let error = connection.execute(change, []).unwrap_err();
        assert!(error.to_string().contains("only grows"), "{error}");
    }
}

#[test]
fn a_store_is_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state/store.db");
    let store = Store::open(&path).unwrap();
    store.read().projects().unwrap();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    assert_eq!(mode(&path), 0o600);
    for entry in fs_err::read_dir(path.parent().unwrap()).unwrap() {
        assert_eq!(mode(&entry.unwrap().path()), 0o600);
    }
}

#[test]
fn the_log_cut_short_anywhere_leaves_a_prefix_of_what_was_written() {
    let mut world = World::new();
    let project = world.project("/src/shop").id;
    world.store.tidy().unwrap();
    for number in 0..12 {
        let hash = format!("hash-{number}");
        world
            .store
            .write(|writer| writer.approve(project, &hash, "settings", at(2)))
            .unwrap();
    }
    let read = |name: &str| fs_err::read(world.directory.path().join(name)).unwrap();
    let (main, log) = (read("store.db"), read("store.db-wal"));
    let mut random = Random::new(5);
    for _ in 0..40 {
        let length = random.below(log.len());
        let directory = tempfile::tempdir().unwrap();
        fs_err::write(directory.path().join("store.db-wal"), &log[..length]).unwrap();
        let (_, store) = opened(directory.path(), &main);
        let store = store.unwrap();
        let entries = store.read().journal_since(project, 0, 100).unwrap();
        let approvals = store.read().approvals(project).unwrap();
        assert_eq!(entries.len(), approvals.len(), "cut to {length}");
        let numbers: Vec<u64> = entries.iter().map(|entry| entry.number).collect();
        let expected: Vec<u64> = (1..=entries.len() as u64).collect();
        assert_eq!(numbers, expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn no_flipped_byte_makes_it_panic(places in prop::collection::vec((0_usize..100_000, 1_u8..), 1..6)) {
        static IMAGE: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
        let mut bytes = IMAGE.get_or_init(image).clone();
        for (place, flip) in places {
            let place = place % bytes.len();
            bytes[place] ^= flip;
        }
        let directory = tempfile::tempdir().unwrap();
        let (path, store) = opened(directory.path(), &bytes);
        match store {
            Ok(store) => drop(store),
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
        drop(check(&path));
        // A header that names another format may make SQLite convert it; content is never lost.
        prop_assert_eq!(fs_err::read(&path).unwrap().len(), bytes.len());
    }
}
