//! Whatever a genome does, its run ends with a name for it, and the host goes on.

use crate::kit::{cell, genome, incubator, tight};
use agar_evolve::{CellError, Condition, Limits, Room, Rules, Settings, Spec, Trap, Value};
use std::time::{Duration, Instant};

/// How a run ends: the same on every engine that this build has.
fn run(text: &str) -> CellError {
    let ended = cell(text).call("run", &[]).unwrap_err();
    if cfg!(feature = "native") {
        let settings = Settings {
            engines: agar_evolve::Engines::Heavy,
            ..Settings::default()
        };
        let clock = std::sync::Arc::new(agar_testkit::clock::FixedClock::default());
        let incubator = agar_evolve::Incubator::new(&settings, clock);
        let mut compiled = incubator.create(&genome(text), tight()).unwrap();
        assert_eq!(compiled.call("run", &[]), Err(ended.clone()), "{text}");
    }
    ended
}

#[test]
fn spinning_ends_at_the_last_instruction() {
    let limit = CellError::Instructions { limit: 1_000_000 };
    for text in [
        r#"(module (func (export "run") (loop (br 0))))"#,
        r#"(module (func (export "run") (loop (br_if 0 (i32.const 1)))))"#,
        r#"(module (func (export "run") (loop (block (br_table 1 0 (i32.const 0))))))"#,
        r#"(module (func $f (result i32) (i32.const 1))
             (func (export "run") (loop (br_if 0 (call $f)))))"#,
    ] {
        assert_eq!(run(text), limit, "{text}");
    }
}

#[test]
fn recursion_ends_at_the_last_slot() {
    let limit = CellError::Stack { limit: 32_768 };
    for text in [
        r#"(module (func $f (export "run") (call $f)))"#,
        r#"(module (func $f (export "run") (call $g)) (func $g (local i64 i64 i64) (call $f)))"#,
        r#"(module (table funcref (elem $f)) (func $f (export "run") (call_indirect (i32.const 0))))"#,
        r#"(module (func $f (param i64 i64 i64 i64) (result i64)
             (i64.add (call $f (i64.const 1) (i64.const 2) (i64.const 3) (i64.const 4)) (local.get 0)))
           (func (export "run") (drop (call $f (i64.const 0) (i64.const 0) (i64.const 0) (i64.const 0)))))"#,
    ] {
        assert_eq!(run(text), limit, "{text}");
    }
}

#[test]
fn returning_gives_the_slots_back() {
    let text = r#"(module
      (func $leaf (param i32) (result i32)
        (if (i32.eqz (local.get 0)) (then (return (i32.const 7))))
        (call $id (local.get 0)))
      (func $id (param i32) (result i32) (local.get 0))
      (func $pair (param i32) (result i32 i32)
        (br 0 (call $leaf (local.get 0)) (i32.const 2)))
      (func (export "run") (result i32) (local $n i32) (local $sum i32)
        (loop
          (local.set $sum (i32.add (local.get $sum) (i32.add (call $pair (i32.and (local.get $n) (i32.const 1))))))
          (br_if 0 (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 5000))))
        (local.get $sum)))"#;
    let answer = cell(text).call("run", &[]).unwrap();
    assert_eq!(answer, [Value::I32(2_500 * (9 + 3))]);
}

#[test]
fn bulk_work_is_charged_by_its_size() {
    let text = r#"(module (memory 1) (func (export "run")
        (loop (memory.fill (i32.const 0) (i32.const 1) (i32.const 65536)) (br 0))))"#;
    let mut cell = cell(text);
    assert_eq!(
        cell.call("run", &[]),
        Err(CellError::Instructions { limit: 1_000_000 })
    );
    let copy = r#"(module (memory 1) (func (export "run")
        (loop (memory.copy (i32.const 0) (i32.const 1) (i32.const 65535)) (br 0))))"#;
    assert_eq!(run(copy), CellError::Instructions { limit: 1_000_000 });
    let table = r#"(module (table 1000 funcref) (func (export "run")
        (loop (table.fill (i32.const 0) (ref.null func) (i32.const 1000)) (br 0))))"#;
    assert_eq!(run(table), CellError::Instructions { limit: 1_000_000 });
}

