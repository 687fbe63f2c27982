//! The page with a thousand sandboxes and ten thousand experiments, beside the same page with none.
//!
//! Chromium opens it; the script `paint.js` fills the project through the command and the interface
//! and reads the browser's own marks. `AGAR_BENCH_PAGE` names other numbers of sandboxes,
//! experiments and rounds, separated by spaces.

use super::AGAR;
use crate::measure::Samples;
use crate::table::Row;
use agar_testkit::World;
use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use std::path::Path;
use std::time::Duration;

/// How long filling and measuring may take.
const PATIENCE: Duration = Duration::from_mins(30);

/// What the script says.
#[derive(Debug, Deserialize)]
struct Painted {
    sandboxes: u64,
    experiments: u64,
    empty_ms: Vec<f64>,
    full_ms: Vec<f64>,
    listed_ms: Vec<f64>,
    experiments_ms: Vec<f64>,
    transferred_bytes: u64,
}

pub(crate) fn run() -> Result<Vec<Row>> {
    let browser = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/agar-server/browser");
    ensure!(
        browser.join("node_modules/playwright-core").exists(),
        "the packages of the browser tests are missing: `npm ci` in {}",
        browser.display()
    );
    let world = World::with_repository(AGAR);
    let wanted = std::env::var_os("AGAR_BENCH_PAGE").unwrap_or_default();
    let wanted = wanted.to_string_lossy();
    let outcome = world
        .invoke("/usr/bin/node")
        .arg(browser.join("paint.js"))
        .args(wanted.split_whitespace())
        .env("AGAR", world.program())
        .env("TMPDIR", world.outside())
        .patience(PATIENCE)
        .run()
        .success();
    let told: Painted = serde_json::from_str(&outcome.stdout).context("what the script says")?;
    Ok(rows(&told))
}

fn rows(told: &Painted) -> Vec<Row> {
    let full = format!("{}, {}", told.sandboxes, told.experiments);
    let empty = samples(&told.empty_ms);
    let times = |what: &str, all: &[f64]| {
        Row::times("page", &format!("{full}: {what}"), &samples(all)).beside(empty.p50())
    };
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let kilobytes = told.transferred_bytes as f64 / 1000.0;
    vec![
        Row::times("page", "first paint of an empty project", &empty),
        times("first paint", &told.full_ms).at_most(1000.0),
        times("the sandboxes are there", &told.listed_ms).at_most(1000.0),
        times("the experiments are there", &told.experiments_ms),
        Row::value(
            "page",
            "scripts, sheets and answers carried",
            kilobytes,
            "kB",
        )
        .at_most(600.0),
    ]
}

fn samples(all: &[f64]) -> Samples {
    let mut samples = Samples::default();
    for &millis in all {
        samples.push(Duration::from_secs_f64(millis / 1000.0));
    }
    samples
}
