//! What is alike is found, however many files the index has.

use crate::world::{World, command, open};
use agar_memory::Status;

#[test]
fn the_nearest_is_found_among_many_files_and_rows() {
    let mut world = World::new();
    let text = |number: u64| {
        format!(
            "task alpha{} beta{} gamma{}",
            number % 7,
            number % 11,
            number % 13
        )
    };
    world.bulk(900, |number| (text(number), true));
    world.bulk(600, |number| (text(number + 900), true));
    for number in 0..30 {
        world.tried(&command(&text(number)), Status::Success, |_| {});
    }
    for number in [3, 700, 1499] {
        let said = open(world.directory.path())
            .predict(&command(&text(number)), world.now())
            .unwrap();
        assert_eq!(said.similar[0].suggestion, text(number));
        assert!(said.similar[0].likeness > 0.999, "{:?}", said.similar[0]);
    }
}

#[test]
fn an_experiment_is_found_by_its_error_its_file_and_its_command() {
    let mut world = World::new();
    for _ in 0..20 {
        world.tried(&command("cargo fmt"), Status::Success, |_| {});
    }
    world.tried(&command("npm update --save"), Status::Failure, |ending| {
        ending.output = "TypeError: cannot freeze the quokka registry\n".to_owned();
        ending.changed = vec!["web/package.json".to_owned()];
    });
    let now = world.now();
    let found = world.memory.search("quokka registry", 5, now).unwrap();
    assert!(!found.is_empty());
    let said = world
        .memory
        .predict(&command("npm update --save left-pad"), now)
        .unwrap();
    assert_eq!(said.similar[0].suggestion, "npm update --save");
    assert!(
        said.lessons.iter().any(|it| it.sentence.contains("quokka")),
        "{said:?}"
    );
}

#[test]
fn the_memory_of_a_sandbox_is_a_copy_of_an_empty_one() {
    let mut world = World::new();
    let (_, sandbox) = world.begin(&command("make"));
    let path = agar_memory::Memory::sandbox_file(world.directory.path(), sandbox);
    let header = fs_err::read(&path).unwrap();
    assert_eq!(&header[..15], b"SQLite format 3");
    assert!(header.len() < 256 * 1024, "{} bytes", header.len());
}
