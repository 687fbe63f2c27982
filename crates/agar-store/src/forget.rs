//! Taking the words of a sandbox out of the records, when a person wants them forgotten.
//!
//! The journal only grows, and triggers hold it to that; what happened stays in it. Only the words
//! go: the commands of the runs and the note. The pages they stood on are overwritten and the
//! write-ahead log is emptied.

use crate::store::{Store, StoreError};
use agar_core::id::SandboxId;
use rusqlite::params;

/// What stands in place of a forgotten command.
const FORGOTTEN: &str = r#"["[forgotten]"]"#;

impl Store {
    /// Takes the commands and the note of a sandbox out of its records and of the journal. Answers
    /// how many runs it had. Its logs are files beside the store, the caller's to remove.
    pub fn forget_words(&mut self, sandbox: SandboxId) -> Result<usize, StoreError> {
        let id = sandbox.to_string();
        self.connection()
            .execute_batch("PRAGMA secure_delete = ON")?;
        let runs = self.write(|writer| {
            let transaction = &writer.transaction;
            let guard: String = transaction.query_row(
                "SELECT sql FROM sqlite_schema WHERE name = 'journal_is_never_changed'",
                [],
                |row| row.get(0),
            )?;
            transaction.execute_batch("DROP TRIGGER journal_is_never_changed")?;
            transaction.execute(
                "UPDATE journal SET payload = json_set(payload, '$.argv', json(?2))
                 WHERE sandbox = ?1 AND json_extract(payload, '$.argv') IS NOT NULL",
                params![id, FORGOTTEN],
            )?;
            transaction.execute_batch(&guard)?;
            transaction.execute("UPDATE sandbox SET note = NULL WHERE id = ?1", [&id])?;
            let runs = transaction.execute(
                "UPDATE run SET argv = ?2, report = NULL WHERE sandbox = ?1",
                params![id, FORGOTTEN],
            )?;
            Ok::<usize, StoreError>(runs)
        })?;
        self.tidy()?;
        Ok(runs)
    }
}
