//! Every JSON answer of the real program has the shape that is published for it.

use crate::world::repository;
use agar::schema;
use agar_testkit::{Outcome, World};

/// The answer of a command, held against its schema.
#[track_caller]
pub(crate) fn checked(verb: &str, outcome: &Outcome) -> serde_json::Value {
    let answer = serde_json::from_str(&outcome.stdout).unwrap_or_default();
    let schema = schema::of(verb).unwrap_or_default();
    assert!(schema.is_object(), "{verb} has no schema");
    assert_eq!(
        schema::mismatch(&schema, &answer),
        None,
        "{verb}: {answer:#}"
    );
    assert!(
        answer.is_object(),
        "{verb}: {}{}",
        outcome.stdout,
        outcome.stderr
    );
    answer
}

fn changed(world: &World) -> serde_json::Value {
    let script = "echo more >> notes.txt; echo new > fresh.txt; rm README.md";
    let outcome = world.agar(["try", "--keep", "--json", "--", "sh", "-c", script]);
    checked("try", &outcome)
}

#[test]
fn answers_about_a_sandbox_fit_their_schemas() {
    let world = repository();
    let tried = changed(&world);
    assert_eq!(tried["decision"], "kept");
    assert_eq!(tried["run"]["end"]["how"], "exited");
    let alias = tried["sandbox"]["alias"].as_str().unwrap().to_owned();
    for verb in ["ls", "ps", "logs", "inspect", "diff"] {
        let words: Vec<&str> = match verb {
            "ls" | "ps" => vec![verb, "--json"],
            verb => vec![verb, alias.as_str(), "--json"],
        };
        checked(verb, &world.agar(words));
    }
    let from = format!("{alias}:fresh.txt");
    checked("cp", &world.agar(["cp", &from, "copied.txt", "--json"]));
    assert_eq!(world.read("copied.txt"), "new\n");
    checked("rm", &world.agar(["rm", &alias, "--json"]));
}

#[test]
fn answers_of_commands_fit_their_schemas() {
    let world = repository();
    checked("run", &world.agar(["run", "--json", "--", "true"]));
    checked(
        "run",
        &world.agar(["run", "--json", "--", "no-such-program"]),
    );
    checked("create", &world.agar(["create", "--json", "--note", "n"]));
    checked("exec", &world.agar(["exec", "--json", "--", "true"]));
    checked("ps", &world.agar(["ps", "--json"]));
    checked("rm", &world.agar(["rm", "--all", "--force", "--json"]));
    checked("prune", &world.agar(["prune", "--dry-run", "--json"]));
    checked("jail", &world.agar(["jail", "plan", "--json"]));
}

#[test]
fn answers_about_the_machine_and_the_settings_fit_their_schemas() {
    let world = repository();
    checked("doctor", &world.agar(["doctor", "--tries", "1", "--json"]));
    checked("config", &world.agar(["config", "show", "--json"]));
    checked("init", &world.agar(["init", "--dry-run", "--json"]));
}

#[test]
fn applying_and_undoing_answer_in_their_schemas() {
    let world = repository();
    changed(&world);
    let applied = checked("apply", &world.agar(["apply", "--json"]));
    assert_eq!(applied["applied"], true);
    assert!(world.has("fresh.txt") && !world.has("README.md"));
    let undone = checked("undo", &world.agar(["undo", "--json"]));
    assert_eq!(undone["undone"], true);
    assert!(!world.has("fresh.txt") && world.has("README.md"));
}

#[test]
fn a_failure_is_json_too() {
    let world = repository();
    for (words, code, word) in [
        (&["diff", "--json"][..], 3, "not_found"),
        (&["diff", "--bogus", "--json"], 2, "invalid"),
        (&["run", "--json"], 125, "invalid"),
    ] {
        let outcome = world.agar(words);
        assert_eq!(outcome.code(), code, "{words:?}");
        let answer = checked("error", &outcome);
        assert_eq!(answer["error"]["code"], word);
        assert_eq!(outcome.stderr, "");
    }
}

#[test]
fn the_commands_output_is_not_mixed_with_the_answer() {
    let world = repository();
    let outcome = world.agar(["run", "--json", "--", "echo", "from inside"]);
    checked("run", &outcome);
    assert_eq!(outcome.stderr, "from inside\n");
}

#[test]
fn answers_about_snapshots_fit_their_schemas() {
    let world = repository();
    world.agar(["create", "--name", "calm-fern"]).success();
    let script = "echo more >> notes.txt; sleep 1000 &";
    world
        .agar(["exec", "calm-fern", "--", "sh", "-c", script])
        .success();
    let taken = checked("snapshot", &world.agar(["snapshot", "--json"]));
    assert_eq!(taken["snapshot"]["reference"], "calm-fern@s1");
    assert_eq!(taken["snapshot"]["taken"], "running");
    checked("pause", &world.agar(["pause", "--json"]));
    checked("resume", &world.agar(["resume", "--json"]));
    let back = checked("restore", &world.agar(["restore", "--json"]));
    assert_eq!(back["ended"], 1);
    let forked = world.agar(["fork", "calm-fern@s1", "-n", "2", "--json"]);
    let forked = checked("fork", &forked);
    assert_eq!(forked["forks"][1]["lineage"]["depth"], 1);
    checked("snapshots", &world.agar(["snapshots", "--json"]));
    checked("tree", &world.agar(["tree", "--json"]));
    checked("inspect", &world.agar(["inspect", "calm-fern", "--json"]));
    checked("rm", &world.agar(["rm", "--all", "--force", "--json"]));
}

#[test]
fn answers_of_memory_and_of_checks_fit_their_schemas() {
    let world = repository();
    world.write("agar.toml", "[[check]]\nname = 'c'\nrun = 'true'\n");
    let tried = changed(&world);
    let alias = tried["sandbox"]["alias"].as_str().unwrap().to_owned();
    world.agar([
        "try",
        "--json",
        "--",
        "sh",
        "-c",
        "echo ERROR: no such table; exit 1",
    ]);
    let suggested = ["run", "--json", "--suggestion", "count", "--", "true"];
    checked("run", &world.agar(suggested));
    for (schema, words) in [
        ("check", vec!["check", &alias]),
        ("confidence", vec!["confidence", "count", "more"]),
        ("memory-note", vec!["memory", "note", "count twice"]),
        ("memory-show", vec!["memory", "show"]),
        ("memory-search", vec!["memory", "search", "count"]),
        ("memory-patterns", vec!["memory", "patterns"]),
        ("memory-lessons", vec!["memory", "lessons"]),
        ("memory-graduate", vec!["memory", "graduate", &alias]),
        ("memory-stats", vec!["memory", "stats"]),
        ("memory-calibration", vec!["memory", "calibration"]),
        (
            "memory-export",
            vec!["memory", "export", "--out", "lines.jsonl"],
        ),
        ("memory-import", vec!["memory", "import", "lines.jsonl"]),
        ("experiments-ls", vec!["experiments", "ls"]),
        ("experiments-show", vec!["experiments", "show", &alias]),
        ("memory-forget", vec!["memory", "forget", "--everything"]),
    ] {
        let words = words.into_iter().chain(["--json"]);
        checked(schema, &world.agar(words));
    }
}
