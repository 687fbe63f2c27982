//! Whether the store is sound, page by page and record by record. For `agar doctor`.

use crate::open::OpenError;
use crate::sandbox::Scope;
use crate::store::{Reader, Store, StoreError};
use std::path::Path;

/// What a check of the store found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// There is no store yet.
    Absent,
    /// Nothing is wrong.
    Sound,
    /// These things are wrong.
    Damaged(Vec<String>),
}

/// Findings beyond this many tell a reader nothing new.
const FINDINGS: usize = 20;

/// Reads the whole store and says what is wrong with it. Changes nothing in it.
pub fn check(path: &Path) -> Result<Health, OpenError> {
    if !path.exists() {
        return Ok(Health::Absent);
    }
    let store = match Store::open(path) {
        Ok(store) => store,
        Err(OpenError::Damaged { what, .. }) => return Ok(Health::Damaged(vec![what])),
        Err(other) => return Err(other),
    };
    let mut findings = match store.read().integrity() {
        Ok(findings) => findings,
        Err(error) => vec![with_cause(&error)],
    };
    findings.truncate(FINDINGS);
    if findings.is_empty() {
        Ok(Health::Sound)
    } else {
        Ok(Health::Damaged(findings))
    }
}

impl Reader<'_> {
    fn integrity(&self) -> Result<Vec<String>, StoreError> {
        let mut findings: Vec<String> = self.lines("PRAGMA integrity_check(20)")?;
        findings.retain(|line| line != "ok");
        findings.extend(
            self.lines("SELECT 'foreign key in ' || \"table\" FROM pragma_foreign_key_check")?,
        );
        if findings.is_empty() {
            findings.extend(self.gaps()?);
            findings.extend(self.unreadable());
        }
        Ok(findings)
    }

    fn lines(&self, query: &str) -> Result<Vec<String>, StoreError> {
        let mut statement = self.connection.prepare(query)?;
        let lines = statement.query_map([], |row| row.get(0))?;
        Ok(lines.collect::<rusqlite::Result<_>>()?)
    }

    /// Projects whose journal has lost a number.
    fn gaps(&self) -> Result<Vec<String>, StoreError> {
        self.lines(
            "SELECT 'the journal of project ' || project || ' has gaps' FROM journal
             GROUP BY project HAVING max(number) <> count(*)",
        )
    }

    /// Records that our types cannot read.
    fn unreadable(&self) -> Vec<String> {
        let projects = self.projects();
        let mut findings = Vec::new();
        findings.extend(projects.as_ref().err().map(with_cause));
        findings.extend(
            self.sandboxes(None, Scope::All)
                .err()
                .as_ref()
                .map(with_cause),
        );
        findings.extend(self.unfinished_runs().err().as_ref().map(with_cause));
        for project in projects.unwrap_or_default() {
            findings.extend(self.promotions(project.id).err().as_ref().map(with_cause));
            findings.extend(self.generations(project.id).err().as_ref().map(with_cause));
            let journal = self.journal_since(project.id, 0, u32::MAX);
            findings.extend(journal.err().as_ref().map(with_cause));
        }
        findings
    }
}

/// An error and what caused it, in one line.
pub(crate) fn with_cause(error: &StoreError) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
