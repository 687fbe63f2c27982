//! However many hostile lives it has seen, the process holds what it held before.

use crate::kit::{genome, tight};
use agar_evolve::{Engines, Genome, Incubator, Limits, Rules, Settings, Spec};
use agar_testkit::clock::FixedClock;
use std::sync::Arc;

const HOSTILE: &[&str] = &[
    r#"(module (func (export "run") (loop (br 0))))"#,
    r#"(module (func $f (export "run") (call $f)))"#,
    r#"(module (memory 1) (func (export "run") (loop (drop (memory.grow (i32.const 1))) (br 0))))"#,
    r#"(module (memory 1) (func (export "run")
         (loop (memory.fill (i32.const 0) (i32.const 7) (i32.const 65536)) (br 0))))"#,
    r#"(module (table 1 funcref) (func (export "run")
         (loop (drop (table.grow (ref.null func) (i32.const 1))) (br 0))))"#,
    r#"(module (import "agar" "emit" (func $e (param i32 i32 i32 i32))) (memory (export "memory") 1)
         (func (export "run")
           (loop (call $e (i32.const 0) (i32.const 9) (i32.const 9) (i32.const 999)) (br 0))))"#,
    r#"(module (func (export "run") unreachable))"#,
    r#"(module (memory 1) (data (i32.const 65535) "out of bounds") (func (export "run")))"#,
];

const ROUNDS: usize = 250;

/// Entries of a directory, or lines of a file, of this process's.
fn held() -> [usize; 3] {
    let entries = |path: &str| fs_err::read_dir(path).unwrap().count();
    let maps = fs_err::read_to_string("/proc/self/maps").unwrap();
    [
        maps.lines().count(),
        entries("/proc/self/fd"),
        entries("/proc/self/task"),
    ]
}

fn lives(incubator: &Incubator, genomes: &[Genome]) {
    let spec = || Spec {
        limits: Limits {
            instructions: 5_000,
            ..tight().limits
        },
        ..tight()
    };
    for genome in genomes {
        let made = incubator.create(genome, spec());
        let ended = made.and_then(|mut cell| cell.call("run", &[]));
        assert!(ended.is_err(), "{:?}: {ended:?}", genome.id());
    }
    let script = "for (;;) agar.emit('flood', 'x'.repeat(9999))";
    let script = Genome::from_javascript(script, &Rules::default()).unwrap();
    assert!(incubator.create(&script, spec()).is_err());
}

/// Other tests may be running beside this one and hold their own, so there is room for theirs: less
/// than a tenth of what would be left if each of these lives left one thing behind.
#[test]
fn mappings_descriptors_and_threads_are_what_they_were() {
    let genomes: Vec<Genome> = HOSTILE.iter().map(|text| genome(text)).collect();
    let engines: &[Engines] = if cfg!(feature = "native") {
        &[Engines::Light, Engines::Heavy]
    } else {
        &[Engines::Light]
    };
    for engines in engines {
        let settings = Settings {
            engines: *engines,
            ..Settings::default()
        };
        let incubator = Incubator::new(&settings, Arc::new(FixedClock::default()));
        lives(&incubator, &genomes);
        // The interpreter's own code, where it is compiled, is kept for the next one.
        let kept = incubator.in_use().memory;
        let before = held();
        for _ in 0..ROUNDS {
            lives(&incubator, &genomes);
        }
        let in_use = incubator.in_use();
        assert_eq!((in_use.live, in_use.memory), (0, kept));
        let room = ROUNDS * HOSTILE.len() / 10;
        agar_testkit::wait::until("what was taken to be given back", || {
            let now = held();
            now.iter()
                .zip(&before)
                .all(|(now, before)| *now < before + room)
        });
    }
}
