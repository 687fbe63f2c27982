//! The use cases of the first seed with scripted outcomes, and forgetting, through the command.

use crate::world::plain;
use agar_testkit::World;
use serde_json::Value;
use std::path::Path;

/// Tries a script for a suggestion with a strategy.
fn attempt(world: &World, suggestion: &str, strategy: &str, script: &str) -> Value {
    let context = serde_json::json!({ "strategy": strategy, "problem": suggestion }).to_string();
    let outcome = world.agar([
        "try",
        "--discard",
        "--json",
        "--suggestion",
        suggestion,
        "--context",
        &context,
        "--agent",
        "claude",
        "--",
        "sh",
        "-c",
        script,
    ]);
    serde_json::from_str(&outcome.stdout).unwrap_or_default()
}

fn status(answer: &Value) -> &str {
    answer["experiment"]["status"].as_str().unwrap_or_default()
}

fn json(world: &World, args: &[&str]) -> Value {
    let args = args.iter().copied().chain(["--json"]);
    let outcome = world.agar(args).success();
    serde_json::from_str(&outcome.stdout).unwrap_or_default()
}

/// Every sentence that memory says about the project: patterns, lessons and what was found.
fn sentences(world: &World, words: &str) -> Vec<String> {
    let found = json(world, &["memory", "search", "-n", "200", words]);
    let mut said: Vec<String> = Vec::new();
    for list in [
        &found["found"],
        &json(world, &["memory", "lessons", "--all"])["lessons"],
        &json(world, &["memory", "patterns", "--all"])["patterns"],
    ] {
        let list = list.as_array().into_iter().flatten();
        let sentences = list.filter_map(|item| item["sentence"].as_str());
        said.extend(sentences.map(str::to_owned));
    }
    said
}

fn says(said: &[String], parts: &[&str]) -> bool {
    said.iter()
        .any(|sentence| parts.iter().all(|part| sentence.contains(part)))
}

/// A project whose tests hold while `x` and `y` have the same major version and `z` is below 4.
fn shop() -> World {
    let world = plain();
    world.write("package.json", manifest("1.0.0", "1.0.0", "3.1.0"));
    world.write(
        "test.sh",
        "v() { sed -n \"s/.*\\\"$1\\\": \\\"\\([0-9]*\\).*/\\1/p\" package.json; }\n\
         echo TAP version 13; echo 1..2\n\
         if [ $(v x) = $(v y) ]; then echo ok 1 - peers; else echo not ok 1 - peers; fi\n\
         if [ $(v z) -lt 4 ]; then echo ok 2 - z works; else echo not ok 2 - z works; fi\n",
    );
    world.write(
        "upgrade.sh",
        "#!/bin/sh\nput() { sed -i \"s/\\\"$1\\\": \\\"[^\\\"]*/\\\"$1\\\": \\\"$2/\" package.json; }\n\
         put x $1; put y $2; put z $3\n",
    );
    world.sh("chmod +x upgrade.sh").success();
    world.write(
        "agar.toml",
        "[[check]]\nname = 'test'\nrun = 'sh test.sh'\nreport = '-'\n",
    );
    world
}

fn manifest(x: &str, y: &str, z: &str) -> String {
    format!("{{\n\"dependencies\": {{\n\"x\": \"{x}\",\n\"y\": \"{y}\",\n\"z\": \"{z}\"\n}}\n}}\n")
}

fn set(x: &str, y: &str, z: &str) -> String {
    format!("./upgrade.sh {x} {y} {z}")
}

