//! Memory moves as lines and says the same elsewhere.

use crate::world::{World, command, open, project};
use agar_memory::{Decision, Export, Imported, Occasion, Status, Suggestion};
use std::io::Cursor;

fn lines(world: &World, what: Export) -> Vec<u8> {
    let mut out = Vec::new();
    world.memory.export(what, &mut out).unwrap();
    out
}

#[test]
fn an_export_imported_elsewhere_gives_the_same_answers() {
    let mut world = World::new();
    let mut last = None;
    for number in 0..8 {
        let status = if number % 4 == 3 {
            Status::Failure
        } else {
            Status::Success
        };
        last = Some(world.tried(&command("cargo update"), status, |_| {}));
    }
    let (learned, _) = last.unwrap();
    let decision = Decision {
        accepted: false,
        feedback: Some("no".to_owned()),
        at: world.now(),
    };
    world.memory.decide(learned.id, &decision).unwrap();
    world
        .memory
        .note("ann", "mind the gap", world.now())
        .unwrap();
    let (_, sandbox) = world.tried(&command("cargo update"), Status::Success, |_| {});
    world
        .memory
        .graduate(sandbox, Occasion::Asked, world.now())
        .unwrap();
    let text = lines(&world, Export::Memory);
    let elsewhere = tempfile::tempdir().unwrap();
    let mut other = open(elsewhere.path()).of_project(project(9));
    let imported = other.import(&mut Cursor::new(&text)).unwrap();
    let patterns = imported.patterns;
    assert_eq!(
        imported,
        Imported {
            experiments: 9,
            known: 0,
            notes: 1,
            patterns
        }
    );
    let again = other.import(&mut Cursor::new(&text)).unwrap();
    assert_eq!(
        again,
        Imported {
            known: 10 + patterns,
            ..Imported::default()
        }
    );
    assert_eq!(other.notes().unwrap().len(), 1);
    let ask = command("cargo update");
    let (here, there) = (
        world.memory.predict(&ask, world.now()).unwrap(),
        other.predict(&ask, world.now()).unwrap(),
    );
    assert!((here.p - there.p).abs() < 1e-9);
    assert_eq!(
        world.memory.patterns(world.now()).unwrap().len(),
        other.patterns(world.now()).unwrap().len()
    );
    assert_eq!(
        other.experiment(&learned.id.to_string()).unwrap().decision,
        Some(decision)
    );
}

#[test]
fn training_lines_carry_their_provenance() {
    let mut world = World::new();
    let way = |strategy: &str| Suggestion {
        strategy: Some(strategy.to_owned()),
        problem: Some("upgrade".to_owned()),
        ..Suggestion::new("upgrade everything")
    };
    world.tried(&way("slow"), Status::Success, |_| {});
    world.tried(&way("fast"), Status::Failure, |_| {});
    let chat = String::from_utf8(lines(&world, Export::Chat)).unwrap();
    assert_eq!(chat.lines().count(), 2);
    let pairs = String::from_utf8(lines(&world, Export::Preferences)).unwrap();
    let pair: serde_json::Value = serde_json::from_str(pairs.lines().next().unwrap()).unwrap();
    assert_eq!(pairs.lines().count(), 1);
    assert!(pair["chosen"].as_str().unwrap().contains("slow"));
    assert!(pair["rejected"].as_str().unwrap().contains("fast"));
    assert!(pair.pointer("/provenance/chosen/experiment").is_some());
}

#[test]
fn a_line_that_is_no_export_is_named() {
    let mut world = World::new();
    let error = world.memory.import(&mut Cursor::new(b"{}\n")).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("line 1 is not an exported memory"),
        "{error}"
    );
}
