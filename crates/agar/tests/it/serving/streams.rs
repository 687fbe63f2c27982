//! Event streams: unnamed messages with ids, and nothing missed by whoever comes back.

use super::{id_in, json, served, wait_for};
use agar_testkit::http::Served;
use serde_json::{Value, json as value};

fn parsed(data: &str) -> Value {
    serde_json::from_str(data).unwrap()
}

#[test]
fn a_stream_tells_everything_in_order_and_ends_with_the_sandbox() {
    let (_world, served) = served();
    let client = served.client();
    let body =
        value!({ "suggestion": "count", "commands": ["echo one | tee one.txt", "echo two"] });
    let id = id_in(
        &client
            .post("/api/sandbox/create", &body.to_string())
            .expect(201),
    );
    let path = format!("/api/sandbox/{id}/stream");
    let live = client.follow(&path);
    wait_for(&client, &id, "success");
    let reject = r#"{"decision": "reject"}"#;
    client
        .post(&format!("/api/sandbox/{id}/finalize"), reject)
        .expect(200);
    let live: Vec<(String, String)> = live.collect();
    let words: Vec<String> = live
        .iter()
        .map(|(_, data)| parsed(data))
        .map(|data| match data["type"].as_str() {
            Some("output") => data["text"].as_str().unwrap().to_owned(),
            _ => data["kind"].as_str().unwrap().to_owned(),
        })
        .filter(|word| {
            word.ends_with('\n') || word.starts_with("run.") || word.starts_with("experiment.")
        })
        .collect();
    let expected = [
        "experiment.began",
        "run.started",
        "one\n",
        "run.ended",
        "run.started",
        "two\n",
        "run.ended",
        "experiment.ended",
    ];
    assert_eq!(words[..8], expected, "{words:?}");
    // What changed lies in the trash, and the output with it.
    // Whoever comes later, or comes back in the middle, hears the same.
    let again: Vec<(String, String)> = client.follow(&path).collect();
    assert_eq!(again, live);
    for (at, (last, _)) in live.iter().enumerate().step_by(3) {
        let resumed = client.clone().with("last-event-id", last);
        let rest: Vec<(String, String)> = resumed.follow(&path).collect();
        assert_eq!(rest, live[at + 1..], "after {last}");
    }
    served.stop();
}

#[test]
fn runs_at_the_same_time_are_told_apart() {
    let (_world, served) = served();
    let client = served.client();
    let wait = "echo before; until [ -e go.txt ]; do sleep 0.05; done; echo after";
    let body = value!({ "suggestion": "wait", "commands": [wait] }).to_string();
    let id = id_in(&client.post("/api/sandbox/create", &body).expect(201));
    let mut stream = client.follow(&format!("/api/sandbox/{id}/stream"));
    stream.find(|(_, data)| data.contains("before\\n")).unwrap();
    // A second run begins, prints and ends while the first one goes on.
    let body = value!({ "command": "echo second; touch go.txt" }).to_string();
    client
        .post(&format!("/v1/sandboxes/{id}/exec"), &body)
        .expect(200);
    wait_for(&client, &id, "success");
    client
        .post(
            &format!("/api/sandbox/{id}/finalize"),
            r#"{"decision": "reject"}"#,
        )
        .expect(200);
    let mut printed = std::collections::BTreeMap::<u64, String>::new();
    for (_, data) in stream {
        let data = parsed(&data);
        if let (Some(run), Some(text)) = (data["run"].as_u64(), data["text"].as_str()) {
            printed.entry(run).or_default().push_str(text);
        }
    }
    let expected = [(1, "after\n".to_owned()), (2, "second\n".to_owned())];
    assert_eq!(printed, expected.into());
    served.stop();
}

#[test]
fn a_server_that_is_killed_under_a_stream_loses_nothing() {
    let (world, served) = served();
    let made = json(&served.client().post("/v1/sandboxes", "{}").expect(201));
    let id = made["sandbox"]["id"].as_str().unwrap().to_owned();
    let mut stream = served.client().follow("/v1/events");
    let (last, _) = stream
        .find(|(_, data)| data.contains("sandbox.state"))
        .unwrap();
    served.kill();
    // The sandbox goes on without the server, and so does its journal.
    world.agar(["exec", &id, "--", "true"]).success();
    let served = Served::start(&world);
    let client = served.client().with("last-event-id", &last);
    let mut missed = client.follow("/v1/events");
    let (_, data) = missed
        .find(|(_, data)| data.contains("run.started"))
        .unwrap();
    assert_eq!(parsed(&data)["sandbox"], id.as_str());
    let page = json(
        &served
            .client()
            .get(&format!("/v1/events?after={last}&limit=1"))
            .expect(200),
    );
    let number = page["events"][0]["number"].as_u64().unwrap();
    assert_eq!(number, last.parse::<u64>().unwrap() + 1, "no gap");
    served.stop();
}

#[test]
fn a_command_is_streamed_as_it_runs() {
    let (_world, served) = served();
    let client = served.client();
    let made = json(&client.post("/v1/sandboxes", "{}").expect(201));
    let id = made["sandbox"]["id"].as_str().unwrap();
    let body =
        value!({ "command": "echo begun; read line; echo got $line >&2; exit 2", "stdin": "it\n" });
    let path = format!("/v1/sandboxes/{id}/exec");
    let messages: Vec<Value> = client
        .follow_post(&path, &body.to_string())
        .map(|(_, data)| parsed(&data))
        .collect();
    let on = |stream: &str| -> String {
        let own = messages.iter().filter(|it| it["stream"] == stream);
        own.map(|it| it["text"].as_str().unwrap()).collect()
    };
    assert_eq!(
        (on("stdout"), on("stderr")),
        ("begun\n".to_owned(), "got it\n".to_owned())
    );
    let end = messages.last().unwrap();
    assert_eq!(
        end["answer"]["run"]["end"],
        value!({ "how": "exited", "code": 2 })
    );
    served.stop();
}

#[test]
fn a_server_that_is_asked_to_stop_records_what_it_ends() {
    let (world, served) = served();
    let client = served.client();
    let body = value!({ "suggestion": "wait", "commands": ["echo begun; sleep 600"] });
    let id = id_in(
        &client
            .post("/api/sandbox/create", &body.to_string())
            .expect(201),
    );
    let begun = client
        .follow(&format!("/api/sandbox/{id}/stream"))
        .any(|(_, data)| data.contains("begun"));
    assert!(begun);
    served.stop();
    let shown = world.agar(["inspect", &id, "--json"]).success().stdout;
    let shown = parsed(&shown);
    assert!(shown["runs"][0]["end"].is_object(), "{}", shown["runs"]);
    assert_eq!(
        shown["sandbox"]["state"], "running",
        "sandboxes outlive the server"
    );
    world.agar(["rm", "--force", &id]).success();
}
