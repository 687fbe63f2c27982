//! The interface by resources.

use super::{id_in, json, served};
use agar_testkit::http::Client;
use agar_testkit::wait::until;
use serde_json::{Value, json as value};

/// A new sandbox.
#[track_caller]
fn sandbox(client: &Client) -> String {
    let made = json(&client.post("/v1/sandboxes", "{}").expect(201));
    made["sandbox"]["id"].as_str().unwrap().to_owned()
}

#[track_caller]
fn exec(client: &Client, id: &str, line: &str) -> Value {
    let body = value!({ "command": line }).to_string();
    json(
        &client
            .post(&format!("/v1/sandboxes/{id}/exec"), &body)
            .expect(200),
    )
}

#[test]
fn commands_run_with_arguments_input_and_environment() {
    let (_world, served) = served();
    let client = served.client();
    let id = sandbox(&client);
    let body = value!({
        "argv": ["sh", "-c", "cat; echo $GREETING $1 >&2", "sh", "a b"],
        "stdin": "input\n",
        "env": ["GREETING=hello"],
    });
    let path = format!("/v1/sandboxes/{id}/exec");
    let ran = json(&client.post(&path, &body.to_string()).expect(200));
    assert_eq!(
        (&ran["stdout"], &ran["stderr"]),
        (&value!("input\n"), &value!("hello a b\n"))
    );
    assert_eq!(ran["run"]["end"], value!({ "how": "exited", "code": 0 }));
    let output = json(
        &client
            .get(&format!("/v1/sandboxes/{id}/runs/1/output"))
            .expect(200),
    );
    assert!(output["output"].as_str().unwrap().contains("input\n"));
    client
        .get(&format!("/v1/sandboxes/{id}/runs/9/output"))
        .expect(404);
    for wrong in [
        r"{}",
        r#"{"argv": ["x"], "command": "y"}"#,
        r#"{"argv": ["x"], "env": ["HOME"]}"#,
    ] {
        client.post(&path, wrong).expect(400);
    }
    served.stop();
}

#[test]
fn files_are_written_read_listed_and_removed() {
    let (world, served) = served();
    let client = served.client();
    let id = sandbox(&client);
    let at = |path: &str| format!("/v1/sandboxes/{id}/files?path={path}");
    let bytes = [0_u8, 255, 10, 13, 7];
    client
        .send("PUT", &at("new/deep/data.bin"), &bytes)
        .expect(204);
    assert_eq!(client.get(&at("new/deep/data.bin")).expect(200).body, bytes);
    let listed = json(&client.get(&at("new/deep")).expect(200));
    assert_eq!(listed["entries"][0]["name"], "data.bin");
    assert_eq!(listed["entries"][0]["changed"], true);
    let read = client.get(&at("notes.txt")).expect(200);
    assert_eq!(read.text(), world.read("notes.txt"));
    client.send("DELETE", &at("notes.txt"), b"").expect(204);
    client.get(&at("notes.txt")).expect(404);
    client.send("DELETE", &at("notes.txt"), b"").expect(404);
    assert!(world.has("notes.txt") && !world.has("new"));
    served.stop();
}

#[test]
fn a_sandbox_that_was_removed_is_not_there_for_any_operation() {
    let (_world, served) = served();
    let client = served.client();
    let id = sandbox(&client);
    let at = |rest: &str| format!("/v1/sandboxes/{id}{rest}");
    client.send("DELETE", &at("?force=true"), b"").expect(200);
    for operation in ["/snapshots", "/restore", "/fork", "/pause", "/resume"] {
        client.post(&at(operation), "{}").expect(404);
    }
    let forgotten = client.send("DELETE", &at("/snapshots/first"), b"");
    forgotten.expect(404);
    served.stop();
}

