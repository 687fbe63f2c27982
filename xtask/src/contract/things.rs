//! What the requests can name: each operation finds something that it can do what it is for with.

use super::parsed;
use agar_testkit::World;
use agar_testkit::http::{Client, Served};
use agar_testkit::wait::until;
use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

/// An origin whose pages may offer suggestions.
pub(super) const GUEST: &str = "http://localhost:3000";

/// A check that holds, whatever was changed.
const SETTINGS: &str = "[[check]]\nname = 'always'\nrun = 'true'\n";

/// Sandboxes, by what is done with them.
const SANDBOXES: [&str; 9] = [
    "sandbox",
    "travelled",
    "checked",
    "promoted",
    "finalized",
    "paused",
    "removed",
    "over",
    "undone",
];

/// Prepares the project before it is served.
pub(super) fn prepare(world: &World) -> Result<()> {
    world.write("agar.toml", SETTINGS);
    let words = ["evolve", "run", "--target", "x + 1", "-g", "2", "--name"];
    let bred = world.command(words).arg("line").run();
    // Whether it was found in two generations is all the same.
    ensure!([0, 1].contains(&bred.code()), "no population: {bred}");
    Ok(())
}

/// Makes the rest through the interface itself.
pub(super) fn make(world: &World, served: &Served) -> Result<Value> {
    let client = &served.client();
    let mut things = json!({
        "cookies": { format!("agar-{}", served.address.port()): cookie(world)? },
        "token": served.token,
        "key": served.key,
        "origin": format!("http://{}", served.address),
        "guest": GUEST,
        "population": "line",
    });
    for name in SANDBOXES {
        things[name] = json!(sandbox(client, name)?);
    }
    for name in ["learned", "experiment", "forgotten"] {
        let body = json!({ "suggestion": format!("try {name}"), "commands": ["true"] });
        let made = client.post("/api/sandbox/create", &body.to_string());
        let id = text(&made.expect(201).text(), "/id")?;
        over(client, &id)?;
        things[name] = json!(id);
    }
    for name in ["suggestion", "rejected", "tried"] {
        let offer = r#"{"text": "say so in the notes", "commands": ["echo so >> so.txt"]}"#;
        let offered = client.post("/v1/suggestions", offer).expect(201).text();
        things[name] = json!(text(&offered, "/id")?);
    }
    let tried = things["tried"].as_str().unwrap_or_default();
    let begun = client.post(&format!("/v1/suggestions/{tried}/try"), "{}");
    over(client, &text(&begun.expect(201).text(), "/id")?)?;
    Ok(things)
}

/// A sandbox with something to show: a run, changes and a snapshot.
fn sandbox(client: &Client, name: &str) -> Result<String> {
    let made = client.post("/v1/sandboxes", "{}").expect(201).text();
    let id = text(&made, "/sandbox/id")?;
    let at = |what: &str| format!("/v1/sandboxes/{id}{what}");
    // Of each its own, so that those which are applied are not in each other's way.
    let run = json!({ "command": format!("echo {name} > {name}.txt; echo new > new.txt") });
    client.post(&at("/exec"), &run.to_string()).expect(200);
    let first = client.post(&at("/snapshots"), r#"{"name": "first"}"#);
    first.expect(201);
    match name {
        "checked" => drop(client.post(&at("/stop"), "{}").expect(200)),
        "over" => drop(client.send("DELETE", &at("?force=true"), b"").expect(200)),
        "undone" => drop(
            client
                .post(&at("/promote"), r#"{"stop": true}"#)
                .expect(200),
        ),
        _ => {}
    }
    Ok(id)
}

/// What a browser of the person's has. Another server of theirs gives it, whose link is left for it:
/// the one that is asked has a link for the operation that takes it.
fn cookie(world: &World) -> Result<String> {
    let other = Served::start(world);
    let opened = other.stranger().get(&format!("/open?key={}", other.key));
    let told = opened.expect(303);
    other.stop();
    let pair = told
        .header("set-cookie")
        .and_then(|it| it.split(';').next());
    let value = pair.and_then(|pair| pair.split_once('=')).map(|it| it.1);
    value.map(str::to_owned).context("a link gives a cookie")
}

/// Waits until the commands of a sandbox have run.
fn over(client: &Client, id: &str) -> Result<()> {
    let path = format!("/api/sandbox/{id}/status");
    let mut status = String::new();
    until(&format!("{id} to be over"), || {
        let told = client.get(&path).expect(200).text();
        status = text(&told, "/status").unwrap_or_default();
        ["success", "failed", "promoted"].contains(&status.as_str())
    });
    ensure!(status == "success", "{id} is {status}");
    Ok(())
}

/// A text in an answer, by where it is.
fn text(answer: &str, place: &str) -> Result<String> {
    let found = parsed(answer)?.pointer(place).cloned();
    let text = found.as_ref().and_then(Value::as_str).map(str::to_owned);
    text.with_context(|| format!("no text at {place} of {answer}"))
}
