//! A declared check: one step of validation, as a project writes it down.

use serde::{Deserialize, Serialize};

/// One step of validation that a project declares under `[[check]]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// What it is called: `build`, `test`, `lint`.
    pub name: String,
    /// The command, for a shell.
    pub run: String,
    /// Where it starts, from the project; its top if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// Seconds it may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<u64>,
    /// The file with its report, from the project, or `-` where it prints it. The last part may hold
    /// a `*` where the tool writes one file for each suite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<String>,
    /// The format of its report: `junit`, `tap`, and the like. Found out if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Whether a change that does not pass it is refused.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub must_pass: bool,
    /// What it measures, where it is a benchmark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure: Option<Measure>,
}

/// What a benchmark measures. Less is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// The time it takes.
    Time,
    /// The last number it prints.
    Output,
}

impl Check {
    /// The fields a check may have.
    pub const FIELDS: [&'static str; 8] = [
        "name",
        "run",
        "directory",
        "timeout_s",
        "report",
        "format",
        "must_pass",
        "measure",
    ];

    /// A check with nothing but a command.
    pub fn new(name: &str, run: &str) -> Self {
        Self {
            name: name.to_owned(),
            run: run.to_owned(),
            directory: None,
            timeout_s: None,
            report: None,
            format: None,
            must_pass: true,
            measure: None,
        }
    }
}

const fn yes() -> bool {
    true
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the form that serde calls"
)]
const fn is_yes(flag: &bool) -> bool {
    *flag
}
