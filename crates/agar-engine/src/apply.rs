//! Carries a sandbox's changes into the real project.

use crate::{Engine, EngineError, SandboxView};
use agar_core::id::PromotionId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Whose version wins where both sides changed the same lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The project's, as it is now.
    Mine,
    /// The sandbox's.
    Theirs,
    /// Both, with conflict markers around them.
    Markers,
}

/// Where the changes go.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "to")]
pub enum Destination {
    /// The work tree.
    #[default]
    WorkTree,
    /// The work tree, and a git commit of exactly these changes.
    Commit {
        /// Its message; one is made from the command if left out.
        message: Option<String>,
    },
    /// A git branch, without touching the work tree.
    Branch {
        /// Its name.
        name: String,
        /// The commit's message.
        message: Option<String>,
    },
}

/// Asks for changes to be applied.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ApplyRequest {
    /// Its alias, id or a unique beginning; may be left out when there is only one.
    pub sandbox: Option<String>,
    /// Only these paths and what is below them, relative to the project; everything if empty.
    pub paths: Vec<String>,
    /// Paths outside the project, and masked ones, that were named.
    pub outside: Vec<String>,
    /// Whose version wins in every conflict that `choices` does not name.
    pub side: Option<Side>,
    /// Whose version wins, by path.
    pub choices: BTreeMap<String, Side>,
    /// Only these hunks of these paths, by their numbers in the plan. Other paths are whole.
    pub hunks: BTreeMap<String, Vec<usize>>,
    /// Where the changes go.
    pub destination: Destination,
    /// Say what would happen, write nothing.
    pub dry_run: bool,
    /// End what runs in the sandbox first.
    pub stop: bool,
}

/// What happens to one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Merge {
    /// Only the sandbox changed it.
    Clean,
    /// Both changed it, in different places.
    Merged,
    /// Both made it the same.
    Same,
    /// Both changed the same lines, and somebody chose.
    Chosen,
    /// Both changed the same lines, and nobody chose.
    Conflict,
    /// It was left out.
    Skipped,
}

/// One part of a file's change, for a choice by hunk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HunkView {
    /// Its number within the file, from 1.
    pub number: usize,
    /// Its text, as in a unified diff.
    pub text: String,
}

/// One path of an application.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppliedFile {
    /// The path, relative to the project.
    pub path: String,
    /// What happens to it.
    pub merge: Merge,
    /// Why, in words for a person: `you and the sandbox both changed lines 40-52`.
    pub reason: Option<String>,
    /// Its hunks, in a dry run.
    pub hunks: Vec<HunkView>,
}

/// What was applied, or would be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApplyAnswer {
    /// The sandbox.
    pub sandbox: SandboxView,
    /// Whether anything was written.
    pub applied: bool,
    /// The promotion, to undo it by name.
    pub promotion: Option<PromotionId>,
    /// Every path.
    pub files: Vec<AppliedFile>,
    /// The commit that was made.
    pub commit: Option<String>,
    /// References that carry the commits made inside.
    pub references: Vec<String>,
    /// Things a person should know.
    pub notes: Vec<String>,
}

impl ApplyAnswer {
    /// The paths that nobody chose a side for.
    pub fn conflicts(&self) -> impl Iterator<Item = &AppliedFile> {
        self.files
            .iter()
            .filter(|file| file.merge == Merge::Conflict)
    }
}

/// Merges the sandbox's changes into the project, or says which conflicts stand in the way.
///
/// With conflicts nothing is written and `applied` is false: that is an answer, not an error.
pub fn apply(_engine: &Engine, _request: &ApplyRequest) -> Result<ApplyAnswer, EngineError> {
    Err(EngineError::Absent {
        doing: "apply changes",
        missing: "promotion",
    })
}