#[test]
fn a_package_upgrade_tournament_teaches_what_works() {
    let world = shop();
    let goal = "upgrade all dependencies to their latest versions";
    for (strategy, x, y, z, outcome) in [
        ("all-at-once", "2.0.0", "2.0.0", "4.0.0", "failure"),
        ("all-at-once", "2.1.0", "2.1.0", "4.1.0", "failure"),
        ("one-alone", "2.0.0", "1.0.0", "3.1.0", "failure"),
        ("one-alone", "1.0.0", "2.0.0", "3.1.0", "failure"),
        ("one-alone", "2.1.0", "1.0.0", "3.1.0", "failure"),
        ("incremental", "2.0.0", "2.0.0", "3.1.0", "success"),
        ("incremental", "2.0.0", "2.0.0", "3.2.0", "success"),
        ("incremental", "2.1.0", "2.1.0", "3.3.0", "success"),
        ("incremental", "2.2.0", "2.2.0", "3.9.0", "success"),
        ("conservative", "1.0.1", "1.0.1", "3.1.1", "success"),
    ] {
        let answer = attempt(&world, goal, strategy, &set(x, y, z));
        assert_eq!(
            status(&answer),
            outcome,
            "{strategy} {x} {y} {z}: {answer:#}"
        );
    }
    let said = sentences(
        &world,
        "upgrade dependencies incremental all-at-once x y z together",
    );
    assert!(says(&said, &["incremental"]), "{said:#?}");
    assert!(says(&said, &["all-at-once"]), "{said:#?}");
    assert!(says(&said, &["x", "y", "together"]), "{said:#?}");
    assert!(
        says(&said, &["z", "3.9"]) || says(&said, &["z", "4.0.0"]),
        "{said:#?}"
    );
    let how = |strategy: &str| {
        let context = format!("{{\"strategy\": \"{strategy}\"}}");
        let args = [
            "confidence",
            "--agent",
            "claude",
            "--context",
            &context,
            goal,
        ];
        json(&world, &args)["p"].as_f64().unwrap()
    };
    let (incremental, at_once) = (how("incremental"), how("all-at-once"));
    assert!(incremental > at_once, "{incremental} {at_once}");
    let evolution = json(&world, &["memory", "patterns"]);
    assert!(
        !evolution["patterns"].as_array().unwrap().is_empty(),
        "something graduated"
    );
}

#[test]
fn a_performance_experiment_is_measured_against_the_base() {
    let world = plain();
    world.write("time.txt", "300\n");
    world.write(
        "agar.toml",
        "[[check]]\nname = 'response time'\nrun = 'echo took $(cat time.txt) ms'\nmeasure = 'output'\n",
    );
    let goal = "make the slow endpoint faster";
    for (strategy, time, ratio) in [
        ("database indexes", "150", 0.5),
        ("caching layer", "50", 0.166),
        ("better algorithm", "100", 0.333),
    ] {
        let answer = attempt(&world, goal, strategy, &format!("echo {time} > time.txt"));
        let measured = answer["checks"][0]["measured"]["ratio"].as_f64().unwrap();
        assert!((measured - ratio).abs() < 0.01, "{measured}");
        let shown = json(&world, &["experiments", "show"]);
        let metrics = &shown["sandbox_memory"]["outcome"]["successMetrics"];
        assert_eq!(
            metrics["performanceImproved"],
            Value::Bool(true),
            "{shown:#}"
        );
    }
}

#[test]
fn a_security_patch_shows_its_overhead() {
    let world = plain();
    world.write("time.txt", "1000\n");
    world.write("auth.txt", "weak\n");
    world.write(
        "agar.toml",
        "[[check]]\nname = 'penetration'\nrun = '! grep -q open auth.txt'\n\
         [[check]]\nname = 'load'\nrun = 'cat time.txt'\nmeasure = 'output'\n",
    );
    for time in ["1015", "1012", "1018"] {
        let script = format!("echo strong > auth.txt; echo {time} > time.txt");
        let answer = attempt(
            &world,
            "patch the session fixation",
            "rotate the session",
            &script,
        );
        assert_eq!(status(&answer), "success");
    }
    let said = sentences(&world, "rotate the session overhead cost slower");
    assert!(says(&said, &["rotate the session", "%"]), "{said:#?}");
}

