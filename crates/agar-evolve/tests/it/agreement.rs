//! Two engines, one answer: values, failures, costs and state.

use agar_evolve::{
    Cell, CellError, Condition, Engines, Genome, Incubator, Limits, Rules, Settings, Spec, Tier,
    Value, ValueType,
};
use agar_testkit::clock::FixedClock;
use proptest::prelude::*;
use std::sync::{Arc, LazyLock};

pub(crate) fn incubator(engines: Engines) -> Incubator {
    let settings = Settings {
        engines,
        compiled_kept: 16,
        ..Settings::default()
    };
    Incubator::new(&settings, Arc::new(FixedClock::default()))
}

static LIGHT: LazyLock<Incubator> = LazyLock::new(|| incubator(Engines::Light));
static HEAVY: LazyLock<Incubator> = LazyLock::new(|| incubator(Engines::Heavy));

/// Small modules without what cells do not offer.
fn config(source: &mut arbitrary::Unstructured<'_>) -> arbitrary::Result<wasm_smith::Config> {
    let mut config: wasm_smith::Config = source.arbitrary()?;
    config.min_funcs = 1;
    config.max_funcs = 6;
    config.max_instructions = 120;
    config.max_imports = 0;
    config.max_memories = 1;
    config.max_tables = 1;
    config.max_memory32_bytes = 4 << 16;
    config.max_table_elements = 64;
    config.export_everything = true;
    config.allow_start_export = false;
    config.simd_enabled = false;
    config.relaxed_simd_enabled = false;
    config.threads_enabled = false;
    config.memory64_enabled = false;
    config.tail_call_enabled = false;
    config.exceptions_enabled = false;
    config.gc_enabled = false;
    config.wide_arithmetic_enabled = false;
    config.custom_page_sizes_enabled = false;
    config.extended_const_enabled = false;
    config.shared_everything_threads_enabled = false;
    config.canonicalize_nans = false;
    Ok(config)
}

fn module(bytes: &[u8]) -> arbitrary::Result<Vec<u8>> {
    let mut source = arbitrary::Unstructured::new(bytes);
    let config = config(&mut source)?;
    Ok(wasm_smith::Module::new(config, &mut source)?.to_bytes())
}

fn limits() -> Limits {
    Limits {
        instructions: 20_000,
        stack_slots: 4_096,
        ..Limits::default()
    }
}

fn cell(incubator: &Incubator, genome: &Genome) -> Result<Cell, CellError> {
    let spec = Spec {
        limits: limits(),
        seed: 7,
        ..Spec::default()
    };
    incubator.create(genome, spec)
}

/// Numbers that tend to matter.
fn arguments(params: &[ValueType], round: u64) -> Vec<Value> {
    let odd = [
        0,
        1,
        u64::MAX,
        1 << 31,
        1 << 63,
        0x7ff8_0000_0000_0001,
        0xfff0_0000_dead_beef,
        40,
    ];
    let pick = |index: u64| odd[usize::try_from((round * 3 + index) % 8).unwrap()];
    (0_u64..)
        .zip(params)
        .map(|(index, ty)| {
            let bits = pick(index);
            let low = u32::try_from(bits & 0xffff_ffff).unwrap();
            match ty {
                ValueType::I32 => Value::I32(low.cast_signed()),
                ValueType::I64 => Value::I64(bits.cast_signed()),
                ValueType::F32 => Value::F32(f32::from_bits(low ^ 0x7f80_0001)),
                ValueType::F64 => Value::F64(f64::from_bits(bits)),
            }
        })
        .collect()
}

