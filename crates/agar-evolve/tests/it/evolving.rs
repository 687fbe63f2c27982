//! The seed's proof of concept: populations that find formulas, in cells.

use crate::kit::incubator;
use agar_evolve::search::{Ended, Generation, Mode, Plan, Search, Selection, Stop};
use agar_evolve::task::{Bench, BinPacking, Regression, Sort, Task as _};
use agar_evolve::{Code, Limits, Rules, Telemetry, Tree, Unwatched, Watch};
use std::sync::Arc;

pub(crate) fn bench() -> Bench {
    Bench {
        incubator: incubator(),
        rules: Rules::tiny(),
        limits: Limits {
            instructions: 1_000_000,
            ..Limits::default()
        },
    }
}

fn formula(target: &str) -> Arc<Regression> {
    let target = Tree::formula(target).unwrap();
    Arc::new(Regression::of_formula(&target, (-5.0, 5.0), 21, 3))
}

fn search(target: &str, plan: Plan) -> Search {
    Search::new(plan, formula(target), bench(), Arc::new(Unwatched))
}

fn run(search: &mut Search, threads: usize) -> Vec<Generation> {
    let mut generations = Vec::new();
    while search.ended().is_none() {
        generations.push(search.step(threads));
    }
    generations
}

#[test]
fn a_population_finds_the_square() {
    for seed in 1..=3 {
        let plan = Plan {
            seed,
            ..Plan::default()
        };
        let mut search = search("x^2", plan);
        run(&mut search, 2);
        assert_eq!(search.ended(), Some(Ended::Solved), "seed {seed}");
    }
}

#[test]
fn a_population_finds_the_seeds_parabola() {
    for seed in 1..=3 {
        let plan = Plan {
            seed,
            ..Plan::default()
        };
        let mut search = search("x^2 + 2*x - 1", plan);
        run(&mut search, 2);
        assert_eq!(search.ended(), Some(Ended::Solved), "seed {seed}");
        let best = search.best().unwrap();
        let Code::Tree(tree) = best.code.as_ref() else {
            panic!("an expression was bred");
        };
        for x in [-100.0, -1.5, 0.0, 0.25, 1_000.0] {
            let wanted = x * x + 2.0 * x - 1.0;
            let off = (tree.value(&[x]) - wanted).abs();
            assert!(off <= 1e-3 * wanted.abs().max(1.0), "{}", tree.to_formula());
        }
    }
}

