//! The test command: everything that must hold before a change lands, step by step.
//!
//! Each step runs even when an earlier one failed, so that one run tells everything. The last line
//! is the sum over all of them.

pub(crate) mod browser;
mod compilers;
mod leftovers;
mod ordinary;
mod packages;
mod tally;

use crate::{contract, generate, program, tidy};
use agar_testkit::{Caller, world};
use anyhow::{Context as _, Result, bail};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;
use tally::Tally;

/// Runs every step.
pub(crate) fn run(root: &Path) -> ExitCode {
    let mut report = Report::default();
    let before = leftovers::Picture::take();
    report.check("packages", || packages::install(packages::FOR_TESTS));
    report.check("packages of the browser tests", || browser::install(root));
    let missing = report.timed("compilers of genomes", || compilers::install(root));
    report.check("types of the page", || browser::types(root));
    report.check("format", || {
        program::run(program::cargo(root).args(["fmt", "--all", "--check"]))
    });
    report.check("lints", || {
        program::run(program::cargo(root).args([
            "clippy",
            "--workspace",
            "--all-targets",
            "--quiet",
            "--",
            "--deny",
            "warnings",
        ]))
    });
    report.tests("tests", || tests(root, &missing));
    report.tests("tests of the compiling engine", || {
        tally::of_harness(program::cargo(root).args([
            "test",
            "--package",
            "agar-evolve",
            "--features",
            "native",
            "--test",
            "it",
            "--quiet",
        ]))
    });
    report.tests("doctests", || {
        tally::of_harness(program::cargo(root).args(["test", "--workspace", "--doc", "--quiet"]))
    });
    report.check("documents", || {
        program::run(
            program::cargo(root)
                .args(["doc", "--workspace", "--no-deps", "--quiet"])
                .env("RUSTDOCFLAGS", "--deny warnings"),
        )
    });
    report.check("tidy", || tidy::run(root));
    report.check("generated references", || generate::check(root));
    report.check("contract of the interface", || {
        contract::run(root, contract::SHALLOW)
    });
    match Caller::current() {
        Caller::Root => report.tests("tests as an ordinary user", || ordinary::run(root)),
        Caller::Ordinary => {
            println!("\n== not run as root: the tests above were the ordinary user's");
        }
    }
    report.check("leftovers", || {
        before.compare(&world::seen_inside(&root.join("target/tmp")))
    });
    report.end()
}

/// Every test of the workspace but those in documents.
fn tests(root: &Path, missing: &[&str]) -> Result<Tally> {
    let skips = tally::SkipFile::new(&root.join("target/skips-here"))?;
    let nextest = program::find("cargo-nextest").is_some();
    let mut command = program::cargo(root);
    if nextest {
        command.args([
            "nextest",
            "run",
            "--workspace",
            "--profile",
            "ci",
            "--no-tests",
            "pass",
        ]);
    } else {
        command.args([
            "test",
            "--workspace",
            "--lib",
            "--bins",
            "--tests",
            "--no-fail-fast",
            "--quiet",
        ]);
    }
    command
        .env("PATH", compilers::path(root))
        .env(agar_testkit::skip::FILE_VARIABLE, skips.path());
    let tally = if nextest {
        tally::of_nextest(&mut command)?
    } else {
        tally::of_harness(&mut command)?
    };
    let mode = match Caller::current() {
        Caller::Root => "root",
        Caller::Ordinary => "ordinary",
    };
    skips.count(root, (mode, missing), tally)
}

/// What the steps came to.
#[derive(Debug, Default)]
struct Report {
    tally: Tally,
    failed: Vec<String>,
    times: Vec<(String, f64)>,
}

impl Report {
    /// A step that holds or does not.
    fn check(&mut self, name: &str, step: impl FnOnce() -> Result<()>) {
        let outcome = self.timed(name, step);
        if let Err(error) = outcome {
            self.tally.failed += 1;
            self.fail(name, &error);
        }
    }

    /// A step that counts tests.
    fn tests(&mut self, name: &str, step: impl FnOnce() -> Result<Tally>) {
        match self.timed(name, step) {
            Ok(tally) => {
                println!("   {tally}");
                if tally.failed > 0 {
                    self.failed.push(name.to_owned());
                }
                self.tally = std::mem::take(&mut self.tally) + tally;
            }
            Err(error) => {
                self.tally.failed += 1;
                self.fail(name, &error);
            }
        }
    }

    fn fail(&mut self, name: &str, error: &anyhow::Error) {
        println!("   FAILED: {error:#}");
        self.failed.push(name.to_owned());
    }

    fn timed<T>(&mut self, name: &str, step: impl FnOnce() -> T) -> T {
        println!("\n== {name}");
        let start = Instant::now();
        let outcome = step();
        let seconds = start.elapsed().as_secs_f64();
        println!("   {name}: {seconds:.1} s");
        self.times.push((name.to_owned(), seconds));
        outcome
    }

    /// The last line printed is the sum; the exit status carries the rest.
    fn end(self) -> ExitCode {
        if !self.tally.said.is_empty() {
            println!("\n== what failed tests said");
            println!("{}", self.tally.said.join("\n\n"));
        }
        println!("\n== steps");
        for (name, seconds) in &self.times {
            let mark = if self.failed.contains(name) {
                "FAILED"
            } else {
                "ok"
            };
            println!("   {mark:6} {seconds:7.1} s  {name}");
        }
        println!("{}", self.tally);
        ExitCode::from(u8::from(!self.failed.is_empty()))
    }
}

/// Runs a program of the system and says what it did not like.
fn system(program: &str, args: &[&str]) -> Result<()> {
    let output = Command::new(program)
        .args(args)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .output()
        .with_context(|| format!("cannot start {program}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{program} {} failed: {}", args.join(" "), said.trim());
    }
    Ok(())
}
