//! The host's side of a run: what is granted, what is asked, what is put out.
//!
//! Both engines call the same functions here with the same numbers, so neither can differ from the
//! other in what a genome learns of its host.

use crate::failure::Trap;
use std::sync::Arc;
use std::time::Instant;

/// Instructions that are granted at a time to a run under a deadline. It looks at the clock between
/// grants, so this is also how far it can overrun: an instruction that misses every cache and
/// touches memory for the first time takes a microsecond. Without a deadline all are granted at once.
const GRANT: u64 = 2_048;

/// Why the host ended a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    Instructions,
    Deadline,
    Output,
    Convention(&'static str),
}

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the host ended the run")
    }
}

impl std::error::Error for Stop {}

/// How a call into a genome ended, if not by returning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Halt {
    Trap(Trap),
    Stop(Stop),
    /// The genome's own depth counter.
    Stack,
    EngineStack,
    /// The machine has no memory for it.
    NoMemory,
    /// The engine's pool is full.
    #[cfg_attr(
        not(feature = "native"),
        expect(dead_code, reason = "pools are compiled cells'")
    )]
    NoPlace,
    /// This build has no compiling engine.
    #[cfg_attr(feature = "native", expect(dead_code, reason = "this build has one"))]
    NoCompiler,
    NoFunction(&'static str),
    Engine(String),
}

/// Something a genome put out under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// The name, made printable where it was not text.
    pub key: String,
    /// The bytes.
    pub value: Vec<u8>,
}

/// Cases that a genome may read.
pub type Cases = Arc<[Vec<u8>]>;

/// What the host keeps for a cell's instance.
#[derive(Debug, Default)]
pub(crate) struct Host {
    /// Instructions of the run that are not granted yet.
    left: u64,
    deadline: Option<Instant>,
    pub(crate) output_left: u32,
    pub(crate) random: u64,
    pub(crate) cases: Option<Cases>,
    pub(crate) artifacts: Vec<Artifact>,
}

impl Host {
    /// Begins a run, and answers the first grant.
    pub(crate) fn begin(
        &mut self,
        instructions: u64,
        deadline: Option<Instant>,
        output: u32,
    ) -> i64 {
        self.deadline = deadline;
        let grant = instructions.min(self.grant_most());
        self.left = instructions - grant;
        self.output_left = output;
        self.artifacts.clear();
        grant.cast_signed()
    }

    const fn grant_most(&self) -> u64 {
        if self.deadline.is_some() {
            GRANT
        } else {
            u64::MAX
        }
    }

    /// What is left of the run's budget, given what is left of the grant.
    pub(crate) fn remaining(&self, grant: i64) -> u64 {
        self.left.saturating_add_signed(grant)
    }

    /// A counter fell below zero: grants more, or ends the run.
    pub(crate) fn meter(&mut self, rest: i64) -> Result<i64, Stop> {
        let owed = rest.min(0).unsigned_abs();
        if self.left < owed {
            self.left = 0;
            return Err(Stop::Instructions);
        }
        if self
            .deadline
            .is_some_and(|deadline| Instant::now() >= deadline)
        {
            return Err(Stop::Deadline);
        }
        let grant = self.left.min(self.grant_most().max(owed));
        self.left -= grant;
        Ok(rest.saturating_add_unsigned(grant))
    }

    /// Charges a cost that the host knows, against a budget without counters.
    pub(crate) fn charge(&mut self, grant: &mut i64, cost: u64) -> Result<(), Stop> {
        *grant = grant.saturating_sub_unsigned(cost);
        if *grant < 0 {
            *grant = self.meter(*grant)?;
        }
        Ok(())
    }

    /// The next number of the seeded sequence (`SplitMix64`).
    pub(crate) const fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// How many bytes of a case would be copied into so much room.
    pub(crate) fn share_of_case(&self, index: i32, capacity: i32) -> i32 {
        let case = self
            .cases
            .as_ref()
            .and_then(|cases| cases.get(index.cast_unsigned() as usize));
        let length = case
            .map_or(0, Vec::len)
            .min(capacity.cast_unsigned() as usize);
        i32::try_from(length).unwrap_or(i32::MAX)
    }

    /// Copies a case into the genome's memory and answers its length, −1 for one that is not there.
    pub(crate) fn input(
        &self,
        memory: &mut [u8],
        index: i32,
        pointer: i32,
        capacity: i32,
    ) -> Result<i32, Stop> {
        let cases = self.cases.as_ref();
        let Some(case) = cases.and_then(|cases| cases.get(index.cast_unsigned() as usize)) else {
            return Ok(-1);
        };
        let taken = self.share_of_case(index, capacity);
        let place = slice(memory, pointer, taken);
        let place = place.ok_or(Stop::Convention("input: the place lies outside its memory"))?;
        place.copy_from_slice(case.get(..place.len()).unwrap_or_default());
        Ok(i32::try_from(case.len()).unwrap_or(i32::MAX))
    }

    /// Keeps an artifact.
    pub(crate) fn emit(
        &mut self,
        memory: &mut [u8],
        key: (i32, i32),
        value: (i32, i32),
    ) -> Result<(), Stop> {
        let outside = Stop::Convention("emit: the place lies outside its memory");
        let size = key
            .1
            .cast_unsigned()
            .saturating_add(value.1.cast_unsigned());
        // A record costs something even when it is empty.
        self.put_out(size.saturating_add(32))?;
        let key = slice(memory, key.0, key.1).ok_or(outside)?;
        let key = String::from_utf8_lossy(key).into_owned();
        let value = slice(memory, value.0, value.1).ok_or(outside)?.to_vec();
        self.artifacts.push(Artifact { key, value });
        Ok(())
    }

    /// Counts output against the run's limit.
    pub(crate) fn put_out(&mut self, bytes: u32) -> Result<(), Stop> {
        let left = self.output_left.checked_sub(bytes);
        self.output_left = left.ok_or(Stop::Output)?;
        Ok(())
    }
}

/// What copying so many bytes costs, in instructions.
pub(crate) const fn copy_cost(bytes: i32) -> u64 {
    1 + (bytes.cast_unsigned() as u64 >> 3)
}

/// The place in memory, if it lies inside.
pub(crate) fn slice(memory: &mut [u8], pointer: i32, length: i32) -> Option<&mut [u8]> {
    let start = pointer.cast_unsigned() as usize;
    let end = start.checked_add(length.cast_unsigned() as usize)?;
    memory.get_mut(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grants_add_up_to_the_budget_exactly() {
        let never = Instant::now() + std::time::Duration::from_hours(1_000);
        let spend = |budget, deadline| {
            let mut host = Host::default();
            let mut left = host.begin(budget, deadline, 0);
            let mut spent = 0;
            while host.charge(&mut left, 1).is_ok() {
                spent += 1;
            }
            spent
        };
        for budget in [0, 1, GRANT - 1, GRANT, GRANT + 1, 10 * GRANT + 7] {
            assert_eq!(spend(budget, None), budget);
            assert_eq!(spend(budget, Some(never)), budget);
        }
    }

    #[test]
    fn one_large_charge_is_granted_when_the_budget_holds_it() {
        let mut host = Host::default();
        let mut left = host.begin(1_000_000, None, 0);
        assert_eq!(host.charge(&mut left, 900_000), Ok(()));
        assert_eq!(host.remaining(left), 100_000);
        assert_eq!(host.charge(&mut left, 100_001), Err(Stop::Instructions));
    }
}
