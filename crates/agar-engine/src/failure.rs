//! Why a use case could not be done.
//!
//! One type for all of them: a face treats every failure the same way (its kind decides the exit
//! status, its remedy the hint), and what differs is the sentence.

use agar_core::fault::{Fault, Kind, Remedy};
use agar_core::state::State;
use std::io::ErrorKind;
use std::path::PathBuf;

/// A use case failed.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// No sandbox goes by that name.
    #[error("there is no sandbox called `{name}`")]
    NoSuchSandbox {
        /// What was asked for.
        name: String,
        /// The nearest name, where one is near.
        near: Option<String>,
    },
    /// Several sandboxes begin like that.
    #[error("`{name}` could be any of {}", matches.join(", "))]
    Ambiguous {
        /// What was asked for.
        name: String,
        /// The aliases it fits.
        matches: Vec<String>,
    },
    /// No name was given, and there is not exactly one sandbox.
    #[error("{}", if *count == 0 { "this project has no sandboxes".to_owned() } else { format!("this project has {count} sandboxes; say which one") })]
    SayWhich {
        /// How many there are.
        count: usize,
    },
    /// No name was given, and several are in the trash.
    #[error("{count} sandboxes of this project are in the trash; say which one")]
    SayWhichInTrash {
        /// How many there are.
        count: usize,
    },
    /// The sandbox has had no such run.
    #[error("{alias} has no run {number}")]
    NoSuchRun {
        /// The sandbox.
        alias: String,
        /// The run asked for.
        number: u32,
    },
    /// The sandbox has no such snapshot.
    #[error("{alias} has no snapshot `{name}`")]
    NoSuchSnapshot {
        /// The sandbox.
        alias: String,
        /// The snapshot asked for.
        name: String,
        /// The nearest name, where one is near.
        near: Option<String>,
    },
    /// The sandbox has no snapshot at all.
    #[error("{alias} has no snapshot yet")]
    NoSnapshotYet {
        /// The sandbox.
        alias: String,
    },
    /// The sandbox is at another point of its life.
    #[error("cannot {doing} {alias}: it is {state}")]
    WrongState {
        /// What was asked.
        doing: &'static str,
        /// The sandbox.
        alias: String,
        /// Where it is.
        state: State,
    },
    /// Somebody removed the sandbox while it was being used.
    #[error("{alias} was removed meanwhile")]
    Removed {
        /// The sandbox.
        alias: String,
    },
    /// Processes still run in it.
    #[error("cannot {doing} {alias}: {count} processes still run in it")]
    Busy {
        /// What was asked.
        doing: &'static str,
        /// The sandbox.
        alias: String,
        /// How many.
        count: u32,
    },
    /// The caller did not want to wait any longer.
    #[error("left the queue at position {position}; nothing was run")]
    LeftQueue {
        /// Where the caller stood.
        position: u64,
    },
    /// The caller did not want to wait for a command that cannot start now.
    #[error("left {alias} before the command had started")]
    LeftBefore {
        /// The sandbox.
        alias: String,
    },
    /// The caller did not want to wait for a run that cannot end now.
    #[error("{alias} is paused: run {number} ends when it goes on")]
    LeftRun {
        /// The sandbox.
        alias: String,
        /// The run.
        number: u32,
    },
    /// The request makes no sense as it stands.
    #[error("{0}")]
    Invalid(String),
    /// Something of that name is not there.
    #[error("cannot {doing}: there is no {what}")]
    Missing {
        /// What was asked.
        doing: &'static str,
        /// What is not there.
        what: String,
    },
    /// A path of the machine cannot be looked at.
    #[error("cannot look at {}", path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is there already.
    #[error("{} is there already", .0.display())]
    AlreadyThere(PathBuf),
    /// A command that agar ran inside failed.
    #[error("could not {doing} {alias}: {said}")]
    Inside {
        /// What was asked.
        doing: &'static str,
        /// The sandbox.
        alias: String,
        /// What the command said, made printable.
        said: String,
    },
    /// There is no such setting.
    #[error("there is no setting `{key}`")]
    NoSuchSetting {
        /// What was asked for.
        key: String,
        /// What was probably meant.
        near: Option<String>,
    },
    /// The settings are not those that were looked at.
    #[error("the project's settings changed since they were looked at")]
    Moved,
    /// What would be done is not what was looked at.
    #[error("what applying {alias} means has changed since it was looked at; nothing was written")]
    Replanned {
        /// The sandbox.
        alias: String,
    },
    /// The directory that a sandbox was made from left its place, and nobody has seen it elsewhere.
    #[error("cannot {doing}: the directory that the sandbox was made from is no longer at {}; if it was moved, run agar where it is now", path.display())]
    Elsewhere {
        /// What was asked.
        doing: &'static str,
        /// Where it was.
        path: PathBuf,
    },
    /// A record cannot be understood.
    #[error("the record of {alias} cannot be understood")]
    Record {
        /// The sandbox.
        alias: String,
        /// Why.
        source: serde_json::Error,
    },
    /// A mask is not a pattern.
    #[error(transparent)]
    Mask(#[from] agar_core::mask::NotAPattern),
    /// There is no project here.
    #[error(transparent)]
    Project(#[from] agar_sandbox::project::DiscoverError),
    /// There is no place for agar's state.
    #[error(transparent)]
    State(#[from] agar_sandbox::project::NoState),
    /// Something could not be thrown away.
    #[error(transparent)]
    Trash(#[from] agar_sandbox::trash::TrashError),
    /// A base could not be prepared.
    #[error(transparent)]
    Base(#[from] agar_sandbox::base::PrepareError),
    /// The changes could not be told.
    #[error(transparent)]
    Change(#[from] agar_sandbox::change::ChangeError),
    /// A layer could not be read.
    #[error(transparent)]
    Layer(#[from] agar_sandbox::layer::ViewError),
    /// A layer could not be cloned.
    #[error(transparent)]
    Clone(#[from] agar_sandbox::snapshot::CloneError),
    /// Layers could not be joined.
    #[error(transparent)]
    Join(#[from] agar_sandbox::snapshot::JoinError),
    /// A promotion that a crash cut short could not be settled.
    #[error(transparent)]
    Recover(#[from] agar_sandbox::promote::RecoverError),
    /// A promotion could not be planned.
    #[error(transparent)]
    Propose(#[from] agar_sandbox::promote::PrepareError),
    /// A promotion was not carried out.
    #[error(transparent)]
    Apply(#[from] agar_sandbox::promote::ApplyError),
    /// The way back could not be planned.
    #[error(transparent)]
    Undo(#[from] agar_sandbox::promote::UndoError),
    /// git did not do what was asked.
    #[error(transparent)]
    Git(#[from] agar_sandbox::git::GitError),
    /// The settings could not be read.
    #[error(transparent)]
    Settings(#[from] crate::settings::SettingsError),
    /// The store could not be opened.
    #[error(transparent)]
    Open(#[from] agar_store::OpenError),
    /// The store could not be read or changed.
    #[error(transparent)]
    Store(#[from] agar_store::StoreError),
    /// Memory could not be read or changed.
    #[error(transparent)]
    Memory(#[from] agar_memory::MemoryError),
    /// A search could not be run or looked at.
    #[error(transparent)]
    Evolve(#[from] crate::evolve::EvolveError),
    /// No jail can be planned as asked.
    #[error(transparent)]
    Plan(#[from] agar_jail::plan::PlanError),
    /// The jail could not be raised.
    #[error(transparent)]
    Start(#[from] agar_jail::client::StartError),
    /// The keeper of the jail does not answer.
    #[error(transparent)]
    Talk(#[from] agar_jail::client::TalkError),
    /// The disk or the kernel said no.
    #[error("could not {doing}")]
    Io {
        /// What agar was doing.
        doing: String,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
}

impl EngineError {
    /// Wraps an I/O error with what agar was doing.
    pub(crate) fn io(doing: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Io { doing, source }
    }
}

impl EngineError {
    /// The fault of a crate below, where this is one.
    fn below(&self) -> Option<&dyn Fault> {
        match self {
            Self::Project(fault) => Some(fault),
            Self::State(fault) => Some(fault),
            Self::Trash(fault) => Some(fault),
            Self::Base(fault) => Some(fault),
            Self::Change(fault) => Some(fault),
            Self::Layer(fault) => Some(fault),
            Self::Clone(fault) => Some(fault),
            Self::Join(fault) => Some(fault),
            Self::Recover(fault) => Some(fault),
            Self::Propose(fault) => Some(fault),
            Self::Apply(fault) => Some(fault),
            Self::Undo(fault) => Some(fault),
            Self::Git(fault) => Some(fault),
            Self::Settings(fault) => Some(fault),
            Self::Open(fault) => Some(fault),
            Self::Store(fault) => Some(fault),
            Self::Memory(fault) => Some(fault),
            Self::Evolve(fault) => Some(fault),
            Self::Plan(fault) => Some(fault),
            Self::Start(fault) => Some(fault),
            Self::Talk(fault) => Some(fault),
            Self::NoSuchSandbox { .. }
            | Self::Ambiguous { .. }
            | Self::SayWhich { .. }
            | Self::SayWhichInTrash { .. }
            | Self::NoSuchRun { .. }
            | Self::NoSuchSnapshot { .. }
            | Self::NoSnapshotYet { .. }
            | Self::WrongState { .. }
            | Self::Removed { .. }
            | Self::Busy { .. }
            | Self::LeftQueue { .. }
            | Self::LeftBefore { .. }
            | Self::LeftRun { .. }
            | Self::Invalid(_)
            | Self::Missing { .. }
            | Self::Unreadable { .. }
            | Self::AlreadyThere(_)
            | Self::Inside { .. }
            | Self::NoSuchSetting { .. }
            | Self::Moved
            | Self::Replanned { .. }
            | Self::Elsewhere { .. }
            | Self::Record { .. }
            | Self::Mask(_)
            | Self::Io { .. } => None,
        }
    }
}

/// How a sandbox in this state is brought to one in which more can be done with it.
fn way_on(alias: &str, state: State) -> Option<Remedy> {
    let line = match state {
        State::Paused => format!("agar resume {alias}"),
        State::Discarded => format!("agar restore --trash {alias}"),
        State::Creating | State::Running | State::Finished | State::Promoted | State::Collected => {
            return None;
        }
    };
    Some(typed(line))
}

/// A way out that is a command to type.
fn typed(line: String) -> Remedy {
    Remedy::Command { line }
}

impl Fault for EngineError {
    fn kind(&self) -> Kind {
        if let Some(fault) = self.below() {
            return fault.kind();
        }
        match self {
            Self::NoSuchSandbox { .. }
            | Self::NoSuchRun { .. }
            | Self::NoSuchSnapshot { .. }
            | Self::Removed { .. }
            | Self::NoSnapshotYet { .. }
            | Self::Missing { .. }
            | Self::NoSuchSetting { .. }
            | Self::SayWhich { count: 0 } => Kind::NotFound,
            Self::Unreadable { source, .. } if source.kind() == ErrorKind::NotFound => {
                Kind::NotFound
            }
            Self::Ambiguous { .. }
            | Self::SayWhich { .. }
            | Self::SayWhichInTrash { .. }
            | Self::Unreadable { .. }
            | Self::Invalid(_)
            | Self::Mask(_) => Kind::Invalid,
            Self::WrongState { .. }
            | Self::Busy { .. }
            | Self::Moved
            | Self::Replanned { .. }
            | Self::Elsewhere { .. }
            | Self::AlreadyThere(_) => Kind::Conflict,
            Self::Inside { .. } => Kind::Refused,
            Self::LeftQueue { .. } | Self::LeftBefore { .. } | Self::LeftRun { .. } => {
                Kind::Interrupted
            }
            Self::Io { source, .. } if source.kind() == ErrorKind::StorageFull => Kind::Limit,
            Self::Io { .. }
            | Self::Record { .. }
            | Self::Project(_)
            | Self::State(_)
            | Self::Trash(_)
            | Self::Base(_)
            | Self::Change(_)
            | Self::Layer(_)
            | Self::Clone(_)
            | Self::Join(_)
            | Self::Recover(_)
            | Self::Propose(_)
            | Self::Apply(_)
            | Self::Undo(_)
            | Self::Git(_)
            | Self::Settings(_)
            | Self::Open(_)
            | Self::Store(_)
            | Self::Memory(_)
            | Self::Evolve(_)
            | Self::Plan(_)
            | Self::Start(_)
            | Self::Talk(_) => Kind::Internal,
        }
    }

    fn remedy(&self) -> Option<Remedy> {
        if let Some(fault) = self.below() {
            return fault.remedy();
        }
        match self {
            Self::NoSuchSandbox {
                near: Some(near), ..
            }
            | Self::NoSuchSetting {
                near: Some(near), ..
            }
            | Self::NoSuchSnapshot {
                near: Some(near), ..
            } => Some(Remedy::Suggest {
                value: near.clone(),
            }),
            Self::NoSuchSandbox { near: None, .. }
            | Self::Ambiguous { .. }
            | Self::SayWhich { .. } => Some(Remedy::ListSandboxes),
            Self::SayWhichInTrash { .. } => Some(typed("agar ls --trash".to_owned())),
            Self::Busy { alias, .. } => Some(typed(format!("agar ps {alias}"))),
            Self::NoSuchSnapshot { alias, .. } => Some(typed(format!("agar snapshots {alias}"))),
            Self::NoSnapshotYet { alias } => Some(typed(format!("agar snapshot {alias}"))),
            Self::WrongState { alias, state, .. } => way_on(alias, *state),
            Self::LeftRun { alias, .. } => way_on(alias, State::Paused),
            Self::Moved => Some(Remedy::ApproveSettings),
            Self::Replanned { alias } => Some(typed(format!("agar apply {alias} --dry-run"))),
            Self::NoSuchSetting { near: None, .. }
            | Self::NoSuchRun { .. }
            | Self::Removed { .. }
            | Self::LeftQueue { .. }
            | Self::LeftBefore { .. }
            | Self::Invalid(_)
            | Self::Missing { .. }
            | Self::Unreadable { .. }
            | Self::AlreadyThere(_)
            | Self::Inside { .. }
            | Self::Elsewhere { .. }
            | Self::Record { .. }
            | Self::Mask(_)
            | Self::Project(_)
            | Self::State(_)
            | Self::Trash(_)
            | Self::Base(_)
            | Self::Change(_)
            | Self::Layer(_)
            | Self::Clone(_)
            | Self::Join(_)
            | Self::Recover(_)
            | Self::Propose(_)
            | Self::Apply(_)
            | Self::Undo(_)
            | Self::Git(_)
            | Self::Settings(_)
            | Self::Open(_)
            | Self::Store(_)
            | Self::Memory(_)
            | Self::Evolve(_)
            | Self::Plan(_)
            | Self::Start(_)
            | Self::Talk(_)
            | Self::Io { .. } => None,
        }
    }
}
