//! The cheating corpus: what candidates do to get a score they did not earn. All of it is scored
//! invalid, and none of it costs the host anything.

use crate::evolving::bench;
use agar_evolve::task::{Answers, Bench, BinPacking, CirclePacking, Regression, Sort, Task};
use agar_evolve::{Code, Genome, Invalid, Limits, Rules, Tree, Verdict};

/// A module from its text, as a candidate.
fn module(text: &str) -> Code {
    let genome = Genome::from_wat(text, &Rules::default()).unwrap();
    Code::Module(genome.wasm().to_vec())
}

fn usual() -> Bench {
    Bench {
        rules: Rules::default(),
        ..bench()
    }
}

fn parabola() -> Regression {
    let target = Tree::formula("x^2 + 2*x - 1").unwrap();
    Regression::of_formula(&target, (-5.0, 5.0), 21, 3)
}

/// What the host makes of a candidate for the parabola.
fn judged(code: &Code) -> Verdict {
    let bench = usual();
    let verdict = parabola().evaluate(code, &bench).verdict;
    assert_eq!(bench.incubator.in_use().live, 0);
    verdict
}

#[track_caller]
fn assert_invalid(text: &str, word: &str) {
    let reason = judged(&module(text)).unwrap_err();
    assert_eq!(reason.word(), word, "{reason}");
}

/// A candidate of one argument whose function has this body.
fn function(body: &str) -> String {
    format!("(module (func (export \"f\") (param f64) (result f64) {body}))")
}

#[test]
fn a_number_that_is_none_is_no_answer() {
    for body in [
        "(f64.const nan)",
        "(f64.const inf)",
        "(f64.const -inf)",
        // Only once, where it might go unnoticed in a mean.
        "(select (f64.const nan) (f64.const 0) (f64.eq (local.get 0) (f64.const 5)))",
        // Finite, but so far off that the error overflows.
        "(f64.const -1.7976931348623157e308)",
    ] {
        let said = judged(&module(&function(body)));
        match said {
            Err(reason) => assert_eq!(reason.word(), "not_finite", "{body}"),
            Ok(fitness) => assert!(fitness.score < 1e-300 && !fitness.solved, "{body}"),
        }
    }
    for formula in [
        "(x - x) / 0 + 1e308 * 1e308",
        "1e308 * 1e308 - 1e308 * 1e308",
    ] {
        let tree = Tree::formula(formula).unwrap();
        assert!(judged(&Code::Tree(tree)).is_err(), "{formula}");
    }
}

#[test]
fn a_candidate_that_says_what_it_is_worth_is_worth_nothing() {
    let own = "(func (export \"score\") (result f64) (f64.const 1))";
    assert_invalid(
        &format!("(module {own} (func (export \"f\") (param f64) (result f64) (f64.const 0)))"),
        "own_score",
    );
    let emits = r#"(module
        (import "agar" "emit" (func $emit (param i32 i32 i32 i32)))
        (memory (export "memory") 1)
        (data (i32.const 0) "combined_score") (data (i32.const 32) "1e9")
        (func (export "f") (param f64) (result f64)
          (call $emit (i32.const 0) (i32.const 14) (i32.const 32) (i32.const 3))
          (f64.const 0)))"#;
    assert_invalid(emits, "own_score");
}

#[test]
fn no_error_is_small_enough_to_be_called_none() {
    // Within the tolerance on every case: a solution, but its score says what it lost.
    let near = Tree::formula("x^2 + 2*x - 1 + 0.0000001").unwrap();
    let fitness = judged(&Code::Tree(near)).unwrap();
    assert!(fitness.score < 1.0 && fitness.cases.iter().all(|loss| *loss > 0.0));
    // Just beyond it on every case, and far beyond on one: none.
    for formula in [
        "x^2 + 2*x - 1 + 0.0001",
        "x^2 + 2*x - 1 + if_less(4.9, x, 50, 0)",
    ] {
        let fitness = judged(&Code::Tree(Tree::formula(formula).unwrap())).unwrap();
        assert!(!fitness.solved, "{formula}");
    }
    // Circles that overlap by a hair are no packing: `task/circles.rs` has the arithmetic.
    let overlap = [[0.25, 0.25, 0.25 + 1e-12], [0.75, 0.25, 0.25]];
    assert!(agar_evolve::task::verify_circles(&overlap).is_err());
}

