//! What the tests share: an incubator and some genomes.

use agar_evolve::{Cell, Genome, Incubator, Limits, Rules, Settings, Spec};
use agar_testkit::clock::FixedClock;
use std::sync::Arc;

/// An incubator as a process has it.
pub(crate) fn incubator() -> Incubator {
    Incubator::new(&Settings::default(), Arc::new(FixedClock::default()))
}

/// A genome from text, under the usual rules.
pub(crate) fn genome(text: &str) -> Genome {
    Genome::from_wat(text, &Rules::default()).unwrap()
}

/// A cell with tight limits.
pub(crate) fn cell(text: &str) -> Cell {
    incubator().create(&genome(text), tight()).unwrap()
}

/// Limits that tests reach quickly.
pub(crate) fn tight() -> Spec {
    Spec {
        limits: Limits {
            instructions: 1_000_000,
            output_bytes: 4_096,
            state_bytes: 4_096,
            mailbox: 8,
            ..Limits::default()
        },
        ..Spec::default()
    }
}

/// A counter that adds each message's first byte and answers the sum as eight bytes. `factor` is
/// what tells versions apart.
pub(crate) fn counter(schema: u32, factor: u32) -> String {
    format!(
        r#"(module
          (memory (export "memory") 1)
          (global $sum (mut i64) (i64.const 0))
          (func (export "alloc") (param i32) (result i32) (i32.const 1024))
          (func (export "schema") (result i32) (i32.const {schema}))
          (func $out (result i64)
            (i64.store (i32.const 0) (global.get $sum))
            (i64.const 8))
          (func (export "step") (param $at i32) (param $length i32) (result i64)
            (global.set $sum (i64.add (global.get $sum)
              (i64.mul (i64.const {factor}) (i64.load8_u (local.get $at)))))
            (call $out))
          (func (export "save") (result i64) (call $out))
          (func (export "migrate") (param $at i32) (param i32 i32) (result i64)
            (i64.store (i32.const 0) (i64.load (local.get $at)))
            (i64.const 8))
          (func (export "load") (param $at i32) (param $length i32) (param $schema i32) (result i32)
            (if (i32.ne (local.get $schema) (i32.const {schema})) (then (return (i32.const 1))))
            (global.set $sum (i64.load (local.get $at)))
            (i32.const 0)))"#
    )
}

/// The sum that a counter answers.
pub(crate) fn sum(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().unwrap())
}