/// Calls every function a few times on both, and compares whatever can be seen.
fn compare(genome: &Genome) -> Result<usize, TestCaseError> {
    let (light, heavy) = (cell(&LIGHT, genome), cell(&HEAVY, genome));
    let (mut light, mut heavy) = match (light, heavy) {
        (Ok(light), Ok(heavy)) => (light, heavy),
        (light, heavy) => {
            prop_assert_eq!(light.err(), heavy.err());
            return Ok(0);
        }
    };
    prop_assert_eq!(heavy.info().tier, Some(Tier::Heavy));
    let mut calls = 0;
    for round in 0..3 {
        for function in &genome.facts().functions {
            let arguments = arguments(&function.params, round);
            let here = light.call(&function.name, &arguments);
            let there = heavy.call(&function.name, &arguments);
            prop_assert_eq!(&here, &there, "{}({:?})", function.name, arguments);
            prop_assert_eq!(light.metrics(), heavy.metrics());
            calls += 1;
            if light.condition() == Condition::Crashed {
                light
                    .restart()
                    .map_err(|e| TestCaseError::fail(e.to_string()))?;
                heavy
                    .restart()
                    .map_err(|e| TestCaseError::fail(e.to_string()))?;
            }
        }
        // State crosses between engines too: what one saved, the other wakes with.
        if light.hibernate().is_ok() {
            prop_assert!(heavy.hibernate().is_ok());
            prop_assert_eq!(light.fingerprint(), heavy.fingerprint());
        }
    }
    Ok(calls)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn random_modules_agree_between_engines(bytes in proptest::collection::vec(any::<u8>(), 600..2_500)) {
        let Ok(wasm) = module(&bytes) else { return Ok(()) };
        match Genome::from_wasm(&wasm, &Rules::default()) {
            Ok(genome) => {
                compare(&genome)?;
            }
            // Random modules may hold references to things that cells do not offer.
            Err(error) => drop(error),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, max_shrink_iters: 200, ..ProptestConfig::default() })]

    /// Whatever a damaged module does, if it passes the checks both engines load it and agree.
    #[test]
    fn damaged_modules_are_refused_or_agree(
        bytes in proptest::collection::vec(any::<u8>(), 600..1_500),
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let Ok(mut wasm) = module(&bytes) else { return Ok(()) };
        for (at, byte) in damage {
            let at = at.index(wasm.len());
            wasm[at] = byte;
        }
        if let Ok(genome) = Genome::from_wasm(&wasm, &Rules::default()) {
            compare(&genome)?;
        }
    }
}

/// Most random modules must pass the checks, or the comparison above compares nothing.
#[test]
fn most_random_modules_are_compared() {
    let mut seed = 1_u64;
    let (mut compared, mut calls) = (0, 0);
    for _ in 0..100 {
        let bytes: Vec<u8> = (0..2_000)
            .map(|_| {
                seed = seed
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                (seed >> 56).to_le_bytes()[0]
            })
            .collect();
        let Ok(wasm) = module(&bytes) else { continue };
        if let Ok(genome) = Genome::from_wasm(&wasm, &Rules::default()) {
            compared += 1;
            calls += compare(&genome).unwrap();
        }
    }
    assert!(
        compared >= 40 && calls >= 100,
        "{compared} modules, {calls} calls"
    );
}

/// The counters must not change what a module computes: the module as it was given, against the
/// genome made of it.
#[test]
fn counters_change_no_answer() {
    let mut seed = 99_u64;
    let mut calls = 0;
    for _ in 0..250 {
        let bytes: Vec<u8> = (0..2_000)
            .map(|_| {
                seed = seed
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                (seed >> 56).to_le_bytes()[0]
            })
            .collect();
        let Ok(wasm) = module(&bytes) else { continue };
        let Ok(genome) = Genome::from_wasm(&wasm, &Rules::default()) else {
            continue;
        };
        calls += compare_with_plain(&genome);
    }
    assert!(calls >= 50, "{calls} calls");
}

