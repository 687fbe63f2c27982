//! What goes into memory: a suggestion, and how the experiment with it ended.
//!
//! The words are the seed's where it has them, so that an API can answer in them.

use crate::change::ChangeType;
use agar_core::id::{ExperimentId, SandboxId};
use agar_core::seam::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Who proposes when nobody says who.
pub const PERSON: &str = "person";

/// What is proposed, and in which surroundings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Suggestion {
    /// The proposal, in somebody's words; or the command, where nobody said anything.
    pub text: String,
    /// Who proposes: the name of an agent, or `person`.
    pub agent: String,
    /// What sort of change it is, where somebody declared it.
    pub change: Option<ChangeType>,
    /// The commands that would run.
    pub commands: Vec<Vec<String>>,
    /// The files it is about, relative to the project.
    pub files: Vec<String>,
    /// The language it is mostly about.
    pub language: Option<String>,
    /// How it goes about it, where several ways compete: `incremental`, `all-at-once`.
    pub strategy: Option<String>,
    /// What several strategies are tried on: a tournament's name.
    pub problem: Option<String>,
    /// Anything else worth remembering.
    pub context: Map<String, Value>,
}

impl Default for Suggestion {
    fn default() -> Self {
        Self {
            text: String::new(),
            agent: PERSON.to_owned(),
            change: None,
            commands: Vec::new(),
            files: Vec::new(),
            language: None,
            strategy: None,
            problem: None,
            context: Map::new(),
        }
    }
}

impl Suggestion {
    /// A proposal in words, by a person.
    pub fn new(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            ..Self::default()
        }
    }

    /// What sort of change it is: declared, or else inferred.
    pub fn change_type(&self) -> ChangeType {
        self.change
            .unwrap_or_else(|| ChangeType::infer(&self.text, &self.commands, &self.files))
    }
}

/// An experiment that begins.
#[derive(Debug, Clone, PartialEq)]
pub struct Beginning {
    /// Its permanent name.
    pub id: ExperimentId,
    /// The sandbox it runs in.
    pub sandbox: SandboxId,
    /// Whose account it is.
    pub user: String,
    /// What is proposed.
    pub suggestion: Suggestion,
    /// The limits it runs under, for the record.
    pub limits: Value,
    /// When it begins.
    pub at: Timestamp,
}

/// Where an experiment is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It has not ended.
    Running,
    /// It worked.
    Success,
    /// It did not.
    Failure,
    /// Some of it did.
    Partial,
}

impl Status {
    /// Its word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Partial => "partial",
        }
    }

    /// The status of this word.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Running, Self::Success, Self::Failure, Self::Partial]
            .into_iter()
            .find(|status| status.word() == word)
    }

    /// What it counts as evidence. What worked in part did not work.
    pub const fn success(self) -> bool {
        matches!(self, Self::Success)
    }
}

/// One command that was executed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Operation {
    /// The command.
    pub command: Vec<String>,
    /// Its exit status, where it has one.
    pub exit: Option<i32>,
    /// When it started.
    pub started: Timestamp,
    /// How long it took.
    pub millis: u64,
}

impl Operation {
    /// Whether it worked.
    pub fn success(&self) -> bool {
        self.exit == Some(0)
    }
}

/// What a check found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It passed.
    Pass,
    /// It failed.
    Fail,
    /// It could not decide. That is never a pass.
    Undecided,
}

/// One check, as evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckEvidence {
    /// Its name.
    pub name: String,
    /// What it found.
    pub verdict: Verdict,
    /// Tests that passed.
    #[serde(default)]
    pub passed: u64,
    /// Tests that failed.
    #[serde(default)]
    pub failed: u64,
    /// The names of the tests that fail here and did not fail on the base.
    #[serde(default)]
    pub newly_failing: Vec<String>,
    /// The names of the tests that failed on the base and pass here.
    #[serde(default)]
    pub newly_passing: Vec<String>,
    /// How long it took.
    #[serde(default)]
    pub millis: u64,
}

/// A package that moved from one version to another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PackageMove {
    /// Its name.
    pub name: String,
    /// The version before, where it was there.
    pub from: Option<String>,
    /// The version after, where it stays.
    pub to: Option<String>,
}

/// The seed's four questions. `None` where nothing answers: that is not a yes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SuccessMetrics {
    /// Every test passes that passed before.
    pub tests_pass: Option<bool>,
    /// It builds.
    pub build_succeeds: Option<bool>,
    /// No error line is new.
    pub no_errors: Option<bool>,
    /// The declared benchmark is faster than before.
    pub performance_improved: Option<bool>,
}

/// What worked and what did not.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PartialSuccess {
    /// What worked.
    pub what_worked: Vec<String>,
    /// What did not.
    pub what_failed: Vec<String>,
}

/// What an experiment used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Cost {
    /// From start to end.
    pub wall_millis: u64,
    /// Processor time.
    pub cpu_millis: u64,
    /// The most memory at once.
    pub memory_bytes: u64,
}

/// How an experiment ended: evidence, never anybody's word.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ending {
    /// Which experiment.
    pub id: ExperimentId,
    /// How it ended.
    pub status: Status,
    /// The commands that were executed.
    #[serde(default)]
    pub operations: Vec<Operation>,
    /// The files that changed, relative to the project.
    #[serde(default)]
    pub changed: Vec<String>,
    /// The packages that moved. See [`crate::packages`].
    #[serde(default)]
    pub packages: Vec<PackageMove>,
    /// What the checks found.
    #[serde(default)]
    pub checks: Vec<CheckEvidence>,
    /// Output that may hold error lines: the end of a log, the new lines of a check.
    #[serde(default)]
    pub output: String,
    /// The seed's four questions.
    #[serde(default)]
    pub metrics: SuccessMetrics,
    /// Why it failed, in one line each.
    #[serde(default)]
    pub failure_reasons: Vec<String>,
    /// What worked and what did not, of a partial success.
    #[serde(default)]
    pub partial: Option<PartialSuccess>,
    /// What it used.
    #[serde(default)]
    pub cost: Cost,
    /// The declared benchmark against the base: 1.15 is 15 % slower.
    #[serde(default)]
    pub performance_ratio: Option<f64>,
    /// When it ended.
    pub at: Timestamp,
}

impl Ending {
    /// Whether nothing failed and only a check could not decide. That is no success; it is no failure
    /// that anything could be learned from either.
    pub(crate) fn is_undecided(&self) -> bool {
        let ran = self.operations.iter().all(Operation::success);
        let mut verdicts = self.checks.iter().map(|check| check.verdict);
        let open = verdicts.clone().any(|it| it == Verdict::Undecided);
        self.status == Status::Partial && ran && open && verdicts.all(|it| it != Verdict::Fail)
    }

    /// An end with nothing but a status.
    pub fn new(id: ExperimentId, status: Status, at: Timestamp) -> Self {
        Self {
            id,
            status,
            operations: Vec::new(),
            changed: Vec::new(),
            packages: Vec::new(),
            checks: Vec::new(),
            output: String::new(),
            metrics: SuccessMetrics::default(),
            failure_reasons: Vec::new(),
            partial: None,
            cost: Cost::default(),
            performance_ratio: None,
            at,
        }
    }
}

/// What a person decided. It stands beside the evidence and does not replace it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// Accepted, or rejected.
    pub accepted: bool,
    /// In their words.
    #[serde(default)]
    pub feedback: Option<String>,
    /// When.
    pub at: Timestamp,
}
