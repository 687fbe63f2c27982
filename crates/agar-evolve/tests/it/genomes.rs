//! What is not loaded, and why.

use agar_evolve::{Genome, GenomeError, Import, Operation, Operations, Rules};
use proptest::prelude::*;

fn refusal(text: &str) -> GenomeError {
    Genome::from_wat(text, &Rules::default()).unwrap_err()
}

#[test]
fn a_start_function_is_refused() {
    let text = "(module (func $s unreachable) (start $s))";
    assert_eq!(refusal(text), GenomeError::Start);
}

#[test]
fn an_import_that_the_host_does_not_offer_is_refused() {
    for text in [
        r#"(module (import "wasi_snapshot_preview1" "proc_exit" (func (param i32))))"#,
        r#"(module (import "agar" "meter" (func (param i64) (result i64))))"#,
        r#"(module (import "agar" "random" (func (result i32))))"#,
        r#"(module (import "agar" "random" (memory 1)))"#,
    ] {
        assert!(
            matches!(refusal(text), GenomeError::Import { .. }),
            "{text}"
        );
    }
}

#[test]
fn an_import_that_is_not_on_the_list_is_refused() {
    let text = r#"(module (import "agar" "random" (func (result i64))))"#;
    assert!(Genome::from_wat(text, &Rules::default()).is_ok());
    let rules = Rules {
        imports: vec![Import::Input],
        ..Rules::default()
    };
    let error = Genome::from_wat(text, &rules).unwrap_err();
    assert!(matches!(
        error,
        GenomeError::Import {
            reason: "it is not on the allow-list",
            ..
        }
    ));
}

#[test]
fn what_cells_do_not_offer_is_refused() {
    for text in [
        "(module (memory 1 1 shared))",
        "(module (memory i64 1))",
        "(module (func (result v128) (v128.const i64x2 0 0)))",
        "(module (func $f (return_call $f)))",
        "(module (table 1 externref))",
        "(module (tag))",
    ] {
        assert!(
            matches!(refusal(text), GenomeError::Malformed { .. }),
            "{text}: {:?}",
            refusal(text)
        );
    }
}

#[test]
fn more_than_the_rules_allow_is_refused() {
    for text in [
        "(module (memory 2000))",
        "(module (table 5000 funcref))",
        "(module (memory 1) (memory 1))",
        &format!("(module {})", "(func)".repeat(1_001)),
        &format!("(module (func {}))", "(local i64 i64 i64 i64)".repeat(600)),
        &format!("(module (func {}))", "nop ".repeat(70_000)),
        &format!(
            "(module {})",
            "(type (func (param i32)))(type (func))".repeat(600)
        ),
    ] {
        let error = refusal(text);
        assert!(matches!(error, GenomeError::TooLarge { .. }), "{error}");
    }
}

#[test]
fn a_name_of_the_hosts_is_refused() {
    let text = r#"(module (global (export "agar:fuel") (mut i64) (i64.const 0)))"#;
    assert!(matches!(refusal(text), GenomeError::ReservedExport { .. }));
}

#[test]
fn the_scan_finds_each_sort_of_operation_and_rules_can_deny_it() {
    let cases = [
        (Operation::Loop, "(module (func (loop)))"),
        (Operation::Call, "(module (func $f (call $f)))"),
        (
            Operation::IndirectCall,
            "(module (table 1 funcref) (func (call_indirect (i32.const 0))))",
        ),
        (
            Operation::MemoryGrow,
            "(module (memory 1) (func (drop (memory.grow (i32.const 1)))))",
        ),
        (
            Operation::BulkMemory,
            "(module (memory 1) (func (memory.fill (i32.const 0) (i32.const 0) (i32.const 0))))",
        ),
        (
            Operation::TableWrite,
            "(module (table 1 funcref) (func (table.set (i32.const 0) (ref.null func))))",
        ),
        (
            Operation::SegmentDrop,
            r#"(module (memory 1) (data "x") (func (data.drop 0)))"#,
        ),
        (
            Operation::Reinterpret,
            "(module (func (drop (i32.reinterpret_f32 (f32.const 0)))))",
        ),
        (
            Operation::HostCall,
            r#"(module (import "agar" "random" (func $r (result i64))) (func (drop (call $r))))"#,
        ),
    ];
    for (operation, text) in cases {
        let genome = Genome::from_wat(text, &Rules::default()).unwrap();
        assert!(genome.facts().operations.has(operation), "{operation}");
        let rules = Rules {
            denied: Operations::NONE.with(operation),
            ..Rules::default()
        };
        let error = Genome::from_wat(text, &rules).unwrap_err();
        assert!(
            matches!(error, GenomeError::Denied { operation: found, .. } if found == operation)
        );
    }
}

#[test]
fn a_genome_is_named_by_its_content() {
    let a = Genome::from_wat("(module (func))", &Rules::default()).unwrap();
    let b = Genome::from_wasm(a.wasm(), &Rules::tiny()).unwrap();
    let c = Genome::from_wat("(module (func nop))", &Rules::default()).unwrap();
    assert_eq!(a.id(), b.id());
    assert_ne!(a.id(), c.id());
    assert_eq!(a.id().to_string().parse(), Ok(a.id()));
}

proptest! {
    #[test]
    fn no_bytes_make_the_loader_panic(bytes: Vec<u8>) {
        let whole = [b"\0asm\x01\0\0\0".as_slice(), &bytes].concat();
        drop(Genome::from_wasm(&bytes, &Rules::default()));
        drop(Genome::from_wasm(&whole, &Rules::default()));
    }

    #[test]
    fn a_damaged_genome_is_refused_or_loads(at: prop::sample::Index, byte: u8) {
        let mut wasm = crate::kit::genome(&crate::kit::counter(1, 1)).wasm().to_vec();
        let at = at.index(wasm.len());
        wasm[at] = byte;
        if let Ok(genome) = Genome::from_wasm(&wasm, &Rules::default()) {
            // Whatever passes the checks must load: the counters never break a module.
            let made = crate::kit::incubator().create(&genome, crate::kit::tight());
            let engine = matches!(made, Err(agar_evolve::CellError::Engine(_)));
            prop_assert!(!engine, "{made:?}");
        }
    }

    #[test]
    fn no_text_makes_the_loader_panic(text in "\\(module[ ()a-z0-9.$]{0,80}") {
        drop(Genome::from_wat(&text, &Rules::default()));
    }
}
