//! Words taken out of the records.
//!
//! Forgetting an experiment also means its command line, its note and what the journal repeats of
//! them. The journal otherwise only grows: here the words of a few of its lines are replaced, never
//! the lines, so that no number is missing and a reader learns that something was said and is no
//! longer.

use crate::store::{Store, StoreError, Writer};
use agar_core::id::{ProjectId, SandboxId};
use rusqlite::params;

/// What stands in place of forgotten words.
pub const FORGOTTEN: &str = "[forgotten]";

/// The triggers that keep the journal as it is, lifted for one transaction.
const LIFT: &str = "DROP TRIGGER journal_is_never_changed";
const RESTORE: &str = "CREATE TRIGGER journal_is_never_changed BEFORE UPDATE ON journal
BEGIN
    SELECT RAISE (ABORT, 'the journal only grows');
END";

impl Store {
    /// Sandboxes of a project whose command, note or journal holds a text, in whatever case.
    pub fn sandboxes_saying(
        &self,
        project: ProjectId,
        text: &str,
    ) -> Result<Vec<SandboxId>, StoreError> {
        let reader = self.read();
        let mut statement = reader.connection.prepare(
            "SELECT id FROM sandbox WHERE project = ?1 AND (
                 instr(lower(coalesce(note, '')), lower(?2)) > 0
                 OR EXISTS (SELECT 1 FROM run WHERE run.sandbox = sandbox.id
                     AND (instr(lower(argv), lower(?2)) > 0
                         OR instr(lower(coalesce(report, '')), lower(?2)) > 0))
                 OR EXISTS (SELECT 1 FROM journal WHERE journal.sandbox = sandbox.id
                     AND instr(lower(payload), lower(?2)) > 0))",
        )?;
        let found = statement.query_map(params![project.to_string(), text], |row| {
            crate::column::parsed(row, 0)
        })?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    }

    /// Takes the words of these sandboxes out of the records, overwrites where they were, and
    /// empties the log. Says whether the log could be emptied: a reader in another process can
    /// stand in the way.
    pub fn scrub(
        &mut self,
        project: ProjectId,
        sandboxes: &[SandboxId],
        text: Option<&str>,
    ) -> Result<bool, StoreError> {
        self.with_secure_delete(|store| {
            store.write(|writer| writer.scrub(project, sandboxes, text))
        })
    }
}

impl Writer<'_> {
    fn scrub(
        &self,
        project: ProjectId,
        sandboxes: &[SandboxId],
        text: Option<&str>,
    ) -> Result<(), StoreError> {
        self.transaction.execute_batch(LIFT)?;
        let words = serde_json::json!([FORGOTTEN]).to_string();
        for id in sandboxes.iter().map(SandboxId::to_string) {
            for change in [
                "UPDATE run SET argv = ?2, report = NULL WHERE sandbox = ?1",
                "UPDATE sandbox SET note = nullif(?2, ?2) WHERE id = ?1",
                "UPDATE journal SET payload = json_set(payload, '$.argv', json(?2))
                 WHERE sandbox = ?1 AND kind = 'run.started'",
                "UPDATE suggestion SET text = json_extract(?2, '$[0]'), context = '{}',
                 commands = '[]' WHERE sandbox = ?1",
            ] {
                self.transaction.execute(change, params![id, words])?;
            }
        }
        if let Some(text) = text {
            self.transaction.execute(
                "DELETE FROM base_check
                 WHERE project = ?1 AND instr(lower(trial), lower(?2)) > 0",
                params![project.to_string(), text],
            )?;
            self.transaction.execute(
                "UPDATE suggestion SET text = ?3, context = '{}', commands = '[]'
                 WHERE project = ?1 AND (instr(lower(text), lower(?2)) > 0
                     OR instr(lower(context), lower(?2)) > 0
                     OR instr(lower(commands), lower(?2)) > 0)",
                params![project.to_string(), text, FORGOTTEN],
            )?;
        }
        // Answers repeat what was asked about.
        self.transaction.execute("DELETE FROM answered", [])?;
        self.transaction.execute_batch(RESTORE)?;
        Ok(())
    }
}
