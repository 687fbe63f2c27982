//! Permanent names.
//!
//! Each kind of thing has its own id type, so that a sandbox's id cannot be handed to something
//! that wants a project's. They are `UUIDv7`: unique without coordination, and sorted by birth.

use crate::seam::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The text is not an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an id")]
pub struct NotAnId(pub String);

/// The 128 bits behind every id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Uuid([u8; 16]);

impl Uuid {
    /// Builds a version 7 UUID: milliseconds since 1970, then randomness.
    fn v7(at: Timestamp, random: [u8; 10]) -> Self {
        let millis = at.millis().to_be_bytes();
        let mut bytes = [0; 16];
        bytes[..6].copy_from_slice(&millis[2..]);
        bytes[6..].copy_from_slice(&random);
        bytes[6] = 0x70 | (bytes[6] & 0x0f);
        bytes[8] = 0x80 | (bytes[8] & 0x3f);
        Self(bytes)
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            if matches!(index, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl FromStr for Uuid {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let wrong = || NotAnId(text.chars().take(64).collect());
        let dashes = [8, 13, 18, 23];
        if text.len() != 36 || !dashes.iter().all(|&at| text.as_bytes()[at] == b'-') {
            return Err(wrong());
        }
        let digits: Vec<u8> = text.bytes().filter(|&byte| byte != b'-').collect();
        if digits.len() != 32 || !digits.iter().all(u8::is_ascii_hexdigit) {
            return Err(wrong());
        }
        let mut bytes = [0; 16];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| wrong())?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| wrong())?;
        }
        Ok(Self(bytes))
    }
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Uuid);

        impl $name {
            /// Makes an id from the time of birth and ten random bytes.
            pub fn new(at: Timestamp, random: [u8; 10]) -> Self {
                Self(Uuid::v7(at, random))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = NotAnId;

            fn from_str(text: &str) -> Result<Self, NotAnId> {
                text.parse().map(Self)
            }
        }

        impl TryFrom<String> for $name {
            type Error = NotAnId;

            fn try_from(text: String) -> Result<Self, NotAnId> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.to_string()
            }
        }
    };
}

id! {
    /// Names a project for as long as agar remembers it.
    ProjectId
}
id! {
    /// Names a sandbox, also after it is gone.
    SandboxId
}
id! {
    /// Names an experiment, also after its sandbox is gone.
    ExperimentId
}
id! {
    /// Names a point in a sandbox's layers.
    SnapshotId
}
id! {
    /// Names one application of a change set to a project.
    PromotionId
}
id! {
    /// Names a change that somebody offered for a person to try.
    SuggestionId
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_id_survives_being_written_down(millis in 0_u64..(1 << 48), random: [u8; 10]) {
            let id = SandboxId::new(Timestamp::from_millis(millis), random);
            prop_assert_eq!(id.to_string().parse(), Ok(id));
        }

        #[test]
        fn ids_sort_by_birth(early in 0_u64..(1 << 40), later in 1_u64..1000, a: [u8; 10], b: [u8; 10]) {
            let first = SandboxId::new(Timestamp::from_millis(early), a);
            let second = SandboxId::new(Timestamp::from_millis(early + later), b);
            prop_assert!(first < second);
        }

        #[test]
        fn no_text_makes_the_parser_panic(text: String) {
            let parsed: Result<SandboxId, NotAnId> = text.parse();
            prop_assert!(parsed.is_err() || text.len() == 36);
        }
    }
}
