//! The flow of the first seed: suggest, try, look, decide, learn.

use super::{id_in, json, served, wait_for};
use agar_testkit::wait;
use serde_json::json as value;

#[test]
fn a_suggestion_is_tried_applied_and_remembered() {
    let (world, served) = served();
    let client = served.client();
    let body = value!({
        "suggestion": "add a greeting",
        "context": { "agent": "claude", "commands": ["echo hello > made.txt", "cat made.txt"] },
        "resourceLimits": { "cpu": 50, "memory": 512, "timeout": 300, "diskQuota": 100 },
    });
    let made = client
        .post("/api/sandbox/create", &body.to_string())
        .expect(201);
    let (id, told) = (id_in(&made), json(&made));
    assert_eq!(told["sandboxId"], id.as_str());
    assert_eq!(told["limits"]["diskQuota"], 100);
    assert_eq!(told["resourceLimits"]["memory"], 512);
    let status = wait_for(&client, &id, "success");
    assert_eq!(status["runs"], 2);
    assert_eq!(status["output"], value!(["hello"]));
    assert_eq!(status["metrics"]["exitCode"], 0);
    assert!(!world.has("made.txt"), "nothing is applied yet");
    // Its outcome is on record a moment before what it teaches.
    wait::until("memory to know of it", || {
        let memory = json(&client.get(&format!("/api/memory/sandbox/{id}")).expect(200));
        !memory["memories"].as_array().unwrap().is_empty()
    });
    let body = value!({ "decision": "accept", "feedback": "friendly" }).to_string();
    let done = client
        .post(&format!("/api/sandbox/{id}/finalize"), &body)
        .expect(200);
    let done = json(&done);
    assert_eq!(done["status"], "promoted");
    assert!(done["memories_graduated"].is_u64() && done["lessons_learned"].is_array());
    assert_eq!(world.read("made.txt"), "hello\n");
    // What was learned is there for the next one who asks.
    let asked = value!({ "suggestion": "add a greeting", "context": { "agent": "claude" } });
    let asked = client
        .post("/api/confidence/calculate", &asked.to_string())
        .expect(200);
    let similar = &json(&asked)["similar_experiments"];
    assert_eq!(similar[0]["id"], id.as_str(), "{similar}");
    world.agar(["undo"]).success();
    assert!(!world.has("made.txt"));
    served.stop();
}

#[test]
fn commands_stop_at_the_first_that_fails_and_a_rejection_touches_nothing() {
    let (world, served) = served();
    let client = served.client();
    let body = value!({
        "suggestion": "break something",
        "commands": ["echo one > one.txt", "echo 'error: no such relation' >&2; exit 3", "touch never.txt"],
    });
    let id = id_in(
        &client
            .post("/api/sandbox/create", &body.to_string())
            .expect(201),
    );
    let status = wait_for(&client, &id, "failed");
    assert_eq!(
        (&status["runs"], &status["metrics"]["exitCode"]),
        (&value!(2), &value!(3))
    );
    let done = client
        .post(
            &format!("/api/sandbox/{id}/finalize"),
            r#"{"decision": "reject"}"#,
        )
        .expect(200);
    assert_eq!(json(&done)["status"], "discarded");
    assert!(
        !json(&done)["lessons_learned"]
            .as_array()
            .unwrap()
            .is_empty()
    );
    assert!(!world.has("one.txt") && !world.has("never.txt"));
    let lessons = json(&client.get("/api/memory/lessons").expect(200));
    assert!(lessons["lessons"].is_array() && lessons["patterns"].is_array());
    served.stop();
}

#[test]
fn a_sandbox_without_commands_waits_for_them() {
    let (world, served) = served();
    let client = served.client();
    let body = value!({ "suggestion": "touch hacked.txt", "context": {} });
    let id = id_in(
        &client
            .post("/api/sandbox/create", &body.to_string())
            .expect(201),
    );
    let status = json(&client.get(&format!("/api/sandbox/{id}/status")).expect(200));
    assert_eq!(
        (&status["status"], &status["runs"]),
        (&value!("running"), &value!(0))
    );
    let body = value!({ "command": "ls hacked.txt; echo out; echo err >&2; exit 4" }).to_string();
    let ran = json(
        &client
            .post(&format!("/api/sandbox/{id}/execute"), &body)
            .expect(200),
    );
    assert_eq!(ran["exitCode"], 4);
    let output = ran["output"].as_str().unwrap();
    assert!(
        output.contains("out\n") && output.contains("err\n"),
        "{output}"
    );
    assert!(
        output.contains("hacked.txt': No such file"),
        "the words never ran: {output}"
    );
    assert!(!world.has("hacked.txt"));
    // The failure counts as an experiment of the suggestion.
    wait_for(&client, &id, "failed");
    let body = value!({ "sandboxId": id, "memories": [] }).to_string();
    let crossed = json(&client.post("/api/memory/graduate", &body).expect(200));
    assert!(
        crossed["graduated"].is_u64() && crossed["rejected"].is_u64(),
        "{crossed}"
    );
    served.stop();
}

