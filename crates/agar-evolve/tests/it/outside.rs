//! Children that somebody outside makes: asked for with what is known, tried like any other.

use crate::kit::incubator;
use agar_evolve::outside::{Mutator, NoChild, Question};
use agar_evolve::search::{Generation, Origin, Plan, Search, Stop};
use agar_evolve::task::{Answers, Bench, Regression, Task};
use agar_evolve::{Code, Genome, Limits, Rules, Tree, Unwatched};
use std::sync::{Arc, Mutex};

fn bench() -> Bench {
    Bench {
        incubator: incubator(),
        rules: Rules::default(),
        limits: Limits::default(),
    }
}

fn plan(outside: f64) -> Plan {
    Plan {
        population: 12,
        islands: 2,
        outside,
        crossover: 0.5,
        stop: Stop {
            generations: 8,
            solved: false,
            ..Stop::default()
        },
        ..Plan::default()
    }
}

fn cube() -> Arc<Regression> {
    let target = Tree::formula("x^3 - x").unwrap();
    Arc::new(Regression::of_formula(&target, (-2.0, 2.0), 9, 1))
}

fn search(plan: Plan, task: Arc<dyn Task>) -> Search {
    Search::new(plan, task, bench(), Arc::new(Unwatched))
}

fn all(search: &mut Search) -> Vec<Generation> {
    let mut made = Vec::new();
    while search.ended().is_none() {
        made.push(search.step(2));
    }
    made
}

/// Answers by a rule, and keeps what it was asked.
#[derive(Debug)]
struct Scripted {
    rule: fn(&Question) -> Result<Code, NoChild>,
    asked: Mutex<Vec<Question>>,
}

impl Scripted {
    fn new(rule: fn(&Question) -> Result<Code, NoChild>) -> Arc<Self> {
        Arc::new(Self {
            rule,
            asked: Mutex::default(),
        })
    }
}

impl Mutator for Scripted {
    fn children(&self, questions: &[Question]) -> Vec<Result<Code, NoChild>> {
        self.asked.lock().unwrap().extend(questions.iter().cloned());
        questions.iter().map(self.rule).collect()
    }
}

fn formula(text: &str) -> Code {
    Code::Tree(Tree::formula(text).unwrap())
}

#[test]
fn a_child_from_outside_is_tried_and_has_its_parents_in_its_lineage() {
    let mutator = Scripted::new(|_| Ok(formula("x^3 - x")));
    let mut search = search(plan(0.5), cube()).with_mutator(mutator.clone());
    let made = all(&mut search);
    let best = search.best().unwrap();
    assert_eq!(best.lineage.mutation_type, Origin::Outside);
    assert!(best.fitness().unwrap().solved);
    assert!((1..=2).contains(&best.lineage.parents.len()));
    let asked = mutator.asked.lock().unwrap().len();
    let counted: usize = made.iter().flat_map(|it| it.census.outside.values()).sum();
    let born = made.iter().flat_map(|it| &it.births);
    let born = born.filter(|it| it.lineage.mutation_type == Origin::Outside);
    assert_eq!((asked, asked), (counted, born.count()));
}

#[test]
fn whoever_makes_children_is_told_of_parents_scores_and_failures() {
    let mutator = Scripted::new(|question| {
        let wild = question.wanted.place.is_multiple_of(2);
        let wild = wild.then_some("(mul (mul x0 1e300) 1e300)");
        Ok(Code::Tree(Tree::parse(wild.unwrap_or("x0"), 1).unwrap()))
    });
    let mut search = search(plan(0.7), cube()).with_mutator(mutator.clone());
    all(&mut search);
    let asked = mutator.asked.lock().unwrap();
    let last = asked.last().unwrap();
    assert_eq!((last.task.as_str(), last.arguments), ("regression", 1));
    assert!(last.best.as_ref().unwrap().score.is_some());
    let parent = last.parents.first().unwrap();
    assert!(
        !parent.code.is_empty() && parent.cases.len() == 9,
        "{parent:?}"
    );
    let failure = asked.iter().flat_map(|it| &it.failures).next().unwrap();
    assert_eq!(failure.invalid.as_deref(), Some("not_finite"));
    assert!(failure.score.is_none() && failure.why.is_some());
    assert!(asked.iter().all(|it| it.seed < 1 << 53));
}

#[test]
fn what_modules_put_out_is_told_too() {
    let module = r#"(module
        (import "agar" "emit" (func $emit (param i32 i32 i32 i32)))
        (memory (export "memory") 1)
        (data (i32.const 0) "note") (data (i32.const 8) "hello")
        (func (export "alloc") (param i32) (result i32) (i32.const 1024))
        (func (export "evaluate") (param i32 i32) (result i64)
          (call $emit (i32.const 0) (i32.const 4) (i32.const 8) (i32.const 5))
          (i64.const 1)))"#;
    let genome = Genome::from_wat(module, &Rules::default()).unwrap();
    let seed = Code::Module(genome.wasm().to_vec());
    let cases = vec![(b"a".to_vec(), b"b".to_vec())];
    let task = Arc::new(Answers::new(cases, vec![seed]));
    let mutator = Scripted::new(|_| Err(NoChild::GivenUp));
    let short = Plan {
        stop: Stop {
            generations: 1,
            solved: false,
            ..Stop::default()
        },
        ..plan(1.0)
    };
    all(&mut search(short, task).with_mutator(mutator.clone()));
    let asked = mutator.asked.lock().unwrap();
    let artifact = asked[0].parents[0].artifacts.first().unwrap();
    assert_eq!(
        (artifact.key.as_str(), artifact.text.as_str()),
        ("note", "hello")
    );
}

#[test]
fn a_bad_answer_is_counted_by_its_word_and_costs_nobody_a_place() {
    let mutator = Scripted::new(|question| match question.wanted.place % 3 {
        0 => Err(NoChild::Timeout { seconds: 1 }),
        1 => Ok(formula("x + y")),
        _ => Ok(Code::Numbers(vec![1.0])),
    });
    let mut search = search(plan(1.0), cube()).with_mutator(mutator);
    let made = all(&mut search);
    let last = &made.last().unwrap().census;
    assert!(last.outside["timeout"] > 0 && last.outside["unfit"] > 0);
    assert!(!last.outside.contains_key("child"));
    assert_eq!(last.health.valid + last.health.invalid, 24);
    let outside = |it: &Generation| {
        it.births
            .iter()
            .any(|it| it.lineage.mutation_type == Origin::Outside)
    };
    assert!(!made.iter().any(outside));
}

#[test]
fn the_same_answers_make_the_same_search_on_any_number_of_threads() {
    let digest = |threads| {
        let mutator =
            Scripted::new(|question| Ok(formula(&format!("x + {}", question.seed % 1_000))));
        let mut search = search(plan(0.4), cube()).with_mutator(mutator);
        while search.ended().is_none() {
            search.step(threads);
        }
        search.checkpoint().digest.clone()
    };
    assert_eq!(digest(1), digest(4));
}

#[test]
fn a_search_without_anybody_outside_is_what_it_always_was() {
    let digest = |search: &mut Search| {
        all(search);
        search.checkpoint().digest.clone()
    };
    let plain = digest(&mut search(plan(0.0), cube()));
    let never = Scripted::new(|_| Ok(formula("x")));
    let asked = digest(&mut search(plan(0.0), cube()).with_mutator(never.clone()));
    assert_eq!(plain, asked);
    assert!(never.asked.lock().unwrap().is_empty());
}