fn short(mode: Mode, selection: Selection) -> Plan {
    Plan {
        population: 60,
        islands: 3,
        migrate_every: 2,
        mode,
        selection,
        neutral: 0.1,
        stop: Stop {
            generations: 8,
            solved: false,
            ..Stop::default()
        },
        ..Plan::default()
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    for mode in [Mode::Generations, Mode::Steady] {
        for selection in [Selection::Tournament, Selection::Lexicase] {
            let plan = short(mode, selection);
            let outcomes: Vec<_> = [1, 2, 7]
                .into_iter()
                .map(|threads| {
                    let mut search = search("x^3 - x + 2", plan.clone());
                    run(&mut search, threads);
                    search.checkpoint().clone()
                })
                .collect();
            assert_eq!(outcomes[0], outcomes[1]);
            assert_eq!(outcomes[0], outcomes[2]);
        }
    }
}

#[test]
fn another_seed_is_another_history() {
    let of = |seed| {
        let plan = Plan {
            seed,
            ..short(Mode::Generations, Selection::Tournament)
        };
        let mut search = search("x^2", plan);
        run(&mut search, 2);
        search.checkpoint().digest.clone()
    };
    assert_ne!(of(1), of(2));
}

/// Everyone whom these generations bore and did not collect.
fn known(generations: &[Generation]) -> Vec<agar_evolve::search::Individual> {
    let births = generations.iter().flat_map(|it| &it.births);
    let collected: Vec<u64> = generations
        .iter()
        .flat_map(|it| it.collected.clone())
        .collect();
    births
        .filter(|it| !collected.contains(&it.id))
        .map(|it| it.as_ref().clone())
        .collect()
}

#[test]
fn a_search_taken_up_at_any_generation_ends_the_same() {
    for mode in [Mode::Generations, Mode::Steady] {
        let plan = Plan {
            grid: vec![agar_evolve::search::Axis {
                feature: agar_evolve::search::Feature::Size,
                from: 1.0,
                to: 63.0,
                bins: 8,
            }],
            ..short(mode, Selection::Tournament)
        };
        let mut whole = search("x^3 - x + 2", plan.clone());
        let generations = run(&mut whole, 2);
        for stop in [0, 3, 6] {
            let known = known(&generations[..=stop]);
            let at = generations[stop].checkpoint.clone();
            let task = formula("x^3 - x + 2");
            let mut again = Search::resume(
                plan.clone(),
                task,
                bench(),
                Arc::new(Unwatched),
                (at, known),
            )
            .unwrap();
            run(&mut again, 1);
            assert_eq!(again.checkpoint(), whole.checkpoint());
        }
    }
}

#[test]
fn telemetry_shows_health_and_the_distribution_of_fitness() {
    let telemetry = Arc::new(Telemetry::default());
    let watch: Arc<dyn Watch> = telemetry.clone();
    let plan = short(Mode::Generations, Selection::Tournament);
    let mut search = Search::new(plan, formula("x^2"), bench(), watch);
    run(&mut search, 2);
    let counts = telemetry.read();
    let census = counts.census.clone().unwrap();
    let alive = census.health.valid + census.health.invalid;
    assert_eq!(alive, 180);
    let spread: usize = census.distribution.iter().map(|bin| bin.count).sum();
    assert_eq!(spread, census.health.valid);
    assert_eq!(
        counts.events["sandbox.evaluate.start"],
        search.checkpoint().trials
    );
    assert_eq!(
        counts.events["sandbox.evaluate.start"],
        counts.events["sandbox.evaluate.stop"]
            + counts
                .events
                .get("sandbox.evaluate.exception")
                .copied()
                .unwrap_or(0)
    );
    assert!(counts.events["sandbox.gc.collected"] > 0);
    let text = telemetry.prometheus();
    assert!(text.contains("agar_evolve_fitness{at=\"best\"}"), "{text}");
    assert!(text.contains("agar_evolve_fitness_distribution{"), "{text}");
}

#[test]
fn nothing_is_left_when_a_search_is_over() {
    let bench = bench();
    let plan = short(Mode::Generations, Selection::Tournament);
    let mut search = Search::new(plan, formula("x^2"), bench.clone(), Arc::new(Unwatched));
    let mut born = 0;
    let mut collected = 0;
    while search.ended().is_none() {
        let generation = search.step(2);
        born += generation.births.len();
        collected += generation.collected.len();
        assert_eq!(bench.incubator.in_use().live, 0);
    }
    // What is kept: the living, the archives and the dead of three generations.
    assert!(
        born - collected < 180 * 5 + 100,
        "{born} born, {collected} collected"
    );
}

#[test]
fn a_cascade_asks_the_bad_less_and_never_lets_them_win() {
    let bench = bench();
    let code = |text: &str, arguments| {
        let tree = Tree::formula(text).unwrap();
        Code::Tree(Tree::new(arguments, tree.nodes().to_vec()).unwrap())
    };
    let target = Tree::formula("x^2").unwrap();
    let whole = Regression::of_formula(&target, (-5.0, 5.0), 41, 1);
    let staged = whole.clone().with_cascade(5, 0.2);
    let (bad, good) = (code("9 * x^3", 1), code("x^2", 1));
    let cost = |task: &Regression| task.evaluate(&bad, &bench).instructions;
    assert!(cost(&staged) < cost(&whole));
    assert_eq!(
        staged.evaluate(&good, &bench).verdict,
        whole.evaluate(&good, &bench).verdict
    );
    let whole = BinPacking::generated(Sort::Uniform, 10, 120, 1);
    let staged = whole.clone().with_cascade(2, -0.2);
    let (bad, good) = (code("x1", 3), code("0 - x2", 3));
    let score = |task: &BinPacking, code| task.evaluate(code, &bench).verdict.unwrap();
    assert!(score(&staged, &bad).cases.is_empty());
    assert!(score(&staged, &bad).score < score(&whole, &bad).score);
    assert_eq!(score(&staged, &good), score(&whole, &good));
}
