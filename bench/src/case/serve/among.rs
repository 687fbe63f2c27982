//! The status of one sandbox among many that are alive, beside the least that any request costs, and
//! beside the same with one sandbox only.

use super::{Sizes, at_once, sandbox, told};
use crate::measure::{Contestant, Samples, in_turns};
use crate::table::Row;
use agar_testkit::World;
use agar_testkit::http::{Client, Served};
use anyhow::{Context as _, Result, ensure};
use std::time::{Duration, Instant};

/// How often each is asked for.
const ROUNDS: usize = 500;

pub(super) fn run(world: &World, served: &Served, sizes: Sizes) -> Result<Vec<Row>> {
    let client = served.client();
    let one = at_work(&client)?;
    let alone = measure(&client, std::slice::from_ref(&one))?;
    let begun = Instant::now();
    let more = at_once(2, |half| {
        (half + 1..sizes.sandboxes)
            .step_by(2)
            .map(|_| at_work(&client))
            .collect::<Result<Vec<_>>>()
    })?;
    let made = begun.elapsed();
    let ids: Vec<String> = more.into_iter().flatten().chain([one]).collect();
    let alive = alive(world)?;
    let among = measure(&client, &ids)?;
    let many = format!("status, one of {} ({alive} alive)", ids.len());
    #[expect(clippy::cast_precision_loss, reason = "few")]
    let rate = ids.len() as f64 / made.as_secs_f64();
    let floor = |measured: &Measured| measured.floor.p50();
    Ok(vec![
        Row::times("serve", "/healthz, one sandbox", &alone.floor),
        Row::times("serve", "status, one sandbox", &alone.status).beside(floor(&alone)),
        Row::times("serve", "/healthz, all sandboxes", &among.floor),
        Row::times("serve", &many, &among.status)
            .beside(floor(&among))
            .p99_at_most(5.0),
        Row::value(
            "serve",
            "made with a command each, two at a time",
            rate,
            "a second",
        ),
    ])
}

/// A sandbox that is alive and has run a command, so that its status has something to say.
fn at_work(client: &Client) -> Result<String> {
    let id = sandbox(client)?;
    let path = format!("/api/sandbox/{id}/execute");
    told(client, &path, r#"{"command": "seq 20"}"#, 200)?;
    Ok(id)
}

/// How many sandboxes are alive: a keeper that is not there is found out by whoever lists them.
fn alive(world: &World) -> Result<usize> {
    let listed = world.agar(["ls", "--json"]).success().stdout;
    let listed: serde_json::Value = serde_json::from_str(&listed)?;
    let all = listed["sandboxes"].as_array();
    let all = all.context("a list of sandboxes")?.iter();
    Ok(all.filter(|it| it["state"] == "running").count())
}

struct Measured {
    floor: Samples,
    status: Samples,
}

/// Asks for both in turns, with a pause between them.
fn measure(client: &Client, ids: &[String]) -> Result<Measured> {
    let timed = |path: &str| {
        let begun = Instant::now();
        let answer = client.get(path);
        let took = begun.elapsed();
        ensure!(answer.status == 200, "{path}: {}", answer.text());
        Ok(took)
    };
    let mut ids = ids.iter().cycle();
    let status = || -> Result<Duration> {
        let id = ids.next().context("there is a sandbox")?;
        timed(&format!("/api/sandbox/{id}/status"))
    };
    let contestants = vec![
        Contestant::new("floor", || timed("/healthz")),
        Contestant::new("status", status),
    ];
    let measured: Vec<Samples> = in_turns(ROUNDS, contestants)?
        .into_iter()
        .map(|(_, samples)| samples)
        .collect();
    let [floor, status] = &measured[..] else {
        anyhow::bail!("there were two contestants");
    };
    Ok(Measured {
        floor: floor.clone(),
        status: status.clone(),
    })
}
