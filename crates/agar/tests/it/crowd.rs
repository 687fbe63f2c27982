//! `agar batch`, and a crowd in which some misbehave.

use crate::world::repository;
use agar::schema;
use agar_testkit::{World, leaks, wait};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Results by what they are called, each held against the schema.
fn results(stdout: &str) -> BTreeMap<String, Value> {
    let schema = schema::of("batch").unwrap_or_default();
    let mut results = BTreeMap::new();
    for line in stdout.lines() {
        let result: Value = serde_json::from_str(line).unwrap_or_default();
        assert_eq!(schema::mismatch(&schema, &result), None, "{line}");
        let id = result["id"].as_str().unwrap_or("?").to_owned();
        assert!(results.insert(id, result).is_none(), "told twice: {line}");
    }
    results
}

fn population(world: &World, items: &[Value]) {
    let lines: Vec<String> = items.iter().map(Value::to_string).collect();
    world.write("../population.jsonl", lines.join("\n"));
}

#[test]
fn every_line_gives_one_result_whatever_happens_to_the_others() {
    let world = repository();
    let good = json!({"id": "good", "script": "cat; echo more >> notes.txt; (sh -c 'i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done')", "stdin": "hello"});
    let bad = json!({"id": "bad", "argv": ["sh", "-c", "echo oh >&2; exit 3"]});
    let none = json!({"id": "none", "argv": ["no-such-program"]});
    let kept = json!({"id": "kept", "script": "echo x > x", "keep": true});
    population(&world, &[good, bad, json!({"argc": 1}), none, kept]);
    let outcome = world
        .agar(["batch", "-j", "3", "../population.jsonl"])
        .expect_code(1);
    let results = results(&outcome.stdout);
    assert_eq!(results.len(), 5);
    let good = &results["good"];
    assert_eq!(
        (&good["success"], &good["stdout"]),
        (&json!(true), &json!("hello"))
    );
    // The work was done by a grandchild, and counts.
    assert!(good["run"]["usage"]["user_ms"].as_u64() > Some(0), "{good}");
    let bad = &results["bad"];
    assert_eq!(
        (&bad["run"]["end"]["code"], &bad["stderr"]),
        (&json!(3), &json!("oh\n"))
    );
    assert_eq!(results["none"]["run"]["end"]["how"], "not_found");
    assert_eq!(results["?"]["error"]["code"], "invalid");
    let kept = results["kept"]["kept"].as_str().unwrap_or_default();
    assert_eq!(world.agar(["ls", "-q"]).success().stdout.trim(), kept);
    assert!(!world.read("notes.txt").contains("more"));
}

#[test]
fn a_line_that_is_no_request_fails_alone_and_is_found_by_its_name() {
    let world = repository();
    let lines: [&[u8]; 6] = [
        br#"{"id": "good", "script": "echo fine"}"#,
        b"{\"id\": \"odd\", \"script\": \"echo \xff\"}",
        br#"{"id": "both", "script": "true", "argv": ["true"]}"#,
        br#"["list", ["true"], null, "", [], null, {}, false]"#,
        br#"{"id": "unknown", "scripts": "true"}"#,
        br#"{"id": "last", "argv": ["true"]}"#,
    ];
    world.write("../population.jsonl", lines.join(&b"\n"[..]));
    let outcome = world.agar(["batch", "../population.jsonl"]).expect_code(1);
    let mut found: Vec<(u64, Value, Value)> = outcome
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap_or_default())
        .map(|it| {
            let line = it["line"].as_u64().unwrap_or_default();
            (line, it["id"].clone(), it["error"]["code"].clone())
        })
        .collect();
    found.sort_by_key(|(line, _, _)| *line);
    let invalid = || json!("invalid");
    assert_eq!(
        found,
        [
            (1, json!("good"), Value::Null),
            (2, json!("odd"), invalid()),
            (3, json!("both"), invalid()),
            (4, Value::Null, invalid()),
            (5, json!("unknown"), invalid()),
            (6, json!("last"), Value::Null),
        ]
    );
    let missing = world.agar(["batch", "nowhere.jsonl"]).expect_code(3);
    assert!(
        missing.stderr.contains("nowhere.jsonl"),
        "{}",
        missing.stderr
    );
}

#[test]
fn a_command_as_long_as_the_system_takes_is_run_and_a_longer_one_is_refused() {
    let world = repository();
    let many: Vec<String> = (0..40_000).map(|number| number.to_string()).collect();
    let count = ["run", "--", "sh", "-c", "echo $#", "sh"].map(str::to_owned);
    let said = world.agar([&count[..], &many[..]].concat()).success();
    assert_eq!(said.stdout, "40000\n");
    let words = [&["echo".to_owned()][..], &many[..]].concat();
    let script = |bytes: usize| format!("echo fine #{}", "x".repeat(bytes));
    population(
        &world,
        &[
            json!({"id": "long", "script": script(120 << 10)}),
            json!({"id": "too long", "script": script(3 << 20)}),
            json!({"id": "much", "argv": words}),
        ],
    );
    let outcome = world.agar(["batch", "../population.jsonl"]).expect_code(1);
    let results = results(&outcome.stdout);
    assert_eq!(results["long"]["stdout"], "fine\n");
    assert_eq!(results["much"]["success"], true);
    assert_eq!(results["too long"]["error"]["code"], "invalid");
}

