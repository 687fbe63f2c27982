//! How strong the walls around a sandbox are, and whether it may talk to the network.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Which set of kernel mechanisms keeps a sandbox in.
///
/// Ordered from weakest to strongest. A weaker tier than `Full` is used only when a person named
/// it; every record says which one was in force.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// No walls: the command runs on a copy of the project, and that is all.
    None,
    /// Landlock and seccomp over a copy of the project, in the host's own namespaces.
    Landlock,
    /// The system's bubblewrap does the privileged part.
    Helper,
    /// Namespaces, copy-on-write layers, seccomp and Landlock.
    #[default]
    Full,
}

impl Tier {
    /// Every tier, strongest first.
    pub const ALL: [Self; 4] = [Self::Full, Self::Helper, Self::Landlock, Self::None];

    /// The word for it, everywhere.
    pub const fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Landlock => "landlock",
            Self::Helper => "helper",
            Self::Full => "full",
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// The text names no tier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a tier; choose full, helper, landlock or none")]
pub struct NotATier(pub String);

impl FromStr for Tier {
    type Err = NotATier;

    fn from_str(text: &str) -> Result<Self, NotATier> {
        Self::ALL
            .into_iter()
            .find(|tier| tier.word() == text)
            .ok_or_else(|| NotATier(text.to_owned()))
    }
}

/// What a sandbox may reach over the network.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "mode")]
pub enum Network {
    /// Its own empty network namespace with a loopback.
    #[default]
    None,
    /// Only these names, through a checking proxy. Planned; refused until it exists.
    Allow {
        /// Names with optional ports, `*.npmjs.org:443`.
        names: Vec<String>,
    },
    /// The host's network. Loud.
    Host,
}

impl Network {
    /// The word for it in records and headings.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Allow { .. } => "allow",
            Self::Host => "host",
        }
    }

    /// Whether anything beyond the sandbox can be reached.
    pub const fn is_open(&self) -> bool {
        !matches!(self, Self::None)
    }
}

/// What a sandbox starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BaseKind {
    /// An immutable generation of the project.
    #[default]
    Frozen,
    /// The directory itself, guarded against drift.
    Live,
}

impl BaseKind {
    /// The word for it, everywhere.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Frozen => "frozen",
            Self::Live => "live",
        }
    }
}

/// Whose id the processes inside carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Identity {
    /// The person's own user id.
    #[default]
    Caller,
    /// Root inside, the person's own id outside; for package managers.
    FakeRoot,
}

impl Identity {
    /// The word for it, everywhere.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Caller => "caller",
            Self::FakeRoot => "fake_root",
        }
    }
}

/// How closely a sandbox is watched.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Monitor {
    /// Not at all.
    Off,
    /// Each program that is started.
    #[default]
    Executions,
    /// Each program that is started and each file that is opened.
    Files,
}

impl Monitor {
    /// Every degree, least first.
    pub const ALL: [Self; 3] = [Self::Off, Self::Executions, Self::Files];

    /// The word for it, everywhere.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Executions => "executions",
            Self::Files => "files",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_the_safe_one() {
        assert_eq!(Tier::default(), Tier::Full);
        assert_eq!(Network::default(), Network::None);
        assert_eq!(BaseKind::default(), BaseKind::Frozen);
    }

    #[test]
    fn tiers_are_ordered_by_strength() {
        assert!(Tier::Full > Tier::Helper && Tier::Helper > Tier::Landlock);
        assert!(Tier::Landlock > Tier::None);
    }

    #[test]
    fn every_tier_is_read_back_from_its_word() {
        for tier in Tier::ALL {
            assert_eq!(tier.word().parse(), Ok(tier));
        }
        assert!("strong".parse::<Tier>().is_err());
    }
}
