//! A dish through the seed's verbs: spawned, loaded, run, contained, traced and collected.

use crate::kit::{counter, incubator, sum};
use agar_evolve::dish::{Birth, Comparison, Shadow, ShadowVerdict, Source};
use agar_evolve::search::Origin;
use agar_evolve::{
    Cell, CellError, Condition, Dish, DishError, DishSettings, Incubator, Limits, Penalty,
    RollbackState, Settings, Telemetry, Tree, Watch,
};
use agar_testkit::clock::FixedClock;
use std::collections::BTreeMap;
use std::sync::Arc;

fn dish() -> (Dish, Arc<Telemetry>) {
    let telemetry = Arc::new(Telemetry::default());
    let watch: Arc<dyn Watch> = telemetry.clone();
    (
        Dish::new(incubator(), DishSettings::default(), watch),
        telemetry,
    )
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|index| format!("evo-{index:04}")).collect()
}

#[test]
fn hundreds_live_at_once_and_a_bad_one_is_nobody_elses_trouble() {
    let (dish, telemetry) = dish();
    let good = Tree::formula("x^2").unwrap();
    let spins =
        "(module (func (export \"f\") (param f64) (result f64) (loop $l (br $l)) (f64.const 0)))";
    let ids = names(500);
    let wanted: Vec<_> = ids
        .iter()
        .enumerate()
        .map(|(index, id)| {
            let source = if index % 50 == 7 {
                Source::Wat(spins)
            } else {
                Source::Tree(&good)
            };
            (id.clone(), source, Birth::default())
        })
        .collect();
    assert!(dish.batch_create(&wanted, 2).iter().all(Result::is_ok));
    assert_eq!(dish.len(), 500);
    for id in &ids {
        let limits = Limits {
            instructions: 100_000,
            ..dish.limits()
        };
        dish.update_limits(id, limits).unwrap();
    }
    let said = dish.batch_run(&ids, 2, |cell| cell.map("f", &[3.0]));
    for (index, said) in said.iter().enumerate() {
        if index % 50 == 7 {
            let error = said.as_ref().unwrap_err();
            assert!(
                matches!(error, DishError::Crashed(CellError::Instructions { .. })),
                "{error}"
            );
        } else {
            assert_eq!(said.as_ref().unwrap(), &[9.0]);
        }
    }
    let events = telemetry.read().events;
    assert_eq!(events["sandbox.run.start"], 500);
    assert_eq!(events["sandbox.run.exception"], 10);
    assert_eq!(events["sandbox.killed.resource_limit"], 10);
    assert_eq!(events["sandbox.batch.start"], events["sandbox.batch.stop"]);
    assert!(dish.batch_destroy(&ids, 2).iter().all(Result::is_ok));
    assert!(dish.is_empty());
}

#[test]
fn every_failure_is_a_result_of_its_own() {
    let (dish, _) = dish();
    let tree = Tree::formula("x").unwrap();
    let wanted = [
        ("a".to_owned(), Source::Tree(&tree), Birth::default()),
        ("a".to_owned(), Source::Tree(&tree), Birth::default()),
        ("b".to_owned(), Source::Wat("(module"), Birth::default()),
        ("c".to_owned(), Source::Wasm(b"nonsense"), Birth::default()),
    ];
    let made = dish.batch_create(&wanted, 1);
    assert!(made[0].is_ok());
    assert!(matches!(made[1], Err(DishError::AlreadyExists(_))));
    assert!(matches!(made[2], Err(DishError::ParseFailed(_))));
    assert!(matches!(made[3], Err(DishError::ParseFailed(_))));
    assert_eq!(dish.list(), ["a"]);
    let lost = dish.run("nobody", |cell| cell.map("f", &[1.0]));
    assert!(matches!(lost, Err(DishError::SandboxNotFound(_))));
    assert!(matches!(
        dish.destroy("nobody"),
        Err(DishError::SandboxNotFound(_))
    ));
    let reload = dish.hot_reload_source("a", Source::Wat("(module"));
    assert!(matches!(reload, Err(DishError::ParseFailed(_))));
    assert_eq!(dish.run("a", |cell| cell.map("f", &[4.0])).unwrap(), [4.0]);
}

