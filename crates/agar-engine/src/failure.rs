//! Why a use case could not be done.
//!
//! One type for all of them: a face treats every failure the same way (its kind decides the exit
//! status, its remedy the hint), and what differs is the sentence.

use agar_core::fault::{Fault, Kind, Remedy};
use agar_core::state::State;
use std::path::PathBuf;

/// A use case failed.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The part of agar that does it is not there.
    #[error("cannot {doing}: this build of agar has no {missing}")]
    Absent {
        /// What was asked.
        doing: &'static str,
        /// What is missing.
        missing: &'static str,
    },
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
    /// The sandbox has had no such run.
    #[error("{alias} has no run {number}")]
    NoSuchRun {
        /// The sandbox.
        alias: String,
        /// The run asked for.
        number: u32,
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
    /// The alias is taken.
    #[error("there is already a sandbox called `{0}`")]
    AliasTaken(String),
    /// The file is there already.
    #[error("{} is there already", .0.display())]
    AlreadyThere(PathBuf),
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

impl Fault for EngineError {
    fn kind(&self) -> Kind {
        match self {
            Self::Absent { .. } => Kind::Unsupported,
            Self::NoSuchSandbox { .. } | Self::NoSuchRun { .. } | Self::Missing { .. } => {
                Kind::NotFound
            }
            Self::SayWhich { count: 0 } => Kind::NotFound,
            Self::Ambiguous { .. } | Self::SayWhich { .. } | Self::Invalid(_) => Kind::Invalid,
            Self::WrongState { .. }
            | Self::Busy { .. }
            | Self::AliasTaken(_)
            | Self::AlreadyThere(_) => Kind::Conflict,
            Self::Io { .. } => Kind::Internal,
        }
    }

    fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::NoSuchSandbox {
                near: Some(near), ..
            } => Some(Remedy::Suggest {
                value: near.clone(),
            }),
            Self::NoSuchSandbox { near: None, .. }
            | Self::Ambiguous { .. }
            | Self::SayWhich { .. } => Some(Remedy::ListSandboxes),
            Self::Busy { alias, .. } => Some(Remedy::Command {
                line: format!("agar ps {alias}"),
            }),
            Self::Absent { .. }
            | Self::NoSuchRun { .. }
            | Self::WrongState { .. }
            | Self::Invalid(_)
            | Self::Missing { .. }
            | Self::AliasTaken(_)
            | Self::AlreadyThere(_)
            | Self::Io { .. } => None,
        }
    }
}
