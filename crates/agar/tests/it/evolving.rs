//! Searches through the command: run, killed, taken up again, looked at.

use crate::answers::checked;
use crate::world::plain;
use agar_testkit::random::Random;
use agar_testkit::{Session, World, wait};
use serde_json::Value;

const PARABOLA: &str = "x^2 + 2*x - 1";

#[test]
fn one_command_finds_the_seeds_parabola() {
    let world = plain();
    let outcome = world
        .agar(["evolve", "run", "--target", PARABOLA])
        .success();
    assert!(
        outcome.stdout.starts_with("solved  formula · generation "),
        "{}",
        outcome.stdout
    );
    let answer = checked(
        "evolve-best",
        &world.agar(["evolve", "best", "--json"]).success(),
    );
    assert_eq!(answer["best"][0]["solved"], true);
    assert_eq!(answer["best"][0]["score"], 1.0);
}

#[test]
fn answers_of_searches_fit_their_schemas() {
    let world = plain();
    let run = ["evolve", "run", "--target", PARABOLA, "-g", "3", "--json"];
    let answer = checked("evolve-run", &world.agar(run).success());
    assert_eq!(answer["search"]["name"], "formula");
    assert_eq!(answer["search"]["generation"], 3);
    for verb in ["status", "best", "lineage", "plot"] {
        let outcome = world.agar(["evolve", verb, "formula", "--json"]).success();
        checked(&format!("evolve-{verb}"), &outcome);
    }
    checked(
        "evolve-status",
        &world.agar(["evolve", "status", "--json"]).success(),
    );
    let resume = ["evolve", "resume", "formula", "-g", "5", "--json"];
    let answer = checked("evolve-resume", &world.agar(resume).success());
    assert_eq!(answer["search"]["generation"], 5);
    checked(
        "evolve-rm",
        &world.agar(["evolve", "rm", "formula", "--json"]).success(),
    );
    let answer = checked("evolve-status", &world.agar(["evolve", "status", "--json"]));
    assert_eq!(answer["searches"].as_array().map(Vec::len), Some(0));
}

/// The file of a search that takes a while.
const FILE: &str = "\
name = 'long'

[task]
kind = 'regression'
target = 'x^4 - 3*x^3 + 0.5*x - 2'

[search]
seed = 11
population = 60
islands = 2
mode = 'steady'
selection = 'lexicase'
neutral = 0.05
grid = [{ feature = 'size', from = 1.0, to = 63.0, bins = 8 }]
stop = { generations = 40, solved = false }
";

/// Everything that a search left behind, but for times.
#[track_caller]
fn history(world: &World, name: &str) -> Value {
    let mut all = serde_json::Map::new();
    for words in [
        &["status"][..],
        &["best", "-n", "20"],
        &["plot"],
        &["lineage"],
    ] {
        let (verb, options) = words.split_at(1);
        let line = ["evolve", verb[0], name].into_iter();
        let outcome = world.agar(line.chain(options.iter().copied()).chain(["--json"]));
        let mut answer: Value = serde_json::from_str(&outcome.success().stdout).unwrap_or_default();
        assert!(answer.is_object(), "{name} does not answer {verb:?}");
        timeless(&mut answer);
        all.insert(verb[0].to_owned(), answer);
    }
    Value::Object(all)
}

fn timeless(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for time in ["created_at", "changed_at", "evaluated_at", "name", "dot"] {
                fields.remove(time);
            }
            fields.values_mut().for_each(timeless);
        }
        Value::Array(items) => items.iter_mut().for_each(timeless),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn generation(world: &World) -> (u64, String) {
    generation_of(world, "killed")
}

fn generation_of(world: &World, name: &str) -> (u64, String) {
    let outcome = world.agar(["evolve", "status", name, "--json"]);
    let answer: Value = serde_json::from_str(&outcome.stdout).unwrap_or_default();
    let search = &answer["searches"][0];
    let state = search["state"].as_str().unwrap_or_default().to_owned();
    (search["generation"].as_u64().unwrap_or(0), state)
}

