//! A throwaway sandbox for checks, over the layers of another or over its base.
//!
//! It is never on record: its mark is enough for the next command to clear it away after a crash.

use super::{report_file, trial};
use crate::Engine;
use crate::alive::{Mark, Stay};
use crate::blueprint::{Blueprint, Copy};
use crate::drive::{Errand, Followed, Sent, drive};
use crate::failure::EngineError;
use crate::here::Here;
use crate::options::Command;
use crate::relay::{Controls, Streams};
use crate::{layers, raise, sweep};
use agar_core::settings::Check;
use agar_jail::client::Lifetime;
use agar_review::Trial;
use agar_sandbox::base::PrepareError;
use agar_sandbox::copy::Fidelity;
use agar_sandbox::stack::{Role, Stack};
use agar_store::Sandbox;
use std::cell::Cell;
use std::path::{Path, PathBuf};

/// A check that nobody limits ends after this time.
const TIMEOUT_S: u64 = 600;

/// A throwaway sandbox.
#[derive(Debug)]
pub(super) struct Place<'a> {
    engine: &'a Engine,
    here: &'a Here,
    record: Sandbox,
    blueprint: Blueprint,
    mark: Option<Mark>,
    tries: Cell<u32>,
}

impl<'a> Place<'a> {
    /// One that sees what a sandbox changed.
    pub(super) fn over(
        engine: &'a Engine,
        here: &'a Here,
        (record, blueprint): (&Sandbox, &Blueprint),
    ) -> Result<Self, EngineError> {
        Self::make(engine, here, (record, blueprint), Below::Sandbox)
    }

    /// One that sees only what the sandbox started from.
    pub(super) fn base(
        engine: &'a Engine,
        here: &'a Here,
        (record, blueprint): (&Sandbox, &Blueprint),
    ) -> Result<Self, EngineError> {
        Self::make(engine, here, (record, blueprint), Below::Base)
    }

    fn make(
        engine: &'a Engine,
        here: &'a Here,
        (record, blueprint): (&Sandbox, &Blueprint),
        below: Below,
    ) -> Result<Self, EngineError> {
        let id = engine.new_sandbox_id();
        let directory = here.sandbox(id);
        let mark = Mark::leave(here.state.path(), id, Stay::OneRun)
            .map_err(EngineError::io("mark the sandbox as alive"))?;
        let stacks = blueprint.stacks.iter().enumerate();
        let place = Self {
            engine,
            here,
            record: Sandbox {
                id,
                ..record.clone()
            },
            blueprint: Blueprint {
                stacks: stacks
                    .map(|(index, stack)| above(stack, &directory, index, below))
                    .collect(),
                copy: blueprint.copy.as_ref().map(|copy| Copy {
                    project: directory.join("upper-0"),
                    temporary: directory.join("tmp"),
                    in_place: copy.in_place,
                }),
                ..blueprint.clone()
            },
            mark: Some(mark),
            tries: Cell::new(0),
        };
        // From here on dropping it clears it away.
        layers::make_bare(&directory, &place.blueprint)?;
        if below == Below::Sandbox {
            place.bring(blueprint)?;
        }
        Ok(place)
    }

    /// Copies the layers that cannot lie below another: those inside what they cover, and whole
    /// copies of the project.
    fn bring(&self, from: &Blueprint) -> Result<(), EngineError> {
        for (stack, ours) in from.stacks.iter().zip(&self.blueprint.stacks) {
            if self.blueprint.copy.is_none() && stacks_well(stack) {
                continue;
            }
            agar_sandbox::copy::tree(&stack.upper, &ours.upper, Fidelity::Layer)
                .map_err(PrepareError::from)?;
        }
        match &self.blueprint.copy {
            Some(copy) => layers::mark_whole(copy),
            None => Ok(()),
        }
    }

    /// Runs a check and reads what it says; and whether the caller stopped it.
    pub(super) fn try_check(
        &self,
        check: &Check,
        controls: &mut dyn Controls,
    ) -> Result<(Trial, bool), EngineError> {
        let (engine, here) = (self.engine, self.here);
        let number = self.tries.get() + 1;
        self.tries.set(number);
        if number > 1 {
            layers::renew_work(here, &self.blueprint.stacks)?;
        }
        // A report that is there before the check ran is not its report.
        report_file::remove(check, &self.blueprint);
        let command = self.command(check);
        let errand = Errand::new(&command)?;
        let packed = errand.pack(engine, &self.blueprint, &self.record)?;
        let jail = (&self.record, &self.blueprint);
        let keeper = raise::raise(engine, here, jail, Lifetime::OneRun)?;
        let streams = Streams::unheard(controls);
        let sent = Sent::now(here, (&keeper, &self.record), (packed, number), &streams);
        let ended = match sent.and_then(|sent| drive(&keeper, &self.record, sent, streams)) {
            Ok(Followed::Over(ended)) => {
                keeper.bury();
                ended
            }
            Ok(Followed::Left(ended)) => {
                drop(keeper.stop());
                ended
            }
            Err(error) => {
                drop(keeper.stop());
                return Err(error);
            }
        };
        let output = crate::drive::output(&here.sandbox(self.record.id), number);
        let output = output.unwrap_or_default();
        let interrupted = ended.notes.interrupted;
        let trial = trial::read(check, (&ended, &output), &self.blueprint);
        Ok((trial, interrupted))
    }

    fn command(&self, check: &Check) -> Command {
        // One stream: the order of what a check prints is part of what it says.
        let script = format!("exec 2>&1\n{}", check.run);
        let directory = check.directory.as_deref().unwrap_or(".");
        Command {
            cwd: Some(self.blueprint.root.join(directory)),
            timeout_ms: Some(check.timeout_s.unwrap_or(TIMEOUT_S).saturating_mul(1000)),
            ..Command::new(["sh", "-c", &script])
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        sweep::clear_outside(self.engine, self.here, self.record.id);
        // What will not go now is found by its mark.
        if self
            .here
            .throw_away(&self.here.sandbox(self.record.id))
            .is_ok()
            && let Some(mark) = self.mark.take()
        {
            mark.remove();
        }
    }
}

/// What a throwaway sandbox lies over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Below {
    Sandbox,
    Base,
}

/// The same overlay with an upper of its own.
fn above(stack: &Stack, directory: &Path, index: usize, below: Below) -> Stack {
    let kept = match below {
        Below::Sandbox if stacks_well(stack) => stack.written().map(Path::to_owned).collect(),
        Below::Sandbox => stack.kept.clone(),
        Below::Base => Vec::new(),
    };
    Stack {
        upper: directory.join(format!("upper-{index}")),
        work: directory.join(format!("work-{index}")),
        kept,
        ..stack.clone()
    }
}

/// Whether the upper of a stack may become a lower one: the kernel refuses a layer that lies inside
/// another.
fn stacks_well(stack: &Stack) -> bool {
    let inside = |lower: &PathBuf| stack.upper.starts_with(lower);
    match stack.role {
        Role::Project | Role::Bulk => !stack.lowers.iter().any(inside),
        Role::Home | Role::Root => false,
    }
}
