//! Bots in JavaScript that play against the host, and learn.

use crate::kit::incubator;
use agar_evolve::search::{Plan, Search, Stop};
use agar_evolve::task::{Bench, Lander, Task as _};
use agar_evolve::{Code, Limits, Rules, Unwatched};
use std::sync::Arc;

const BOT: &str = include_str!("../../../../examples/game-bot/bot.js");
const CAREFUL: &str = include_str!("../../../../examples/game-bot/careful.js");

fn bench() -> Bench {
    Bench {
        incubator: incubator(),
        rules: Rules::default(),
        limits: Limits {
            instructions: 10_000_000,
            ..Limits::default()
        },
    }
}

fn script(source: &str) -> Code {
    Code::Script(source.to_owned())
}

fn games(count: usize) -> Lander {
    Lander::new(count, 0.6, 1, vec![script(BOT)])
}

fn game() -> Lander {
    games(2)
}

#[test]
fn the_host_flies_and_keeps_the_score() {
    let crashed = game().evaluate(&script(BOT), &bench()).verdict.unwrap();
    assert!(crashed.score < 0.0, "{crashed:?}");
    assert!(crashed.components["landed"] < 0.5, "{crashed:?}");
    let landed = game().evaluate(&script(CAREFUL), &bench()).verdict.unwrap();
    assert!(landed.score > 0.5, "{landed:?}");
    assert!(landed.components["landed"] > 1.5, "{landed:?}");
    let examined = game().examine(&script(CAREFUL), &bench());
    assert!(examined["held-out landings of 20"] > 19.5, "{examined:?}");
}

#[test]
fn a_move_against_the_rules_is_no_score() {
    for (source, word) in [
        ("const evaluate = () => 2;", "wrong_answer"),
        ("const evaluate = () => -1;", "wrong_answer"),
        ("const evaluate = () => 'land!';", "wrong_answer"),
        ("const evaluate = () => undefined;", "wrong_answer"),
        ("const evaluate = () => NaN;", "not_finite"),
        ("const evaluate = () => 1 / 0;", "not_finite"),
        ("const evaluate = () => { for (;;); };", "limit"),
        ("const evaluate = () => nothing;", "crashed"),
        ("this is no JavaScript", "crashed"),
        ("const step = () => 0;", "crashed"),
        (
            "const evaluate = () => { agar.emit('score', '1'); return 0; };",
            "own_score",
        ),
    ] {
        let verdict = game().evaluate(&script(source), &bench()).verdict;
        let said = verdict.as_ref().err().map(agar_evolve::Invalid::word);
        assert_eq!(said, Some(word), "{source}: {verdict:?}");
    }
}

/// Falls in the first game of its life, hovers in all others.
#[test]
fn a_bot_remembers_nothing_of_the_last_game() {
    let forgetful = "let last = Infinity; let games = 0; const evaluate = (input) => {
        const { height } = JSON.parse(input);
        if (height > last) games += 1;
        last = height;
        return games > 0 ? 0.405 : 0; };";
    let verdict = game().evaluate(&script(forgetful), &bench()).verdict;
    let fitness = verdict.unwrap();
    assert!(fitness.cases.iter().all(|loss| *loss > 1.0), "{fitness:?}");
    assert!(fitness.components["burned"] < 0.5, "{fitness:?}");
}

#[test]
fn a_population_of_scripts_learns_on_any_number_of_threads() {
    let evolved = |threads: usize| {
        let plan = Plan {
            seed: 1,
            population: 6,
            islands: 1,
            stop: Stop {
                generations: 4,
                ..Stop::default()
            },
            ..Plan::default()
        };
        let mut search = Search::new(plan, Arc::new(games(1)), bench(), Arc::new(Unwatched));
        while search.ended().is_none() {
            search.step(threads);
        }
        search
    };
    let (one, two) = (evolved(1), evolved(2));
    assert_eq!(one.checkpoint().digest, two.checkpoint().digest);
    let best = one.best().unwrap();
    assert!(matches!(best.code.as_ref(), Code::Script(_)));
    let began = games(1).evaluate(&script(BOT), &bench()).verdict.unwrap();
    let ended = best.verdict.as_ref().unwrap();
    assert!(ended.score > began.score, "{began:?} {ended:?}");
}
