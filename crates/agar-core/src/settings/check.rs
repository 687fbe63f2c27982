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
    /// The file with its report, or `-` where it prints it: `JUnit`, TAP, and the like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<String>,
}

impl Check {
    /// The fields a check may have.
    pub const FIELDS: [&'static str; 5] = ["name", "run", "directory", "timeout_s", "report"];
}
