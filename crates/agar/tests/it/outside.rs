//! Children from outside, through the command: a program in a sandbox, a model behind an endpoint.

use crate::endpoint::{Endpoint, Said};
use crate::world::plain;
use agar_testkit::{World, wait};
use serde_json::Value;

const MUTATE: &str = include_str!("../../../../examples/language-model/mutate.py");
const SCRIPTED: &str = include_str!("../../../../examples/language-model/scripted.toml");

/// A search that asks for many of its children.
fn file(outside: &str) -> String {
    format!(
        "[task]\nkind = 'regression'\ntarget = 'x^3 - 2*x + 1'\n\
         [search]\nseed = 4\npopulation = 8\nislands = 2\nmigrate_every = 2\noutside = 0.5\n\
         stop = {{ generations = 5, solved = false }}\n\
         [outside]\n{outside}\n"
    )
}

fn json(world: &World, words: &[&str]) -> Value {
    let outcome = world.agar(["evolve"].iter().chain(words).chain(&["--json"]));
    serde_json::from_str(&outcome.success().stdout).unwrap()
}

/// What came of asking, all generations together.
fn outcomes(world: &World, name: &str) -> std::collections::BTreeMap<String, u64> {
    let plot = json(world, &["plot", name]);
    let mut all = std::collections::BTreeMap::new();
    for census in plot["generations"].as_array().unwrap() {
        for (word, count) in census["outside"].as_object().unwrap() {
            *all.entry(word.clone()).or_default() += count.as_u64().unwrap();
        }
    }
    all
}

#[test]
fn the_example_of_a_language_model_loop_is_solved_with_children_of_its_program() {
    let world = plain();
    world.write("model/mutate.py", MUTATE);
    world.write("model/scripted.toml", SCRIPTED);
    let answer = json(&world, &["run", "model/scripted.toml"]);
    assert_eq!(answer["search"]["state"], "solved", "{answer:#}");
    assert!(outcomes(&world, "scripted")["child"] > 0);
    // The same answers, the same search.
    let again = json(&world, &["run", "model/scripted.toml"]);
    assert_eq!(again["search"]["digest"], answer["search"]["digest"]);
    let journal = world.agar(["ls", "--json"]).success().stdout;
    assert!(
        !journal.contains("makes children"),
        "a sandbox was left: {journal}"
    );
}

#[test]
fn a_search_killed_between_answers_asks_for_the_rest_and_ends_the_same() {
    let world = plain();
    // What it says depends on how often it was asked: only a record can bring the same back.
    let first = Endpoint::new(|asked| match asked.number % 5 {
        3 => Said::Words("I would rather not.".to_owned()),
        number => Said::Words(format!("```\nx*x + {}\n```", asked.number * 10 + number)),
    });
    let at = |endpoint: &Endpoint| file(&format!("endpoint = '{}'", endpoint.url()));
    world.write("first.toml", at(&first));
    let mut kills = 0;
    let mut running = world.command(["evolve", "run", "first.toml"]).spawn();
    for stop in [3, 11, 20] {
        first.hold_from(Some(stop));
        wait::until("the question is there", || {
            running.has_ended() || first.asked().len() > stop
        });
        if running.has_ended() {
            break;
        }
        running.kill();
        kills += 1;
        first.hold_from(None);
        running = world.command(["evolve", "resume", "first"]).spawn();
    }
    running.finish().success();
    assert!(kills >= 2, "killed only {kills} times");
    let answered = first.answered();
    let twice = answered.values().filter(|said| said.len() > 1).count();
    assert!(
        twice <= kills,
        "{twice} questions were asked again after {kills} kills"
    );

    // The same answers, without being killed.
    let second = Endpoint::new(move |asked| {
        let said = answered.get(&asked.place).and_then(|said| said.last());
        Said::Words(said.cloned().unwrap_or_default())
    });
    world.write("second.toml", at(&second));
    world.agar(["evolve", "run", "second.toml"]).success();
    let digest = |name| json(&world, &["status", name])["searches"][0]["digest"].clone();
    assert_eq!(digest("first"), digest("second"));
    assert_eq!(outcomes(&world, "first"), outcomes(&world, "second"));
}

