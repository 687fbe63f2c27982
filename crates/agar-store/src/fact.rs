//! Everything the journal can say.
//!
//! The set is closed on purpose: a reader can match on it and the compiler says what it forgot. New
//! facts are added here, and only added. A fact that a newer agar wrote is still read, as
//! [`Fact::Unknown`], so that an older reader skips it instead of failing.

use crate::generation::GenerationKind;
use crate::promotion::PromotionState;
use crate::suggestion::SuggestionState;
use agar_core::id::{ExperimentId, PromotionId, SandboxId, SnapshotId, SuggestionId};
use agar_core::limits::Breach;
use agar_core::run::{End, Usage};
use agar_core::snapshot::SnapshotKind;
use agar_core::state::{Event, State};
use agar_core::walls::{BaseKind, Network, Tier};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Something that happened in a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "payload")]
pub enum Fact {
    /// A sandbox was made.
    #[serde(rename = "sandbox.created")]
    SandboxCreated {
        /// Its two words.
        alias: String,
        /// The walls around it.
        tier: Tier,
        /// What it may reach.
        network: Network,
        /// What it starts from.
        base: BaseKind,
        /// The generation it starts from, when frozen.
        generation: Option<u64>,
        /// The sandbox it was forked from.
        parent: Option<SandboxId>,
    },
    /// A sandbox moved on in its life.
    #[serde(rename = "sandbox.state")]
    SandboxState {
        /// Where it was.
        from: State,
        /// Where it is.
        to: State,
        /// What happened to it.
        event: Event,
    },
    /// A sandbox began as a snapshot of another one.
    #[serde(rename = "sandbox.forked")]
    SandboxForked {
        /// The snapshot.
        snapshot: SnapshotId,
        /// How many forks lie between it and a sandbox that was created.
        depth: u32,
    },
    /// A sandbox came back from the trash while another one had its alias, and has a new one.
    #[serde(rename = "sandbox.renamed")]
    SandboxRenamed {
        /// The two words it had.
        from: String,
        /// Those it has.
        to: String,
    },
    /// A snapshot was taken.
    #[serde(rename = "snapshot.taken")]
    SnapshotTaken {
        /// Which.
        snapshot: SnapshotId,
        /// Its name within the sandbox.
        name: String,
        /// Why there is one.
        reason: SnapshotKind,
        /// How long processes stood still for it, in microseconds.
        frozen_us: Option<u64>,
    },
    /// A sandbox returned to a snapshot.
    #[serde(rename = "snapshot.restored")]
    SnapshotRestored {
        /// Which.
        snapshot: SnapshotId,
        /// Processes that were ended for it.
        ended: u32,
    },
    /// A snapshot is no longer there.
    #[serde(rename = "snapshot.removed")]
    SnapshotRemoved {
        /// Which.
        snapshot: SnapshotId,
        /// Its name within the sandbox.
        name: String,
        /// Why: `asked`, `sandbox gone`, `old`.
        reason: String,
    },
    /// A command was started.
    #[serde(rename = "run.started")]
    RunStarted {
        /// Its number in the sandbox.
        run: u32,
        /// The command, without secrets.
        argv: Vec<String>,
    },
    /// A command ended.
    #[serde(rename = "run.ended")]
    RunEnded {
        /// Its number in the sandbox.
        run: u32,
        /// How.
        end: End,
        /// What it used.
        usage: Usage,
    },
    /// A terminal was opened in a sandbox, for people to look at.
    #[serde(rename = "terminal.opened")]
    TerminalOpened {
        /// Its name.
        session: String,
    },
    /// A limit ended a run.
    #[serde(rename = "limit.breached")]
    LimitBreached {
        /// The run's number in the sandbox.
        run: u32,
        /// The limit and what was seen.
        breach: Breach,
    },
    /// The walls denied a system call.
    #[serde(rename = "call.denied")]
    CallDenied {
        /// The run's number in the sandbox.
        run: u32,
        /// The call's name.
        call: String,
        /// How often.
        count: u64,
    },
    /// A sandbox was given the host's network.
    #[serde(rename = "network.host")]
    NetworkHost {
        /// Whether abstract sockets of the host can be reached, too.
        abstract_sockets_open: bool,
    },
    /// A sandbox was made with weaker walls than the full tier, because a person said so.
    #[serde(rename = "tier.weaker")]
    TierWeaker {
        /// The tier in force.
        tier: Tier,
    },
    /// A sandbox may make user namespaces of its own.
    #[serde(rename = "sandbox.nested")]
    SandboxNested {},
    /// A promotion began to write.
    #[serde(rename = "promotion.started")]
    PromotionStarted {
        /// Which.
        promotion: PromotionId,
    },
    /// A promotion was applied.
    #[serde(rename = "promotion.applied")]
    PromotionApplied {
        /// Which.
        promotion: PromotionId,
        /// What it did.
        summary: Value,
    },
    /// A promotion was taken back.
    #[serde(rename = "promotion.undone")]
    PromotionUndone {
        /// Which.
        promotion: PromotionId,
        /// The promotion that took it back, if that was one of its own.
        by: Option<PromotionId>,
    },
    /// A promotion was refused, and nothing was written.
    #[serde(rename = "promotion.refused")]
    PromotionRefused {
        /// Which, if it had begun.
        promotion: Option<PromotionId>,
        /// Why.
        reason: String,
    },
    /// A promotion that a crash cut short was finished or reversed.
    #[serde(rename = "promotion.recovered")]
    PromotionRecovered {
        /// Which.
        promotion: PromotionId,
        /// Where it ended.
        state: PromotionState,
    },
    /// A person approved what a project's files ask for.
    #[serde(rename = "settings.approved")]
    SettingsApproved {
        /// The hash of what was approved.
        hash: String,
        /// What it was.
        what: String,
    },
    /// A picture of the project was taken.
    #[serde(rename = "generation.made")]
    GenerationMade {
        /// Its number in the project.
        number: u64,
        /// Whole, or what changed since the one before.
        kind: GenerationKind,
        /// Files in it.
        files: u64,
        /// Bytes in it.
        bytes: u64,
    },
    /// An experiment began.
    #[serde(rename = "experiment.began")]
    ExperimentBegan {
        /// Which.
        experiment: ExperimentId,
        /// Who proposed it.
        agent: String,
        /// What sort of change it is.
        change: String,
    },
    /// An experiment ended.
    #[serde(rename = "experiment.ended")]
    ExperimentEnded {
        /// Which.
        experiment: ExperimentId,
        /// `success`, `failure` or `partial`.
        status: String,
    },
    /// A person accepted or rejected what an experiment changed.
    #[serde(rename = "experiment.decided")]
    ExperimentDecided {
        /// Which.
        experiment: ExperimentId,
        /// Accepted, or rejected.
        accepted: bool,
    },
    /// Patterns of a sandbox's memory entered the project's.
    #[serde(rename = "memory.graduated")]
    MemoryGraduated {
        /// How many.
        patterns: u64,
        /// How many did not.
        refused: u64,
    },
    /// Something was forgotten. What it was is not said again.
    #[serde(rename = "memory.forgot")]
    MemoryForgot {
        /// How many experiments.
        experiments: u64,
        /// How many notes.
        notes: u64,
    },
    /// A search began.
    #[serde(rename = "evolve.began")]
    EvolveBegan {
        /// Its name.
        search: String,
        /// The sort of task.
        task: String,
        /// Who outside is asked for children, if anyone is.
        outside: Option<String>,
    },
    /// Individuals of a generation were stopped, or tried to get a score that they had not earned.
    #[serde(rename = "evolve.contained")]
    EvolveContained {
        /// The search.
        search: String,
        /// The generation.
        generation: u32,
        /// Stopped by a limit that is counted.
        limits: u64,
        /// Stopped by the clock.
        timeouts: u64,
        /// With a score of their own, answers by order, or answers by heart.
        cheats: u64,
    },
    /// A search ended.
    #[serde(rename = "evolve.ended")]
    EvolveEnded {
        /// Its name.
        search: String,
        /// Why.
        ended: String,
        /// The last generation.
        generation: u32,
        /// The hash over everybody ever born.
        digest: String,
    },
    /// Code entered a cell: a new one, or another version in one that lives.
    #[serde(rename = "cell.loaded")]
    CellLoaded {
        /// The cell.
        cell: String,
        /// The number of the version.
        version: u32,
        /// The name of the code.
        genome: String,
        /// Why.
        reason: String,
    },
    /// A run of a cell was ended by a limit, or failed.
    #[serde(rename = "cell.failed")]
    CellFailed {
        /// The cell.
        cell: String,
        /// How.
        why: String,
    },
    /// A cell was removed.
    #[serde(rename = "cell.removed")]
    CellRemoved {
        /// The cell.
        cell: String,
    },
    /// Somebody offered a change for a person to try.
    #[serde(rename = "suggestion.offered")]
    SuggestionOffered {
        /// Which.
        suggestion: SuggestionId,
        /// Who offered it.
        agent: String,
    },
    /// A suggestion moved on: it is tried, or a person decided.
    #[serde(rename = "suggestion.state")]
    SuggestionMoved {
        /// Which.
        suggestion: SuggestionId,
        /// Where it is.
        to: SuggestionState,
    },
    /// Something was removed from disk.
    #[serde(rename = "collected")]
    Collected {
        /// What: `sandbox`, `generation`, `trash`.
        what: String,
        /// Which.
        name: String,
        /// Why: `asked`, `idle`, `budget`, `unused`.
        reason: String,
        /// How much room that made, where it is known.
        bytes: Option<u64>,
    },
    /// A fact that this agar does not know.
    #[serde(untagged)]
    Unknown {
        /// Its kind.
        kind: String,
        /// What it says.
        payload: Value,
    },
}

