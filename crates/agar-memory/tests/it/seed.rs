//! The first seed's use cases with scripted outcomes: what can be found from evidence is found, and
//! what cannot enters as a note and is shown as one.

use crate::world::{World, command};
use agar_memory::{CheckEvidence, Occasion, PackageMove, Status, Suggestion, Verdict};

fn moved(name: &str, to: &str) -> PackageMove {
    PackageMove {
        name: name.to_owned(),
        from: None,
        to: Some(to.to_owned()),
    }
}

fn upgrade(strategy: &str) -> Suggestion {
    Suggestion {
        text: "upgrade all dependencies to their latest versions".to_owned(),
        strategy: Some(strategy.to_owned()),
        problem: Some("upgrade everything".to_owned()),
        ..Suggestion::default()
    }
}

fn sentences(world: &World) -> Vec<String> {
    let words = "together past broke packages date costs measured dependency changes all-at-once";
    let found = world.memory.search(words, 200, world.now()).unwrap();
    found
        .into_iter()
        .filter_map(|found| match found {
            agar_memory::Found::Finding { sentence, .. } => Some(sentence),
            agar_memory::Found::Experiment { .. } | agar_memory::Found::Note { .. } => None,
        })
        .collect()
}

#[test]
fn the_package_upgrade_tournament_teaches_what_the_seed_says_it_should() {
    let mut world = World::new();
    for _ in 0..3 {
        world.tried(&upgrade("all-at-once"), Status::Failure, |ending| {
            ending.packages = (0..9).map(|n| moved(&format!("p{n}"), "9.0.0")).collect();
            ending.failure_reasons = vec!["15 breaking changes".to_owned()];
        });
        world.tried(&upgrade("incremental"), Status::Success, |_| {});
        world.tried(&upgrade("conservative"), Status::Partial, |_| {});
    }
    // One package alone breaks, both together work.
    for _ in 0..2 {
        world.tried(&upgrade("incremental"), Status::Failure, |ending| {
            ending.packages = vec![moved("axum", "0.9.0")];
        });
    }
    for _ in 0..2 {
        world.tried(&upgrade("incremental"), Status::Success, |ending| {
            ending.packages = vec![moved("axum", "0.9.0"), moved("tower", "0.6.0")];
        });
    }
    // Past 0.9.30 it breaks a test.
    for (version, status) in [
        ("0.9.20", Status::Success),
        ("0.9.30", Status::Success),
        ("0.9.31", Status::Failure),
        ("0.9.34", Status::Failure),
        ("0.9.33", Status::Failure),
    ] {
        world.tried(&upgrade("incremental"), status, |ending| {
            ending.packages = vec![moved("serde_yaml", version)];
            if status == Status::Failure {
                ending.checks = vec![CheckEvidence {
                    name: "tests".to_owned(),
                    verdict: Verdict::Fail,
                    passed: 147,
                    failed: 1,
                    newly_failing: vec!["tests::config".to_owned()],
                    newly_passing: Vec::new(),
                    millis: 900,
                }];
            }
        });
    }
    let said = sentences(&world);
    for expected in [
        "axum and tower must move together (4 of 4)",
        "`serde_yaml` past 0.9.30 broke tests::config (3 of 3)",
        "`all-at-once` for dependency changes fails here: 3 of 3",
    ] {
        assert!(
            said.contains(&expected.to_owned()),
            "{expected} is not in {said:#?}"
        );
    }
    // Before the next attempt the strategies are told apart, and the losing one warned of.
    let now = world.now();
    let all = world.memory.predict(&upgrade("all-at-once"), now).unwrap();
    let incremental = world.memory.predict(&upgrade("incremental"), now).unwrap();
    assert!(incremental.p > all.p, "{} {}", incremental.p, all.p);
    assert!(
        all.lessons
            .iter()
            .any(|it| it.sentence.contains("all-at-once"))
    );
    let bump = command("cargo update -p serde_yaml --precise 0.9.34");
    let warned = world.memory.predict(&bump, now).unwrap();
    assert!(
        warned
            .lessons
            .iter()
            .any(|it| it.sentence.contains("past 0.9.30")),
        "{warned:?}"
    );
}

