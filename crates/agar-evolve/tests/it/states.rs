//! State: saved, carried over, put to sleep, taken back.

use crate::kit::{cell, counter, genome, incubator, sum, tight};
use agar_evolve::{
    CellError, Condition, Migration, Probe, RollbackState, State, Swap, SwapStep, VERSIONS_KEPT,
};

#[test]
fn a_swap_carries_the_state_into_the_new_genome() {
    let mut cell = cell(&counter(1, 1));
    assert_eq!(sum(&cell.step(&[5]).unwrap()), 5);
    assert_eq!(
        cell.swap(Swap::to(genome(&counter(1, 10)), "tenfold")),
        Ok(2)
    );
    assert_eq!(sum(&cell.step(&[1]).unwrap()), 15);
    let history = cell.history();
    assert_eq!((history.current_version, history.total_versions), (2, 2));
    assert_eq!(
        history.versions[0]
            .snapshot
            .as_ref()
            .map(|it| sum(&it.bytes)),
        Some(5)
    );
    assert_eq!(history.versions[1].reason, "tenfold");
}

#[test]
fn another_schema_is_migrated_by_the_guest_or_by_the_host() {
    let mut cell = cell(&counter(1, 1));
    cell.step(&[5]).unwrap();
    cell.swap(Swap::to(genome(&counter(2, 1)), "guest"))
        .unwrap();
    assert_eq!(sum(&cell.step(&[0]).unwrap()), 5);
    let double = |state: &State, schema: u32| {
        let bytes = (2 * sum(&state.bytes)).to_le_bytes().to_vec();
        Ok(State { schema, bytes })
    };
    let swap = Swap {
        migration: Migration::Host(&double),
        ..Swap::to(genome(&counter(3, 1)), "host")
    };
    cell.swap(swap).unwrap();
    assert_eq!(sum(&cell.step(&[0]).unwrap()), 10);
}

/// A counter whose named function does as told instead.
fn broken(function: &str, body: &str) -> String {
    let text = counter(2, 1);
    let start = text
        .find(&format!("(func (export \"{function}\")"))
        .unwrap();
    let renamed = format!("(func (export \"old_{function}\")");
    let whole = format!(
        "{}{}",
        &text[..start],
        &text[start..].replacen(&format!("(func (export \"{function}\")"), &renamed, 1)
    );
    let end = whole.rfind(')').unwrap();
    format!("{} {body})", &whole[..end])
}

#[test]
fn a_failed_swap_leaves_the_old_one_running() {
    let trap = "(func (export \"load\") (param i32 i32 i32) (result i32) unreachable)";
    let refuse = "(func (export \"load\") (param i32 i32 i32) (result i32) (i32.const 9))";
    let spin =
        "(func (export \"migrate\") (param i32 i32 i32) (result i64) (loop (br 0)) (i64.const 0))";
    let outside = "(func (export \"migrate\") (param i32 i32 i32) (result i64) (i64.const 0x7fffffff_00000001))";
    let alloc = "(func (export \"alloc\") (param i32) (result i32) (i32.const -1))";
    let born = "(data (i32.const 65535) \"xx\")";
    let mut cell = cell(&counter(1, 1));
    cell.step(&[5]).unwrap();
    let ticket = cell.send(vec![7]).unwrap();
    for (text, step) in [
        (broken("load", trap), SwapStep::Load),
        (broken("load", refuse), SwapStep::Load),
        (broken("migrate", spin), SwapStep::Migrate),
        (broken("migrate", outside), SwapStep::Migrate),
        (broken("alloc", alloc), SwapStep::Migrate),
        (
            counter(2, 1).trim_end_matches(')').to_owned() + ")) " + born + ")",
            SwapStep::Hatch,
        ),
    ] {
        let error = cell.swap(Swap::to(genome(&text), "broken")).unwrap_err();
        assert_eq!(error.step, step, "{error:?}");
    }
    assert_eq!(cell.history().total_versions, 1);
    assert_eq!(cell.condition(), Condition::Awake);
    let answers = cell.work(10);
    assert_eq!(answers[0].ticket, ticket);
    assert_eq!(answers[0].result.as_ref().map(|bytes| sum(bytes)), Ok(12));
}

#[test]
fn an_old_genome_that_cannot_save_goes_on() {
    let trap = "(func (export \"save\") (result i64) unreachable)";
    let mut cell = cell(&broken("save", trap));
    cell.step(&[5]).unwrap();
    let error = cell.swap(Swap::to(genome(&counter(2, 1)), "")).unwrap_err();
    assert_eq!(error.step, SwapStep::Save);
    assert_eq!(sum(&cell.step(&[1]).unwrap()), 6);
}

