//! Runs a command in a sandbox of its own, as often as asked, and prints how long it took: what a
//! face pays, without the start of its own process.
//!
//! `cargo run --release -p agar-engine --example once -- COUNT PROGRAM [ARGUMENT…]`

#![expect(clippy::print_stdout, reason = "a program for people at a desk")]

use agar_core::seam::{Clock, Entropy, Timestamp};
use agar_engine::relay::{NoControls, Sink, Source, Streams};
use agar_engine::run::{RunRequest, run};
use agar_engine::{Command, Engine, Surroundings};
use std::error::Error;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::{Duration, Instant};

struct Machine;

impl Clock for Machine {
    fn now(&self) -> Timestamp {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
        Timestamp::from_millis((now.tv_sec * 1000 + now.tv_nsec / 1_000_000).unsigned_abs())
    }
}

impl Entropy for Machine {
    fn fill(&self, bytes: &mut [u8]) {
        // Short of randomness the ids of this program may repeat; it is only a measurement.
        let _ = rustix::rand::getrandom(bytes, rustix::rand::GetRandomFlags::empty());
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let count = arguments.next().ok_or("how often?")?;
    let count: usize = count.to_string_lossy().parse()?;
    let argv: Vec<OsString> = arguments.collect();
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let began = Instant::now();
        let code = once(&argv)?;
        times.push(began.elapsed());
        if count == 1 {
            println!("exit {code:?}");
        }
    }
    times.sort();
    let at = |share: usize| times.get(times.len() * share / 100).copied();
    let shown = [at(50), at(99), times.first().copied()].map(Option::<Duration>::unwrap_or_default);
    println!("p50 {:?}  p99 {:?}  min {:?}", shown[0], shown[1], shown[2]);
    Ok(())
}

fn once(argv: &[OsString]) -> Result<Option<i32>, Box<dyn Error>> {
    let ids = (
        rustix::process::getuid().as_raw(),
        rustix::process::getgid().as_raw(),
    );
    let surroundings = Surroundings::new(
        ids,
        (std::env::current_dir()?, "/nonexistent".into()),
        std::env::vars_os().collect(),
        (Arc::new(Machine), Arc::new(Machine)),
    );
    let engine = Engine::open(surroundings)?;
    let request = RunRequest {
        command: Command::new(argv.iter().cloned()),
        ..RunRequest::default()
    };
    let mut controls = NoControls;
    let streams = Streams {
        stdin: Source::Empty,
        stdout: Sink::Discard,
        stderr: Sink::Discard,
        terminal: None,
        controls: &mut controls,
    };
    let answer = run(&engine, &request, streams)?;
    Ok(answer.run.end.map(|end| end.exit_code()))
}
