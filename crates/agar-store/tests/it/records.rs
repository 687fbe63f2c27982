//! What is written is what is read, and the journal says so.

use crate::world::{World, at};
use agar_core::limits::{Breach, Resource};
use agar_core::run::{End, Usage};
use agar_core::state::{Event, State};
use agar_store::{Fact, Lookup, NewRun, PromotionState, RunEnd, Scope, Store, StoreError, Writer};
use serde_json::json;
use std::path::Path;

#[test]
fn a_sandbox_is_read_as_it_was_written() {
    let mut world = World::new();
    let project = world.project("/src/shop");
    let made = world.sandbox(project.id, "calm-fern");
    assert_eq!(made.state, State::Creating);
    assert_eq!(world.store.read().sandbox(made.id).unwrap(), made);
    let listed = world.store.read().sandboxes(Some(project.id), Scope::Kept);
    assert_eq!(listed.unwrap(), vec![made]);
}

#[test]
fn every_change_of_a_sandbox_is_in_the_journal() {
    let mut world = World::new();
    let project = world.project("/src/shop").id;
    let sandbox = world.sandbox(project, "calm-fern").id;
    let argv = ["make".to_owned(), "--token=abc".to_owned()];
    let breach = Breach {
        resource: Resource::Memory,
        limit: 512,
        seen: 600,
        culprit: None,
    };
    let run = world.store.write::<_, StoreError>(|writer| {
        writer.advance_sandbox(sandbox, Event::Start, at(3))?;
        let new = NewRun {
            sandbox,
            argv: &argv,
            cwd: Path::new("/src/shop"),
        };
        let number = writer.start_run(&new, at(4))?;
        let end = End::Stopped { breach };
        let ended = RunEnd {
            end: &end,
            usage: Usage::default(),
            report: Some("{}"),
            log_bytes: 7,
        };
        writer.end_run(sandbox, number, &ended, at(5))?;
        writer.advance_sandbox(sandbox, Event::Finish, at(6))?;
        Ok(number)
    });
    assert_eq!(run.unwrap(), 1);
    let entries = world.store.read().journal_since(project, 0, 100).unwrap();
    let kinds: Vec<&str> = entries.iter().map(|entry| entry.fact.kind()).collect();
    assert_eq!(
        kinds,
        [
            "sandbox.created",
            "sandbox.state",
            "run.started",
            "limit.breached",
            "run.ended",
            "sandbox.state"
        ]
    );
    let numbers: Vec<u64> = entries.iter().map(|entry| entry.number).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6]);
    let started = &entries[2].fact;
    assert_eq!(
        started,
        &Fact::RunStarted {
            run: 1,
            argv: vec!["make".to_owned(), "--token=[redacted]".to_owned()]
        }
    );
}

#[test]
fn a_transaction_that_fails_leaves_neither_record_nor_journal() {
    let mut world = World::new();
    let project = world.project("/src/shop").id;
    let sandbox = world.sandbox(project, "calm-fern").id;
    let before = world.store.read().journal_latest(project).unwrap();
    let failed = world.store.write::<(), StoreError>(|writer| {
        writer.advance_sandbox(sandbox, Event::Start, at(3))?;
        writer.advance_sandbox(sandbox, Event::Promote, at(4))?;
        Ok(())
    });
    assert!(matches!(failed, Err(StoreError::OutOfTurn(_))));
    let read = world.store.read();
    assert_eq!(read.sandbox(sandbox).unwrap().state, State::Creating);
    assert_eq!(read.journal_latest(project).unwrap(), before);
}

#[test]
fn an_alias_is_free_again_once_its_sandbox_is_collected() {
    let mut world = World::new();
    let project = world.project("/src/shop").id;
    let first = world.sandbox(project, "calm-fern").id;
    let mut second = world.new_sandbox(project);
    second.alias = Some("calm-fern".to_owned());
    let numbers = &world.numbers;
    let refused = world
        .store
        .write(|writer| writer.create_sandbox(&second, numbers, at(3)));
    assert!(matches!(refused, Err(StoreError::AliasTaken(_))));
    let made = world.store.write::<_, StoreError>(|writer| {
        writer.advance_sandbox(first, Event::Discard, at(3))?;
        writer.advance_sandbox(first, Event::Collect, at(4))?;
        writer.create_sandbox(&second, numbers, at(5))
    });
    assert_eq!(made.unwrap().alias, "calm-fern");
}

#[test]
fn the_name_of_one_in_the_trash_is_free_and_nobody_is_lost_by_that() {
    let mut world = World::new();
    let project = world.project("/src/shop").id;
    let first = world.sandbox(project, "calm-fern").id;
    let mut second = world.new_sandbox(project);
    second.alias = Some("calm-fern".to_owned());
    let numbers = &world.numbers;
    let made = world.store.write::<_, StoreError>(|writer| {
        writer.advance_sandbox(first, Event::Discard, at(3))?;
        writer.create_sandbox(&second, numbers, at(4))
    });
    let made = made.unwrap();
    let read = world.store.read();
    let found = |lookup: Lookup| match lookup {
        Lookup::Found(sandbox) => Some(sandbox.id),
        Lookup::Missing { .. } | Lookup::Ambiguous(_) => None,
    };
    for name in ["calm-fern", "calm"] {
        assert_eq!(found(read.find_sandbox(name, None).unwrap()), Some(made.id));
        assert_eq!(found(read.find_in_trash(name, None).unwrap()), Some(first));
    }
    let id = first.to_string();
    assert_eq!(found(read.find_sandbox(&id, None).unwrap()), Some(first));
    let back = world
        .store
        .write(|writer| writer.take_back_sandbox(first, numbers, at(5)))
        .unwrap();
    assert_eq!(back.state, State::Finished);
    assert_ne!(back.alias, "calm-fern");
    let last = world.store.read().journal_since(project, 0, 100).unwrap();
    let renamed = Fact::SandboxRenamed {
        from: "calm-fern".to_owned(),
        to: back.alias,
    };
    assert!(last.iter().any(|entry| entry.fact == renamed));
}