#[test]
fn a_probe_decides_and_disturbs_nothing() {
    let messages = [vec![1], vec![2]];
    let mut cell = cell(&counter(1, 1));
    cell.step(&[5]).unwrap();
    let other = Swap {
        probe: Probe::Same(&messages),
        ..Swap::to(genome(&counter(1, 3)), "")
    };
    let error = cell.swap(other).unwrap_err();
    assert_eq!(error.step, SwapStep::Probe);
    let same = Swap {
        probe: Probe::Same(&messages),
        ..Swap::to(genome(&counter(2, 1)), "")
    };
    assert_eq!(cell.swap(same), Ok(2));
    let answers = Swap {
        probe: Probe::Answers(&messages),
        ..Swap::to(genome(&counter(2, 3)), "")
    };
    assert_eq!(cell.swap(answers), Ok(3));
    assert_eq!(sum(&cell.step(&[1]).unwrap()), 8);
}

#[test]
fn any_kept_version_can_be_gone_back_to() {
    let mut cell = cell(&counter(1, 1));
    cell.step(&[5]).unwrap();
    cell.swap(Swap::to(genome(&counter(1, 10)), "")).unwrap();
    cell.step(&[1]).unwrap();
    assert_eq!(cell.rollback(1, RollbackState::Snapshot), Ok(3));
    assert_eq!(sum(&cell.step(&[1]).unwrap()), 6);
    assert_eq!(cell.rollback(2, RollbackState::Current), Ok(4));
    assert_eq!(sum(&cell.step(&[1]).unwrap()), 16);
    assert_eq!(cell.rollback(2, RollbackState::Snapshot), Ok(5));
    assert_eq!(sum(&cell.step(&[0]).unwrap()), 15);
    let error = cell.rollback(99, RollbackState::Current).unwrap_err();
    assert_eq!(error.source, CellError::NoVersion { number: 99 });
}

#[test]
fn ten_versions_are_kept() {
    let mut cell = cell(&counter(1, 1));
    for factor in 2..=15 {
        cell.swap(Swap::to(genome(&counter(1, factor)), ""))
            .unwrap();
    }
    let history = cell.history();
    assert_eq!(history.total_versions, 15);
    assert_eq!(history.versions.len(), VERSIONS_KEPT);
    assert_eq!(history.versions[0].number, 6);
    assert!(cell.rollback(5, RollbackState::Current).is_err());
    assert!(cell.rollback(6, RollbackState::Current).is_ok());
}

#[test]
fn sleep_is_not_noticed() {
    let text = r#"(module (import "agar" "random" (func $random (result i64))) (memory 1)
        (data (i32.const 100) "abc") (global $n (mut f64) (f64.const 0))
        (func (export "put") (param i32 i32) (i32.store (local.get 0) (local.get 1)) (global.set $n (f64.add (global.get $n) (f64.const 0.5))))
        (func (export "get") (param i32) (result i32) (i32.load (local.get 0)))
        (func (export "grow") (result i32) (memory.grow (i32.const 1)))
        (func (export "n") (result f64) (global.get $n))
        (func (export "random") (result i64) (call $random)))"#;
    let calls: &[(&str, &[i32])] = &[
        ("put", &[5000, 7]),
        ("get", &[100]),
        ("put", &[100, 0]),
        ("get", &[100]),
        ("random", &[]),
        ("grow", &[]),
        ("put", &[100_000, 9]),
        ("get", &[100_000]),
        ("get", &[5000]),
        ("n", &[]),
        ("random", &[]),
    ];
    let incubator = incubator();
    let mut awake = incubator.create(&genome(text), tight()).unwrap();
    let mut sleeper = incubator.create(&genome(text), tight()).unwrap();
    for (name, arguments) in calls {
        let arguments: Vec<agar_evolve::Value> = arguments.iter().map(|it| (*it).into()).collect();
        sleeper.hibernate().unwrap();
        assert_eq!(sleeper.condition(), Condition::Asleep);
        assert_eq!(
            sleeper.call(name, &arguments),
            awake.call(name, &arguments),
            "{name}"
        );
    }
}

#[test]
fn equal_states_have_equal_fingerprints() {
    let fingerprint = |messages: &[u8]| {
        let mut cell = cell(&counter(1, 1));
        for message in messages {
            cell.step(&[*message]).unwrap();
        }
        assert_eq!(cell.fingerprint(), None);
        cell.hibernate().unwrap();
        cell.fingerprint()
    };
    assert_eq!(fingerprint(&[1, 2]), fingerprint(&[1, 2]));
    assert_ne!(fingerprint(&[1, 2]), fingerprint(&[1, 3]));
}

#[test]
fn a_genome_whose_state_cannot_be_copied_says_so() {
    let text = "(module (table 1 funcref) (func (export \"run\") (table.set (i32.const 0) (ref.null func))))";
    assert!(matches!(
        cell(text).hibernate(),
        Err(CellError::NotSaveable { .. })
    ));
}