/// A candidate that knows the training cases by heart and nothing else.
fn by_heart() -> Tree {
    let mut formula = "0".to_owned();
    for index in 0..21_u8 {
        let x = -5.0 + 10.0 * f64::from(index) / 20.0;
        let value = x * x + 2.0 * x - 1.0;
        formula = format!("if_less(abs(x - ({x})), 0.000001, {value}, {formula})");
    }
    Tree::formula(&formula).unwrap()
}

#[test]
fn knowing_the_answers_by_heart_is_not_solving_the_task() {
    let reason = judged(&Code::Tree(by_heart())).unwrap_err();
    assert!(matches!(reason, Invalid::Memorised { .. }), "{reason}");
}

#[test]
fn there_is_nowhere_to_read_the_answers() {
    // The cases that a genome can ask the host for: there are none.
    let reads = r#"(module
        (import "agar" "input" (func $input (param i32 i32 i32) (result i32)))
        (memory (export "memory") 1)
        (func (export "f") (param f64) (result f64)
          (f64.convert_i32_s (call $input (i32.const 0) (i32.const 0) (i32.const 1024)))))"#;
    let said = judged(&module(reads));
    assert!(said.is_err() || said.is_ok_and(|fitness| fitness.score < 0.2));
    // Nor anything else of the host's.
    for name in ["answers", "expected", "fd_read", "clock_time_get"] {
        let imports = format!(
            "(module (import \"agar\" \"{name}\" (func)) {})",
            "(func (export \"f\") (param f64) (result f64) (f64.const 0))"
        );
        assert!(
            Genome::from_wat(&imports, &Rules::default()).is_err(),
            "{name}"
        );
        let wasm = wat(&imports);
        let reason = judged(&Code::Module(wasm)).unwrap_err();
        assert_eq!(reason.word(), "refused", "{name}");
    }
}

/// The bytes of a module that agar would refuse.
fn wat(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap()
}

#[test]
fn an_answer_must_not_depend_on_what_was_asked_before() {
    // Counts its calls, because the cases always come in the same order, or so it thinks.
    assert_invalid(
        r#"(module (global $n (mut f64) (f64.const -5.5))
          (func (export "f") (param f64) (result f64)
            (global.set $n (f64.add (global.get $n) (f64.const 0.5)))
            (f64.sub (f64.add (f64.mul (global.get $n) (global.get $n))
              (f64.mul (f64.const 2) (global.get $n))) (f64.const 1))))"#,
        "order",
    );
    let task = Answers::new(
        vec![
            (b"a".to_vec(), b"1".to_vec()),
            (b"b".to_vec(), b"2".to_vec()),
        ],
        Vec::new(),
    );
    let counts = module(
        r#"(module (memory (export "memory") 1) (global $n (mut i32) (i32.const 48))
          (func (export "alloc") (param i32) (result i32) (i32.const 64))
          (func (export "evaluate") (param i32 i32) (result i64)
            (global.set $n (i32.add (global.get $n) (i32.const 1)))
            (i32.store8 (i32.const 0) (global.get $n))
            (i64.const 1)))"#,
    );
    let said = task.evaluate(&counts, &usual()).verdict;
    assert!(matches!(said, Err(Invalid::Order { .. })), "{said:?}");
}