#[test]
fn many_are_made_at_once_and_see_nothing_of_each_other() {
    let world = repository();
    let made = world.agar(["create", "-n", "7"]).success().stdout;
    let mut names: Vec<&str> = made.lines().collect();
    assert_eq!(names.len(), 7, "{made}");
    for name in &names {
        let seen = world.agar(["exec", name, "--", "sh", "-c", "ls; touch mine"]);
        assert!(!seen.success().stdout.contains("mine"), "{name}");
    }
    let alive = world.agar(["ls", "-q"]).success().stdout;
    let mut alive: Vec<&str> = alive.lines().collect();
    names.sort_unstable();
    alive.sort_unstable();
    assert_eq!(names, alive);
    let schema = schema::of("create").unwrap_or_default();
    let told = world.agar(["create", "-n", "2", "--json"]).success().stdout;
    assert_eq!(told.lines().count(), 2, "{told}");
    let read = |line| serde_json::from_str(line).unwrap_or_default();
    let told: Vec<Value> = told.lines().map(read).collect();
    for answer in &told {
        assert_eq!(schema::mismatch(&schema, answer), None, "{answer}");
    }
    let bases = [0, 1].map(|at: usize| &told[at]["sandbox"]["base"]);
    assert!(bases[0]["generation"].is_u64(), "{bases:?}");
    assert_eq!(bases[0], bases[1], "they start from one picture");
    for refused in [
        &["create", "-n", "0"][..],
        &["create", "-n", "1001"],
        &["create", "-n", "2", "--name", "api"],
    ] {
        world.agar(refused).expect_code(2);
    }
    assert_eq!(world.agar(["ls", "-q"]).success().stdout.lines().count(), 9);
}

#[test]
fn an_interrupt_ends_a_batch_cleanly() {
    let world = repository();
    let items: Vec<Value> = (0..20)
        .map(|n| json!({"id": n.to_string(), "script": "touch begun; sleep 1000"}))
        .collect();
    population(&world, &items);
    let running = world
        .command(["batch", "-j", "3", "../population.jsonl"])
        .spawn();
    wait::until("three run", || {
        world.agar(["ps"]).stdout.matches("sleep 1000").count() >= 3
    });
    running.signal(Signal::INT);
    let outcome = running.finish().expect_code(130);
    let results = results(&outcome.stdout);
    assert!((3..20).contains(&results.len()), "{}", outcome.stdout);
    assert!(results.values().all(|result| result["success"] == false));
    assert_eq!(world.agar(["ls", "-q"]).success().stdout, "");
    wait::until("nothing is left", || {
        leaks::processes_in(world.root()).is_empty()
    });
}

#[test]
fn in_a_crowd_a_fork_bomb_and_a_disk_filler_spoil_nobody_elses_work() {
    let world = repository();
    let work = "for n in $(seq 40); do echo \"line $n of $ID\" >> work-$n.txt; done; \
                cat work-*.txt | cksum; rm notes.txt; git status --short | wc -l";
    let mut items: Vec<Value> = (0..98)
        .map(|n| json!({"id": n.to_string(), "script": work, "env": [format!("ID={n}")]}))
        .collect();
    let bomb = json!({"id": "bomb", "script": "f() { f | f & }; f; sleep 1000",
        "limits": {"processes": 100, "timeout_ms": 20_000}});
    let filler = json!({"id": "filler", "script": "dd if=/dev/zero of=full bs=1M count=4096",
        "limits": {"disk_bytes": 8 << 20, "timeout_ms": 60_000}});
    items.insert(10, bomb);
    items.insert(20, filler);
    population(&world, &items);
    let before = agar_testkit::Tree::read(&world.project());
    let outcome = world
        .command(["batch", "-j", "100", "../population.jsonl"])
        .patience(std::time::Duration::from_mins(5))
        .run()
        .expect_code(1);
    let results = results(&outcome.stdout);
    assert_eq!(results.len(), 100);
    for n in 0..98 {
        let result = &results[&n.to_string()];
        let expected = world.sh(&format!(
            "for n in $(seq 40); do echo \"line $n of {n}\" > ../w-$n; done; \
             for n in $(seq 40); do echo ../w-$n; done | sort | xargs cat | cksum"
        ));
        let said = result["stdout"].as_str().unwrap_or_default();
        assert!(result["success"] == true, "{result}");
        assert_eq!(said, format!("{}41\n", expected.success().stdout));
    }
    assert_eq!(results["bomb"]["success"], false);
    let stopped = &results["filler"]["run"]["end"]["breach"]["resource"];
    assert_eq!(stopped, "disk", "{}", results["filler"]);
    before.assert_unchanged(&world.project(), "a crowd");
    assert_eq!(world.agar(["ls", "-q"]).success().stdout, "");
    wait::until("nothing is left", || {
        leaks::processes_in(world.root()).is_empty()
    });
}