#[test]
fn a_search_killed_at_random_moments_ends_as_if_it_never_was() {
    let world = plain();
    world.write("long.toml", FILE);
    world
        .agar(["evolve", "run", "long.toml", "-j", "1"])
        .success();
    let mut random = Random::new(5);
    let mut kills = 0;
    let first = ["evolve", "run", "long.toml", "--name", "killed"];
    let mut running = world.command(first).spawn();
    wait::until("the search is on record", || {
        !generation(&world).1.is_empty()
    });
    while kills < 6 {
        // A moment: some generations further, then some microseconds into the next one.
        let until = generation(&world).0 + 1 + random.below(4) as u64;
        wait::until("the search went further", || {
            running.has_ended() || generation(&world).0 >= until
        });
        let spin = random.below(200_000);
        for _ in 0..spin {
            std::hint::spin_loop();
        }
        if running.has_ended() {
            break;
        }
        running.kill();
        kills += 1;
        assert_ne!(generation(&world).1, "running");
        running = world.command(["evolve", "resume", "killed"]).spawn();
    }
    running.finish();
    assert!(kills >= 3, "the search was killed only {kills} times");
    assert_eq!(history(&world, "killed"), history(&world, "long"));
}

#[test]
fn a_running_search_shows_how_its_population_is() {
    let world = plain();
    world.write("long.toml", FILE);
    let endless = ["evolve", "run", "long.toml", "-g", "1000000"];
    let mut session = Session::start(world.command(endless).env("TERM", "xterm"));
    session.expect("with a score");
    session.send("\u{3}");
    session.finish();
    assert_eq!(generation_of(&world, "long").1, "interrupted");
}

#[test]
fn a_cascade_in_a_file_still_finds_the_formula() {
    let world = plain();
    let file = "[task]\nkind = 'regression'\ntarget = 'x^2 + x'\npoints = 41\n\
        cascade = { cases = 5, least = 0.1 }\n[search]\nseed = 2\n";
    world.write("it.toml", file);
    let outcome = world.agar(["evolve", "run", "it.toml", "--json"]).success();
    let answer = checked("evolve-run", &outcome);
    assert_eq!(answer["search"]["state"], "solved", "{answer:#}");
}

#[test]
fn what_cannot_be_done_is_said_with_what_to_type() {
    let world = plain();
    let said = |words: &[&str], code: i32| {
        let line = ["evolve"].iter().chain(words);
        let outcome = world.agar(line.copied()).expect_code(code);
        outcome.stderr
    };
    assert!(said(&["run"], 2).contains("agar evolve run --target"));
    assert!(said(&["best"], 3).contains("no searches"));
    assert!(said(&["run", "--target", "x +"], 2).contains("cannot breed for `x +`"));
    assert!(said(&["run", "none.toml"], 3).contains("none.toml"));
    world.write(
        "bad.toml",
        "[task]\nkind = 'regression'\ntarget = 'x'\n[search]\npopulaton = 3\n",
    );
    let told = said(&["run", "bad.toml"], 2);
    assert!(
        told.contains("populaton") && told.contains("population"),
        "{told}"
    );
    world.write(
        "few.toml",
        "[task]\nkind = 'regression'\ntarget = 'x'\n[search]\npopulation = 1\n",
    );
    assert!(said(&["run", "few.toml"], 2).contains("at least 2"));
    world
        .agar(["evolve", "run", "--target", "x*x", "-g", "2"])
        .success();
    assert!(said(&["status", "formla"], 3).contains("formula"));
    assert!(said(&["resume"], 4).contains("--generations"));
}

#[test]
fn a_table_of_points_is_bred_for_like_a_formula() {
    let world = plain();
    let points: Vec<String> = (-8..8).map(|x| format!("{x}, {}", x * x - x)).collect();
    world.write("points.csv", format!("x, y\n{}\n", points.join("\n")));
    world.write(
        "fit.toml",
        "[task]\nkind = 'regression'\ndata = 'points.csv'\n",
    );
    let outcome = world
        .agar(["evolve", "run", "fit.toml", "--json"])
        .success();
    let answer = checked("evolve-run", &outcome);
    assert_eq!(answer["search"]["state"], "solved", "{answer:#}");
}

