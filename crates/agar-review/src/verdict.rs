//! Three answers, not two.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What a check says about a change.
///
/// "Could not decide" is never a pass: a check that did not run, ran out of time or left a report
/// that nobody can read has shown nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It holds, or is as it was before the change.
    Pass,
    /// Nobody can tell.
    Undecided,
    /// The change broke it.
    Fail,
}

impl Verdict {
    /// Every verdict, best first.
    pub const ALL: [Self; 3] = [Self::Pass, Self::Undecided, Self::Fail];

    /// The word for it, everywhere.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Undecided => "undecided",
            Self::Fail => "fail",
        }
    }

    /// Whether it is a pass. Nothing else is.
    pub const fn is_pass(self) -> bool {
        match self {
            Self::Pass => true,
            Self::Undecided | Self::Fail => false,
        }
    }

    /// The verdict on several checks together: the worst of them, and undecided for none at all.
    pub fn of_all(verdicts: impl IntoIterator<Item = Self>) -> Self {
        verdicts.into_iter().max().unwrap_or(Self::Undecided)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_is_not_a_pass() {
        assert_eq!(Verdict::of_all([]), Verdict::Undecided);
        assert!(!Verdict::of_all([]).is_pass());
    }

    #[test]
    fn one_failure_outweighs_everything() {
        let verdicts = [Verdict::Pass, Verdict::Fail, Verdict::Undecided];
        assert_eq!(Verdict::of_all(verdicts), Verdict::Fail);
        let verdicts = [Verdict::Pass, Verdict::Undecided];
        assert_eq!(Verdict::of_all(verdicts), Verdict::Undecided);
        assert_eq!(Verdict::of_all([Verdict::Pass]), Verdict::Pass);
    }
}
