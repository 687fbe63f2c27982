//! Every operation of the served interface, driven from its own description with valid and hostile
//! input.
//!
//! schemathesis draws the requests, from one seed, and holds each answer against the description: no
//! status that it does not name, no body of another shape, and never a failure of the server. The
//! server is a real one in a world of its own: its home, state and project are thrown away, and
//! what it runs, it runs in sandboxes.

mod things;

use crate::{program, python};
use agar_testkit::http::{Client, Served};
use agar_testkit::{World, world};
use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

/// The packages and what they are told, from the top of the workspace.
const DIRECTORY: &str = "xtask/contract";

/// Where the packages are installed.
const ENVIRONMENT: &str = "target/contract";

/// How long all requests may take together: many times what they do.
const PATIENCE: Duration = Duration::from_mins(15);

/// How much is asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Depth {
    /// How requests are come by.
    phases: &'static str,
    /// Requests drawn for each operation, beside those that cover each rule of its description.
    drawn: u32,
    /// What they are drawn from.
    seed: u64,
}

/// As much as somebody waits for who runs all tests.
pub(crate) const SHALLOW: Depth = Depth {
    phases: "examples,coverage,fuzzing",
    drawn: 4,
    seed: 1,
};

/// Everything.
pub(crate) const DEEP: Depth = Depth {
    phases: "examples,coverage,fuzzing",
    drawn: 24,
    seed: 1,
};

impl Depth {
    /// The same with other requests.
    pub(crate) fn with_seed(self, seed: &str) -> Result<Self> {
        let seed = seed.parse().context("a seed is a number")?;
        Ok(Self { seed, ..self })
    }
}

/// What each answer is held against.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
                      response_schema_conformance";

/// Operations that cannot be seen to do what they are for here, and why.
const NEVER: &[(&str, &str)] = &[(
    "GET /v1/sandboxes/{id}/terminal",
    "it becomes a WebSocket, which no plain request asks for (tests: serving/terminals.rs)",
)];

/// Builds the command, serves a world and drives it.
pub(crate) fn run(root: &Path, depth: Depth) -> Result<()> {
    let list = root.join(DIRECTORY).join("requirements.txt");
    let python = python::install(&list, &root.join(ENVIRONMENT))?;
    program::run(program::cargo(root).args(["build", "--package", "agar", "--quiet"]))?;
    let agar = root.join("target/debug/agar");
    let agar = agar.to_str().context("the path of the workspace is text")?;
    let world = World::with_repository_in(&world::seen_inside(&root.join("target/tmp")), agar);
    things::prepare(&world)?;
    let served = Served::start_with(&world, &["--allow-origin", things::GUEST]);
    let client = served.client();
    stays_inside(&client, &world)?;
    let description = client.get("/openapi.json").expect(200).text();
    // From a file: whatever was loaded from its own address would not be asked for.
    let file = world.outside().join("openapi.json");
    fs_err::write(&file, &description)?;
    let answers = root.join(ENVIRONMENT).join("answers.txt");
    let outcome = world
        .invoke(&python)
        .args(["-m", "schemathesis.cli", "--config-file"])
        .arg(root.join(DIRECTORY).join("schemathesis.toml"))
        .arg("run")
        .arg(&file)
        .args(["--url", &format!("http://{}", served.address)])
        .args(["--checks", CHECKS, "--phases", depth.phases])
        .args(["--max-examples", &depth.drawn.to_string()])
        .args(["--seed", &depth.seed.to_string()])
        .args(["--workers", "1", "--generation-database", "none"])
        .args(["--suppress-health-check", "all", "--request-timeout", "60"])
        .args(["--continue-on-failure", "--no-color", "--warnings", "off"])
        .args(["--report", "har", "--report-har-path"])
        .arg(root.join(ENVIRONMENT).join("requests.har"))
        .env("SCHEMATHESIS_HOOKS", "hooks")
        .env("PYTHONPATH", root.join(DIRECTORY))
        .env("PYTHONHASHSEED", "0")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("AGAR_CONTRACT", things::make(&world, &served)?.to_string())
        .env("AGAR_CONTRACT_ANSWERS", &answers)
        .current_dir(world.outside())
        .patience(PATIENCE)
        .run();
    println!("{}", outcome.stdout.trim_end());
    ensure!(outcome.code() == 0, "the answers are not as described");
    reached(&parsed(&description)?, &fs_err::read_to_string(&answers)?)?;
    client.get("/healthz").expect(200);
    served.stop();
    world.assert_nothing_left();
    Ok(())
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

/// Sees that every operation was asked, and did what it is for at least once.
fn reached(description: &Value, answers: &str) -> Result<()> {
    let all = operations(description);
    let done: BTreeSet<String> = answers
        .lines()
        .filter_map(|line| line.rsplit_once(' '))
        .filter(|(_, status)| status.starts_with('2') || *status == "303")
        .map(|(operation, _)| operation.to_owned())
        .collect();
    for (operation, reason) in NEVER {
        let known = all.contains(*operation) && !done.contains(*operation);
        ensure!(known, "take {operation} off the list: not so that {reason}");
    }
    let never = |operation: &&String| NEVER.iter().any(|(known, _)| known == operation);
    let missed: Vec<&String> = all.difference(&done).filter(|it| !never(it)).collect();
    ensure!(missed.is_empty(), "never did what they are for: {missed:?}");
    println!("{} operations did what they are for", done.len());
    Ok(())
}

/// The operations of a description, as `GET /path`.
fn operations(description: &Value) -> BTreeSet<String> {
    let paths = description["paths"].as_object().into_iter().flatten();
    let known = ["get", "put", "post", "delete", "patch", "head", "options"];
    let of = |(path, methods): (&String, &Value)| {
        let has = known.iter().filter(|name| !methods[**name].is_null());
        has.map(|name| format!("{} {path}", name.to_uppercase()))
            .collect::<Vec<_>>()
    };
    paths.flat_map(of).collect()
}

fn parsed(text: &str) -> Result<Value> {
    serde_json::from_str(text).with_context(|| format!("not JSON: {text}"))
}