#[test]
fn candidates_from_outside_are_scored_and_nothing_is_kept() {
    let world = plain();
    let candidates = "{\"id\": 1, \"formula\": \"x*x + 2*x - 1\"}\n\
        {\"id\": \"b\", \"tree\": \"(div x0 0.000)\"}\n\
        {\"id\": \"c\", \"wat\": \"(module (func (export \\\"f\\\") (param f64) (result f64) (f64.const nan)))\"}\n\
        {\"id\": \"d\", \"wat\": \"(module\"}\n";
    let line = ["evolve", "eval", "--target", PARABOLA, "--json"];
    let outcome = world.command(line).stdin(candidates).run().success();
    let answer: Value = serde_json::from_str(&outcome.stdout).unwrap_or_default();
    let results = answer["results"].as_array().unwrap();
    assert_eq!(results[0]["solved"], true);
    assert_eq!(
        results[1]["score"].as_f64().map(|score| score < 1.0),
        Some(true)
    );
    assert_eq!(results[2]["invalid"], "not_finite");
    assert_eq!(results[3]["invalid"], "refused");
    let answer = checked("evolve-status", &world.agar(["evolve", "status", "--json"]));
    assert_eq!(answer["searches"].as_array().map(Vec::len), Some(0));
}

#[test]
fn drawings_are_drawings() {
    let world = plain();
    world
        .agar(["evolve", "run", "--target", "x*x", "-g", "4"])
        .success();
    let dot = world.agar(["evolve", "lineage", "--dot"]).success().stdout;
    assert!(dot.starts_with("digraph") && dot.ends_with("}\n"), "{dot}");
    for words in [["evolve", "lineage", "--svg"], ["evolve", "plot", "--svg"]] {
        let svg = world.agar(words).success().stdout;
        assert!(
            svg.starts_with("<svg ") && svg.ends_with("</svg>\n"),
            "{svg}"
        );
    }
    let plot = world.agar(["evolve", "plot"]).success().stdout;
    assert!(plot.contains("* best   . median"), "{plot}");
}

#[test]
fn every_example_can_be_run() {
    let world = plain();
    let examples = [
        include_str!("../../../../examples/parabola/parabola.toml"),
        include_str!("../../../../examples/bin-packing/uniform.toml"),
        include_str!("../../../../examples/bin-packing/weibull.toml"),
        include_str!("../../../../examples/circle-packing/circles.toml"),
        include_str!("../../../../examples/language-model/scripted.toml"),
        include_str!("../../../../examples/language-model/endpoint.toml"),
        include_str!("../../../../examples/game-bot/lander.toml"),
    ];
    world.write(
        "bot.js",
        include_str!("../../../../examples/game-bot/bot.js"),
    );
    for example in examples {
        world.write("example.toml", example);
        let outcome = world
            .command(["evolve", "eval", "example.toml"])
            .stdin("")
            .run();
        outcome.success();
    }
}

#[test]
fn scripts_are_scored_for_others_and_bred() {
    let world = plain();
    let bot = include_str!("../../../../examples/game-bot/bot.js");
    let careful = include_str!("../../../../examples/game-bot/careful.js");
    let toml = include_str!("../../../../examples/game-bot/lander.toml");
    world.write("bot.js", bot);
    let small = toml
        .replace("games = 6", "games = 1")
        .replace("population = 16", "population = 4")
        .replace("islands = 2", "islands = 1");
    world.write("lander.toml", small);
    let candidates: String = [bot, careful]
        .iter()
        .map(|source| serde_json::json!({ "javascript": source }).to_string() + "\n")
        .collect();
    let eval = ["evolve", "eval", "lander.toml", "--json"];
    let outcome = world
        .command(eval)
        .stdin(candidates.as_str())
        .run()
        .success();
    let scored: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let score = |at: usize| scored["results"][at]["score"].as_f64().unwrap();
    assert!(score(0) < 0.0 && score(1) > 0.5, "{scored}");
    let run = ["evolve", "run", "lander.toml", "-g", "2", "--json"];
    let outcome = world.agar(run).success();
    let ran: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let best = world.agar(["evolve", "best", "lander", "--json"]).success();
    assert!(
        best.stdout.contains("function evaluate"),
        "{ran} {}",
        best.stdout
    );
}
