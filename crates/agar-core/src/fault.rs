//! What went wrong, in the few words every front end understands.
//!
//! A library error says *what* failed. Its [`Kind`] says *whose move it is*, and the command line,
//! the HTTP server and the MCP server each read their answer from the one table below.

use serde::{Deserialize, Serialize};
use std::error::Error;

/// Whose move it is after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A rule said no: a failed check, a person's rejection, a denied capability.
    Refused,
    /// The request itself is wrong.
    Invalid,
    /// The request names something that is not there.
    NotFound,
    /// The world moved under the request; look again and retry.
    Conflict,
    /// A stated limit was reached.
    Limit,
    /// This machine cannot do it.
    Unsupported,
    /// Nothing was decided: neither yes nor no.
    Undecided,
    /// The caller stopped it.
    Interrupted,
    /// A defect of agar, or of the disk under it.
    Internal,
}

impl Kind {
    /// Every kind, in the order of the published table.
    pub const ALL: [Self; 9] = [
        Self::Refused,
        Self::Invalid,
        Self::NotFound,
        Self::Conflict,
        Self::Limit,
        Self::Unsupported,
        Self::Undecided,
        Self::Interrupted,
        Self::Internal,
    ];

    /// The exit status of the command line.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Refused => 1,
            Self::Invalid => 2,
            Self::NotFound => 3,
            Self::Conflict => 4,
            Self::Limit => 5,
            Self::Unsupported => 6,
            Self::Undecided => 7,
            Self::Interrupted => 130,
            Self::Internal => 70,
        }
    }

    /// The HTTP status of the server.
    pub const fn http_status(self) -> u16 {
        match self {
            Self::Refused => 403,
            Self::Invalid => 400,
            Self::NotFound => 404,
            Self::Conflict | Self::Undecided => 409,
            Self::Limit => 429,
            Self::Unsupported => 501,
            Self::Interrupted => 499,
            Self::Internal => 500,
        }
    }

    /// The stable word for programs.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Invalid => "invalid",
            Self::NotFound => "not_found",
            Self::Conflict => "conflict",
            Self::Limit => "limit",
            Self::Unsupported => "unsupported",
            Self::Undecided => "undecided",
            Self::Interrupted => "interrupted",
            Self::Internal => "internal",
        }
    }
}

/// A way out of a failure.
///
/// It is data, not words: the command line names a command, the MCP server a tool and the HTTP
/// server sends the code, each for its own reader.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "do")]
pub enum Remedy {
    /// Ask what this machine can do and how to mend it.
    Diagnose,
    /// Use a weaker tier, by name.
    UseTier {
        /// The tier that would work here.
        tier: crate::walls::Tier,
    },
    /// List the sandboxes.
    ListSandboxes,
    /// Raise a limit.
    RaiseLimit {
        /// The limit that stood in the way.
        limit: crate::limits::Resource,
    },
    /// Look at the changes of a sandbox.
    ShowDiff {
        /// The alias of the sandbox.
        sandbox: String,
    },
    /// Choose a side for the paths in conflict.
    ChooseSide,
    /// Approve the project's settings.
    ApproveSettings,
    /// Did you mean this?
    Suggest {
        /// What was probably meant.
        value: String,
    },
    /// Type this command.
    Command {
        /// The command, ready to paste.
        line: String,
    },
}

/// An error that knows its [`Kind`] and may offer a way out.
///
/// The `Display` of a fault says what agar was trying to do and what stood in the way, in lower
/// case, without a full stop, and never repeats its source.
pub trait Fault: Error {
    /// Whose move it is.
    fn kind(&self) -> Kind;

    /// A way out, where there is one.
    fn remedy(&self) -> Option<Remedy> {
        None
    }
}

/// What caused an error, nearest first.
pub fn causes(error: &dyn Error) -> Vec<String> {
    std::iter::successors(error.source(), |&error| error.source())
        .map(ToString::to_string)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_kind_has_its_own_exit_status_and_word() {
        let codes: BTreeSet<u8> = Kind::ALL.iter().map(|kind| kind.exit_code()).collect();
        let words: BTreeSet<&str> = Kind::ALL.iter().map(|kind| kind.code()).collect();
        assert_eq!(codes.len(), Kind::ALL.len());
        assert_eq!(words.len(), Kind::ALL.len());
    }

    #[test]
    fn no_failure_exits_as_if_it_had_worked() {
        assert!(
            Kind::ALL
                .iter()
                .all(|kind| kind.exit_code() != 0 && kind.http_status() >= 400)
        );
    }

    #[test]
    fn the_word_is_what_serde_writes() {
        for kind in Kind::ALL {
            assert_eq!(
                serde_json::to_string(&kind).unwrap(),
                format!("\"{}\"", kind.code())
            );
        }
    }
}