#[test]
fn who_is_destroyed_during_a_batch_has_no_turn_and_takes_no_room() {
    let (incubator, telemetry) = (incubator(), Arc::new(Telemetry::default()));
    let watch: Arc<dyn Watch> = telemetry.clone();
    let dish = Dish::new(incubator.clone(), DishSettings::default(), watch);
    let ids = names(50);
    for id in &ids {
        let source = Source::Wat(&counter(1, 1));
        dish.create(id, source, Birth::default()).unwrap();
    }
    let live_seen = std::sync::Mutex::new(Vec::new());
    let said = dish.batch_run(&ids, 1, |cell| {
        if live_seen.lock().unwrap().is_empty() {
            for id in &ids[10..] {
                dish.destroy(id).unwrap();
            }
        }
        live_seen.lock().unwrap().push(incubator.in_use().live);
        cell.step(&[1])
    });
    assert!(said[..10].iter().all(Result::is_ok));
    for gone in &said[10..] {
        assert!(matches!(gone, Err(DishError::SandboxNotFound(_))));
    }
    assert_eq!(live_seen.into_inner().unwrap(), [10; 10]);
    assert_eq!(telemetry.read().events["sandbox.run.start"], 10);
}

#[test]
fn code_is_reloaded_under_a_name_that_keeps_its_state() {
    let (dish, _) = dish();
    dish.create("evo", Source::Wat(&counter(1, 1)), Birth::default())
        .unwrap();
    dish.run("evo", |cell| cell.step(&[5])).unwrap();
    assert_eq!(
        dish.hot_reload_source("evo", Source::Wat(&counter(1, 10)))
            .unwrap(),
        2
    );
    let said = dish.run("evo", |cell| cell.step(&[2])).unwrap();
    assert_eq!(sum(&said), 25);
    let history = dish.versions("evo").unwrap();
    assert_eq!((history.current_version, history.total_versions), (2, 2));
    dish.rollback("evo", 1, RollbackState::Current).unwrap();
    let said = dish.run("evo", |cell| cell.step(&[1])).unwrap();
    assert_eq!(sum(&said), 26);
    let usage = dish.resource_usage("evo").unwrap();
    assert_eq!((usage.process_count, usage.message_queue), (1, 0));
    assert!(usage.memory >= 65_536);
}

#[test]
fn lineage_generation_and_fitness_are_told() {
    let (dish, telemetry) = dish();
    let tree = Tree::formula("x").unwrap();
    dish.create("mother", Source::Tree(&tree), Birth::default())
        .unwrap();
    let birth = Birth {
        generation: 5,
        parent_id: Some("mother".to_owned()),
        mutation_type: Origin::Crossover,
    };
    dish.create("child", Source::Tree(&tree), birth).unwrap();
    let info = dish.info("child").unwrap();
    assert_eq!(info.parent_id.as_deref(), Some("mother"));
    assert_eq!((info.generation, info.lineage_depth), (5, 1));
    assert_eq!(info.mutation_type, Origin::Crossover);
    let parts = BTreeMap::from([
        ("correctness".to_owned(), 0.9),
        ("performance".to_owned(), 0.8),
    ]);
    assert!(dish.record_fitness("child", 0.85, parts).unwrap());
    assert!(dish.record_fitness("mother", 0.8, BTreeMap::new()).unwrap());
    assert!(
        !dish
            .record_fitness("mother", f64::NAN, BTreeMap::new())
            .unwrap()
    );
    let both = ["mother".to_owned(), "child".to_owned()];
    assert_eq!(dish.top(&both, 1)[0].0, "child");
    let penalty = Penalty {
        amount: 0.1,
        reason: "anomaly_detected".to_owned(),
    };
    assert!(dish.penalise("child", penalty).unwrap());
    assert_eq!(dish.rank(&both)[0].0, "mother");
    assert_eq!(telemetry.read().events["sandbox.fitness.computed"], 2);
}

