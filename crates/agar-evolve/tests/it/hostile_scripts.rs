//! Whatever a script does, its run ends with a name for it, and the host goes on.

use agar_evolve::{CellError, Engines, Genome, Incubator, Limits, Rules, Settings, Spec};
use agar_testkit::clock::FixedClock;
use std::sync::Arc;

/// How a hostile script is expected to end.
#[derive(Debug, Clone, Copy)]
enum End {
    Instructions,
    Stack,
    Output,
    /// An exception with these words in it.
    Says(&'static str),
}

const CORPUS: &[(&str, End)] = &[
    // Spinning, in every way that there is to spin.
    ("for (;;);", End::Instructions),
    ("for (;;) { try { null.x } catch {} }", End::Instructions),
    ("return Function('for (;;);')()", End::Instructions),
    (
        "return [3, 2, 1].sort(() => { for (;;); })",
        End::Instructions,
    ),
    ("return { toJSON() { for (;;); } }", End::Instructions),
    ("throw { toString() { for (;;); } }", End::Instructions),
    (
        "return new Proxy({}, { ownKeys() { for (;;); } })",
        End::Instructions,
    ),
    (
        "return (async () => { for (;;) await 0; })()",
        End::Instructions,
    ),
    (
        "return [...(function* () { for (;;) yield 1; })()]",
        End::Instructions,
    ),
    // Regular expressions that backtrack for ever.
    (
        "return /^(a+)+$/.test('a'.repeat(40) + 'b')",
        End::Instructions,
    ),
    ("return /(x+x+)+y/.exec('x'.repeat(60))", End::Instructions),
    // Memory.
    (
        "const kept = []; for (;;) kept.push(new Uint8Array(1 << 20).fill(1))",
        End::Says("memory"),
    ),
    (
        "const kept = []; for (;;) try { kept.push(new Uint8Array(1 << 20)) } catch {}",
        End::Instructions,
    ),
    ("return new ArrayBuffer(2 ** 31)", End::Says("")),
    (
        "return new Array(2 ** 32 - 1).fill(0).length",
        End::Instructions,
    ),
    ("let n = 2n; for (;;) n *= n", End::Instructions),
    // Strings.
    ("return 'x'.repeat(2 ** 30)", End::Says("")),
    ("let s = 'x'; for (;;) s += s", End::Says("")),
    ("return 'x'.padEnd(2 ** 29).length", End::Says("")),
    ("return Array(1e7).join('x')", End::Instructions),
    // Depth.
    ("const f = () => f() + 1; return f()", End::Stack),
    (
        "const f = () => { try { return f() + 1 } catch { return f() } }; return f()",
        End::Stack,
    ),
    (
        "const o = {}; Object.defineProperty(o, 'x', { get() { return o.x } }); return o.x",
        End::Stack,
    ),
    ("return JSON.parse('['.repeat(50000))", End::Stack),
    ("return eval('('.repeat(50000))", End::Stack),
    (
        "let a = []; for (let i = 0; i < 5000; i++) a = [a]; return JSON.stringify(a)",
        End::Stack,
    ),
    // Output.
    ("return 'x'.repeat(100000)", End::Output),
    ("for (;;) agar.emit('key', 'value')", End::Output),
    ("throw new Error('x'.repeat(100000))", End::Says("xxx")),
    // Ways out.
    ("return import('fs')", End::Says("could not load module")),
    ("return require('fs')", End::Says("require")),
    ("return process.exit(1)", End::Says("process")),
    (
        "return new WebAssembly.Module(new Uint8Array(8))",
        End::Says("WebAssembly"),
    ),
    ("return fetch('http://127.0.0.1')", End::Says("fetch")),
    ("return new Promise(() => {})", End::Says("never settles")),
    (
        "return Symbol.iterator[Symbol.toPrimitive]()()",
        End::Says(""),
    ),
];

fn spec() -> Spec {
    Spec {
        limits: Limits {
            instructions: 40_000_000,
            output_bytes: 8_192,
            ..Limits::default()
        },
        ..Spec::default()
    }
}

fn genome(source: &str) -> Genome {
    let rules = Rules {
        memory_pages_max: 256,
        ..Rules::default()
    };
    Genome::from_javascript(source, &rules).unwrap()
}

fn holds(end: End, error: &CellError) -> bool {
    match end {
        End::Instructions => *error == CellError::Instructions { limit: 40_000_000 },
        End::Stack => matches!(error, CellError::Stack { .. }),
        End::Output => *error == CellError::Output { limit: 8_192 },
        End::Says(words) => matches!(error, CellError::Refused(said) if said.contains(words)),
    }
}

/// One with a given engine: which of them a script deserves depends on all that ran in this process.
fn incubator(engines: Engines) -> Incubator {
    let settings = Settings {
        engines,
        ..Settings::default()
    };
    Incubator::new(&settings, Arc::new(FixedClock::default()))
}

/// Those that end otherwise than expected.
fn surprises(incubator: &Incubator) -> Vec<String> {
    let harmless = genome("function evaluate() {}");
    drop(incubator.create(&harmless, spec()).unwrap());
    // The interpreter's own code, where it is compiled, is kept for the next one.
    let kept = incubator.in_use().memory;
    let mut surprises = Vec::new();
    for (body, end) in CORPUS {
        let genome = genome(&format!("function evaluate() {{ {body} }}"));
        let mut cell = incubator.create(&genome, spec()).unwrap();
        match cell.evaluate(b"x") {
            Err(error) if holds(*end, &error) && error.is_reproducible() => {}
            other => surprises.push(format!("{body}: expected {end:?}, got {other:?}")),
        }
        drop(cell);
        assert_eq!(incubator.in_use().live, 0, "{body}");
        assert_eq!(incubator.in_use().memory, kept, "{body}");
    }
    surprises
}

#[test]
fn every_hostile_script_ends_with_a_name() {
    let incubator = incubator(Engines::Light);
    let surprises = surprises(&incubator);
    assert!(surprises.is_empty(), "{surprises:#?}");
    assert_eq!(incubator.in_use().memory, 0);
}

#[cfg(feature = "native")]
#[test]
fn compiled_it_ends_with_the_same_name() {
    let surprises = surprises(&incubator(Engines::Heavy));
    assert!(surprises.is_empty(), "{surprises:#?}");
}

#[test]
fn a_source_that_spins_or_breaks_while_it_is_read_makes_no_cell() {
    let create = |source: &str| {
        incubator(Engines::Light)
            .create(&genome(source), spec())
            .unwrap_err()
    };
    let spins = create("for (;;);");
    assert!(matches!(spins, CellError::Instructions { .. }), "{spins:?}");
    let deep = create(&"(".repeat(100_000));
    assert!(matches!(deep, CellError::Stack { .. }), "{deep:?}");
    for source in [
        "function (",
        "import fs from 'fs'",
        "export const x = 1",
        "await 1",
        "throw new Error('early')",
        "\u{0}",
    ] {
        let refused = create(source);
        assert!(matches!(refused, CellError::Refused(_)), "{refused:?}");
    }
}

#[test]
fn sabotage_harms_the_saboteur_only() {
    let source = "
        for (const it of [Array, String, Object, Function, Promise, Math, JSON])
          for (const name of Object.getOwnPropertyNames(it.prototype ?? it))
            try { (it.prototype ?? it)[name] = () => { throw 'broken'; }; } catch {}
        globalThis.eval = globalThis.String = globalThis.JSON = globalThis.agar = undefined;
        function evaluate(input) { return { input }; }";
    let incubator = incubator(Engines::Light);
    let mut broken = incubator.create(&genome(source), spec()).unwrap();
    let answer = broken.evaluate(b"still").unwrap();
    assert_eq!(answer, br#"{"input":"still"}"#);
    let whole = "function evaluate() { return [3, 1, 2].sort().map(String).join(); }";
    let mut whole = incubator.create(&genome(whole), spec()).unwrap();
    assert_eq!(whole.evaluate(b"").unwrap(), b"1,2,3");
}
