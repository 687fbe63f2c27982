//! From the first suggestion to a pattern.

use crate::world::{DAY, World, command};
use agar_memory::{
    Band, CheckEvidence, LessonState, Memory, Occasion, Status, Suggestion, Target, Verdict,
};

#[test]
fn without_evidence_it_says_so() {
    let world = World::new();
    let said = world
        .memory
        .predict(&Suggestion::new("upgrade axum"), world.now())
        .unwrap();
    assert!(!said.is_known());
    assert_eq!(said.headline(), "no evidence yet");
    assert!((said.p - 0.5).abs() < 1e-9 && said.evidence == 0.0);
}

#[test]
fn what_works_raises_what_fails_lowers() {
    let mut world = World::new();
    for _ in 0..6 {
        world.tried(&command("cargo update"), Status::Success, |_| {});
        world.tried(&command("npm audit fix"), Status::Failure, |_| {});
    }
    let likely = world
        .memory
        .predict(&command("cargo update"), world.now())
        .unwrap();
    let unlikely = world
        .memory
        .predict(&command("npm audit fix"), world.now())
        .unwrap();
    assert!(likely.p > 0.8, "{likely:?}");
    assert!(unlikely.p < 0.2, "{unlikely:?}");
    assert_eq!((likely.band, unlikely.band), (Band::Green, Band::Red));
    assert_eq!(likely.here, (6, 6));
    assert!(likely.low <= likely.p && likely.p <= likely.high);
    assert_eq!(unlikely.lessons.len(), 1);
}

#[test]
fn old_evidence_falls_back_to_the_prior_not_to_failure() {
    let mut world = World::new();
    for _ in 0..10 {
        world.tried(&command("cargo update"), Status::Success, |_| {});
    }
    let fresh = world
        .memory
        .predict(&command("cargo update"), world.now())
        .unwrap();
    world.pass(400 * DAY);
    let old = world
        .memory
        .predict(&command("cargo update"), world.now())
        .unwrap();
    assert!(old.p < fresh.p && old.p > 0.5, "{} {}", fresh.p, old.p);
    assert!(old.evidence < fresh.evidence);
}

#[test]
fn a_pattern_graduates_when_the_thresholds_hold_and_is_refused_with_reasons_before() {
    let mut world = World::new();
    world.tried(&command("make lint"), Status::Failure, |_| {});
    let (_, first) = world.tried(&command("cargo update"), Status::Success, |_| {});
    let early = world
        .memory
        .graduate(first, Occasion::Ended, world.now())
        .unwrap();
    assert!(early.graduated.is_empty());
    assert!(
        early.refused[0].why[0].contains("minSimilarSuccesses"),
        "{early:?}"
    );
    let mut last = first;
    for _ in 0..4 {
        last = world
            .tried(&command("cargo update"), Status::Success, |_| {})
            .1;
    }
    let now = world.now();
    let graduation = world.memory.graduate(last, Occasion::Ended, now).unwrap();
    let sentences: Vec<&str> = graduation
        .graduated
        .iter()
        .map(|it| it.sentence.as_str())
        .collect();
    assert!(
        sentences.contains(&"`cargo update` works here: 5 of 5"),
        "{graduation:?}"
    );
    assert!(graduation.memories > 0 && graduation.conversations.len() == 1);
    let again = world.memory.graduate(last, Occasion::Asked, now).unwrap();
    assert_eq!(again.graduated, graduation.graduated);
    let patterns = world.memory.patterns(now).unwrap();
    assert!(patterns.iter().all(|pattern| pattern.from == [last]));
    let provenance = world.memory.provenance(&patterns[0].id).unwrap();
    assert_eq!(provenance.experiments.len(), 5);
}

#[test]
fn a_lesson_is_quarantined_then_confirmed_then_contradicted_then_retired() {
    let mut world = World::new();
    let migrate = command("./migrate.sh orders");
    let fail = |world: &mut World| {
        world
            .tried(&migrate, Status::Failure, |ending| {
                ending.output = "ERROR: relation \"orders\" does not exist\n".to_owned();
            })
            .0
    };
    for _ in 0..8 {
        world.tried(&command("cargo fmt"), Status::Success, |_| {});
    }
    let learned = fail(&mut world);
    assert_eq!(
        learned.headline,
        "`migrate.sh` failed: relation '…' does not exist (1 of 1)"
    );
    let state = |world: &World| {
        let lessons = world.memory.lessons(world.now()).unwrap();
        lessons
            .iter()
            .find(|it| it.sentence.contains("relation"))
            .unwrap()
            .state
    };
    assert_eq!(state(&world), LessonState::Quarantined);
    fail(&mut world);
    fail(&mut world);
    assert_eq!(state(&world), LessonState::Confirmed);
    let said = world.memory.predict(&migrate, world.now()).unwrap();
    assert!(
        said.lessons
            .iter()
            .any(|it| it.sentence.contains("relation"))
    );
    let mut states = Vec::new();
    for _ in 0..14 {
        world.pass(5 * DAY);
        world.tried(&migrate, Status::Success, |_| {});
        states.push(state(&world));
    }
    assert!(states.contains(&LessonState::Contradicted), "{states:?}");
}

