//! The aliases of sandboxes: drawn, in use, and given anew to one whose own is in use.

use crate::fact::Fact;
use crate::sandbox::Sandbox;
use crate::store::{StoreError, Writer};
use agar_core::alias;
use agar_core::id::SandboxId;
use agar_core::seam::{Entropy, Timestamp};
use agar_core::state::{Event, State};

/// Draws of an alias before agar gives up on pretty ones.
const DRAWS: u32 = 64;

impl Writer<'_> {
    pub(crate) fn draw_alias(&self, entropy: &dyn Entropy) -> Result<String, StoreError> {
        let mut random = [0; 8];
        for draw in 0..=DRAWS {
            entropy.fill(&mut random);
            let number = u64::from_le_bytes(random);
            let mut alias = alias::alias(number);
            if draw == DRAWS {
                alias = format!("{alias}-{:x}", number >> 32);
            }
            // Not that of one in the trash either, which may come back.
            if !self.is_known(&alias)? {
                return Ok(alias);
            }
        }
        Err(StoreError::AliasTaken("every name drawn".to_owned()))
    }

    fn is_known(&self, alias: &str) -> Result<bool, StoreError> {
        Ok(self
            .transaction
            .prepare_cached("SELECT 1 FROM sandbox WHERE alias = ?1 AND state <> 'collected'")?
            .exists([alias])?)
    }

    pub(crate) fn is_taken(&self, alias: &str) -> Result<bool, StoreError> {
        Ok(self
            .transaction
            .prepare_cached(
                "SELECT 1 FROM sandbox WHERE alias = ?1
                 AND state NOT IN ('discarded', 'collected')",
            )?
            .exists([alias])?)
    }

    /// Takes a sandbox back from the trash. If another one has its alias by now it gets a new one.
    pub fn take_back_sandbox(
        &self,
        id: SandboxId,
        entropy: &dyn Entropy,
        at: Timestamp,
    ) -> Result<Sandbox, StoreError> {
        let before = self.read().sandbox(id)?;
        if before.state == State::Discarded && self.is_taken(&before.alias)? {
            let alias = self.draw_alias(entropy)?;
            self.update(id, "alias", Some(&alias), at)?;
            let fact = Fact::SandboxRenamed {
                from: before.alias,
                to: alias,
            };
            self.append(before.project, Some(id), at, &fact)?;
        }
        self.advance_sandbox(id, Event::TakeBack, at)?;
        self.read().sandbox(id)
    }
}