#[test]
fn a_database_migration_teaches_the_date_format() {
    let world = plain();
    world.write("schema.sql", "-- mongo\n");
    let goal = "Help me migrate from MongoDB to PostgreSQL";
    world.write(
        "migrate.sh",
        "#!/bin/sh\necho 'create table orders();' > schema.sql\n\
         [ $1 = convert ] && exit 0\n\
         echo \"ERROR: row $1: invalid date format \\\"$2\\\" for column created_at\" >&2; exit 1\n",
    );
    world.sh("chmod +x migrate.sh").success();
    for (row, date) in [(12, "2024-01-02T00:00:00Z"), (977, "2023-11-30T10:15:00Z")] {
        let script = format!("./migrate.sh {row} {date}");
        let answer = attempt(&world, goal, "copy as it is", &script);
        assert_eq!(status(&answer), "failure");
    }
    world
        .agar([
            "memory",
            "note",
            "always back up before you migrate to PostgreSQL",
        ])
        .success();
    let lessons = json(&world, &["memory", "lessons"]);
    let lessons = lessons["lessons"].as_array().unwrap().clone();
    let lesson = lessons
        .iter()
        .find(|lesson| lesson["sentence"].as_str().unwrap().contains("date format"));
    let lesson = lesson.unwrap_or_else(|| panic!("{lessons:#?}"));
    assert_eq!(
        lesson["failed"], 2,
        "another row and date is the same lesson: {lessons:#?}"
    );
    let told = json(&world, &["confidence", "--agent", "claude", goal]);
    assert!(told["p"].as_f64().unwrap() < 0.5, "{told:#}");
    let warned = told["lessons"].as_array().unwrap();
    assert!(
        warned
            .iter()
            .any(|it| it["sentence"].as_str().unwrap().contains("date format")),
        "{told:#}"
    );
    let notes = told["notes"].as_array().unwrap();
    assert_eq!(
        notes[0]["text"],
        "always back up before you migrate to PostgreSQL"
    );
    let words = world
        .agar(["confidence", "--agent", "claude", goal])
        .success();
    assert!(
        words.stdout.contains("a note, not evidence"),
        "{}",
        words.stdout
    );
    let answer = attempt(&world, goal, "convert the dates", "./migrate.sh convert");
    assert_eq!(status(&answer), "success");
    let after = json(&world, &["confidence", "--agent", "claude", goal]);
    assert!(
        after["p"].as_f64() > told["p"].as_f64(),
        "it has learned: {after:#}"
    );
}

