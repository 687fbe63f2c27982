//! Why a search could not be run or looked at.

use agar_core::fault::{Fault, Kind, Remedy};
use std::path::PathBuf;

/// A search could not be run or looked at.
#[derive(Debug, thiserror::Error)]
pub enum EvolveError {
    /// Neither a file nor a formula was given.
    #[error("say what to breed for: a file, or a formula with --target")]
    NoTask,
    /// The file cannot be read.
    #[error("cannot read {}", path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is not an evolve file.
    #[error("{} is not an evolve file: {why}", path.display())]
    NotAFile {
        /// Which.
        path: PathBuf,
        /// What is wrong with it, and where.
        why: String,
    },
    /// The formula cannot be read.
    #[error("cannot breed for `{text}`")]
    Formula {
        /// What was given.
        text: String,
        /// Why not.
        source: agar_evolve::NotATree,
    },
    /// The task cannot be made.
    #[error("the task cannot be set: {0}")]
    Task(String),
    /// The plan cannot be followed.
    #[error(transparent)]
    Plan(#[from] agar_evolve::search::NotAPlan),
    /// No search goes by that name.
    #[error("there is no search called `{name}`")]
    NoSuchSearch {
        /// What was asked for.
        name: String,
        /// The nearest name, where one is near.
        near: Option<String>,
    },
    /// No name was given and there is none.
    #[error("this project has no searches")]
    NoSearches,
    /// Another process works on it.
    #[error("another agar command is working on {name}")]
    Working {
        /// The search.
        name: String,
    },
    /// It has ended, and nothing says that it should go on.
    #[error("{name} has ended")]
    Over {
        /// The search.
        name: String,
    },
    /// It has nobody with a score yet.
    #[error("nobody in {name} has a score yet")]
    Nobody {
        /// The search.
        name: String,
    },
    /// There is no such individual.
    #[error("{name} never had an individual {number}")]
    NoSuchIndividual {
        /// The search.
        name: String,
        /// Who was asked for.
        number: u64,
    },
    /// What is on disk cannot be understood.
    #[error("the record of {name} cannot be understood: {why}")]
    Record {
        /// The search.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// Nobody outside answered any more.
    #[error("{name} stopped, because whoever makes its children gives none: {why}")]
    Outside {
        /// The search.
        name: String,
        /// What went wrong last.
        why: String,
    },
    /// It would reach beyond this machine, and nobody said that it may.
    #[error("the search would ask {to} for children, beyond this machine")]
    Leaves {
        /// Whom.
        to: String,
    },
    /// The certificates by which endpoints are known cannot be had.
    #[error("cannot read the certificates in {}: {why}", path.display())]
    NoRoots {
        /// Where they were to be.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The key is not there.
    #[error("the environment has no {variable}, which is to hold the key of the endpoint")]
    NoKey {
        /// The variable.
        variable: String,
    },
    /// There is no such cell.
    #[error("there is no cell called `{name}`")]
    NoSuchCell {
        /// What was asked for.
        name: String,
        /// The nearest name, where one is near.
        near: Option<String>,
    },
    /// There is one of that name.
    #[error("there is a cell called `{name}` already")]
    CellExists {
        /// The name.
        name: String,
    },
    /// A run of a cell failed.
    #[error(transparent)]
    Cell(#[from] agar_evolve::CellError),
    /// The code of a cell was refused.
    #[error(transparent)]
    Genome(#[from] agar_evolve::GenomeError),
    /// The code of a cell could not be compiled.
    #[error(transparent)]
    Compile(Box<crate::compile::CompileError>),
    /// The code of a cell could not be swapped.
    #[error("the cell goes on as it was: the new code failed at the step `{step}`: {why}")]
    Swap {
        /// Where.
        step: &'static str,
        /// Why.
        why: agar_evolve::CellError,
    },
    /// A cell cannot be brought back.
    #[error("the cell {name} cannot be brought back")]
    Revive {
        /// Which.
        name: String,
        /// Why.
        source: agar_evolve::ReviveError,
    },
    /// A candidate from outside cannot be read.
    #[error("candidate {line} cannot be read: {why}")]
    Candidate {
        /// Its line, from one.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
}

impl From<agar_evolve::SwapError> for EvolveError {
    fn from(error: agar_evolve::SwapError) -> Self {
        Self::Swap {
            step: error.step.name(),
            why: error.source,
        }
    }
}

impl Fault for EvolveError {
    fn kind(&self) -> Kind {
        match self {
            Self::Unreadable { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
                Kind::NotFound
            }
            Self::NoTask
            | Self::Unreadable { .. }
            | Self::NotAFile { .. }
            | Self::Formula { .. }
            | Self::Task(_)
            | Self::Plan(_)
            | Self::NoKey { .. }
            | Self::NoRoots { .. }
            | Self::Candidate { .. } => Kind::Invalid,
            Self::Leaves { .. } => Kind::Refused,
            Self::Cell(fault) | Self::Swap { why: fault, .. } => fault.kind(),
            Self::Genome(fault) => fault.kind(),
            Self::Compile(fault) => fault.kind(),
            Self::Revive { source, .. } => source.kind(),
            Self::NoSuchSearch { .. }
            | Self::NoSuchCell { .. }
            | Self::NoSearches
            | Self::Nobody { .. }
            | Self::NoSuchIndividual { .. } => Kind::NotFound,
            Self::Working { .. }
            | Self::Over { .. }
            | Self::Outside { .. }
            | Self::CellExists { .. } => Kind::Conflict,
            Self::Record { .. } => Kind::Internal,
        }
    }

    fn remedy(&self) -> Option<Remedy> {
        let command = |line: String| Some(Remedy::Command { line });
        match self {
            Self::NoTask | Self::NoSearches => {
                command("agar evolve run --target 'x^2 + 2*x - 1'".to_owned())
            }
            Self::NoSuchSearch {
                near: Some(near), ..
            }
            | Self::NoSuchCell {
                near: Some(near), ..
            } => Some(Remedy::Suggest {
                value: near.clone(),
            }),
            Self::NoSuchSearch { near: None, .. } => command("agar evolve status".to_owned()),
            Self::NoSuchCell { near: None, .. } => command("agar evolve cells ls".to_owned()),
            Self::CellExists { name } => command(format!("agar evolve cells reload {name} FILE")),
            Self::Outside { name, .. } => command(format!("agar evolve resume {name}")),
            Self::Leaves { .. } => command("agar evolve run FILE --allow-outside".to_owned()),
            Self::Over { name } => command(format!("agar evolve resume {name} --generations 200")),
            Self::Compile(fault) => fault.remedy(),
            Self::Nobody { name } | Self::Working { name } => {
                command(format!("agar evolve status {name}"))
            }
            Self::Unreadable { .. }
            | Self::NotAFile { .. }
            | Self::Formula { .. }
            | Self::Task(_)
            | Self::Plan(_)
            | Self::NoSuchIndividual { .. }
            | Self::Record { .. }
            | Self::NoKey { .. }
            | Self::NoRoots { .. }
            | Self::Cell(_)
            | Self::Genome(_)
            | Self::Swap { .. }
            | Self::Revive { .. }
            | Self::Candidate { .. } => None,
        }
    }
}