impl Fact {
    /// The kind and the payload, as the journal keeps them.
    pub(crate) fn to_parts(&self) -> serde_json::Result<(String, String)> {
        #[derive(Deserialize)]
        struct Parts {
            kind: String,
            #[serde(default)]
            payload: Value,
        }
        let parts: Parts = serde_json::from_value(serde_json::to_value(self)?)?;
        Ok((parts.kind, serde_json::to_string(&parts.payload)?))
    }

    /// The fact behind a kind and a payload.
    pub(crate) fn from_parts(kind: &str, payload: &str) -> serde_json::Result<Self> {
        let payload: Value = serde_json::from_str(payload)?;
        serde_json::from_value(serde_json::json!({ "kind": kind, "payload": payload }))
    }

    /// The word for its kind.
    pub fn kind(&self) -> &str {
        match self {
            Self::SandboxCreated { .. } => "sandbox.created",
            Self::SandboxState { .. } => "sandbox.state",
            Self::SandboxForked { .. } => "sandbox.forked",
            Self::SandboxRenamed { .. } => "sandbox.renamed",
            Self::SnapshotTaken { .. } => "snapshot.taken",
            Self::SnapshotRestored { .. } => "snapshot.restored",
            Self::SnapshotRemoved { .. } => "snapshot.removed",
            Self::RunStarted { .. } => "run.started",
            Self::TerminalOpened { .. } => "terminal.opened",
            Self::RunEnded { .. } => "run.ended",
            Self::LimitBreached { .. } => "limit.breached",
            Self::CallDenied { .. } => "call.denied",
            Self::NetworkHost { .. } => "network.host",
            Self::TierWeaker { .. } => "tier.weaker",
            Self::SandboxNested {} => "sandbox.nested",
            Self::PromotionStarted { .. } => "promotion.started",
            Self::PromotionApplied { .. } => "promotion.applied",
            Self::PromotionUndone { .. } => "promotion.undone",
            Self::PromotionRefused { .. } => "promotion.refused",
            Self::PromotionRecovered { .. } => "promotion.recovered",
            Self::SettingsApproved { .. } => "settings.approved",
            Self::GenerationMade { .. } => "generation.made",
            Self::ExperimentBegan { .. } => "experiment.began",
            Self::ExperimentEnded { .. } => "experiment.ended",
            Self::ExperimentDecided { .. } => "experiment.decided",
            Self::MemoryGraduated { .. } => "memory.graduated",
            Self::MemoryForgot { .. } => "memory.forgot",
            Self::EvolveBegan { .. } => "evolve.began",
            Self::EvolveContained { .. } => "evolve.contained",
            Self::EvolveEnded { .. } => "evolve.ended",
            Self::CellLoaded { .. } => "cell.loaded",
            Self::CellFailed { .. } => "cell.failed",
            Self::CellRemoved { .. } => "cell.removed",
            Self::SuggestionOffered { .. } => "suggestion.offered",
            Self::SuggestionMoved { .. } => "suggestion.state",
            Self::Collected { .. } => "collected",
            Self::Unknown { kind, .. } => kind,
        }
    }
}

#[cfg(test)]
mod tests;
