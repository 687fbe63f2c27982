//! The one value every use case starts from.

use crate::experiment::Open;
use crate::failure::EngineError;
use crate::here::Here;
use crate::options::SandboxOptions;
use crate::raise::Expected;
use crate::surroundings::Surroundings;
use crate::upkeep::Due;
use agar_core::id::{ExperimentId, ProjectId, PromotionId, SandboxId, SnapshotId, SuggestionId};
use agar_core::seam::Timestamp;
use std::cell::{OnceCell, RefCell};

/// agar, opened for one caller.
#[derive(Debug)]
pub struct Engine {
    surroundings: Surroundings,
    here: OnceCell<Here>,
    /// Experiments that this engine began and whose checks are still due.
    experiments: RefCell<Vec<Open>>,
}

impl Engine {
    /// Opens agar for this caller.
    ///
    /// Nothing is read yet. The first use case that needs agar's state finds the project, opens the
    /// store and clears away what a crash left behind.
    pub fn open(surroundings: Surroundings) -> Result<Self, EngineError> {
        if surroundings.cwd.is_absolute() {
            Ok(Self {
                surroundings,
                here: OnceCell::new(),
                experiments: RefCell::new(Vec::new()),
            })
        } else {
            Err(EngineError::Invalid(
                "the current directory is not an absolute path".to_owned(),
            ))
        }
    }

    /// Who asks.
    pub fn surroundings(&self) -> &Surroundings {
        &self.surroundings
    }

    /// The caller's project and agar's state, opened once.
    pub(crate) fn here(&self) -> Result<&Here, EngineError> {
        if let Some(here) = self.here.get() {
            return Ok(here);
        }
        let here = Here::open(self, |_| {})?;
        Ok(self.here.get_or_init(|| here))
    }

    /// Keeps an experiment until its checks have run.
    pub(crate) fn keep_experiment(&self, open: Open) {
        self.experiments.borrow_mut().push(open);
    }

    /// The experiment of a sandbox, if its checks are still due.
    pub(crate) fn take_experiment(&self, sandbox: SandboxId) -> Option<Open> {
        let mut experiments = self.experiments.borrow_mut();
        let at = experiments
            .iter()
            .position(|open| open.sandbox == sandbox)?;
        Some(experiments.remove(at))
    }

    /// The same for a use case that will raise a jail: its keeper is started as soon as it is known
    /// where agar's state lies, and gets ready while the rest is looked at.
    pub(crate) fn here_raising(
        &self,
        options: &SandboxOptions,
    ) -> Result<(&Here, Expected), EngineError> {
        let mut expected = Expected::default();
        if let Some(here) = self.here.get() {
            expected.start(self, options, &here.state);
            return Ok((here, expected));
        }
        let here = Here::open(self, |state| expected.start(self, options, state))?;
        Ok((self.here.get_or_init(|| here), expected))
    }

    /// The time now.
    pub(crate) fn now(&self) -> Timestamp {
        self.surroundings.clock.now()
    }

    /// Asks the face to do upkeep when nobody waits.
    pub(crate) fn later(&self, due: Due) {
        if let Some(background) = &self.surroundings.background {
            background.start(&self.surroundings.cwd, due);
        }
    }

    fn random(&self) -> [u8; 10] {
        let mut random = [0; 10];
        self.surroundings.entropy.fill(&mut random);
        random
    }

    /// A few letters that nobody was given before: the time, and chance for a clock that is put back.
    pub(crate) fn new_mark(&self) -> String {
        let [first, second, third, fourth, ..] = self.random();
        let chance = u32::from_be_bytes([first, second, third, fourth]);
        format!("{:x}{chance:08x}", self.now().millis())
    }

    /// A name for a new sandbox.
    pub(crate) fn new_sandbox_id(&self) -> SandboxId {
        SandboxId::new(self.now(), self.random())
    }

    /// A name for a new experiment in a sandbox that has its own already.
    pub(crate) fn new_experiment_id(&self) -> ExperimentId {
        ExperimentId::new(self.now(), self.random())
    }

    /// A name for a new snapshot.
    pub(crate) fn new_snapshot_id(&self) -> SnapshotId {
        SnapshotId::new(self.now(), self.random())
    }

    /// A name for a new suggestion.
    pub(crate) fn new_suggestion_id(&self) -> SuggestionId {
        SuggestionId::new(self.now(), self.random())
    }

    /// A name for a new project.
    pub(crate) fn new_project_id(&self) -> ProjectId {
        ProjectId::new(self.now(), self.random())
    }

    /// A name for a new promotion.
    pub(crate) fn new_promotion_id(&self) -> PromotionId {
        PromotionId::new(self.now(), self.random())
    }
}
