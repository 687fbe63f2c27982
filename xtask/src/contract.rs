//! Every operation of the served interface, driven from its own description with valid and hostile
//! input.
//!
//! schemathesis draws the requests, from one seed, and holds each answer against the description: no
//! status that it does not name, no body of another shape, and never a failure of the server. The
//! server is a real one in a world of its own: its home, state and project are thrown away, and
//! what it runs, it runs in sandboxes.

use crate::program;
use agar_testkit::World;
use agar_testkit::http::{Client, Served};
use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The packages and what they are told, from the top of the workspace.
const DIRECTORY: &str = "xtask/contract";

/// Where the packages are installed.
const ENVIRONMENT: &str = "target/contract";

/// The system's own interpreter, as for the tests.
const PYTHON: &str = "/usr/bin/python3";

/// How long all requests may take together: many times what they do.
const PATIENCE: Duration = Duration::from_mins(15);

/// Requests drawn for each operation, beside those that cover each rule of its description.
const DRAWN: &str = "24";

/// What each answer is held against.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
                      response_schema_conformance";

/// Builds the command, serves a world and drives it.
pub(crate) fn run(root: &Path) -> Result<()> {
    let python = install(root)?;
    program::run(program::cargo(root).args(["build", "--package", "agar", "--quiet"]))?;
    let agar = root.join("target/debug/agar");
    let agar = agar.to_str().context("the path of the workspace is text")?;
    let world = World::with_repository_in(&root.join("target/tmp"), agar);
    let served = Served::start(&world);
    let client = served.client();
    stays_inside(&client, &world)?;
    let description = client.get("/openapi.json").expect(200).text();
    // From a file: whatever was loaded from its own address would not be asked for.
    let file = world.outside().join("openapi.json");
    fs_err::write(&file, &description)?;
    let outcome = world
        .invoke(&python)
        .args(["-m", "schemathesis.cli", "--config-file"])
        .arg(root.join(DIRECTORY).join("schemathesis.toml"))
        .arg("run")
        .arg(&file)
        .args(["--url", &format!("http://{}", served.address)])
        .args([
            "--header",
            &format!("Authorization: Bearer {}", served.token),
        ])
        .args(["--checks", CHECKS, "--max-examples", DRAWN])
        .args(["--phases", "examples,coverage,fuzzing", "--seed", "1"])
        .args(["--workers", "1", "--generation-database", "none"])
        .args(["--suppress-health-check", "all", "--request-timeout", "60"])
        .args(["--continue-on-failure", "--no-color", "--warnings", "off"])
        .args(["--report", "har", "--report-har-path"])
        .arg(root.join(ENVIRONMENT).join("requests.har"))
        .env("SCHEMATHESIS_HOOKS", "hooks")
        .env("PYTHONPATH", root.join(DIRECTORY))
        .env("PYTHONHASHSEED", "0")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("AGAR_CONTRACT", things(&client)?.to_string())
        .current_dir(world.outside())
        .patience(PATIENCE)
        .run();
    println!("{}", outcome.stdout.trim_end());
    ensure!(outcome.code() == 0, "the answers are not as described");
    let tested = format!("Tested: {}", operations(&parsed(&description)?));
    ensure!(
        outcome.stdout.lines().any(|line| line.trim() == tested),
        "not every operation was asked: there is no line `{tested}`"
    );
    client.get("/healthz").expect(200);
    served.stop();
    world.assert_nothing_left();
    Ok(())
}

/// Sees that the packages are those that are asked for; answers with their interpreter.
fn install(root: &Path) -> Result<PathBuf> {
    let list = root.join(DIRECTORY).join("requirements.txt");
    let wanted = fs_err::read(&list)?;
    let place = root.join(ENVIRONMENT);
    let python = place.join("bin/python");
    let installed = place.join("installed.txt");
    if fs_err::read(&installed).is_ok_and(|text| text == wanted) {
        return Ok(python);
    }
    let mut make = Command::new(PYTHON);
    make.args(["-m", "venv", "--clear"]).arg(&place);
    program::read(&mut make).context("install python3-venv")?;
    let mut fill = Command::new(&python);
    fill.args(["-m", "pip", "install", "--quiet", "--no-deps"])
        .args(["--disable-pip-version-check", "--only-binary=:all:"])
        .arg("--requirement")
        .arg(&list);
    program::read(&mut fill).context("the packages of the contract test cannot be had")?;
    fs_err::write(installed, wanted)?;
    Ok(python)
}

/// Refuses to go on unless everything that the server works on is thrown away with the world.
fn stays_inside(client: &Client, world: &World) -> Result<()> {
    let told = parsed(&client.get("/v1/projects").expect(200).text())?;
    let projects = told["projects"].as_array().context("a list of projects")?;
    ensure!(!projects.is_empty(), "the server knows no project: {told}");
    for project in projects {
        let path = project["path"].as_str().context("a project has a path")?;
        if !Path::new(path).starts_with(world.root()) {
            bail!("the server knows {path}, which is not of the world of this test");
        }
    }
    Ok(())
}

/// What the requests can name.
fn things(client: &Client) -> Result<Value> {
    let mut things = json!({});
    for name in [
        "sandbox",
        "travelled",
        "promoted",
        "finalized",
        "paused",
        "removed",
        "over",
    ] {
        let made = parsed(&client.post("/v1/sandboxes", "{}").expect(201).text())?;
        let id = made["sandbox"]["id"].as_str();
        let id = id.with_context(|| format!("no id in {made}"))?;
        changed(client, id);
        things[name] = json!(id);
        if name == "over" {
            let removal = format!("/v1/sandboxes/{id}?force=true");
            client.send("DELETE", &removal, b"").expect(200);
        }
    }
    for name in ["suggestion", "rejected"] {
        let offer = r#"{"text": "say so in the notes", "commands": ["echo so >> notes.txt"]}"#;
        let offered = parsed(&client.post("/v1/suggestions", offer).expect(201).text())?;
        things[name] = offered["id"].clone();
    }
    Ok(things)
}

/// Gives a sandbox something to show: a run, changes and a snapshot.
fn changed(client: &Client, id: &str) {
    let run = r#"{"command": "echo more >> notes.txt; echo new > new.txt"}"#;
    client
        .post(&format!("/v1/sandboxes/{id}/exec"), run)
        .expect(200);
    client
        .post(
            &format!("/v1/sandboxes/{id}/snapshots"),
            r#"{"name": "first"}"#,
        )
        .expect(201);
}

/// How many operations the description has.
fn operations(description: &Value) -> usize {
    let paths = description["paths"].as_object();
    let methods = |path: &Value| {
        let known = ["get", "put", "post", "delete", "patch", "head", "options"];
        known.iter().filter(|name| !path[**name].is_null()).count()
    };
    paths.map_or(0, |paths| paths.values().map(methods).sum())
}

fn parsed(text: &str) -> Result<Value> {
    serde_json::from_str(text).with_context(|| format!("not JSON: {text}"))
}
