//! Generations on record: the immutable pictures that frozen sandboxes share.

use crate::column::{bytes, moment, path, word};
use crate::fact::Fact;
use crate::store::{Reader, StoreError, Writer};
use agar_core::id::ProjectId;
use agar_core::seam::Timestamp;
use rusqlite::{Row, params};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Whether a generation stands alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GenerationKind {
    /// The whole project.
    Full,
    /// What changed since the generation before it.
    Delta,
}

impl GenerationKind {
    /// The word for it, everywhere.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Delta => "delta",
        }
    }
}

/// An immutable picture of a project at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generation {
    /// Its number in the project.
    pub number: u64,
    /// Whether it stands alone.
    pub kind: GenerationKind,
    /// Its directory.
    pub layer: PathBuf,
    /// Files in it.
    pub files: u64,
    /// Bytes in it.
    pub bytes: u64,
    /// When it was taken.
    pub created: Timestamp,
    /// When a sandbox was last made from it.
    pub used: Timestamp,
}

impl Writer<'_> {
    /// Records a generation that is complete on disk.
    pub fn add_generation(
        &self,
        project: ProjectId,
        generation: &Generation,
    ) -> Result<(), StoreError> {
        self.transaction
            .prepare_cached(
                "INSERT INTO generation (project, number, kind, layer, files, bytes, created_ms,
                 used_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )?
            .execute(params![
                project.to_string(),
                generation.number,
                generation.kind.word(),
                bytes(&generation.layer),
                generation.files,
                generation.bytes,
                generation.created.millis(),
                generation.used.millis()
            ])?;
        let fact = Fact::GenerationMade {
            number: generation.number,
            kind: generation.kind,
            files: generation.files,
            bytes: generation.bytes,
        };
        self.append(project, None, generation.created, &fact)?;
        Ok(())
    }

    /// Notes that a sandbox was made from a generation.
    pub fn touch_generation(
        &self,
        project: ProjectId,
        number: u64,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        self.transaction
            .prepare_cached(
                "UPDATE generation SET used_ms = max(used_ms, ?3)
                 WHERE project = ?1 AND number = ?2",
            )?
            .execute(params![project.to_string(), number, at.millis()])?;
        Ok(())
    }

    /// Forgets a generation whose directory is gone, and says so in the journal.
    pub fn forget_generation(
        &self,
        project: ProjectId,
        number: u64,
        reason: &str,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let gone = self
            .transaction
            .prepare_cached("DELETE FROM generation WHERE project = ?1 AND number = ?2")?
            .execute(params![project.to_string(), number])?;
        if gone == 1 {
            let fact = Fact::Collected {
                what: "generation".to_owned(),
                name: number.to_string(),
                reason: reason.to_owned(),
                bytes: None,
            };
            self.append(project, None, at, &fact)?;
        }
        Ok(())
    }
}

impl Reader<'_> {
    /// The generations of a project, oldest first.
    pub fn generations(&self, project: ProjectId) -> Result<Vec<Generation>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT number, kind, layer, files, bytes, created_ms, used_ms FROM generation
             WHERE project = ?1 ORDER BY number",
        )?;
        let generations = statement.query_map([project.to_string()], read)?;
        Ok(generations.collect::<rusqlite::Result<_>>()?)
    }

    /// The numbers of the generations that sandboxes with layers on disk, and their snapshots, start
    /// from.
    pub fn generations_in_use(&self, project: ProjectId) -> Result<Vec<u64>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT generation FROM sandbox WHERE project = ?1
             AND generation IS NOT NULL AND state <> 'collected'
             UNION SELECT snapshot.generation FROM snapshot
             JOIN sandbox ON sandbox.id = snapshot.sandbox
             WHERE sandbox.project = ?1 AND snapshot.generation IS NOT NULL ORDER BY 1",
        )?;
        let numbers = statement.query_map([project.to_string()], |row| row.get(0))?;
        Ok(numbers.collect::<rusqlite::Result<_>>()?)
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Generation> {
    Ok(Generation {
        number: row.get(0)?,
        kind: word(row, 1, |text| {
            [GenerationKind::Full, GenerationKind::Delta]
                .into_iter()
                .find(|kind| kind.word() == text)
        })?,
        layer: path(row, 2)?,
        files: row.get(3)?,
        bytes: row.get(4)?,
        created: moment(row, 5)?,
        used: moment(row, 6)?,
    })
}