#[test]
fn the_dead_and_the_old_are_collected_and_nobody_else() {
    let clock = Arc::new(FixedClock::default());
    let telemetry = Arc::new(Telemetry::default());
    let watch: Arc<dyn Watch> = telemetry.clone();
    let incubator = Incubator::new(&Settings::default(), clock.clone());
    let dish = Dish::new(incubator.clone(), DishSettings::default(), watch);
    let tree = Tree::formula("x").unwrap();
    for generation in 0..6 {
        let birth = Birth {
            generation,
            ..Birth::default()
        };
        dish.create(&format!("g{generation}"), Source::Tree(&tree), birth)
            .unwrap();
    }
    let traps = "(module (memory 1) (func (export \"f\") (i32.store (i32.const 0) (i32.const 1)) unreachable))";
    dish.create(
        "bad",
        Source::Wat(traps),
        Birth {
            generation: 5,
            ..Birth::default()
        },
    )
    .unwrap();
    dish.create_population("p", &["g0".to_owned(), "g5".to_owned()], None);
    for _ in 0..5 {
        dish.advance_generation("p", &["g0".to_owned(), "g5".to_owned()])
            .unwrap();
    }
    assert!(dish.run("bad", |cell| cell.call("f", &[])).is_err());
    assert_eq!(dish.info("bad").unwrap().cell.condition, Condition::Crashed);
    let collected = dish.collect_when_due().unwrap();
    assert_eq!(collected.crashed, ["bad"]);
    assert_eq!(collected.outdated, ["g1"]);
    assert_eq!(dish.list(), ["g0", "g2", "g3", "g4", "g5"]);
    assert!(dish.collect_when_due().is_none());
    clock.advance(60_000);
    assert_eq!(
        dish.collect_when_due(),
        Some(agar_evolve::dish::Collected::default())
    );
    assert_eq!(telemetry.read().collected, 2);
    assert_eq!(incubator.in_use().live, 5);
    drop(dish);
    assert_eq!(incubator.in_use().live, 0);
}

/// Passes each message on to `to`, one byte longer.
fn relay(to: &str) -> String {
    let length = to.len() + 3;
    format!(
        r#"(module (import "agar" "emit" (func $emit (param i32 i32 i32 i32)))
          (memory (export "memory") 1) (data (i32.const 0) "to/{to}")
          (func (export "alloc") (param i32) (result i32) (i32.const 1024))
          (func (export "step") (param $at i32) (param $length i32) (result i64)
            (call $emit (i32.const 0) (i32.const {length})
              (local.get $at) (i32.add (local.get $length) (i32.const 1)))
            (i64.const 0)))"#
    )
}

#[test]
fn individuals_write_to_each_other_and_never_call() {
    let (dish, _) = dish();
    dish.create("a", Source::Wat(&relay("b")), Birth::default())
        .unwrap();
    dish.create("b", Source::Wat(&relay("a")), Birth::default())
        .unwrap();
    dish.create("lonely", Source::Wat(&relay("nobody")), Birth::default())
        .unwrap();
    dish.send("a", b"x".to_vec()).unwrap();
    for round in 0..10 {
        let id = ["a", "b"][round % 2];
        assert_eq!(dish.deliver(id, 5).unwrap().sent, 1);
    }
    assert_eq!(dish.resource_usage("a").unwrap().message_queue, 1);
    dish.send("lonely", b"x".to_vec()).unwrap();
    let delivered = dish.deliver("lonely", 5).unwrap();
    assert_eq!((delivered.answers.len(), delivered.sent), (1, 0));
    assert_eq!(delivered.undelivered[0].0, "nobody");
    for _ in 1..1_000 {
        dish.send("a", Vec::new()).unwrap();
    }
    let full = dish.send("a", Vec::new());
    assert!(matches!(
        full,
        Err(DishError::Crashed(CellError::MailboxFull { .. }))
    ));
}