#[test]
fn main_is_looked_at_beside_the_sandbox_and_never_written() {
    let (world, served) = served();
    let client = served.client();
    let id = sandbox(&client);
    exec(&client, &id, "echo inside > notes.txt");
    let secret = world.outside().join("secret");
    fs_err::write(&secret, "secret").unwrap();
    std::os::unix::fs::symlink(&secret, world.project().join("way-out")).unwrap();
    let at = |path: &str| format!("/v1/sandboxes/{id}/files?side=main&path={path}");
    assert_eq!(
        client.get(&at("notes.txt")).expect(200).text(),
        world.read("notes.txt")
    );
    let listed = json(&client.get(&at("")).expect(200)).to_string();
    assert!(listed.contains("\"src\"") && listed.contains("way-out"));
    // A link is described, not followed, and no path leads out.
    let link = json(&client.get(&at("way-out")).expect(200));
    assert_eq!(link["target"], secret.to_str().unwrap());
    for wrong in ["../outside/secret", secret.to_str().unwrap(), "src/../.."] {
        client.get(&at(wrong)).expect(400);
    }
    client.get(&at("way-out/x")).expect(404);
    client.get(&at("missing")).expect(404);
    client.send("PUT", &at("made.txt"), b"x").expect(400);
    client.send("DELETE", &at("notes.txt"), b"").expect(400);
    assert!(world.has("notes.txt") && !world.has("made.txt"));
    served.stop();
}