/// Longer than a piece, in both directions, overlapping and at the edges.
#[test]
fn long_fills_and_copies_do_what_short_ones_do() {
    let text = r#"(module (memory 64)
        (func (export "fill") (param i32 i32 i32) (memory.fill (local.get 0) (local.get 1) (local.get 2)))
        (func (export "copy") (param i32 i32 i32) (memory.copy (local.get 0) (local.get 1) (local.get 2)))
        (func (export "mark") (param i32) (i32.store (local.get 0) (local.get 0)))
        (func (export "get") (param i32) (result i32) (i32.load8_u (local.get 0))))"#;
    let mut cell = cell(text);
    let mut model = vec![0_u8; 64 << 16];
    for at in (0_i32..4_000_000).step_by(65_537) {
        cell.call("mark", &[at.into()]).unwrap();
        let start = usize::try_from(at).unwrap();
        model[start..start + 4].copy_from_slice(&at.to_le_bytes());
    }
    for (name, a, b, length) in [
        ("copy", 100, 3_000, 3_500_000),
        ("copy", 3_000, 100, 3_500_000),
        ("fill", 700_000, 7, 2_500_001),
        ("copy", 0, 1 << 20, 3 << 20),
        ("copy", 1 << 20, 0, 3 << 20),
        ("fill", 0, 9, 0),
    ] {
        cell.call(name, &[a.into(), b.into(), length.into()])
            .unwrap();
        let [from, to, size] = [b, a, length].map(|it: i32| usize::try_from(it).unwrap());
        if name == "copy" {
            model.copy_within(from..from + size, to);
        } else {
            model[to..to + size].fill(u8::try_from(b).unwrap());
        }
        for at in (0..4_194_304).step_by(40_961) {
            let expected = i32::from(model[usize::try_from(at).unwrap()]);
            assert_eq!(
                cell.call("get", &[at.into()]).unwrap(),
                [Value::I32(expected)],
                "{name} {at}"
            );
        }
    }
    for (name, a, b, length) in [
        ("fill", 1, 0, 64 << 16),
        ("copy", 0, 1, 64 << 16),
        ("copy", 1, 0, 64 << 16),
        ("copy", -1, 0, 3 << 20),
        ("copy", 0, -1, 3 << 20),
        ("fill", -1, 0, 3 << 20),
        ("fill", (64 << 16) + 1, 0, 0),
    ] {
        let error = cell
            .call(name, &[a.into(), b.into(), length.into()])
            .unwrap_err();
        assert_eq!(
            error,
            CellError::Trap(Trap::MemoryOutOfBounds),
            "{name} {a} {b} {length}"
        );
        cell.restart().unwrap();
    }
}

#[test]
fn memory_and_tables_do_not_grow_beyond_the_rules() {
    let rules = Rules {
        memory_pages_max: 3,
        table_elements_max: 5,
        ..Rules::default()
    };
    let text = r#"(module (memory 1) (table 1 funcref)
        (func (export "pages") (result i32) (loop (br_if 0 (i32.ge_s (memory.grow (i32.const 1)) (i32.const 0)))) (memory.size))
        (func (export "huge") (result i32) (memory.grow (i32.const 60000)))
        (func (export "slots") (result i32) (loop (br_if 0 (i32.ge_s (table.grow (ref.null func) (i32.const 1)) (i32.const 0)))) (table.size)))"#;
    let genome = agar_evolve::Genome::from_wat(text, &rules).unwrap();
    let incubator = incubator();
    let mut cell = incubator.create(&genome, tight()).unwrap();
    assert_eq!(cell.call("huge", &[]).unwrap(), [Value::I32(-1)]);
    assert!(cell.metrics().last_instructions < 10);
    assert_eq!(cell.call("pages", &[]).unwrap(), [Value::I32(3)]);
    assert_eq!(cell.call("slots", &[]).unwrap(), [Value::I32(5)]);
    // Growth is counted, and given back with the cell.
    assert!(incubator.in_use().memory > 3 << 16);
    drop(cell);
    assert_eq!(incubator.in_use().memory, 0);
}

#[test]
fn each_trap_has_its_name() {
    for (trap, body) in [
        (Trap::Unreachable, "unreachable"),
        (
            Trap::MemoryOutOfBounds,
            "(drop (i32.load (i32.const 65536)))",
        ),
        (
            Trap::MemoryOutOfBounds,
            "(memory.fill (i32.const 65536) (i32.const 0) (i32.const 1))",
        ),
        (Trap::TableOutOfBounds, "(call_indirect (i32.const 9))"),
        (Trap::IndirectCallToNull, "(call_indirect (i32.const 1))"),
        (
            Trap::BadSignature,
            "(call_indirect (param i32) (i32.const 0) (i32.const 0))",
        ),
        (
            Trap::DivisionByZero,
            "(drop (i32.div_s (i32.const 1) (i32.const 0)))",
        ),
        (
            Trap::IntegerOverflow,
            "(drop (i32.div_s (i32.const -2147483648) (i32.const -1)))",
        ),
        (
            Trap::IntegerOverflow,
            "(drop (i32.trunc_f64_s (f64.const 1e300)))",
        ),
        (
            Trap::BadConversion,
            "(drop (i32.trunc_f64_s (f64.const nan)))",
        ),
    ] {
        let text = format!(
            r#"(module (memory 1) (table 2 funcref) (elem (i32.const 0) $e) (func $e)
                 (func (export "run") {body}))"#
        );
        assert_eq!(run(&text), CellError::Trap(trap), "{body}");
    }
}