#[test]
fn a_conflict_is_told_and_nothing_is_written() {
    let (world, served) = served();
    let client = served.client();
    let body = value!({
        "suggestion": "rewrite the notes",
        "commands": ["sed -i s/second/SANDBOX/ notes.txt"],
    });
    let id = id_in(
        &client
            .post("/api/sandbox/create", &body.to_string())
            .expect(201),
    );
    wait_for(&client, &id, "success");
    let mine = world.read("notes.txt").replace("second", "MINE");
    world.write("notes.txt", &mine);
    let path = format!("/api/sandbox/{id}/finalize");
    let refused = json(&client.post(&path, r#"{"decision": "accept"}"#).expect(409));
    assert_eq!(refused["error"]["code"], "conflict");
    assert_eq!(
        refused["error"]["details"]["conflicts"][0]["path"],
        "notes.txt"
    );
    assert_eq!(world.read("notes.txt"), mine);
    // The sandbox is kept, and a choice settles it.
    let path = format!("/v1/sandboxes/{id}/promote");
    client.post(&path, r#"{"side": "theirs"}"#).expect(200);
    assert!(world.read("notes.txt").contains("SANDBOX"));
    served.stop();
}

#[test]
fn a_check_that_fails_stands_in_the_way() {
    let (world, served) = served();
    world.write(
        "agar.toml",
        "[[check]]\nname = \"gate\"\nrun = \"test ! -e bad.txt\"\n",
    );
    let client = served.client();
    let body = value!({ "suggestion": "add bad", "commands": ["touch bad.txt"] });
    let id = id_in(
        &client
            .post("/api/sandbox/create", &body.to_string())
            .expect(201),
    );
    wait_for(&client, &id, "failed");
    let path = format!("/api/sandbox/{id}/finalize");
    let refused = json(&client.post(&path, r#"{"decision": "accept"}"#).expect(403));
    assert_eq!(refused["error"]["details"]["checks"][0]["name"], "gate");
    assert!(!world.has("bad.txt"));
    let kept = json(&client.get(&format!("/v1/sandboxes/{id}/diff")).expect(200));
    assert_eq!(kept["changes"]["files"][0]["path"], "bad.txt");
    served.stop();
}

#[test]
fn only_projects_that_agar_knows_are_worked_in() {
    let (world, served) = served();
    let client = served.client();
    let other = world.home().join("other");
    fs_err::create_dir_all(&other).unwrap();
    let asked = |path: &std::path::Path| {
        let body = value!({
            "suggestion": "look around",
            "commands": ["pwd"],
            "context": { "projectPath": path },
        });
        client.post("/api/sandbox/create", &body.to_string())
    };
    asked(&other).expect(404);
    asked(std::path::Path::new("relative")).expect(400);
    // Using agar there makes it known.
    world.command(["ls"]).current_dir(&other).run().success();
    let id = id_in(&asked(&other).expect(201));
    let status = wait_for(&client, &id, "success");
    assert_eq!(status["output"][0], other.to_str().unwrap());
    served.stop();
}

#[test]
fn what_is_wrong_is_said_in_one_shape() {
    let (_world, served) = served();
    let client = served.client();
    for (path, body, status) in [
        ("/api/sandbox/create", "{", 400),
        ("/api/sandbox/create", "{}", 400),
        (
            "/api/sandbox/create",
            r#"{"suggestion": "x", "limits": {"memory": 0}}"#,
            400,
        ),
        (
            "/api/sandbox/create",
            r#"{"suggestion": "x", "limits": {"memori": 1}}"#,
            400,
        ),
        ("/api/sandbox/create", r#"{"suggestion": 7}"#, 400),
        (
            "/api/sandbox/nobody-here/execute",
            r#"{"command": "true"}"#,
            404,
        ),
        (
            "/api/sandbox/nobody-here/finalize",
            r#"{"decision": "maybe"}"#,
            400,
        ),
        ("/v1/sandboxes", r#"{"colour": "red"}"#, 400),
        ("/v1/nothing", "{}", 404),
        ("/healthz", "{}", 405),
    ] {
        let answer = client.post(path, body).expect(status);
        let error = &json(&answer)["error"];
        assert!(
            error["code"].is_string() && error["message"].is_string(),
            "{path} {error}"
        );
        assert!(answer.header("x-request-id").is_some());
    }
    served.stop();
}
