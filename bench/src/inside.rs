//! The engine in this process, as a server or another program would hold it.

use agar_core::seam::{Clock, Entropy, Timestamp};
use agar_engine::{Engine, NoControls, Sink, Source, Streams, Surroundings};
use agar_testkit::World;
use anyhow::{Context as _, Result};
use std::ffi::OsString;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Time and randomness of this machine.
struct Machine;

impl Clock for Machine {
    fn now(&self) -> Timestamp {
        let millis = since_epoch().as_millis();
        Timestamp::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
    }
}

impl Entropy for Machine {
    fn fill(&self, bytes: &mut [u8]) {
        // Names only have to differ; so few bytes come all at once.
        let _ = rustix::rand::getrandom(bytes, rustix::rand::GetRandomFlags::empty());
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a benchmark compares with what another process's clock says"
)]
pub(crate) fn since_epoch() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

/// An engine for the project of a world.
pub(crate) fn engine(world: &World) -> Result<Engine> {
    let variables = [
        ("HOME", world.home().into_os_string()),
        ("PATH", "/usr/bin:/bin".into()),
        ("XDG_STATE_HOME", world.state().into_os_string()),
        ("XDG_RUNTIME_DIR", world.runtime().into_os_string()),
    ];
    let variables = variables.map(|(name, value)| (OsString::from(name), value));
    let ids = (
        rustix::process::getuid().as_raw(),
        rustix::process::getgid().as_raw(),
    );
    let machine = Arc::new(Machine);
    let places = (world.project(), world.home());
    let seams = (Arc::clone(&machine) as _, machine as _);
    Ok(Engine::open(Surroundings::new(
        ids,
        places,
        variables.to_vec(),
        seams,
    ))?)
}

/// The same of a process that makes many sandboxes.
pub(crate) fn engine_for_many(world: &World) -> Result<Engine> {
    let surroundings = engine(world)?.surroundings().clone();
    Ok(Engine::open(surroundings.for_many())?)
}

/// Streams that keep what a command prints.
pub(crate) fn streams<'a>(printed: &'a mut Vec<u8>, silent: &'a mut NoControls) -> Streams<'a> {
    Streams {
        stdin: Source::Empty,
        stdout: Sink::Buffer(printed),
        stderr: Sink::Discard,
        terminal: None,
        controls: silent,
    }
}

/// The command whose first act is to print the time.
pub(crate) const CLOCK: [&str; 2] = ["/bin/date", "+%s%N"];

/// How long it took from the call until what the act started looked at the clock.
pub(crate) fn until_first_instruction(act: impl FnOnce() -> Result<Vec<u8>>) -> Result<Duration> {
    let began = since_epoch();
    let printed = act()?;
    let text = String::from_utf8_lossy(&printed);
    let nanos: u64 = text.trim().parse().context("it did not print the time")?;
    Ok(Duration::from_nanos(nanos).saturating_sub(began))
}