#[test]
fn the_memory_of_a_sandbox_goes_when_nothing_in_it_could_graduate() {
    let mut world = World::new();
    let (_, old) = world.tried(&command("cargo update"), Status::Success, |_| {});
    let (_, kept) = world.tried(&command("cargo update"), Status::Success, |_| {});
    let (_, open) = world.begin(&command("cargo update"));
    world.pass(31 * DAY);
    let (_, new) = world.tried(&command("cargo update"), Status::Success, |_| {});
    let there = |sandbox| sandbox == kept;
    let dropped = world.memory.drop_sandbox_memories(&there, world.now());
    assert_eq!(dropped.unwrap(), 1);
    let has = |sandbox| Memory::sandbox_file(world.directory.path(), sandbox).exists();
    assert_eq!([old, kept, open, new].map(has), [false, true, true, true]);
    // What was tried is still known.
    assert_eq!(world.memory.experiments(None, 9).unwrap().len(), 4);
}

#[test]
fn words_that_are_a_command_known_here_are_that_command() {
    let mut world = World::new();
    for _ in 0..3 {
        world.tried(&command("npm update"), Status::Failure, |ending| {
            ending.output = "npm ERR! ERESOLVE unable to resolve dependency tree\n".to_owned();
        });
    }
    let ask = |world: &World, text: &str| {
        let suggestion = Suggestion::new(text);
        world.memory.predict(&suggestion, world.now()).unwrap()
    };
    let said = ask(&world, "npm update");
    assert!(said.similar[0].likeness > 0.999, "{said:?}");
    let warns = |sort: &str| said.lessons.iter().any(|it| it.sentence.contains(sort));
    assert!(warns("`npm update` fails here: 3 of 3"), "{said:?}");
    assert!(warns("ERESOLVE"), "{said:?}");
    assert!(ask(&world, "cargo update").lessons.is_empty());
}

#[test]
fn the_first_failure_is_told_by_its_error_and_the_second_by_the_command_too() {
    let mut world = World::new();
    let mut lessons = Vec::new();
    for _ in 0..2 {
        world.tried(&command("./migrate.sh orders"), Status::Failure, |ending| {
            ending.output = "ERROR: relation \"orders\" does not exist\n".to_owned();
        });
        lessons.push(world.memory.lessons(world.now()).unwrap().len());
    }
    assert_eq!(lessons, [1, 2]);
}

#[test]
fn what_could_not_be_decided_teaches_nothing() {
    let mut world = World::new();
    let verdict = |verdict| CheckEvidence {
        name: "test".to_owned(),
        verdict,
        passed: 0,
        failed: 0,
        newly_failing: Vec::new(),
        newly_passing: Vec::new(),
        millis: 5,
    };
    let mut tried = |found| {
        let (learned, _) = world.tried(&command("cargo update"), Status::Partial, |ending| {
            ending.operations[0].exit = Some(0);
            ending.checks = vec![verdict(found)];
        });
        (learned, world.memory.lessons(world.now()).unwrap().len())
    };
    let (learned, lessons) = tried(Verdict::Undecided);
    assert_eq!(
        (learned.headline.as_str(), lessons),
        ("\"cargo update\" could not be judged", 0)
    );
    assert_eq!(tried(Verdict::Fail).1, 1);
}

#[test]
fn a_lesson_goes_with_the_last_failure_that_taught_it() {
    let mut world = World::new();
    let (failed, _) = world.tried(&command("cargo update"), Status::Failure, |_| {});
    world.tried(&command("cargo update"), Status::Success, |_| {});
    assert_eq!(world.memory.lessons(world.now()).unwrap().len(), 1);
    world
        .memory
        .forget(&Target::Name(failed.id.to_string()))
        .unwrap();
    assert_eq!(world.memory.lessons(world.now()).unwrap(), []);
}