#[test]
fn a_trap_while_being_born_is_named() {
    let text = r#"(module (memory 1) (data (i32.const 65535) "xx"))"#;
    let error = incubator().create(&genome(text), tight()).unwrap_err();
    assert_eq!(error, CellError::Trap(Trap::MemoryOutOfBounds));
}

#[test]
fn the_wall_clock_ends_what_still_runs() {
    let text = r#"(module (func (export "run") (loop (br 0))))"#;
    let wall = Duration::from_millis(20);
    let limits = Limits {
        wall: Some(wall),
        instructions: u64::MAX,
        ..Limits::default()
    };
    let spec = Spec {
        limits,
        ..Spec::default()
    };
    let mut cell = incubator().create(&genome(text), spec).unwrap();
    let begun = Instant::now();
    let error = cell.call("run", &[]).unwrap_err();
    assert!(begun.elapsed() >= wall);
    assert_eq!(error, CellError::Deadline { limit: wall });
    assert!(!error.is_reproducible());
    assert_eq!(cell.metrics().timeouts, 1);
}

#[test]
fn a_flood_of_output_is_stopped() {
    let text = r#"(module (import "agar" "emit" (func $emit (param i32 i32 i32 i32))) (memory 1)
        (func (export "run") (loop (call $emit (i32.const 0) (i32.const 4) (i32.const 0) (i32.const 100)) (br 0))))"#;
    assert_eq!(run(text), CellError::Output { limit: 4_096 });
}

#[test]
fn an_answer_outside_memory_is_not_believed() {
    for (answer, expected) in [
        (
            "(i64.const 0x7fffffff_00000010)",
            "its answer lies outside its memory",
        ),
        (
            "(i64.const 0x0000ffff_00000100)",
            "its answer lies outside its memory",
        ),
    ] {
        let text = format!(
            r#"(module (memory (export "memory") 1)
                 (func (export "alloc") (param i32) (result i32) (i32.const 0))
                 (func (export "step") (param i32 i32) (result i64) {answer}))"#
        );
        let error = cell(&text).step(b"x").unwrap_err();
        assert_eq!(error, CellError::Convention { what: expected });
    }
    let alloc = r#"(module (memory 1) (func (export "alloc") (param i32) (result i32) (i32.const -1))
        (func (export "step") (param i32 i32) (result i64) (i64.const 0)))"#;
    assert!(matches!(
        cell(alloc).step(b"x"),
        Err(CellError::Convention { .. })
    ));
    let long = r#"(module (memory 1) (func (export "alloc") (param i32) (result i32) (i32.const 0))
        (func (export "step") (param i32 i32) (result i64) (i64.const 0x00000000_7fffffff)))"#;
    assert_eq!(
        cell(long).step(b"x"),
        Err(CellError::Output { limit: 4_096 })
    );
}

#[test]
fn a_flood_of_messages_is_refused() {
    let mut cell = cell(&crate::kit::counter(1, 1));
    for _ in 0..8 {
        cell.send(vec![1]).unwrap();
    }
    assert_eq!(cell.send(vec![1]), Err(CellError::MailboxFull { limit: 8 }));
    assert_eq!(cell.work(100).len(), 8);
    assert!(cell.send(vec![1]).is_ok());
}

#[test]
fn a_run_that_ended_half_way_leaves_no_state_to_trust() {
    let text = r#"(module (global $n (mut i32) (i32.const 0))
        (func (export "run") (global.set $n (i32.const 1)) unreachable)
        (func (export "n") (result i32) (global.get $n)))"#;
    let mut cell = cell(text);
    cell.call("run", &[]).unwrap_err();
    assert_eq!(cell.condition(), Condition::Crashed);
    assert_eq!(cell.call("n", &[]), Err(CellError::Crashed));
    cell.restart().unwrap();
    assert_eq!(cell.call("n", &[]).unwrap(), [Value::I32(0)]);
}

#[test]
fn a_full_process_refuses_and_goes_on() {
    let mut settings = Settings::default();
    settings.ceilings.memory = 1 << 20;
    let clock = std::sync::Arc::new(agar_testkit::clock::FixedClock::default());
    let incubator = agar_evolve::Incubator::new(&settings, clock);
    let genome = genome(&crate::kit::counter(1, 1));
    let mut cells = Vec::new();
    let refused = loop {
        match incubator.create(&genome, tight()) {
            Ok(cell) => cells.push(cell),
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, CellError::NoRoom(no) if no.room == Room::Memory));
    assert!(!cells.is_empty());
    let slept = cells.pop().map(|mut cell| {
        cell.hibernate().unwrap();
        cell
    });
    assert!(incubator.create(&genome, tight()).is_ok());
    drop((cells, slept));
    assert_eq!(incubator.in_use().live, 0);
}