fn compare_with_plain(genome: &Genome) -> usize {
    let mut config = wasmtime::Config::new();
    config.consume_fuel(true);
    let engine = wasmtime::Engine::new(&config).unwrap();
    let module = wasmtime::Module::new(&engine, genome.wasm()).unwrap();
    let mut calls = 0;
    for function in &genome.facts().functions {
        let mut store = wasmtime::Store::new(&engine, ());
        store.set_fuel(100_000).unwrap();
        let Ok(instance) = wasmtime::Instance::new(&mut store, &module, &[]) else {
            continue;
        };
        let Ok(mut cell) = cell(&LIGHT, genome) else {
            continue;
        };
        let arguments = arguments(&function.params, 0);
        let plain: Vec<wasmtime::Val> = arguments.iter().map(|value| val(*value)).collect();
        let mut results = vec![wasmtime::Val::I32(0); function.results.len()];
        let called = instance.get_func(&mut store, &function.name).unwrap().call(
            &mut store,
            &plain,
            &mut results,
        );
        let metered = cell.call(&function.name, &arguments);
        let limited = matches!(
            metered,
            Err(CellError::Instructions { .. } | CellError::Stack { .. } | CellError::EngineStack)
        );
        let exhausted = called.as_ref().is_err_and(|error| {
            let trap = error.downcast_ref::<wasmtime::Trap>();
            matches!(
                trap,
                Some(wasmtime::Trap::OutOfFuel | wasmtime::Trap::StackOverflow)
            )
        });
        if limited || exhausted {
            continue;
        }
        calls += 1;
        assert_eq!(called.is_ok(), metered.is_ok(), "{metered:?}");
        let Ok(metered) = metered else { continue };
        for (plain, metered) in results.iter().zip(metered) {
            assert!(is_same(plain, metered), "{plain:?} {metered:?}");
        }
    }
    calls
}

fn val(value: Value) -> wasmtime::Val {
    match value {
        Value::I32(value) => wasmtime::Val::I32(value),
        Value::I64(value) => wasmtime::Val::I64(value),
        Value::F32(value) => wasmtime::Val::F32(value.to_bits()),
        Value::F64(value) => wasmtime::Val::F64(value.to_bits()),
    }
}

/// Equal but for the bits of a NaN, which an engine may choose.
fn is_same(plain: &wasmtime::Val, metered: Value) -> bool {
    let nan = match metered {
        Value::F32(value) => value.is_nan() && plain.f32().is_some_and(f32::is_nan),
        Value::F64(value) => value.is_nan() && plain.f64().is_some_and(f64::is_nan),
        Value::I32(_) | Value::I64(_) => false,
    };
    // Both as their bits in words: the engine's values cannot be compared.
    nan || format!("{plain:?}") == format!("{:?}", val(metered))
}

/// What the interpreter once got wrong by itself: see `parts_choice`.
#[test]
fn a_choice_by_a_local_that_is_zero_is_made_by_that_local() {
    let genome = crate::kit::genome(
        r#"(module (func (export "f") (param i64 i32) (result i32)
             (drop (i64.eqz (local.get 0)))
             (i32.sub (i32.const 5) (select (i32.const 1) (local.get 1) (i32.eqz (local.get 1))))))"#,
    );
    for incubator in [&*LIGHT, &*HEAVY] {
        let mut cell = cell(incubator, &genome).unwrap();
        for (argument, answer) in [(0, 4), (3, 2)] {
            let answered = cell.call("f", &[Value::I64(0), Value::I32(argument)]);
            assert_eq!(answered, Ok(vec![Value::I32(answer)]));
        }
    }
}

#[test]
fn the_bits_of_a_nan_are_the_canonical_ones_wherever_they_can_be_seen() {
    let text = r#"(module (memory 1) (global $g (mut f64) (f64.const 0))
        (func (export "bits") (param f64 f64) (result i64) (i64.reinterpret_f64 (f64.add (local.get 0) (local.get 1))))
        (func (export "stored") (param f64 f64) (result i64) (f64.store (i32.const 0) (f64.mul (local.get 0) (local.get 1))) (i64.load (i32.const 0)))
        (func (export "sign") (param f64 f64) (result f64) (f64.copysign (f64.const 1) (f64.sub (local.get 0) (local.get 1))))
        (func (export "kept") (param f64 f64) (result i64) (global.set $g (f64.sqrt (f64.div (local.get 0) (local.get 1)))) (i64.reinterpret_f64 (global.get $g)))
        (func (export "chosen") (param f64 f64) (result i64)
          (i64.reinterpret_f64 (select (f64.min (local.get 0) (local.get 1)) (f64.const 1) (i32.const 1))))
        (func (export "carried") (param f64 f64) (result i64)
          (i64.reinterpret_f64 (block (result f64) (br 0 (f64.max (local.get 0) (local.get 1))))))
        (func (export "moved") (param f64 f64) (result i64) (i64.reinterpret_f64 (local.get 0))))"#;
    let genome = crate::kit::genome(text);
    let (mut light, mut heavy) = (
        cell(&LIGHT, &genome).unwrap(),
        cell(&HEAVY, &genome).unwrap(),
    );
    let odd = f64::from_bits(0xfff8_0000_dead_beef);
    for arguments in [
        [odd, 1.0],
        [1.0, odd],
        [f64::INFINITY, -f64::INFINITY],
        [0.0, f64::INFINITY],
        [-1.0, 0.0],
        [odd, f64::NAN],
    ] {
        let arguments = arguments.map(Value::F64);
        for function in &genome.facts().functions {
            let here = light.call(&function.name, &arguments).unwrap();
            assert_eq!(here, heavy.call(&function.name, &arguments).unwrap());
            let canonical = Value::I64(0x7ff8_0000_0000_0000);
            let nan = arguments
                .iter()
                .any(|it| matches!(it, Value::F64(it) if it.is_nan()));
            if nan && !matches!(function.name.as_str(), "moved" | "sign") {
                assert_eq!(here, [canonical], "{}", function.name);
            }
        }
    }
    // What is only moved keeps its bits, as the specification wants it.
    let moved = light
        .call("moved", &[Value::F64(odd), Value::F64(0.0)])
        .unwrap();
    assert_eq!(moved, [Value::I64(odd.to_bits().cast_signed())]);
}