/// Files of agar's state that hold a text.
fn holding(directory: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in directory.read_dir().into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(holding(&path, text));
        } else if path.is_file() {
            let bytes = fs_err::read(&path).unwrap_or_default();
            let lower = String::from_utf8_lossy(&bytes).to_lowercase();
            if lower.contains(text) {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

#[test]
fn what_is_forgotten_is_in_no_file_of_agars_state() {
    const WORD: &str = "zanzibarquux";
    let world = plain();
    world.write("a.txt", "one\n");
    world.write("agar.toml", "[[check]]\nname = 'c'\nrun = 'cat a.txt'\n");
    let say = "echo ERROR: Zanzibarquux has no table; echo zanzibarquux >> a.txt";
    let suggestion = "migrate Zanzibarquux";
    for script in [say.to_owned(), format!("{say}; exit 1")] {
        world.agar([
            "try",
            "--keep",
            "--suggestion",
            suggestion,
            "--note",
            "about zanzibarquux",
            "--",
            "sh",
            "-c",
            &script,
        ]);
    }
    world
        .agar(["run", "--keep", "--", "sh", "-c", say])
        .success();
    world
        .agar(["memory", "note", "zanzibarquux is odd"])
        .success();
    world
        .agar(["try", "--keep", "--", "sh", "-c", "echo two >> a.txt"])
        .success();
    assert!(
        !holding(&world.state(), WORD).is_empty(),
        "it was remembered"
    );
    let gone = json(&world, &["memory", "forget", "--text", "Zanzibarquux"]);
    assert_eq!(gone["experiments"].as_array().unwrap().len(), 2, "{gone:#}");
    assert_eq!(gone["notes"], 1);
    assert_eq!(gone["left"], serde_json::json!([]), "{gone:#}");
    assert_eq!(holding(&world.state(), WORD), [""; 0]);
    let left = json(&world, &["experiments", "ls"]);
    assert_eq!(
        left["experiments"].as_array().unwrap().len(),
        1,
        "the rest stays"
    );
    world.agar(["doctor"]).success();
}

#[test]
fn secrets_do_not_reach_memory() {
    const TOKEN: &str = "ghp_0123456789abcdefghijABCDEFGHIJ0123";
    let world = plain();
    world.write("a.txt", "one\n");
    let script = format!("echo 'ERROR: bad token {TOKEN}'; exit 1");
    let suggestion = format!("use the token {TOKEN}");
    world.agar([
        "try",
        "--suggestion",
        &suggestion,
        "--",
        "sh",
        "-c",
        &script,
    ]);
    assert_eq!(holding(&world.state(), &TOKEN.to_lowercase()), [""; 0]);
}

#[test]
fn memory_travels_as_lines_of_json() {
    let world = plain();
    world.write("a.txt", "one\n");
    attempt(&world, "count", "slow", "exit 1");
    attempt(&world, "count", "quick", "echo two >> a.txt");
    let lines = world.agar(["memory", "export"]).success().stdout;
    assert!(
        lines
            .lines()
            .all(|line| serde_json::from_str::<Value>(line).is_ok())
    );
    let chat = world
        .agar(["memory", "export", "--form", "chat"])
        .success()
        .stdout;
    assert!(chat.contains("count"), "{chat}");
    let pairs = world
        .agar(["memory", "export", "--form", "preferences"])
        .success()
        .stdout;
    assert_eq!(pairs.lines().count(), 1, "{pairs}");
    let other = plain();
    let brought = other
        .command(["memory", "import", "--json"])
        .stdin(lines)
        .run()
        .success();
    let brought: Value = serde_json::from_str(&brought.stdout).unwrap();
    assert_eq!(brought["experiments"], 2);
}

#[test]
fn an_experiment_that_is_killed_does_not_stay_running() {
    let world = plain();
    world.write("a.txt", "one\n");
    let mut running = world
        .command(["try", "--", "sh", "-c", "echo up; sleep 60"])
        .spawn();
    running.expect("up");
    running.kill();
    let listed = json(&world, &["experiments", "ls"]);
    assert_eq!(listed["experiments"][0]["status"], "failure", "{listed:#}");
    world.assert_nothing_left();
}

#[test]
fn the_same_words_are_shown_as_the_same_suggestion() {
    let world = plain();
    world.write("a.txt", "one\n");
    for _ in 0..2 {
        let script = "echo 'ERROR: there is no table called orders' >&2; exit 1";
        world.agar([
            "try",
            "--discard",
            "--suggestion",
            "break it",
            "--context",
            r#"{"ticket": "AG-12"}"#,
            "--",
            "sh",
            "-c",
            script,
        ]);
    }
    let told = json(&world, &["confidence", "break it"]);
    for similar in told["similar"].as_array().unwrap() {
        assert!(similar["likeness"].as_f64().unwrap() > 0.99, "{told:#}");
    }
    assert_eq!(told["here"], serde_json::json!([2, 0]), "{told:#}");
    let warned = told["lessons"][0]["sentence"].as_str().unwrap_or_default();
    assert!(warned.contains("no table called orders"), "{told:#}");
    let other = json(&world, &["confidence", "upgrade the parser"]);
    assert_eq!(other["similar"], serde_json::json!([]), "{other:#}");
}

#[test]
fn a_check_that_cannot_run_teaches_nothing() {
    let world = plain();
    world.write("a.txt", "one\n");
    world.write(
        "agar.toml",
        "[[check]]\nname = 'test'\nrun = 'agar-has-no-such-program -v'\nreport = '-'\nformat = 'pytest'\n",
    );
    let outcome = world.agar(["try", "--keep", "--", "sh", "-c", "echo two > a.txt"]);
    assert_eq!(outcome.status.code(), Some(7), "{}", outcome.stderr);
    let said = &outcome.stderr;
    assert!(said.contains("its program cannot be run"), "{said}");
    assert!(said.contains("agar-has-no-such-program"), "{said}");
    let lessons = json(&world, &["memory", "lessons"]);
    assert_eq!(lessons["lessons"], serde_json::json!([]), "{lessons:#}");
    let shown = json(&world, &["experiments", "show"]);
    assert_eq!(shown["summary"]["status"], "partial", "{shown:#}");
}

#[test]
fn what_a_check_finds_is_not_said_of_the_editor() {
    let world = plain();
    world.write("a.txt", "one\n");
    world.write("move.sh", "sed -i s/one/two/ a.txt\n");
    world.write(
        "agar.toml",
        "[[check]]\nname = 'rows'\nrun = 'grep -q one a.txt || { echo ERROR: column colour is missing; exit 1; }'\n",
    );
    let script = "sh ./move.sh && cat a.txt >> target.log && ./again.sh";
    world.write("again.sh", "#!/bin/sh\ntrue\n");
    world.sh("chmod +x again.sh").success();
    let answer = attempt(&world, "move the rows", "at once", script);
    assert_eq!(status(&answer), "failure", "{answer:#}");
    let said = sentences(&world, "column colour rows");
    let lesson = "check `rows` failed after `again.sh`: column colour is missing (1 of 1)";
    assert!(says(&said, &[lesson]), "{said:#?}");
    assert!(
        !says(&said, &["`cat`"]) && !says(&said, &["`sed"]),
        "{said:#?}"
    );
}