#[test]
fn the_overhead_of_a_patch_is_measured() {
    let mut world = World::new();
    let patch = Suggestion {
        text: "apply the security patch to the session handler".to_owned(),
        strategy: Some("session patch".to_owned()),
        ..Suggestion::default()
    };
    for ratio in [1.014, 1.02, 1.017] {
        world.tried(&patch, Status::Success, |ending| {
            ending.performance_ratio = Some(ratio);
        });
    }
    let said = sentences(&world);
    assert!(
        said.contains(&"`session patch` costs 1.7 % (3 measured)".to_owned()),
        "{said:#?}"
    );
}

#[test]
fn the_database_migration_scenario() {
    let mut world = World::new();
    let migrate = Suggestion {
        text: "Help me migrate from MongoDB to PostgreSQL".to_owned(),
        commands: vec![vec!["./scripts/migrate.sh".to_owned()]],
        ..Suggestion::default()
    };
    for date in ["2024-13-01", "15.11.2026", "31/12/99"] {
        world.tried(&migrate, Status::Failure, |ending| {
            ending.output = format!("ERROR:  invalid input syntax for type date: \"{date}\"\n");
        });
    }
    world
        .memory
        .note(
            "ann",
            "Always backup before database migrations with migrate.sh",
            world.now(),
        )
        .unwrap();
    let now = world.now();
    let said = world.memory.predict(&migrate, now).unwrap();
    let date = "`migrate.sh` failed: invalid input syntax for type date '…' (3 of 3)";
    assert!(
        said.lessons.iter().any(|it| it.sentence == date),
        "{said:?}"
    );
    assert!(said.p < 0.4);
    // What a person knows is a note: shown, named, and without evidence.
    assert_eq!(said.notes[0].author, "ann");
    let lessons = world.memory.lessons(now).unwrap();
    assert!(lessons.iter().all(|it| !it.sentence.contains("backup")));
    // Then it works, and the exchange is kept when it graduates.
    let mut last = None;
    for _ in 0..4 {
        last = Some(world.tried(&migrate, Status::Success, |_| {}).1);
    }
    let sandbox = last.unwrap();
    let graduation = world
        .memory
        .graduate(sandbox, Occasion::Accepted, world.now())
        .unwrap();
    assert_eq!(graduation.conversations.len(), 1);
    assert!(world.memory.predict(&migrate, world.now()).unwrap().p > said.p);
}

#[test]
fn the_seed_reads_an_experiment_in_its_own_words() {
    let mut world = World::new();
    let (learned, _) = world.tried(&command("cargo update"), Status::Partial, |ending| {
        ending.metrics.tests_pass = Some(false);
        ending.partial = Some(agar_memory::PartialSuccess {
            what_worked: vec!["build".to_owned()],
            what_failed: vec!["tests".to_owned()],
        });
    });
    let json = serde_json::to_value(world.memory.sandbox_memory(learned.id).unwrap()).unwrap();
    for path in [
        "/sandboxId",
        "/experimentId",
        "/parentMemoryPath",
        "/experiment/aiSuggestion",
        "/experiment/originalContext",
        "/outcome/successMetrics/testsPass",
        "/outcome/partialSuccess/whatWorked/0",
        "/lessons/insights",
        "/lessons/confidenceAdjustment",
        "/lessons/similarExperiments",
        "/evolution/memoriesCreated/0",
        "/evolution/memoriesModified",
        "/evolution/patternsDetected/0/description",
        "/evolution/graduationCandidate",
    ] {
        assert!(
            json.pointer(path).is_some(),
            "{path} is missing in {json:#}"
        );
    }
    assert_eq!(json.pointer("/outcome/status").unwrap(), "partial");
}
