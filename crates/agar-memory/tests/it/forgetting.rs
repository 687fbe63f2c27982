//! What is forgotten is in no file afterwards.

use crate::world::{World, command, open};
use agar_memory::{Occasion, Status, Suggestion, Target};
use std::path::Path;

/// Every file below that holds one of the words, in any case.
fn holding(directory: &Path, words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(place) = open.pop() {
        for entry in fs_err::read_dir(&place).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
                continue;
            }
            let bytes = fs_err::read(&path).unwrap().to_ascii_lowercase();
            let holds = |word: &&&str| bytes.windows(word.len()).any(|at| at == word.as_bytes());
            let held = words.iter().filter(holds);
            found.extend(held.map(|word| format!("{word} in {}", path.display())));
        }
    }
    found
}

fn secret_one(world: &mut World) -> agar_memory::Learned {
    let suggestion = Suggestion {
        text: "rename the Zanzibar ledger".to_owned(),
        commands: vec![vec!["./zanzibar.sh".to_owned(), "zanzibar-arg".to_owned()]],
        files: vec!["src/zanzibar.rs".to_owned()],
        strategy: Some("zanzibar-way".to_owned()),
        ..Suggestion::default()
    };
    let (learned, sandbox) = world.tried(&suggestion, Status::Failure, |ending| {
        ending.output = "error: could not balance the zanzibar ledger today\n".to_owned();
        ending.changed = vec!["src/zanzibar.rs".to_owned()];
        ending.failure_reasons = vec!["zanzibar broke".to_owned()];
    });
    drop(world.memory.graduate(sandbox, Occasion::Asked, world.now()));
    learned
}

#[test]
fn a_forgotten_experiment_is_in_no_file() {
    let mut world = World::new();
    world.bulk(600, |_| ("cargo update".to_owned(), true));
    let learned = secret_one(&mut world);
    world.memory.tidy().unwrap();
    assert!(!holding(world.directory.path(), &["zanzibar"]).is_empty());
    let before = world.memory.predict(&command("make"), world.now()).unwrap();
    let gone = world
        .memory
        .forget(&Target::Name(learned.id.to_string()))
        .unwrap();
    assert_eq!(gone.experiments, [learned.id]);
    assert_eq!(
        holding(world.directory.path(), &["zanzibar"]),
        Vec::<String>::new()
    );
    let after = world.memory.predict(&command("make"), world.now()).unwrap();
    assert!(after.p >= before.p, "its failure no longer counts");
    assert!(world.memory.experiment(&learned.id.to_string()).is_err());
}

#[test]
fn text_is_forgotten_wherever_it_stands() {
    let mut world = World::new();
    world.tried(&command("cargo update"), Status::Success, |_| {});
    secret_one(&mut world);
    world
        .memory
        .note("ann", "mind the ZANZIBAR ledger", world.now())
        .unwrap();
    let gone = world
        .memory
        .forget(&Target::Text("zanzibar".to_owned()))
        .unwrap();
    assert_eq!((gone.experiments.len(), gone.notes), (1, 1));
    assert_eq!(
        holding(world.directory.path(), &["zanzibar"]),
        Vec::<String>::new()
    );
    assert_eq!(world.memory.experiments(None, 10).unwrap().len(), 1);
}

#[test]
fn forgetting_everything_leaves_other_projects_alone() {
    let mut world = World::new();
    secret_one(&mut world);
    let other = crate::world::project(2);
    let mut elsewhere = open(world.directory.path()).of_project(other);
    elsewhere.note("bob", "kept", world.now()).unwrap();
    world.memory.forget(&Target::Everything).unwrap();
    assert_eq!(
        holding(world.directory.path(), &["zanzibar"]),
        Vec::<String>::new()
    );
    assert_eq!(elsewhere.notes().unwrap().len(), 1);
    assert_eq!(world.memory.stats().unwrap().experiments, 0);
}

#[test]
fn secrets_never_reach_the_disk() {
    let mut world = World::new();
    let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let mut suggestion = command(&format!("deploy --token hunter-two-{}", "x1"));
    suggestion.text = format!("deploy with {token}");
    suggestion
        .context
        .insert("password".to_owned(), "hunter-three".into());
    world.tried(&suggestion, Status::Failure, |ending| {
        ending.output = format!("error: cannot push with {token} to the remote\n");
    });
    world
        .memory
        .note("ann", &format!("use {token}"), world.now())
        .unwrap();
    let words = [
        token.to_ascii_lowercase(),
        "hunter-two".to_owned(),
        "hunter-three".to_owned(),
    ];
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    assert_eq!(
        holding(world.directory.path(), &words),
        Vec::<String>::new()
    );
}
