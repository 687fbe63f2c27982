//! Where cells run, and what they take of the process meanwhile.

use crate::agreement::incubator;
use agar_evolve::{Cell, CellError, Engines, Incubator, Settings, Spec, Tier, Value};
use agar_testkit::clock::FixedClock;
use std::sync::Arc;

#[test]
fn a_genome_that_works_is_compiled_and_nobody_notices() {
    let incubator = incubator(Engines::Automatic);
    let light = self::incubator(Engines::Light);
    let genome = crate::kit::genome(&crate::kit::counter(1, 1));
    let spin = crate::kit::genome(
        r#"(module (global $n (mut i64) (i64.const 0))
             (func (export "run") (result i64) (local $i i32)
               (loop (global.set $n (i64.add (global.get $n) (i64.const 3)))
                 (br_if 0 (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 1000))))
               (global.get $n)))"#,
    );
    let mut moved = incubator.create(&spin, Spec::default()).unwrap();
    let mut stayed = light.create(&spin, Spec::default()).unwrap();
    for _ in 0..200 {
        assert_eq!(moved.call("run", &[]), stayed.call("run", &[]));
        assert_eq!(moved.metrics(), stayed.metrics());
    }
    assert_eq!(stayed.info().tier, Some(Tier::Light));
    assert_eq!(moved.info().tier, Some(Tier::Heavy));
    // Many short lives earn it as well.
    for _ in 0..200 {
        drop(incubator.create(&genome, Spec::default()).unwrap());
    }
    let last = incubator.create(&genome, Spec::default()).unwrap();
    assert_eq!(last.info().tier, Some(Tier::Heavy));
}

/// What a cell took for its memory goes back to the machine when it sleeps.
#[test]
fn sleeping_gives_memory_back() {
    let genome = crate::kit::genome(
        r#"(module (memory 1 1) (func (export "touch") (param i32)
             (memory.fill (i32.const 0) (local.get 0) (i32.const 65536))))"#,
    );
    let heavy = incubator(Engines::Heavy);
    let mut cells: Vec<Cell> = (0..2_000)
        .map(|_| heavy.create(&genome, Spec::default()).unwrap())
        .collect();
    for cell in &mut cells {
        // Empty again, so that there is nothing to keep.
        cell.call("touch", &[Value::I32(1)]).unwrap();
        cell.call("touch", &[Value::I32(0)]).unwrap();
    }
    let awake = resident_kib();
    for cell in &mut cells {
        cell.hibernate().unwrap();
    }
    // 125 MiB were touched; other tests of this process may take some meanwhile.
    let asleep = resident_kib();
    assert!(asleep + (64 << 10) < awake, "{awake} KiB, then {asleep}");
    cells[7].call("touch", &[Value::I32(1)]).unwrap();
}

fn resident_kib() -> u64 {
    let text = fs_err::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number.unwrap().parse().unwrap()
}

/// The ceilings on mappings and descriptors refuse before the process runs into them; the
/// interpreter, which needs neither, may go on.
#[test]
fn a_process_without_mappings_left_refuses_or_interprets() {
    let genome = crate::kit::genome(&crate::kit::counter(1, 1));
    for (engines, mappings, descriptors) in [
        (Engines::Heavy, 10, 100),
        (Engines::Heavy, 1_000, 0),
        (Engines::Automatic, 10, 100),
    ] {
        let mut settings = Settings {
            engines,
            ..Settings::default()
        };
        settings.ceilings.mappings = mappings;
        settings.ceilings.descriptors = descriptors;
        let incubator = Incubator::new(&settings, Arc::new(FixedClock::default()));
        let made: Vec<_> = (0..100)
            .map(|_| incubator.create(&genome, Spec::default()))
            .collect();
        let refused = made.iter().find_map(|made| made.as_ref().err());
        match engines {
            Engines::Heavy => {
                assert!(matches!(refused, Some(CellError::NoRoom(_))), "{refused:?}");
            }
            Engines::Automatic | Engines::Light => assert_eq!(refused, None),
        }
        assert!(incubator.in_use().mappings <= mappings);
        drop(made);
        assert_eq!(incubator.in_use().live, 0);
    }
}