#[test]
fn a_model_is_told_what_is_known_and_its_bad_answers_are_counted_by_kind() {
    let world = plain();
    let model = Endpoint::new(|asked| match asked.number % 6 {
        0 => Said::Raw(500, "{\"error\": \"overloaded for secret-key\"}".to_owned()),
        1 => Said::Raw(200, "<html>".to_owned()),
        2 => Said::Words("no code here".to_owned()),
        3 => Said::Words("x + y".to_owned()),
        _ => Said::Words("```\nx*x\n```".to_owned()),
    });
    let outside = format!(
        "endpoint = '{}'\nmodel = 'm1'\nkey_env = 'MODEL_KEY'\ntemperature = 0.5\nat_once = 1\n\
         instructions = 'Try cubes.'",
        model.url()
    );
    world.write("it.toml", file(&outside));
    let line = ["evolve", "run", "it.toml"];
    let refused = world.agar(line).expect_code(2).stderr;
    assert!(refused.contains("MODEL_KEY"), "{refused}");
    world
        .command(line)
        .env("MODEL_KEY", "secret-key")
        .run()
        .success();
    let asked = model.asked();
    assert_eq!(asked[0].key, "Bearer secret-key");
    assert_eq!(asked[0].body["model"], "m1");
    assert_eq!(asked[0].body["temperature"], 0.5);
    let system = asked[0].body["messages"][0]["content"].as_str().unwrap();
    assert!(system.contains("fenced block") && system.ends_with("Try cubes."));
    let question = &asked.last().unwrap().question;
    assert!(question["parents"][0]["code"].is_string(), "{question:#}");
    assert!(question["best"]["score"].is_number(), "{question:#}");
    let counted = outcomes(&world, "it");
    for word in ["child", "refused", "nonsense", "not_code"] {
        assert!(counted.contains_key(word), "{word}: {counted:?}");
    }
    let kept = fs_err::read(world.state().join("agar/evolution.db")).unwrap();
    let secret = kept.windows(10).any(|window| window == b"secret-key");
    assert!(!secret, "the key is on record");
}

#[test]
fn a_search_whose_model_is_gone_stops_and_goes_on_when_it_is_back() {
    let world = plain();
    let dead = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", dead.local_addr().unwrap());
    drop(dead);
    world.write("it.toml", file(&format!("endpoint = '{url}'")));
    let told = world
        .agar(["evolve", "run", "it.toml"])
        .expect_code(4)
        .stderr;
    assert!(told.contains("agar evolve resume it"), "{told}");
    let status = json(&world, &["status", "it"]);
    assert_eq!(status["searches"][0]["generation"], 0);
    assert_eq!(status["searches"][0]["state"], "interrupted");
}

#[test]
fn a_file_alone_cannot_let_anything_leave_the_machine() {
    let world = plain();
    for outside in [
        "endpoint = 'http://192.0.2.1/v1'",
        "endpoint = 'https://192.0.2.1/v1'",
        "endpoint = 'http://192.0.2.1/v1'\nallowed = true",
        "command = ['cat']\nnetwork = true",
    ] {
        world.write("it.toml", file(outside));
        let told = world
            .agar(["evolve", "run", "it.toml"])
            .expect_code(1)
            .stderr;
        assert!(told.contains("--allow-outside"), "{told}");
    }
    let status = json(&world, &["status"]);
    assert_eq!(status["searches"].as_array().map(Vec::len), Some(0));
}

#[test]
fn a_command_that_misbehaves_is_counted_by_kind() {
    let world = plain();
    let script = "import sys, json, time\n\
        for number, line in enumerate(sys.stdin):\n\
        \x20   place = json.loads(line)['place']\n\
        \x20   if place % 5 == 0: print('nonsense', flush=True)\n\
        \x20   elif place % 5 == 1: sys.exit(3)\n\
        \x20   elif place % 5 == 2: print('{\"error\": \"no\"}', flush=True)\n\
        \x20   else: print('{\"formula\": \"x*x\"}', flush=True)\n";
    world.write("bad.py", script);
    let outside = "command = ['python3', 'bad.py']\ntimeout_s = 60\ngive_up_after = 40";
    world.write("it.toml", file(outside));
    world.agar(["evolve", "run", "it.toml"]).success();
    let counted = outcomes(&world, "it");
    for word in ["child", "nonsense", "gone", "refused"] {
        assert!(counted.contains_key(word), "{word}: {counted:?}");
    }
}
