//! Development tasks, each one command that a contributor and the build machine type alike.
#![expect(
    clippy::print_stdout,
    reason = "talking to the developer is what these tasks do"
)]

mod bench;
mod calibrate;
mod contract;
mod generate;
mod program;
mod python;
mod screenshots;
mod test;
mod tidy;

use anyhow::{Context as _, Result, bail};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask <task>

  test               format, lints, every test, documents and rules; as root also as an ordinary user
  tidy               the rules that no lint knows: edges between crates, sizes, claims, words
  generate [--check] write the generated references, or say which are out of date
  calibrate FILE     replay a stream of outcomes (lines of JSON) and score the confidence beside simple answers
  contract [SEED]    every operation of the served interface with valid and hostile input (schemathesis);
                     --step: as little of it as `test` does
  screenshots        pictures of every view of the page, light and dark, wide and narrow
  bench [filter]     measure the promised numbers beside their peers; --json for programs
";

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            println!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<ExitCode> {
    let root = workspace()?;
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["test"] => return Ok(test::run(&root)),
        ["tidy"] => tidy::run(&root)?,
        ["generate"] => generate::write(&root)?,
        ["generate", "--check"] => generate::check(&root)?,
        ["calibrate", file] => calibrate::run(&root, file)?,
        ["contract"] => contract::run(&root, contract::DEEP)?,
        ["contract", "--step"] => contract::run(&root, contract::SHALLOW)?,
        ["contract", seed] => contract::run(&root, contract::DEEP.with_seed(seed)?)?,
        ["screenshots"] => screenshots::run(&root)?,
        ["bench", rest @ ..] => bench::run(&root, rest)?,
        [] | ["help" | "-h" | "--help"] => print!("{USAGE}"),
        _ => {
            print!("{USAGE}");
            bail!("no such task: {}", words.join(" "))
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The top of the workspace.
fn workspace() -> Result<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here
        .parent()
        .context("the task crate lies in the workspace")?;
    Ok(root.to_owned())
}