#[test]
fn snapshots_restores_and_forks() {
    let (_world, served) = served();
    let client = served.client();
    let id = sandbox(&client);
    exec(&client, &id, "echo one > state.txt");
    let path = format!("/v1/sandboxes/{id}/snapshots");
    client.post(&path, r#"{"name": "first"}"#).expect(201);
    exec(&client, &id, "echo two > state.txt");
    let forked = json(
        &client
            .post(
                &format!("/v1/sandboxes/{id}/fork"),
                r#"{"count": 2, "snapshot": "first"}"#,
            )
            .expect(201),
    );
    let forks = forked["forks"].as_array().unwrap();
    assert_eq!(forks.len(), 2);
    for fork in forks {
        let ran = exec(&client, fork["id"].as_str().unwrap(), "cat state.txt");
        assert_eq!(ran["stdout"], "one\n");
    }
    let path = format!("/v1/sandboxes/{id}/restore");
    client.post(&path, r#"{"snapshot": "first"}"#).expect(200);
    assert_eq!(exec(&client, &id, "cat state.txt")["stdout"], "one\n");
    client.post(&path, r#"{"snapshot": "none"}"#).expect(404);
    client.post(&path, r#"{"snapshot": "a@b"}"#).expect(400);
    let listed = json(
        &client
            .get(&format!("/v1/sandboxes/{id}/snapshots"))
            .expect(200),
    );
    assert!(listed["snapshots"].as_array().unwrap().len() >= 2);
    served.stop();
}

#[test]
fn a_dry_run_shows_hunks_and_chosen_ones_are_applied() {
    let (world, served) = served();
    let client = served.client();
    let lines: String = (1..=40).fold(String::new(), |all, number| {
        all + &format!("line {number}\n")
    });
    world.write("long.txt", &lines);
    let id = sandbox(&client);
    exec(
        &client,
        &id,
        "sed -i -e 's/^line 2$/top/' -e 's/^line 39$/bottom/' long.txt; echo x > other.txt",
    );
    let diff = json(
        &client
            .get(&format!("/v1/sandboxes/{id}/diff?patch=true"))
            .expect(200),
    );
    assert!(diff["patch"].as_str().unwrap().contains("+bottom"));
    let path = format!("/v1/sandboxes/{id}/promote");
    let plan = json(&client.post(&path, r#"{"dry_run": true}"#).expect(200));
    assert_eq!(plan["applied"], false);
    let long = plan["files"]
        .as_array()
        .unwrap()
        .iter()
        .find(|it| it["path"] == "long.txt");
    assert_eq!(long.unwrap()["hunks"].as_array().unwrap().len(), 2);
    assert_eq!(world.read("long.txt"), lines);
    let body = |plan: &Value| {
        let hunks = value!({ "long.txt": [1] });
        value!({ "paths": ["long.txt"], "hunks": hunks, "plan": plan["plan"] }).to_string()
    };
    // The numbers were read from what is no longer so.
    let moved = lines.replace("line 20\n", "mine 20\n");
    world.write("long.txt", &moved);
    client.post(&path, &body(&plan)).expect(409);
    assert_eq!(world.read("long.txt"), moved);
    world.write("long.txt", &lines);
    let plan = json(&client.post(&path, r#"{"dry_run": true}"#).expect(200));
    client.post(&path, &body(&plan)).expect(200);
    let now = world.read("long.txt");
    assert!(now.contains("top\n") && now.contains("line 39\n"), "{now}");
    assert!(!world.has("other.txt"));
    client.post("/v1/promotions/undo", "{}").expect(200);
    assert_eq!(world.read("long.txt"), lines);
    served.stop();
}

#[test]
fn lists_come_in_pages_and_sandboxes_can_be_paused_and_removed() {
    let (_world, served) = served();
    let client = served.client();
    let made: Vec<String> = (0..3).map(|_| sandbox(&client)).collect();
    let mut seen = Vec::new();
    let mut next = String::new();
    loop {
        let page = json(
            &client
                .get(&format!("/v1/sandboxes?limit=2{next}"))
                .expect(200),
        );
        let ids = page["sandboxes"].as_array().unwrap().iter();
        seen.extend(ids.map(|it| it["id"].as_str().unwrap().to_owned()));
        match page["next"].as_str() {
            Some(after) => next = format!("&after={after}"),
            None => break,
        }
    }
    assert_eq!(seen, made);
    client.get("/v1/sandboxes?limit=0").expect(400);
    client.get("/v1/sandboxes?limit=9999").expect(400);
    let on = |verb: &str| client.post(&format!("/v1/sandboxes/{}/{verb}", made[0]), "{}");
    on("pause").expect(200);
    on("pause").expect(409);
    on("resume").expect(200);
    on("stop").expect(200);
    let shown = json(
        &client
            .get(&format!("/v1/sandboxes/{}", made[0]))
            .expect(200),
    );
    assert_eq!(shown["sandbox"]["state"], "finished");
    for id in &made {
        client
            .send("DELETE", &format!("/v1/sandboxes/{id}"), b"")
            .expect(200);
    }
    let left = json(&client.get("/v1/sandboxes").expect(200));
    assert_eq!(left["sandboxes"], value!([]));
    served.stop();
}

#[test]
fn a_request_with_a_key_is_done_once() {
    let (world, served) = served();
    let keyed = served.client().with("idempotency-key", "build-7");
    let first = keyed
        .post("/v1/sandboxes", r#"{"note": "once"}"#)
        .expect(201);
    let again = keyed
        .post("/v1/sandboxes", r#"{"note": "once"}"#)
        .expect(201);
    assert_eq!(json(&first), json(&again));
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    keyed
        .post("/v1/sandboxes", r#"{"note": "other"}"#)
        .expect(422);
    // Also by a server that was started again.
    served.stop();
    let served = agar_testkit::http::Served::start(&world);
    let keyed = served.client().with("idempotency-key", "build-7");
    let third = keyed
        .post("/v1/sandboxes", r#"{"note": "once"}"#)
        .expect(201);
    assert_eq!(json(&first), json(&third));
    let all = json(&served.client().get("/v1/sandboxes").expect(200));
    assert_eq!(all["sandboxes"].as_array().unwrap().len(), 1);
    served.stop();
}

#[test]
fn memory_experiments_and_populations_can_be_asked() {
    let (world, served) = served();
    let client = served.client();
    world
        .agar(["run", "--suggestion", "say hello", "--", "true"])
        .success();
    let page = json(&client.get("/v1/experiments?limit=1").expect(200));
    let id = page["experiments"][0]["id"].as_str().unwrap();
    let shown = json(&client.get(&format!("/v1/experiments/{id}")).expect(200));
    assert_eq!(shown["summary"]["status"], "success");
    for path in [
        "/v1/memory/patterns",
        "/v1/memory/lessons?all=true",
        "/v1/memory/stats",
        "/v1/memory/calibration",
        "/v1/memory/search?words=hello",
        "/v1/populations",
        "/v1/projects",
    ] {
        client.get(path).expect(200);
    }
    client
        .post("/v1/memory/notes", r#"{"text": "be kind"}"#)
        .expect(201);
    let told = json(
        &client
            .post("/v1/confidence", r#"{"suggestion": "say hello"}"#)
            .expect(200),
    );
    assert!(told["p"].is_f64(), "{told}");
    client.get("/v1/populations/nobody").expect(404);
    served.stop();
}

#[test]
fn the_description_is_the_published_one_and_counters_count() {
    let (_world, served) = served();
    let client = served.client();
    let told = client.get("/openapi.json").expect(200).text();
    let published = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/reference/openapi.json"
    );
    assert_eq!(told, fs_err::read_to_string(published).unwrap());
    let id = id_in(
        &client
            .post("/v1/suggestions", r#"{"text": "x"}"#)
            .expect(201),
    );
    client.get(&format!("/v1/suggestions/{id}")).expect(200);
    until("the request to be counted", || {
        let counters = client.get("/metrics").expect(200).text();
        counters.contains("route=\"/v1/suggestions/{id}\",status=\"200\"} 1")
    });
    served.stop();
}
