//! The promised numbers, measured beside their peers in one run.
//!
//! Contestants of one benchmark take turns, so that whatever else the machine does falls on all of
//! them alike, and the ratio is what counts. `cargo xtask bench` builds the command as users get it
//! and starts this program.
#![expect(clippy::print_stdout, reason = "the table is what this program is for")]

mod case;
mod inside;
mod measure;
mod table;

use anyhow::{Context as _, Result};
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
    ("crowd", case::crowd::run),
    ("travel", case::travel::run),
    #[cfg(feature = "evolve")]
    ("evolve", case::evolve::run),
];

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let json = words.iter().any(|word| word == "--json");
    let filters: Vec<&String> = words
        .iter()
        .filter(|word| !word.starts_with("--"))
        .collect();
    let mut rows = Vec::new();
    for (name, run) in BENCHMARKS {
        let wanted =
            filters.is_empty() || filters.iter().any(|filter| name.contains(filter.as_str()));
        if !wanted {
            continue;
        }
        if !json {
            println!("{name}");
        }
        let measured = run().with_context(|| format!("the benchmark {name} cannot run"))?;
        if !json {
            print!("{}", table::text(&measured));
        }
        rows.extend(measured);
    }
    if json {
        println!("{}", serde_json::to_string_pretty(&rows)?);
    }
    Ok(())
}
