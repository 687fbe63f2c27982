//! The main job: run a command in a sandbox, then show what it changed.
//!
//! What happens next is the caller's decision, and each choice is a use case of its own: `check`
//! where the project declares checks, then `apply`, `remove` (discard), nothing (keep), or `exec` of
//! a shell (explore) followed by `diff`.

use crate::blueprint::Blueprint;
use crate::drive::Ended;
use crate::experiment::Proposal;
use crate::once::{Keep, once};
use crate::run::{self, RunAnswer};
use crate::{Command, Engine, EngineError, SandboxOptions, SandboxView, Streams};
use crate::{changes, queue};
use agar_memory::Confidence;
use agar_store::Sandbox;
use serde::{Deserialize, Serialize};

/// Asks for a change to be tried.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TryRequest {
    /// What the sandbox should be.
    pub options: SandboxOptions,
    /// The command.
    pub command: Command,
    /// What it is meant to do.
    pub proposal: Proposal,
}

/// What is known before the command starts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Begun {
    /// The sandbox.
    pub sandbox: SandboxView,
    /// How likely the command is to work; nothing where the settings hide it.
    pub confidence: Option<Confidence>,
    /// Why memory has nothing to say, where it cannot.
    pub trouble: Option<String>,
}

/// Runs the command in a new sandbox and answers with what it changed. The sandbox is kept.
///
/// `begun` is called once the jail is up and before the command starts, so that the face can print
/// its heading above the command's output. Where checks are due the experiment stays open until
/// [`check`](crate::check::check) has run them.
pub fn try_change(
    engine: &Engine,
    request: &TryRequest,
    streams: Streams<'_>,
    begun: &mut dyn FnMut(&Begun),
) -> Result<RunAnswer, EngineError> {
    let verdict = |_: &Sandbox, _: &Blueprint, _: &Ended| Ok(Keep::Yes);
    let wanted = (&request.options, &request.command, Some(&request.proposal));
    let _place = queue::enter(engine, &request.options.caller, &mut *streams.controls)?;
    let once = once(engine, wanted, streams, begun, &verdict)?;
    let changes = changes::of(engine, &once.blueprint)?;
    run::answer(engine, once, Some(changes::shown(&changes)))
}
