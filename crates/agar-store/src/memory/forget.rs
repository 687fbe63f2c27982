//! Deleting for good.

use crate::memory::{MemoryReader, MemoryWriter};
use crate::store::StoreError;
use agar_core::id::ProjectId;
use rusqlite::params;

/// What one deletion removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Forgotten {
    /// Experiments.
    pub experiments: u64,
    /// Patterns, lessons and what they were made of.
    pub features: u64,
    /// Notes.
    pub notes: u64,
}

impl MemoryWriter<'_> {
    /// Deletes an experiment with everything that only it says. The caller has taken its weight
    /// out of the sums.
    pub fn forget_experiment(&self, number: i64, id: &str) -> Result<(), StoreError> {
        let sandbox: Option<String> = {
            use rusqlite::OptionalExtension as _;
            self.transaction
                .prepare_cached("SELECT sandbox_id FROM experiment WHERE number = ?1")?
                .query_row([number], |row| row.get(0))
                .optional()?
        };
        for statement in [
            "DELETE FROM sighting WHERE experiment = ?1",
            "DELETE FROM prediction WHERE experiment = ?1",
            "DELETE FROM evidence WHERE experiment = ?1",
            "DELETE FROM experiment WHERE number = ?1",
        ] {
            self.transaction
                .prepare_cached(statement)?
                .execute([number])?;
        }
        for statement in [
            "DELETE FROM experiment_outcomes WHERE id = ?1",
            "DELETE FROM conversations WHERE id = ?1",
        ] {
            self.transaction.prepare_cached(statement)?.execute([id])?;
        }
        if let Some(sandbox) = sandbox {
            self.forget_sandbox(&sandbox)?;
        }
        Ok(())
    }

    /// Deletes what is left of a sandbox without experiments.
    fn forget_sandbox(&self, sandbox: &str) -> Result<(), StoreError> {
        let others = self
            .transaction
            .prepare_cached("SELECT 1 FROM experiment WHERE sandbox_id = ?1")?
            .exists([sandbox])?;
        if others {
            // Its suggestion may be the forgotten one.
            self.transaction
                .prepare_cached(
                    "UPDATE sandboxes SET suggestion = (SELECT suggestion FROM experiment
                     WHERE sandbox_id = ?1 ORDER BY number LIMIT 1), context = (SELECT context
                     FROM experiment WHERE sandbox_id = ?1 ORDER BY number LIMIT 1)
                     WHERE id = ?1",
                )?
                .execute([sandbox])?;
            return Ok(());
        }
        for statement in [
            "DELETE FROM sandbox_memories WHERE sandbox_id = ?1",
            "DELETE FROM sandbox_patterns WHERE sandbox_id = ?1",
            "DELETE FROM experiment_outcomes WHERE sandbox_id = ?1",
            "DELETE FROM sandbox_metadata WHERE sandbox_id = ?1",
            "DELETE FROM sandboxes WHERE id = ?1",
        ] {
            self.transaction
                .prepare_cached(statement)?
                .execute([sandbox])?;
        }
        Ok(())
    }

    /// Removes the lesson about a feature: no failure is left that teaches it.
    pub fn forget_lesson(&self, feature: i64) -> Result<(), StoreError> {
        self.transaction
            .prepare_cached("DELETE FROM lesson WHERE feature = ?1")?
            .execute([feature])?;
        Ok(())
    }

    /// Deletes a feature with its lesson and whatever graduated from it.
    pub fn forget_feature(&self, number: i64, id: &str) -> Result<(), StoreError> {
        for statement in [
            "DELETE FROM lesson WHERE feature = ?1",
            "DELETE FROM sighting WHERE feature = ?1",
            "DELETE FROM feature WHERE number = ?1",
        ] {
            self.transaction
                .prepare_cached(statement)?
                .execute([number])?;
        }
        for statement in [
            "DELETE FROM sandbox_patterns WHERE pattern_id = ?1",
            "DELETE FROM pattern_confidence WHERE pattern_id = ?1",
        ] {
            self.transaction.prepare_cached(statement)?.execute([id])?;
        }
        Ok(())
    }

    /// Deletes a masked line, and its group where it founded one.
    pub fn forget_fingerprint(&self, hash: &str) -> Result<(), StoreError> {
        self.transaction
            .prepare_cached("DELETE FROM fingerprint WHERE hash = ?1 OR family = ?1")?
            .execute([hash])?;
        Ok(())
    }

    /// Deletes a note.
    pub fn forget_note(&self, id: &str) -> Result<bool, StoreError> {
        let gone = self
            .transaction
            .prepare_cached("DELETE FROM note WHERE id = ?1")?
            .execute([id])?;
        Ok(gone == 1)
    }
}

impl MemoryReader<'_> {
    /// The numbers of a project's experiments whose text holds this, small letters alike.
    pub fn experiments_holding(
        &self,
        project: ProjectId,
        text: &str,
    ) -> Result<Vec<i64>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT number FROM experiment WHERE project = ?1 AND
             (instr(lower(suggestion), lower(?2)) OR instr(lower(context), lower(?2))
              OR instr(lower(coalesce(document, '')), lower(?2))
              OR instr(lower(coalesce(decision, '')), lower(?2)))",
        )?;
        let found = statement.query_map(params![project.to_string(), text], |row| row.get(0))?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    }

    /// The numbers and short names of a project's features that hold this text, or that nobody
    /// shows any more.
    pub fn features_holding(
        &self,
        project: ProjectId,
        text: &str,
    ) -> Result<Vec<(i64, String)>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT number, id FROM feature WHERE project = ?1 AND
             (?2 <> '' AND (instr(lower(sentence), lower(?2)) OR instr(lower(parts), lower(?2))))",
        )?;
        let found = statement.query_map(params![project.to_string(), text], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    }

    /// Masked lines that hold this text.
    pub fn fingerprints_holding(&self, text: &str) -> Result<Vec<String>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT hash FROM fingerprint WHERE instr(lower(template), lower(?1))",
        )?;
        let found = statement.query_map([text], |row| row.get(0))?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    }
}
