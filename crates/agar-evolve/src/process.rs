//! Process cells: individuals in any language, each a program behind the same verbs as a cell.
//!
//! A program cannot be metered by the instruction, so these cells are contained by whoever launches
//! them (agar-engine puts each into a sandbox of its own) and ended by the wall clock. What one
//! answers is never reproducible in the sense of [`CellError::is_reproducible`]; it is data all the
//! same, and the host computes what it is worth.
//!
//! # The conversation
//!
//! A request is a line and as many bytes as it says; so is the answer.
//!
//! ```text
//! load 37⏎…37 bytes of code…          ▶  ok 0⏎
//! evaluate 5⏎…a case…                 ▶  ok 3⏎…the answer…
//! step 5⏎…a message…                  ▶  no 9⏎…why it refuses…
//! save 0⏎                             ▶  ok 12 2⏎…a state of schema 2…
//! state 12 2⏎…a state of schema 2…    ▶  ok 0⏎
//! ```
//!
//! [`Language`] carries small programs that speak this and run code which defines `evaluate(input)`,
//! `step(message)`, `save()`, `load(state, schema)`, `migrate(state, schema)` and a number `SCHEMA`, as
//! far as it wants to be asked for them. Python passes bytes, Node text.
//!
//! # Where they come from
//!
//! A [`Launcher`] starts each program in a place of its own. [`Ahead`] has the next one ready, and a
//! [`Zygote`] forks them all from one program.

mod ahead;
mod language;
mod places;
mod wire;
mod zygote;

pub use self::ahead::Ahead;
pub use self::language::Language;
pub(crate) use self::places::{Counted, Places};
pub use self::zygote::Zygote;

use self::wire::{Reply, Wire};
use crate::cell::{Condition, Metrics, State};
use crate::failure::{CellError, NoRoom};
use crate::limits::Limits;
use std::fmt;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The wall time of a run where the limits name none: nothing else ends a program.
pub const PROCESS_WALL: Duration = Duration::from_secs(30);

/// Starts programs, each where it cannot do harm.
pub trait Launcher: Send + Sync {
    /// Starts a program; whatever is written to the stream it reads, and the other way round.
    fn launch(&self) -> Result<(UnixStream, Box<dyn Life>), Unlaunched>;
}

/// Why no program was started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unlaunched {
    /// As many run as may.
    #[error(transparent)]
    NoRoom(#[from] NoRoom),
    /// It could not be started.
    #[error("{0}")]
    Failed(String),
}

impl From<std::io::Error> for Unlaunched {
    fn from(error: std::io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<Unlaunched> for CellError {
    fn from(why: Unlaunched) -> Self {
        match why {
            Unlaunched::NoRoom(error) => Self::NoRoom(error),
            Unlaunched::Failed(reason) => Self::Unstarted { reason },
        }
    }
}

/// A program that was started. Dropping it must end it, with everything that it started.
pub trait Life: Send {
    /// Ends it now, with everything that it started, and waits until all of it is gone.
    fn end(&mut self);
}

/// One individual in a process of its own.
pub struct ProcessCell {
    launcher: Arc<dyn Launcher>,
    code: Vec<u8>,
    limits: Limits,
    body: Body,
    metrics: Metrics,
}

enum Body {
    Awake(Box<Awake>),
    Asleep(State),
    Crashed,
}

struct Awake {
    wire: Wire,
    life: Box<dyn Life>,
}

impl fmt::Debug for ProcessCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProcessCell")
            .field("condition", &self.condition())
            .field("metrics", &self.metrics)
            .finish_non_exhaustive()
    }
}

impl ProcessCell {
    /// Starts a program and has it load the code.
    pub fn new(
        launcher: Arc<dyn Launcher>,
        code: &[u8],
        limits: Limits,
    ) -> Result<Self, CellError> {
        let mut cell = Self {
            launcher,
            code: code.to_vec(),
            limits,
            body: Body::Crashed,
            metrics: Metrics::default(),
        };
        cell.body = Body::Awake(cell.hatch(code)?);
        Ok(cell)
    }

    fn wall(&self) -> Duration {
        self.limits.wall.unwrap_or(PROCESS_WALL)
    }

    /// A new process that has loaded the code. It is gone again if it does not.
    fn hatch(&self, code: &[u8]) -> Result<Box<Awake>, CellError> {
        let (stream, life) = self.launcher.launch()?;
        let wire = Wire::new(stream);
        let mut awake = Box::new(Awake { wire, life });
        match self.converse(&mut awake, ("load", code, None)) {
            Ok(_) => Ok(awake),
            Err(error) => {
                awake.life.end();
                Err(error)
            }
        }
    }

