//! Streams and terminals at once, beside one of each alone.

use super::terminal::{self, LINES as TYPED};
use super::{Sizes, at_once, sandbox, told};
use crate::inside::since_epoch;
use crate::measure::Samples;
use crate::table::Row;
use agar_testkit::World;
use agar_testkit::http::{Client, Served};
use agar_testkit::wait::holds_within;
use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use std::sync::Mutex;
use std::time::Duration;

/// Sandboxes whose streams are listened to: many clients share each.
const SOURCES: usize = 10;
/// Lines that the command in each of them prints, with the time of each.
const LINES: usize = 100;

/// What one listener missed, and how late it heard the rest.
#[derive(Debug, Default, Clone)]
struct Listened {
    lost: usize,
    late: Samples,
}

pub(super) fn run(_world: &World, served: &Served, sizes: Sizes) -> Result<Vec<Row>> {
    let client = served.client();
    let alone = measure(&client, 1, 1)?;
    let crowd = measure(&client, sizes.streams, sizes.terminals)?;
    let (streams, terminals) = (sizes.streams, sizes.terminals);
    let many = format!("{streams} streams and {terminals} terminals");
    let (told, typed) = (crowd.late.count(), terminals * TYPED);
    let lost = [
        ("events", told, alone.lost + crowd.lost),
        (
            "lines typed",
            typed,
            typed.saturating_sub(crowd.typed.count()),
        ),
    ];
    let mut rows = vec![
        Row::times("serve", "event heard, one stream alone", &alone.late),
        Row::times("serve", &format!("event heard, {many}"), &crowd.late).beside(alone.late.p50()),
        Row::times("serve", "line typed and answered, alone", &alone.typed),
        Row::times(
            "serve",
            &format!("line typed and answered, {many}"),
            &crowd.typed,
        )
        .beside(alone.typed.p50()),
    ];
    for (what, of, count) in lost {
        #[expect(clippy::cast_precision_loss, reason = "few")]
        let value = count as f64;
        let what = format!("lost of {of} {what}");
        rows.push(Row::value("serve", &what, value, "").at_most(0.0));
    }
    let failed: usize = lost.iter().map(|(_, _, count)| count).sum();
    ensure!(
        failed == 0,
        "something was lost: {}",
        crate::table::text(&rows)
    );
    Ok(rows)
}

/// What a number of streams and terminals went through.
struct Measured {
    lost: usize,
    late: Samples,
    typed: Samples,
}

fn measure(client: &Client, streams: usize, terminals: usize) -> Result<Measured> {
    let sources = SOURCES.min(streams);
    let ids = Mutex::new(Vec::new());
    // Two at a time, as fast as this machine makes them.
    let count = terminals.max(sources);
    at_once(2, |half| {
        for _ in (half..count).step_by(2) {
            let id = sandbox(client)?;
            ids.lock()
                .map_err(|_| anyhow::anyhow!("a maker panicked"))?
                .push(id);
        }
        Ok(())
    })?;
    let ids = ids.into_inner().context("a maker panicked")?;
    let (typed, listened) = std::thread::scope(|scope| {
        let typing = scope.spawn(|| at_once(terminals, |n| terminal::use_one(client, &ids[n])));
        let listening = scope.spawn(|| at_once(streams, |n| listen(client, &ids[n % sources])));
        let printed = wait_for_all(client, streams).and_then(|()| print(client, &ids[..sources]));
        let listened = listening.join().ok().context("the listeners gave up")?;
        let typed = typing.join().ok().context("those who typed gave up")?;
        printed?;
        Ok::<_, anyhow::Error>((typed?, listened?))
    })?;
    for id in &ids {
        let gone = client.send("DELETE", &format!("/v1/sandboxes/{id}?force=true"), b"");
        ensure!(gone.status < 300, "{}", gone.text());
    }
    let mut measured = Measured {
        lost: listened.iter().map(|it| it.lost).sum(),
        late: Samples::default(),
        typed: Samples::default(),
    };
    for listener in &listened {
        measured.late.extend(&listener.late);
    }
    for samples in &typed {
        measured.typed.extend(samples);
    }
    Ok(measured)
}

/// Waits until all streams are open.
fn wait_for_all(client: &Client, streams: usize) -> Result<()> {
    let line = format!("agar_http_streams {streams}\n");
    let open = holds_within(Duration::from_mins(2), || {
        client.get("/metrics").text().contains(&line)
    });
    ensure!(open, "{streams} streams were never open at once");
    Ok(())
}

/// Has a command in each sandbox print lines, each with its number and the time, then a last one.
fn print(client: &Client, ids: &[String]) -> Result<()> {
    let script = format!(
        "for n in $(seq {LINES}); do echo \"$n $EPOCHREALTIME\"; sleep 0.05; done; echo end"
    );
    let body = json!({ "argv": ["bash", "-c", script] }).to_string();
    at_once(ids.len(), |number| {
        let path = format!("/v1/sandboxes/{}/exec", ids[number]);
        let answer = told(client, &path, &body, 200)?;
        ensure!(answer["run"]["end"]["code"] == 0, "{answer}");
        Ok(())
    })?;
    Ok(())
}

/// Hears everything up to the end of the first run, and counts what was not exactly as it should be.
fn listen(client: &Client, id: &str) -> Result<Listened> {
    let mut heard = Listened::default();
    let mut printed = String::new();
    let (mut next, mut event) = (1, 0);
    for (_, data) in client.follow(&format!("/api/sandbox/{id}/stream")) {
        let now = since_epoch();
        let data: Value = serde_json::from_str(&data)?;
        if let Some(number) = data["number"].as_u64() {
            heard.lost += usize::from(number <= event);
            event = number;
            if data["kind"] == "run.ended" {
                break;
            }
        }
        printed.push_str(data["text"].as_str().unwrap_or_default());
        while let Some((line, rest)) = printed.split_once('\n') {
            if let Some((number, at)) = line.split_once(' ') {
                let number: usize = number.parse()?;
                heard.lost += number.abs_diff(next);
                next = number + 1;
                let at = Duration::from_secs_f64(at.parse()?);
                heard.late.push(now.saturating_sub(at));
            }
            printed = rest.to_owned();
        }
    }
    heard.lost += (LINES + 1).abs_diff(next);
    Ok(heard)
}
