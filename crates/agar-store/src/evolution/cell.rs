//! Cells that last from one command to the next.

use super::{EvolutionStore, EvolutionWriter};
use crate::store::StoreError;
use agar_core::id::ProjectId;
use agar_core::seam::Timestamp;
use rusqlite::{OptionalExtension, Row, params};

/// One cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellRow {
    /// Its number in this database.
    pub id: i64,
    /// Its name in its project.
    pub name: String,
    /// What lasts of it, but for its code and its state.
    pub document: String,
    /// Its state; nothing for one that crashed.
    pub image: Option<Vec<u8>>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last used.
    pub changed_at: Timestamp,
}

/// One version of a cell's code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellVersionRow {
    /// Its number.
    pub number: u32,
    /// The code.
    pub wasm: Vec<u8>,
    /// The genomes that it came from, by name.
    pub parents: Vec<String>,
    /// Why it came.
    pub reason: String,
    /// When it came.
    pub at: Timestamp,
    /// What it saved when it left: the schema and the bytes.
    pub snapshot: Option<(u32, Vec<u8>)>,
}

const COLUMNS: &str = "id, name, document, image, created_at_ms, changed_at_ms";

fn cell(row: &Row<'_>) -> rusqlite::Result<CellRow> {
    Ok(CellRow {
        id: row.get(0)?,
        name: row.get(1)?,
        document: row.get(2)?,
        image: row.get(3)?,
        created_at: Timestamp::from_millis(row.get(4)?),
        changed_at: Timestamp::from_millis(row.get(5)?),
    })
}

fn version(row: &Row<'_>) -> rusqlite::Result<CellVersionRow> {
    let parents: String = row.get(2)?;
    let schema: Option<u32> = row.get(5)?;
    let snapshot: Option<Vec<u8>> = row.get(6)?;
    Ok(CellVersionRow {
        number: row.get(0)?,
        wasm: row.get(1)?,
        parents: parents.split_whitespace().map(str::to_owned).collect(),
        reason: row.get(3)?,
        at: Timestamp::from_millis(row.get(4)?),
        snapshot: schema.zip(snapshot),
    })
}

impl EvolutionStore {
    /// The cells of a project, by name.
    pub fn cells(&self, project: ProjectId) -> Result<Vec<CellRow>, StoreError> {
        let query = format!("SELECT {COLUMNS} FROM cell WHERE project = ?1 ORDER BY name");
        let mut statement = self.connection.prepare_cached(&query)?;
        let rows = statement.query_map([project.to_string()], cell)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// A cell by its name.
    pub fn cell(&self, project: ProjectId, name: &str) -> Result<Option<CellRow>, StoreError> {
        let query = format!("SELECT {COLUMNS} FROM cell WHERE project = ?1 AND name = ?2");
        let mut statement = self.connection.prepare_cached(&query)?;
        let row = statement.query_row([&project.to_string(), name], cell);
        Ok(row.optional()?)
    }

    /// The versions of a cell that are kept, the oldest first.
    pub fn cell_versions(&self, cell: i64) -> Result<Vec<CellVersionRow>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT number, wasm, parents, reason, at_ms, snapshot_schema, snapshot
             FROM cell_version WHERE cell = ?1 ORDER BY number",
        )?;
        let rows = statement.query_map([cell], version)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }
}

impl EvolutionWriter<'_> {
    /// Makes a cell; nothing where the project has one of that name.
    pub fn add_cell(
        &self,
        project: ProjectId,
        new: &CellRow,
        versions: &[CellVersionRow],
    ) -> Result<Option<i64>, StoreError> {
        let made = self.transaction.execute(
            "INSERT OR IGNORE INTO cell (project, name, document, image, created_at_ms, changed_at_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![
                project.to_string(),
                new.name,
                new.document,
                new.image,
                new.created_at.millis(),
                new.changed_at.millis()
            ],
        )?;
        if made == 0 {
            return Ok(None);
        }
        let id = self.transaction.last_insert_rowid();
        self.put_versions(id, versions)?;
        Ok(Some(id))
    }

    /// Writes what a cell has become.
    pub fn update_cell(
        &self,
        row: &CellRow,
        versions: &[CellVersionRow],
    ) -> Result<(), StoreError> {
        self.transaction.execute(
            "UPDATE cell SET document = ?2, image = ?3, changed_at_ms = ?4 WHERE id = ?1",
            params![row.id, row.document, row.image, row.changed_at.millis()],
        )?;
        self.put_versions(row.id, versions)
    }

    fn put_versions(&self, cell: i64, versions: &[CellVersionRow]) -> Result<(), StoreError> {
        let oldest = versions.first().map_or(0, |version| version.number);
        self.transaction.execute(
            "DELETE FROM cell_version WHERE cell = ?1 AND number < ?2",
            params![cell, oldest],
        )?;
        // Of a version that is there only what it left behind can be new.
        let mut put = self.transaction.prepare_cached(
            "INSERT INTO cell_version (cell, number, wasm, parents, reason, at_ms,
             snapshot_schema, snapshot) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
             ON CONFLICT DO UPDATE SET snapshot_schema = excluded.snapshot_schema,
             snapshot = excluded.snapshot",
        )?;
        for version in versions {
            let (schema, snapshot) = match &version.snapshot {
                Some((schema, bytes)) => (Some(*schema), Some(bytes)),
                None => (None, None),
            };
            put.execute(params![
                cell,
                version.number,
                version.wasm,
                version.parents.join(" "),
                version.reason,
                version.at.millis(),
                schema,
                snapshot
            ])?;
        }
        Ok(())
    }

    /// Removes a cell and all its versions.
    pub fn remove_cell(&self, cell: i64) -> Result<(), StoreError> {
        self.transaction
            .execute("DELETE FROM cell WHERE id = ?1", [cell])?;
        Ok(())
    }
}
