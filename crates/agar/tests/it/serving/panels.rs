//! What the panels of the page ask for: pages of lists, what is used, what was tried.

use super::{json, served};
use agar_testkit::http::Client;
use agar_testkit::wait::until;
use serde_json::{Value, json as value};

/// A new sandbox with a note.
#[track_caller]
fn sandbox(client: &Client, note: &str) -> String {
    let body = value!({ "note": note }).to_string();
    let made = json(&client.post("/v1/sandboxes", &body).expect(201));
    made["sandbox"]["id"].as_str().unwrap().to_owned()
}

/// The notes of a list, in its order.
fn notes(told: &Value) -> Vec<&str> {
    let all = told["sandboxes"].as_array().unwrap();
    all.iter().map(|it| it["note"].as_str().unwrap()).collect()
}

#[test]
fn a_list_is_paged_ordered_filtered_and_searched() {
    let (_world, served) = served();
    let client = served.client();
    for note in ["first 100%", "second", "third 100x"] {
        sandbox(&client, note);
    }
    let get = |query: &str| json(&client.get(&format!("/v1/sandboxes?{query}")).expect(200));
    let page = get("order=newest&look=record&limit=2");
    assert_eq!(notes(&page), ["third 100x", "second"]);
    assert_eq!(page["sandboxes"][0]["changed_files"], Value::Null);
    let after = page["next"].as_str().unwrap();
    let rest = get(&format!("order=newest&limit=2&after={after}"));
    assert_eq!(notes(&rest), ["first 100%"]);
    assert_eq!(rest["next"], Value::Null);
    assert_eq!(rest["sandboxes"][0]["changed_files"], 0);
    assert_eq!(notes(&get("")), ["first 100%", "second", "third 100x"]);
    // Words are looked for as they are, and all of them.
    assert_eq!(notes(&get("words=100%25")), ["first 100%"]);
    assert_eq!(notes(&get("words=THIRD%20100")), ["third 100x"]);
    assert!(notes(&get("words=first%20second")).is_empty());
    let total: u64 = page["counts"]
        .as_object()
        .unwrap()
        .values()
        .filter_map(Value::as_u64)
        .sum();
    assert_eq!(total, 3);
    assert!(notes(&get("state=promoted,discarded")).is_empty());
    for wrong in ["state=sleepy", "look=hard", "order=random"] {
        client.get(&format!("/v1/sandboxes?{wrong}")).expect(400);
    }
    served.stop();
}

#[test]
fn a_family_is_shown_from_its_oldest_member() {
    let (_world, served) = served();
    let client = served.client();
    let first = sandbox(&client, "first");
    let fork = |of: &str| {
        let told = client.post(&format!("/v1/sandboxes/{of}/fork"), "{}");
        let told = json(&told.expect(201));
        told["forks"][0]["id"].as_str().unwrap().to_owned()
    };
    let second = fork(&first);
    let third = fork(&second);
    let root = |query: &str| {
        let told = client.get(&format!("/v1/sandboxes/{third}/tree{query}"));
        json(&told.expect(200))["roots"][0]["sandbox"]["id"].clone()
    };
    assert_eq!(root(""), value!(third));
    assert_eq!(root("?family=true"), value!(first));
    client.get("/v1/sandboxes/nobody-there/tree").expect(404);
    served.stop();
}

#[test]
fn what_runs_is_sampled_while_somebody_looks() {
    let (_world, served) = served();
    let client = served.client();
    let id = sandbox(&client, "busy");
    let path = format!("/v1/sandboxes/{id}/exec");
    let running = {
        let client = client.clone();
        std::thread::spawn(move || client.post(&path, r#"{"command": "exec sleep 600"}"#))
    };
    let usage = |after: u64| json(&client.get(&format!("/v1/usage?after={after}")).expect(200));
    let mut seen = Value::Null;
    until("a sample with memory in it", || {
        seen = usage(0);
        let samples = seen["sandboxes"][0]["samples"].as_array();
        samples.is_some_and(|all| all.iter().any(|it| it["memory_bytes"].as_u64() > Some(0)))
    });
    assert_eq!(seen["sandboxes"][0]["id"], value!(id));
    // What somebody has seen is not sent again.
    let later = usage(seen["at"].as_u64().unwrap());
    let samples = later["sandboxes"][0]["samples"].as_array().unwrap();
    assert!(samples.len() <= 1, "{later}");
    client
        .post(&format!("/v1/sandboxes/{id}/stop"), "{}")
        .expect(200);
    running.join().unwrap();
    until("nothing to be alive", || {
        usage(0)["sandboxes"] == value!([])
    });
    served.stop();
}

#[test]
fn experiments_are_found_by_words_and_outcome_and_counted_by_day() {
    let (world, served) = served();
    let client = served.client();
    let tries = [
        ("Upgrade the parser", "true"),
        (
            "Upgrade the lexer",
            "echo 'error: no such token' >&2; exit 3",
        ),
        ("Clean up", "true"),
    ];
    for (suggestion, command) in tries {
        let words = [
            "try",
            "--yes",
            "--suggestion",
            suggestion,
            "--",
            "sh",
            "-c",
            command,
        ];
        world.agar(words);
    }
    let found = |query: &str| -> Vec<String> {
        let told = json(&client.get(&format!("/v1/experiments?{query}")).expect(200));
        let all = told["experiments"].as_array().unwrap();
        all.iter()
            .map(|it| it["suggestion"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(found("").len(), 3);
    assert_eq!(
        found("words=upgrade"),
        ["Upgrade the lexer", "Upgrade the parser"]
    );
    assert_eq!(found("words=TOKEN%20such"), ["Upgrade the lexer"]);
    assert_eq!(
        found("words=upgrade&status=success"),
        ["Upgrade the parser"]
    );
    assert_eq!(found("words=upgrade&limit=1"), ["Upgrade the lexer"]);
    client.get("/v1/experiments?status=maybe").expect(400);
    let told = json(
        &client
            .get("/v1/memory/history?days=3&east=-120")
            .expect(200),
    );
    let days = told["days"].as_array().unwrap();
    assert_eq!(days.len(), 3);
    let sum = |key: &str| -> u64 { days.iter().filter_map(|day| day[key].as_u64()).sum() };
    assert_eq!((sum("success"), sum("failure"), sum("running")), (2, 1, 0));
    let lessons = json(&client.get("/v1/memory/lessons").expect(200));
    let name = lessons["lessons"][0]["id"].as_str().unwrap();
    let shown = json(
        &client
            .get(&format!("/v1/memory/findings/{name}"))
            .expect(200),
    );
    assert_eq!(shown["finding"]["experiments"][0]["worked"], false);
    client
        .get("/v1/memory/findings/nothing-like-it")
        .expect(404);
    served.stop();
}