#[test]
fn a_variant_takes_over_only_when_it_says_the_same_and_costs_hardly_more() {
    let (dish, _) = dish();
    let shadow = Shadow {
        comparisons: 50,
        ..Shadow::default()
    };
    for (factor, verdict) in [(1, ShadowVerdict::Promote), (2, ShadowVerdict::Discard)] {
        dish.create("current", Source::Wat(&counter(1, 1)), Birth::default())
            .unwrap();
        dish.create(
            "variant",
            Source::Wat(&counter(1, factor)),
            Birth::default(),
        )
        .unwrap();
        let mut seen = Comparison::default();
        for _ in 0..50 {
            assert_eq!(seen.verdict(&shadow), ShadowVerdict::Wait);
            dish.ask_with_shadow(("current", "variant"), &[1], &mut seen)
                .unwrap();
        }
        assert_eq!(seen.verdict(&shadow), verdict);
        assert_eq!(dish.promote("current", "variant").unwrap(), 2);
        let said = dish.run("current", |cell| cell.step(&[0])).unwrap();
        assert_eq!(sum(&said), 50);
        dish.destroy("current").unwrap();
    }
}

#[test]
fn a_dish_that_is_tended_is_collected_in_the_background() {
    let telemetry = Arc::new(Telemetry::default());
    let watch: Arc<dyn Watch> = telemetry.clone();
    let settings = DishSettings {
        gc_interval_ms: 1,
        ..DishSettings::default()
    };
    let dish = Arc::new(Dish::new(incubator(), settings, watch));
    let crashes = r#"(module (global $n (mut i32) (i32.const 0))
        (func (export "f") (global.set $n (i32.const 1)) (unreachable)))"#;
    dish.create("good", Source::Wat(&counter(1, 1)), Birth::default())
        .unwrap();
    dish.create("bad", Source::Wat(crashes), Birth::default())
        .unwrap();
    let tending = dish.tend().unwrap();
    dish.run("bad", |cell| cell.call("f", &[])).unwrap_err();
    agar_testkit::wait::until("the crashed one is collected", || dish.list() == ["good"]);
    drop(tending);
    assert_eq!(telemetry.read().collected, 1);
}

#[test]
fn the_defaults_are_the_seeds() {
    let settings = DishSettings::default();
    assert_eq!(settings.gc_interval_ms, 60_000);
    assert_eq!(settings.gc_retain_generations, 3);
    assert_eq!(u64::from(settings.memory_pages_max) << 16, 64 << 20);
    assert_eq!(settings.processes_max, 50);
    assert_eq!(settings.mailbox, 1_000);
    assert_eq!(agar_evolve::Plan::default().retain_generations, 3);
}

#[test]
fn a_variant_in_the_shadow_takes_over_by_itself_or_is_gone() {
    let (dish, _) = dish();
    let shadow = Shadow {
        comparisons: 20,
        ..Shadow::default()
    };
    dish.create("now", Source::Wat(&counter(1, 1)), Birth::default())
        .unwrap();
    for (variant, factor, expected) in [
        ("alike", 1, ShadowVerdict::Promote),
        ("other", 2, ShadowVerdict::Discard),
    ] {
        let text = counter(1, factor);
        dish.create(variant, Source::Wat(&text), Birth::default())
            .unwrap();
        let mut seen = Comparison::default();
        // The variant begins where the current one is.
        let state = dish.run("now", Cell::save).unwrap();
        dish.run(variant, |cell| cell.load(&state)).unwrap();
        let before = dish.versions("now").unwrap().current_version;
        let mut last = ShadowVerdict::Wait;
        for _ in 0..20 {
            assert_eq!(last, ShadowVerdict::Wait);
            let asked = dish.serve_with_shadow(("now", variant), &[1], (&mut seen, &shadow));
            last = asked.unwrap().1;
        }
        assert_eq!(last, expected, "{variant}");
        assert_eq!(dish.list(), ["now"]);
        let after = dish.versions("now").unwrap().current_version;
        assert_eq!(
            after - before,
            u32::from(expected == ShadowVerdict::Promote)
        );
    }
    let said = dish.run("now", |cell| cell.step(&[0])).unwrap();
    assert_eq!(sum(&said), 40);
}