#[test]
fn where_the_last_instruction_falls_does_not_depend_on_the_engine() {
    let genome = crate::kit::genome(
        r#"(module (func $fib (export "fib") (param i32) (result i32)
             (if (result i32) (i32.lt_u (local.get 0) (i32.const 2)) (then (local.get 0))
               (else (i32.add (call $fib (i32.sub (local.get 0) (i32.const 1))) (call $fib (i32.sub (local.get 0) (i32.const 2))))))))"#,
    );
    let mut light = cell(&LIGHT, &genome).unwrap();
    let mut heavy = cell(&HEAVY, &genome).unwrap();
    let spec = |instructions, stack_slots| Limits {
        instructions,
        stack_slots,
        ..limits()
    };
    light.set_limits(spec(1 << 40, 4_096));
    light.call("fib", &[Value::I32(15)]).unwrap();
    let cost = light.metrics().last_instructions;
    for instructions in [0, 1, cost / 2, cost - 1, cost, cost + 1] {
        for slots in [0, 100, 500, 501, 520, 540, 4_096] {
            light.set_limits(spec(instructions, slots));
            heavy.set_limits(spec(instructions, slots));
            let here = light.call("fib", &[Value::I32(15)]);
            assert_eq!(
                here,
                heavy.call("fib", &[Value::I32(15)]),
                "{instructions} {slots}"
            );
            if slots == 4_096 {
                assert_eq!(here.is_ok(), instructions >= cost);
            }
        }
    }
}

/// Code that a compiler would rather keep than compute again: thousands of products before a call
/// and the same ones after it. The counter must end the recursion before any engine's stack does.
#[test]
fn recursion_with_large_frames_ends_alike() {
    use std::fmt::Write as _;
    let mut products = String::new();
    for factor in 0..1_800 {
        write!(
            products,
            "(local.set 1 (f64.add (local.get 1) (f64.mul (local.get 0) (f64.const {factor}.5))))"
        )
        .unwrap();
    }
    let text = format!(
        r#"(module (func $f (export "run") (param f64) (result f64) (local f64)
             {products}
             (local.set 1 (f64.add (local.get 1) (call $f (f64.add (local.get 0) (f64.const 1)))))
             {products}
             (local.get 1)))"#
    );
    let genome = crate::kit::genome(&text);
    let limits = Limits {
        instructions: 1 << 40,
        stack_slots: u32::MAX,
        ..Limits::default()
    };
    for incubator in [&*LIGHT, &*HEAVY] {
        let spec = Spec {
            limits,
            ..Spec::default()
        };
        let mut cell = incubator.create(&genome, spec).unwrap();
        let ended = cell.call("run", &[Value::F64(1.0)]);
        assert_eq!(
            ended,
            Err(CellError::Stack {
                limit: agar_evolve::STACK_SLOTS_MAX
            })
        );
    }
}
