//! What a server writes down about its requests, and what it never does.

use super::{id_in, json};
use agar_testkit::http::Served;
use serde_json::Value;

/// The spans of requests among the lines of a log.
fn requests(log: &str) -> Vec<Value> {
    let lines = log.lines().filter(|line| line.starts_with('{'));
    let spans = lines.map(|line| serde_json::from_str::<Value>(line).unwrap()["span"].clone());
    spans.filter(|span| span["name"] == "request").collect()
}

#[test]
fn a_log_names_each_request_with_its_outcome_and_no_secret() {
    let world = crate::world::repository();
    let more = ["--log", "trace", "--log-form", "json"];
    let served = Served::start_with(&world, &more);
    let client = served
        .client()
        .with("cookie", "agar-1=swordfish-cookie")
        .with(
            "traceparent",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        );
    let made = json(&client.post("/v1/sandboxes", "{}").expect(201));
    let id = made["sandbox"]["id"].as_str().unwrap();
    let run = r#"{"command": "echo swordfish-output", "env": ["KEY=swordfish-env"]}"#;
    let ran = client.post(&format!("/v1/sandboxes/{id}/exec"), run);
    let number = ran.expect(200).header("x-request-id").unwrap().to_owned();
    let path = format!("/v1/sandboxes/{id}/files?path=swordfish-path");
    client.send("PUT", &path, b"swordfish-body").expect(204);
    let offer = r#"{"text": "swordfish-text", "commands": ["true"]}"#;
    id_in(&client.post("/v1/suggestions", offer).expect(201));
    let (key, token) = (served.key.clone(), served.token.clone());
    served.stranger().get(&format!("/open?key={key}"));
    let wrong = served
        .stranger()
        .with("authorization", "Bearer swordfish-token");
    wrong.get("/v1/sandboxes/swordfish%0Apath").expect(401);
    client.post("/v1/sandboxes", "swordfish-broken").expect(400);
    let log = served.stop_and_read();
    let spans = requests(&log);
    let exec = spans.iter().find(|span| span["id"] == number.as_str());
    let exec = exec.unwrap_or_else(|| panic!("no span of request {number} in {log}"));
    assert_eq!(exec["method"], "POST");
    assert_eq!(exec["route"], "/v1/sandboxes/{id}/exec");
    assert_eq!(exec["sandbox"], id);
    assert_eq!(exec["status"], 200);
    assert_eq!(exec["trace"], "4bf92f3577b34da6a3ce929d0e0e4736");
    assert!(exec["ms"].is_u64(), "{exec}");
    assert!(log.contains(r#""name":"run""#), "the engine's own: {log}");
    let refused: Vec<&Value> = spans.iter().filter(|it| it["status"] == 401).collect();
    assert_eq!(refused.len(), 1, "{log}");
    assert_eq!(refused[0]["sandbox"], Value::Null);
    for secret in ["swordfish", &key, &token] {
        assert!(!log.contains(secret), "{secret} is in {log}");
    }
}

#[test]
fn a_filter_that_says_nothing_is_refused_and_a_server_says_nothing_unasked() {
    let world = crate::world::repository();
    let loud = world.command(["serve", "--port", "0", "--log", "loud"]);
    let refused = loud.run().expect_code(2);
    assert!(refused.stderr.contains("`loud`"), "{refused}");
    let served = Served::start(&world);
    served.client().get("/v1/sandboxes").expect(200);
    assert_eq!(served.stop_and_read(), "");
}
