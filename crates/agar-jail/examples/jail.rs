//! Raises a jail around a command, as often as asked, and prints how long it took: what a client of
//! the library pays, without the command line around it.
//!
//! `cargo run --release -p agar-jail --example jail -- COUNT PROGRAM [ARGUMENT…]`

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program for people at a desk"
)]

use agar_core::limits::Limits;
use agar_core::walls::{Identity, Monitor, Network, Tier};
use agar_jail::client::{self, Keeper, KeeperConfig, Lifetime, RunRequest};
use agar_jail::machine::Machine;
use agar_jail::plan::plan;
use agar_jail::policy::{Nested, Overlay, Policy};
use agar_jail::wire::Raw;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let count: usize = arguments
        .next()
        .ok_or("how often?")?
        .to_string_lossy()
        .parse()?;
    let argv: Vec<Raw> = arguments.map(Raw::from).collect();
    let home = PathBuf::from(std::env::var("HOME")?);
    let state = home
        .join(".local/state/agar-jail-example")
        .join(std::process::id().to_string());
    let mut times = Vec::new();
    for round in 0..count {
        let directory = state.join(round.to_string());
        let began = Instant::now();
        let code = once(&directory, &home, &argv, count == 1)?;
        times.push(began.elapsed());
        if count == 1 {
            println!("exit {code}");
        }
    }
    println!("layers are left in {}", state.display());
    report(&mut times);
    Ok(())
}

fn once(directory: &Path, home: &Path, argv: &[Raw], show: bool) -> Result<i32, Box<dyn Error>> {
    let layer = |name: &str| -> Result<Raw, std::io::Error> {
        let path = directory.join(name);
        std::fs::create_dir_all(&path)?;
        Ok(path.into())
    };
    let project = std::env::current_dir()?;
    let machine = Machine::read()?;
    let whole = if machine.is_root() {
        Path::new("/")
    } else {
        home
    };
    let overlay = |target: &Path, name: &str| -> Result<Overlay, std::io::Error> {
        Ok(Overlay {
            target: target.into(),
            upper: layer(&format!("{name}/upper"))?,
            work: layer(&format!("{name}/work"))?,
            lowers: vec![target.into()],
        })
    };
    let policy = Policy {
        tier: Tier::Full,
        network: Network::None,
        identity: Identity::Caller,
        nested: Nested::Refused,
        monitor: Monitor::Executions,
        overlays: vec![overlay(whole, "home")?, overlay(&project, "project")?],
        copies: Vec::new(),
        masks: vec![home.join(".ssh").into()],
        home: home.into(),
        staging: layer("root")?,
        layer_homes: Vec::new(),
        limits: Limits::person(),
        old_ways: Vec::new(),
    };
    layer("mask")?;
    let plan = plan(&policy, &machine)?;
    if show {
        println!("{plan}\n");
    }
    let config = KeeperConfig {
        plan,
        limits: Limits::person(),
        directory: directory.into(),
        socket: directory.join("socket").into(),
        layers: Vec::new(),
        // One of its own for each jail: a group is removed with all that is in it.
        name: format!(
            "example-{}-{}",
            std::process::id(),
            directory.file_name().unwrap_or_default().display()
        ),
        lifetime: Lifetime::OneRun,
        mark: None,
    };
    let keeper = client::start(&home.join(".local/state/agar-jail-example"), &config)?;
    let request = RunRequest {
        number: 1,
        argv: argv.to_vec(),
        env: vec![
            ("PATH".into(), std::env::var("PATH")?.into()),
            ("HOME".into(), home.into()),
        ],
        cwd: project.into(),
        terminal: None,
        timeout_ms: None,
    };
    finish(&keeper, &request, show)
}

fn finish(keeper: &Keeper, request: &RunRequest, show: bool) -> Result<i32, Box<dyn Error>> {
    let running = keeper.run(request)?;
    let (out, err) = (running.stdout.as_ref(), running.stderr.as_ref());
    for stream in [out, err].into_iter().flatten() {
        let mut text = String::new();
        std::io::Read::read_to_string(&mut std::fs::File::from(stream.try_clone()?), &mut text)?;
        if show {
            println!("{text}");
        }
    }
    let report = running.wait()?;
    if show {
        println!("{report:?}");
    }
    Ok(report.end.exit_code())
}

fn report(times: &mut [Duration]) {
    times.sort();
    let at = |share: usize| {
        times
            .get(times.len() * share / 100)
            .copied()
            .unwrap_or_default()
    };
    println!(
        "p50 {:?}  p99 {:?}  min {:?}",
        at(50),
        at(99),
        times.first().copied().unwrap_or_default()
    );
}
