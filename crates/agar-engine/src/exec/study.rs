//! The experiment that a further command in a sandbox is, where somebody says what it is for.

use crate::blueprint::Blueprint;
use crate::exec::ExecRequest;
use crate::experiment::evidence::Gathered;
use crate::experiment::{self, ExperimentView, Open};
use crate::here::Here;
use crate::{ChangeView, Engine, EngineError, changes, wishes};
use agar_store::{Run, Sandbox};

/// An experiment under way in a sandbox that was there before it, where the command is one.
#[derive(Debug)]
pub(super) enum Study {
    /// Nobody said what it is for.
    None,
    /// Memory could not be asked.
    Trouble(String),
    /// It is under way.
    Open {
        open: Box<Open>,
        /// What was changed already.
        before: ChangeView,
    },
}

impl Study {
    /// Predicts, and writes down that it begins with the run of this number.
    pub(super) fn of(
        engine: &Engine,
        here: &Here,
        (record, blueprint): (&Sandbox, &Blueprint),
        request: &ExecRequest,
        number: u32,
    ) -> Result<Self, EngineError> {
        let Some(proposal) = &request.proposal else {
            return Ok(Self::None);
        };
        let learning = wishes::learning(engine, here)?;
        let asked = (proposal, &request.caller, &request.command);
        let plan = experiment::plan(engine, here, (record, blueprint), asked, &learning);
        let id = engine.new_experiment_id();
        let open = match plan.in_run(id, number).begin() {
            Ok(open) => Box::new(open),
            Err(error) => return Ok(Self::Trouble(experiment::told(&error))),
        };
        open.announce(engine, here)?;
        let before = changes::shown(&changes::of(engine, blueprint)?);
        Ok(Self::Open { open, before })
    }

    /// Takes it back: its command never ran.
    pub(super) fn withdraw(self) {
        match self {
            Self::Open { open, .. } => open.withdraw(),
            Self::None | Self::Trouble(_) => {}
        }
    }

    /// What the run changed, to be looked at before anything is undone. What earlier commands changed
    /// is not this one's doing.
    pub(super) fn look(
        &self,
        engine: &Engine,
        blueprint: &Blueprint,
    ) -> Result<ChangeView, EngineError> {
        let Self::Open { before, .. } = self else {
            return Ok(ChangeView::default());
        };
        let mut seen = changes::shown(&changes::of(engine, blueprint)?);
        seen.files.retain(|file| !before.files.contains(file));
        Ok(seen)
    }

    /// Ends it with what the run left behind.
    pub(super) fn conclude(
        self,
        engine: &Engine,
        here: &Here,
        (record, blueprint): (&Sandbox, &Blueprint),
        (run, interrupted, seen): (&Run, bool, &ChangeView),
    ) -> Result<Option<ExperimentView>, EngineError> {
        let open = match self {
            Self::None => return Ok(None),
            Self::Trouble(trouble) => {
                return Ok(Some(ExperimentView {
                    trouble: Some(trouble),
                    ..ExperimentView::none(record.id)
                }));
            }
            Self::Open { open, .. } if interrupted => {
                open.withdraw();
                return Ok(None);
            }
            Self::Open { open, .. } => open,
        };
        let gathered = Gathered::with_changes(here, (record, blueprint), run, seen);
        open.conclude(engine, here, &gathered.with(&[])).map(Some)
    }
}