    /// One question and its answer, within the limits.
    fn converse(
        &self,
        awake: &mut Awake,
        (verb, bytes, schema): (&str, &[u8], Option<u32>),
    ) -> Result<State, CellError> {
        let deadline = Instant::now() + self.wall();
        let most = self.limits.output_bytes.max(self.limits.state_bytes);
        let said = awake.wire.ask((verb, bytes, schema), most, deadline);
        match said {
            Ok(Reply::Yes(state)) => Ok(state),
            Ok(Reply::No(words)) => Err(CellError::Refused(words)),
            Err(wire::Failure::Late) => Err(CellError::Deadline { limit: self.wall() }),
            Err(wire::Failure::TooLong) => Err(CellError::Output { limit: most }),
            Err(wire::Failure::Gone) => Err(CellError::Gone),
            Err(wire::Failure::Nonsense(what)) => Err(CellError::Convention { what }),
        }
    }

    /// What it is doing.
    pub const fn condition(&self) -> Condition {
        match self.body {
            Body::Awake(_) => Condition::Awake,
            Body::Asleep(_) => Condition::Asleep,
            Body::Crashed => Condition::Crashed,
        }
    }

    /// What it has done so far. Instructions are not counted.
    pub const fn metrics(&self) -> Metrics {
        self.metrics
    }

    /// The code that it runs.
    pub fn code(&self) -> &[u8] {
        &self.code
    }

    /// Asks about one case; the answer is data, never a score.
    pub fn evaluate(&mut self, input: &[u8]) -> Result<Vec<u8>, CellError> {
        self.run(("evaluate", input, None)).map(|it| it.bytes)
    }

    /// Passes one message and answers what is said to it.
    pub fn step(&mut self, message: &[u8]) -> Result<Vec<u8>, CellError> {
        self.run(("step", message, None)).map(|it| it.bytes)
    }

    /// What it keeps of itself.
    pub fn save(&mut self) -> Result<State, CellError> {
        self.run(("save", &[], None))
    }

    /// Gives it a state that it, or an older form of it, saved.
    pub fn load(&mut self, state: &State) -> Result<(), CellError> {
        self.run(("state", &state.bytes, Some(state.schema)))
            .map(drop)
    }

    /// Ends the process and begins anew, without state.
    pub fn restart(&mut self) -> Result<(), CellError> {
        self.metrics.restarts += 1;
        self.end();
        self.body = Body::Awake(self.hatch(&self.code)?);
        Ok(())
    }

    /// Saves the state and ends the process; the next run wakes it.
    pub fn hibernate(&mut self) -> Result<(), CellError> {
        if matches!(self.body, Body::Asleep(_)) {
            return Ok(());
        }
        let state = self.save()?;
        self.end();
        self.metrics.hibernations += 1;
        self.body = Body::Asleep(state);
        Ok(())
    }

    /// Replaces the code and carries the state over, all or nothing: until the new process has taken
    /// the state up, the old one goes on untouched.
    pub fn swap(&mut self, code: &[u8]) -> Result<(), CellError> {
        let state = self.save()?;
        let mut new = self.hatch(code)?;
        let taken = self.converse(&mut new, ("state", &state.bytes, Some(state.schema)));
        if let Err(error) = taken {
            new.life.end();
            return Err(error);
        }
        self.end();
        self.body = Body::Awake(new);
        self.code = code.to_vec();
        self.metrics.swaps += 1;
        Ok(())
    }

    /// Ends the process, with everything that it started.
    pub fn end(&mut self) {
        if let Body::Awake(awake) = &mut self.body {
            awake.life.end();
        }
        self.body = Body::Crashed;
    }

    fn wake(&mut self) -> Result<(), CellError> {
        let Body::Asleep(state) = &self.body else {
            return Ok(());
        };
        let mut awake = self.hatch(&self.code)?;
        let taken = self.converse(&mut awake, ("state", &state.bytes, Some(state.schema)));
        if let Err(error) = taken {
            awake.life.end();
            return Err(error);
        }
        self.body = Body::Awake(awake);
        Ok(())
    }

    /// One run and its consequences: a program that did not answer is not asked again.
    fn run(&mut self, question: (&str, &[u8], Option<u32>)) -> Result<State, CellError> {
        self.wake()?;
        let body = std::mem::replace(&mut self.body, Body::Crashed);
        let Body::Awake(mut awake) = body else {
            return Err(CellError::Crashed);
        };
        self.metrics.runs += 1;
        let answered = self.converse(&mut awake, question);
        if let Err(error) = &answered {
            self.metrics.failures += 1;
            let late = matches!(error, CellError::Deadline { .. });
            let long = matches!(error, CellError::Output { .. });
            self.metrics.timeouts += u64::from(late);
            self.metrics.killed += u64::from(late || long);
        }
        match &answered {
            Ok(_) | Err(CellError::Refused(_)) => self.body = Body::Awake(awake),
            Err(_) => awake.life.end(),
        }
        answered
    }
}

impl Drop for ProcessCell {
    fn drop(&mut self) {
        self.end();
    }
}