#[test]
fn time_buys_nothing() {
    // Spins: ends by count, the same on every machine.
    let spins = function("(loop $l (br $l)) (f64.const 0)");
    assert_invalid(&spins, "limit");
    // Does its best to be slow and then answers: the score is that of the answer.
    let slow = module(
        r#"(module (func (export "f") (param f64) (result f64) (local $i i32)
          (loop $l
            (local.set $i (i32.add (local.get $i) (i32.const 1)))
            (br_if $l (i32.lt_u (local.get $i) (i32.const 1000))))
          (f64.const 0)))"#,
    );
    let quick = module(&function("(f64.const 0)"));
    assert_eq!(judged(&slow), judged(&quick));
    // A clock that ends it makes the verdict one that is not believed again.
    let hurried = Bench {
        limits: Limits {
            instructions: 1 << 40,
            wall: Some(std::time::Duration::from_millis(5)),
            ..Limits::default()
        },
        ..usual()
    };
    let reason = parabola()
        .evaluate(&module(&spins), &hurried)
        .verdict
        .unwrap_err();
    assert!(matches!(reason, Invalid::Timeout { .. }) && !reason.is_reproducible());
    // How much of its budget is left tells a genome nothing about the case.
    let budget = r#"(module (import "agar" "fuel_left" (func $left (result i64)))
        (global $last (mut f64) (f64.const 0))
        (func (export "f") (param f64) (result f64)
          (global.set $last (f64.convert_i64_u (call $left))) (global.get $last)))"#;
    assert_invalid(budget, "order");
}

#[test]
fn bad_mutations_are_contained() {
    for (body, word) in [
        ("unreachable", "crashed"),
        ("(f64.load (i32.const -8))", "refused"),
        ("(call 0 (local.get 0))", "limit"),
        (
            "(f64.convert_i32_s (i32.div_s (i32.const 1) (i32.const 0)))",
            "crashed",
        ),
    ] {
        let text = function(body);
        let reason = judged(&Code::Module(wat::parse_str(&text).unwrap_or_default())).unwrap_err();
        assert_eq!(reason.word(), word, "{body}: {reason}");
    }
    let other = module("(module (func (export \"g\") (param f64) (result f64) (f64.const 0)))");
    assert_eq!(judged(&other).unwrap_err().word(), "crashed");
    assert_eq!(
        judged(&Code::Module(b"not a module".to_vec()))
            .unwrap_err()
            .word(),
        "refused"
    );
    assert_eq!(
        judged(&Code::Numbers(vec![1.0])).unwrap_err().word(),
        "refused"
    );
}

#[test]
fn a_packer_cannot_remember_or_like_nonsense() {
    let task = BinPacking::generated(Sort::Uniform, 2, 40, 1);
    let remembers = module(
        r#"(module (global $n (mut f64) (f64.const 0))
          (func (export "f") (param f64 f64 f64) (result f64)
            (global.set $n (f64.add (global.get $n) (f64.const 1))) (global.get $n)))"#,
    );
    assert_eq!(
        task.evaluate(&remembers, &usual())
            .verdict
            .unwrap_err()
            .word(),
        "refused"
    );
    let nonsense =
        module("(module (func (export \"f\") (param f64 f64 f64) (result f64) (f64.const nan)))");
    assert_eq!(
        task.evaluate(&nonsense, &usual())
            .verdict
            .unwrap_err()
            .word(),
        "not_finite"
    );
}

#[test]
fn the_program_that_refines_circles_is_checked_like_any_other() {
    let task = CirclePacking::new(5, 9.0).unwrap();
    let bench = Bench {
        limits: Limits {
            instructions: 1 << 34,
            ..Limits::default()
        },
        ..usual()
    };
    let starts = [0.2, 0.2, 0.8, 0.2, 0.2, 0.8, 0.8, 0.8, 0.5, 0.5];
    let evaluation = task.evaluate(&Code::Numbers(starts.to_vec()), &bench);
    let fitness = evaluation.verdict.unwrap();
    // Four in the corners and one between them: 3/4 + sqrt(2)/4, less what was taken off.
    assert!(
        fitness.score > 1.1035 && fitness.score < 1.10356,
        "{}",
        fitness.score
    );
    for starts in [vec![f64::NAN; 10], vec![0.5; 10], vec![0.5; 9], Vec::new()] {
        let said = task.evaluate(&Code::Numbers(starts), &bench).verdict;
        assert!(said.is_err() || said.is_ok_and(|fitness| fitness.score < 1.11));
    }
}
