//! Chains of changes that change nothing keep the fitness, to the last bit.

use crate::evolving::bench;
use agar_evolve::breed::{self, Soil};
use agar_evolve::task::{Answers, Bench, Regression, Task};
use agar_evolve::{Chance, Code, Genome, Rules, Tree};
use proptest::prelude::*;

fn usual() -> Bench {
    Bench {
        rules: Rules::default(),
        ..bench()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn rewording_an_expression_keeps_its_fitness(seed: u64) {
        let target = Tree::formula("x^2 + 2*x - 1").unwrap();
        let task = Regression::of_formula(&target, (-5.0, 5.0), 21, 3);
        let soil = Soil { nodes_max: 1_000, depth_max: 200, ..Soil::of(1) };
        let mut chance = Chance::of(&[seed]);
        let mut tree = breed::grow(&soil, 5, &mut chance);
        let verdict = task.evaluate(&Code::Tree(tree.clone()), &usual()).verdict;
        for _ in 0..25 {
            tree = breed::reword(&soil, &tree, &mut chance);
        }
        prop_assert_eq!(task.evaluate(&Code::Tree(tree), &usual()).verdict, verdict);
    }
}

/// Answers each question with its letters turned into the next ones.
const NEXT_LETTERS: &str = r#"(module
    (memory (export "memory") 1)
    (func (export "alloc") (param i32) (result i32) (i32.const 1024))
    (func $next (param i32) (result i32)
      (i32.add (i32.and (local.get 0) (i32.const 255)) (i32.const 1)))
    (func (export "evaluate") (param $at i32) (param $length i32) (result i64) (local $i i32)
      (loop $each
        (if (i32.lt_u (local.get $i) (local.get $length))
          (then
            (i32.store8 (local.get $i)
              (call $next (i32.load8_u (i32.add (local.get $at) (local.get $i)))))
            (local.set $i (i32.add (local.get $i) (i32.const 1)))
            (br $each))))
      (i64.extend_i32_u (local.get $length))))"#;

#[test]
fn rewording_a_module_keeps_its_fitness() {
    let genome = Genome::from_wat(NEXT_LETTERS, &Rules::default()).unwrap();
    let cases = [("a", "b"), ("hal", "ibm"), ("", ""), ("x", "wrong")];
    let cases = cases.map(|(question, answer)| (question.into(), answer.into()));
    let task = Answers::new(cases.to_vec(), Vec::new());
    let first = task.evaluate(&Code::Module(genome.wasm().to_vec()), &usual());
    assert_eq!(
        first.verdict.as_ref().map(|fitness| fitness.score),
        Ok(0.75)
    );
    let mut changed = 0;
    for seed in 0..6 {
        let mut chance = Chance::of(&[seed]);
        let mut wasm = genome.wasm().to_vec();
        for _ in 0..8 {
            // A change may lead outside what agar allows; such a child is no genome, not a worse one.
            let Some(child) = breed::reword_module(&wasm, &mut chance) else {
                continue;
            };
            if Genome::from_wasm(&child, &Rules::default()).is_ok() {
                changed += usize::from(child != wasm);
                wasm = child;
            }
        }
        let verdict = task.evaluate(&Code::Module(wasm), &usual()).verdict;
        assert_eq!(verdict, first.verdict, "seed {seed}");
    }
    assert!(changed >= 12, "only {changed} changes were made");
}

#[test]
fn mutating_a_module_depends_on_its_seed_alone() {
    let genome = Genome::from_wat(NEXT_LETTERS, &Rules::default()).unwrap();
    let child = |seed| breed::mutate_module(genome.wasm(), &mut Chance::of(&[seed]));
    let children: Vec<_> = (0..8).map(child).collect();
    assert_eq!(children, (0..8).map(child).collect::<Vec<_>>());
    assert!(children.iter().flatten().count() >= 6);
}