#[test]
fn what_looks_like_an_id_is_no_name() {
    let mut world = World::new();
    let project = world.project("/src/shop").id;
    let mut new = world.new_sandbox(project);
    new.alias = Some(new.id.to_string());
    let numbers = &world.numbers;
    let refused = world
        .store
        .write(|writer| writer.create_sandbox(&new, numbers, at(3)));
    assert!(matches!(refused, Err(StoreError::AliasIsId(_))));
}

#[test]
fn a_sandbox_is_found_by_alias_prefix_or_id() {
    let mut world = World::new();
    let project = world.project("/src/shop").id;
    let fern = world.sandbox(project, "calm-fern");
    let fox = world.sandbox(project, "calm-fox");
    let read = world.store.read();
    let find = |name: &str| read.find_sandbox(name, None).unwrap();
    assert_eq!(find("calm-fern"), Lookup::Found(Box::new(fern.clone())));
    assert_eq!(find("calm-fe"), Lookup::Found(Box::new(fern.clone())));
    assert_eq!(
        find(&fox.id.to_string().to_uppercase()),
        Lookup::Found(Box::new(fox.clone()))
    );
    assert_eq!(find("calm"), Lookup::Ambiguous(vec![fern, fox]));
    assert_eq!(
        find("clam-fern"),
        Lookup::Missing {
            nearest: Some("calm-fern".to_owned())
        }
    );
    assert_eq!(find("%"), Lookup::Missing { nearest: None });
    assert_eq!(find(""), Lookup::Missing { nearest: None });
}

#[test]
fn a_promotion_is_applied_once_and_undone_once() {
    let mut world = World::new();
    let project = world.project("/src/shop").id;
    let sandbox = world.sandbox(project, "calm-fern").id;
    let id = world.promotion_id();
    let summary = json!({ "files": 1 });
    for _ in 0..2 {
        world
            .store
            .write::<_, StoreError>(|writer| {
                writer.start_promotion(id, sandbox, &json!({}), at(3))?;
                writer.promotion_applied(id, &summary, at(4))
            })
            .unwrap();
    }
    let last = world.store.read().last_applied(project).unwrap().unwrap();
    assert_eq!((last.id, last.summary), (id, summary));
    world
        .store
        .write(|writer| writer.promotion_undone(id, None, at(5)))
        .unwrap();
    assert_eq!(world.store.read().last_applied(project).unwrap(), None);
    let again = world
        .store
        .write(|writer| writer.promotion_applied(id, &json!({}), at(6)));
    assert!(matches!(
        again,
        Err(StoreError::PromotionOutOfTurn {
            from: PromotionState::Undone,
            ..
        })
    ));
    let entries = world.store.read().journal_since(project, 1, 100).unwrap();
    let kinds: Vec<&str> = entries.iter().map(|entry| entry.fact.kind()).collect();
    assert_eq!(
        kinds,
        ["promotion.started", "promotion.applied", "promotion.undone"]
    );
}

#[test]
fn the_journal_of_one_sandbox_and_its_open_runs_are_read_without_the_others() {
    let mut world = World::new();
    let project = world.project("/src/shop").id;
    let sandboxes = [
        world.sandbox(project, "calm-fern").id,
        world.sandbox(project, "loud-oak").id,
    ];
    let start = |world: &mut World, sandbox| {
        let new = NewRun {
            sandbox,
            argv: &["true".to_owned()],
            cwd: Path::new("/src/shop"),
        };
        let started = |writer: &Writer<'_>| writer.start_run(&new, at(3));
        world.store.write::<_, StoreError>(started).unwrap()
    };
    for _ in 0..3 {
        for sandbox in sandboxes {
            start(&mut world, sandbox);
        }
    }
    let end = End::Exited { code: 0 };
    let ended = RunEnd {
        end: &end,
        usage: Usage::default(),
        report: None,
        log_bytes: 0,
    };
    let finish = |writer: &Writer<'_>| writer.end_run(sandboxes[0], 2, &ended, at(4));
    world.store.write::<_, StoreError>(finish).unwrap();
    let reader = world.store.read();
    assert_eq!(reader.open_runs(sandboxes[0]).unwrap(), [1, 3]);
    assert_eq!(reader.open_runs(sandboxes[1]).unwrap(), [1, 2, 3]);
    assert_eq!(reader.run_count(sandboxes[0]).unwrap(), 3);
    let all = reader.journal_since(project, 0, 100).unwrap();
    for (sandbox, count) in [(sandboxes[0], 5), (sandboxes[1], 4)] {
        let about = |after, max| {
            let whose = (project, sandbox);
            reader.journal_about(whose, after, max).unwrap()
        };
        let mut expected = all.clone();
        expected.retain(|entry| entry.sandbox == Some(sandbox));
        assert_eq!(about(0, 100), expected);
        assert_eq!(expected.len(), count);
        assert_eq!(about(expected[1].number, 2), expected[2..4]);
    }
}

#[test]
fn the_version_changes_when_somebody_else_records_something() {
    let mut world = World::new();
    let other = Store::open(&world.path()).unwrap();
    let before = other.read().version().unwrap();
    assert_eq!(other.read().version().unwrap(), before, "nothing happened");
    world.project("/src/shop");
    assert_ne!(other.read().version().unwrap(), before);
}
