//! The promised numbers, measured beside their peers in one run.
//!
//! Contestants of one benchmark take turns, so that whatever else the machine does falls on all of
//! them alike, and the ratio is what counts. `cargo xtask bench` builds the command as users get it
//! and starts this program.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the table is what this program is for"
)]

mod case;
mod inside;
mod measure;
mod table;

use anyhow::{Result, bail, ensure};
use table::Row;

/// One benchmark: it measures and answers with its lines of the table.
type Benchmark = fn() -> Result<Vec<Row>>;

/// Each benchmark by the name that the specification uses.
const BENCHMARKS: &[(&str, Benchmark)] = &[
    ("create", case::create::run),
    ("size", case::size::run),
    ("freeze", case::freeze::run),
    ("exec", case::exec::run),
    ("build", case::build::run),
    ("git", case::git::run),
    ("apply", case::apply::run),
    ("idle", case::idle::run),
    ("rate", case::rate::run),
    ("cold", case::cold::run),
    ("memory", case::memory::run),
    ("page", case::page::run),
    ("serve", case::serve::run),
    ("crowd", case::crowd::run),
    ("travel", case::travel::run),
    #[cfg(feature = "evolve")]
    ("evolve", case::evolve::run),
];

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (options, filters): (Vec<&String>, Vec<&String>) =
        words.iter().partition(|word| word.starts_with("--"));
    if let Some(unknown) = options.iter().find(|word| word.as_str() != "--json") {
        bail!("there is no option {unknown}: {}", usage());
    }
    let json = !options.is_empty();
    let (rows, failed) = measure_all(&chosen(&filters)?, json);
    if json {
        println!("{}", serde_json::to_string_pretty(&rows)?);
    }
    ensure!(failed.is_empty(), "could not run: {}", failed.join(", "));
    Ok(())
}

/// The benchmarks whose names hold one of `filters`; all without any.
fn chosen(filters: &[&String]) -> Result<Vec<&'static (&'static str, Benchmark)>> {
    if let Some(stranger) = filters.iter().find(|filter| {
        !BENCHMARKS
            .iter()
            .any(|(name, _)| name.contains(filter.as_str()))
    }) {
        bail!("there is no benchmark {stranger}: {}", usage());
    }
    Ok(BENCHMARKS
        .iter()
        .filter(|(name, _)| {
            filters.is_empty() || filters.iter().any(|filter| name.contains(filter.as_str()))
        })
        .collect())
}

/// Runs each; one that cannot run is named and does not keep the others from theirs.
fn measure_all(
    chosen: &[&'static (&'static str, Benchmark)],
    json: bool,
) -> (Vec<Row>, Vec<&'static str>) {
    let (mut rows, mut failed) = (Vec::new(), Vec::new());
    for (name, run) in chosen {
        if !json {
            println!("{name}");
        }
        match run() {
            Ok(measured) => {
                if !json {
                    print!("{}", table::text(&measured));
                }
                rows.extend(measured);
            }
            Err(error) => {
                eprintln!("the benchmark {name} cannot run: {error:#}");
                failed.push(*name);
            }
        }
    }
    (rows, failed)
}

fn usage() -> String {
    let names: Vec<&str> = BENCHMARKS.iter().map(|(name, _)| *name).collect();
    format!("cargo xtask bench [--json] [{}]", names.join("|"))
}
