//! What a person has approved of a project's own files.
//!
//! An approval is for one exact content: it names a hash, and another content needs another one.

use crate::column::moment;
use crate::fact::Fact;
use crate::store::{Reader, StoreError, Writer};
use agar_core::id::ProjectId;
use agar_core::seam::Timestamp;
use rusqlite::params;

/// A person's consent to one exact content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// The hash of the content.
    pub hash: String,
    /// What was approved.
    pub what: String,
    /// When.
    pub approved: Timestamp,
}

impl Writer<'_> {
    /// Records a person's consent. Repeating it changes nothing.
    pub fn approve(
        &self,
        project: ProjectId,
        hash: &str,
        what: &str,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let made = self
            .transaction
            .prepare_cached(
                "INSERT INTO approval (project, hash, what, approved_ms) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT DO NOTHING",
            )?
            .execute(params![project.to_string(), hash, what, at.millis()])?;
        if made == 1 {
            let fact = Fact::SettingsApproved {
                hash: hash.to_owned(),
                what: what.to_owned(),
            };
            self.append(project, None, at, &fact)?;
        }
        Ok(())
    }
}

impl Reader<'_> {
    /// Whether a person has approved exactly this.
    pub fn is_approved(
        &self,
        project: ProjectId,
        hash: &str,
        what: &str,
    ) -> Result<bool, StoreError> {
        Ok(self
            .connection
            .prepare_cached(
                "SELECT 1 FROM approval WHERE project = ?1 AND hash = ?2 AND what = ?3",
            )?
            .exists(params![project.to_string(), hash, what])?)
    }

    /// Every approval of a project, newest first.
    pub fn approvals(&self, project: ProjectId) -> Result<Vec<Approval>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT hash, what, approved_ms FROM approval WHERE project = ?1
             ORDER BY approved_ms DESC, hash, what",
        )?;
        let approvals = statement.query_map([project.to_string()], |row| {
            Ok(Approval {
                hash: row.get(0)?,
                what: row.get(1)?,
                approved: moment(row, 2)?,
            })
        })?;
        Ok(approvals.collect::<rusqlite::Result<_>>()?)
    }
}
