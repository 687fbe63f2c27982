//! Shadow evolution: a variant answers what the current version answers, and nobody sees it.
//!
//! The same message goes to both; the current one's answer counts, the variant's is compared and
//! thrown away. A variant that has said the same often enough, and costs hardly more, may take over.
//! What it costs is counted in instructions: a clock would let a busy machine decide.

use super::{Dish, DishError};
use crate::cell::Swap;
use serde::{Deserialize, Serialize};

/// When a variant may take over; the seed's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Shadow {
    /// After how many comparisons.
    pub comparisons: u64,
    /// What share of the answers must be the same.
    pub alike: f64,
    /// How many times the current version's instructions it may take.
    pub cost: f64,
}

impl Default for Shadow {
    fn default() -> Self {
        Self {
            comparisons: 1_000,
            alike: 0.99,
            cost: 1.1,
        }
    }
}

/// What was seen of a variant so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comparison {
    /// Messages that both were given.
    pub asked: u64,
    /// Those to which both said the same.
    pub same: u64,
    /// Instructions of the current version.
    pub current: u64,
    /// Instructions of the variant.
    pub variant: u64,
}

/// What is to become of a variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShadowVerdict {
    /// It has not been compared often enough.
    Wait,
    /// It may take over.
    Promote,
    /// It differs too much or costs too much.
    Discard,
}

impl Comparison {
    /// What is to become of the variant.
    #[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
    pub fn verdict(&self, shadow: &Shadow) -> ShadowVerdict {
        if self.asked < shadow.comparisons {
            return ShadowVerdict::Wait;
        }
        let alike = self.same as f64 >= shadow.alike * self.asked as f64;
        let cheap = self.variant as f64 <= shadow.cost * self.current as f64;
        if alike && cheap {
            ShadowVerdict::Promote
        } else {
            ShadowVerdict::Discard
        }
    }
}

impl Dish {
    /// Asks the current version, and the variant in its shadow; only the first one's answer comes
    /// back. Whatever the variant does, nobody but the comparison sees it.
    pub fn ask_with_shadow(
        &self,
        (current, variant): (&str, &str),
        message: &[u8],
        seen: &mut Comparison,
    ) -> Result<Vec<u8>, DishError> {
        let (said, cost) = self.asked(current, message)?;
        seen.asked += 1;
        seen.current += cost;
        if let Ok((other, cost)) = self.asked(variant, message) {
            seen.variant += cost;
            seen.same += u64::from(other == said);
        }
        Ok(said)
    }

    /// The same, and what follows from it: a variant that matches and is not slower takes over, one
    /// that does not is ended. Either way the verdict comes back with the answer, and there is no
    /// variant any more.
    pub fn serve_with_shadow(
        &self,
        (current, variant): (&str, &str),
        message: &[u8],
        (seen, shadow): (&mut Comparison, &Shadow),
    ) -> Result<(Vec<u8>, ShadowVerdict), DishError> {
        let said = self.ask_with_shadow((current, variant), message, seen)?;
        let verdict = seen.verdict(shadow);
        match verdict {
            ShadowVerdict::Wait => {}
            ShadowVerdict::Promote => {
                self.promote(current, variant)?;
            }
            ShadowVerdict::Discard => self.destroy(variant)?,
        }
        Ok((said, verdict))
    }

    fn asked(&self, id: &str, message: &[u8]) -> Result<(Vec<u8>, u64), DishError> {
        self.run(id, |cell| {
            let said = cell.step(message)?;
            Ok((said, cell.metrics().last_instructions))
        })
    }

    /// Swaps the variant's code into the current individual, which keeps its state, and ends the
    /// variant. The version it became.
    pub fn promote(&self, current: &str, variant: &str) -> Result<u32, DishError> {
        let genome = self.with(variant, |member| member.cell.genome().clone())?;
        let version = self.hot_reload(current, Swap::to(genome, "promoted from the shadow"))?;
        self.destroy(variant)?;
        Ok(version)
    }
}
