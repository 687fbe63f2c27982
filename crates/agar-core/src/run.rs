//! How a run ended and what it used, as every record and front end says it.

use crate::limits::Breach;
use serde::{Deserialize, Serialize};

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "how")]
pub enum End {
    /// The command exited by itself.
    Exited {
        /// Its exit status.
        code: i32,
    },
    /// A signal ended the command.
    Signaled {
        /// The number of the signal.
        signal: i32,
    },
    /// There is no such command.
    NotFound,
    /// There is such a file, and it cannot be executed.
    NotExecutable {
        /// The kernel's reason.
        errno: i32,
    },
    /// A limit ended it.
    Stopped {
        /// The limit and what was seen.
        breach: Breach,
    },
    /// Nobody saw it end: the keeper or the machine went down first.
    Lost,
}

impl End {
    /// The exit status that `agar run` passes on, as a shell or a container tool would.
    pub const fn exit_code(&self) -> i32 {
        match self {
            Self::Exited { code } => *code,
            Self::Signaled { signal } => 128 + *signal,
            Self::NotFound => 127,
            Self::NotExecutable { .. } => 126,
            Self::Stopped { .. } => 5,
            Self::Lost => 125,
        }
    }

    /// Whether the command ran to its end and said that all is well.
    pub const fn is_success(&self) -> bool {
        matches!(self, Self::Exited { code: 0 })
    }
}

/// What a run used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Time that passed, in milliseconds.
    pub wall_ms: u64,
    /// Processor time in the command's own code.
    pub user_ms: u64,
    /// Processor time in the kernel on its behalf.
    pub system_ms: u64,
    /// The most memory its processes held at once.
    pub memory_peak_bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clean_exit_is_a_success() {
        assert!(End::Exited { code: 0 }.is_success());
        for end in [
            End::Exited { code: 1 },
            End::Signaled { signal: 9 },
            End::NotFound,
            End::NotExecutable { errno: 13 },
            End::Lost,
        ] {
            assert!(!end.is_success() && end.exit_code() != 0, "{end:?}");
        }
    }

    #[test]
    fn the_status_is_what_a_shell_would_say() {
        assert_eq!(End::Exited { code: 42 }.exit_code(), 42);
        assert_eq!(End::Signaled { signal: 9 }.exit_code(), 137);
        assert_eq!(End::NotFound.exit_code(), 127);
        assert_eq!(End::NotExecutable { errno: 13 }.exit_code(), 126);
    }
}
