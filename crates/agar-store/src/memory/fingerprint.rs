//! Which group a masked line belongs to.

use crate::memory::{MemoryReader, MemoryWriter};
use crate::store::StoreError;
use rusqlite::{OptionalExtension, params};

/// A masked line and its group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FingerprintRow {
    /// The hash of the masked line.
    pub hash: String,
    /// The masked line.
    pub template: String,
    /// Where lines that might be nearly equal lie together.
    pub bucket: String,
    /// The hash that names its group.
    pub family: String,
}

impl MemoryWriter<'_> {
    /// Gives a masked line its group, for ever.
    pub fn add_fingerprint(&self, version: u32, row: &FingerprintRow) -> Result<(), StoreError> {
        self.transaction
            .prepare_cached(
                "INSERT OR IGNORE INTO fingerprint (version, hash, template, bucket, family)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![
                version,
                row.hash,
                row.template,
                row.bucket,
                row.family
            ])?;
        Ok(())
    }
}

impl MemoryReader<'_> {
    /// The group of a masked line, by its hash.
    pub fn fingerprint(
        &self,
        version: u32,
        hash: &str,
    ) -> Result<Option<FingerprintRow>, StoreError> {
        Ok(self
            .connection
            .prepare_cached(
                "SELECT hash, template, bucket, family FROM fingerprint
                 WHERE version = ?1 AND hash = ?2",
            )?
            .query_row(params![version, hash], read)
            .optional()?)
    }

    /// Lines that might be nearly equal to one in this bucket, the founders of groups only.
    pub fn fingerprints_in(
        &self,
        version: u32,
        bucket: &str,
        limit: u32,
    ) -> Result<Vec<FingerprintRow>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT hash, template, bucket, family FROM fingerprint
             WHERE version = ?1 AND bucket = ?2 AND hash = family LIMIT ?3",
        )?;
        let found = statement.query_map(params![version, bucket, limit], read)?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    }
}

fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<FingerprintRow> {
    Ok(FingerprintRow {
        hash: row.get(0)?,
        template: row.get(1)?,
        bucket: row.get(2)?,
        family: row.get(3)?,
    })
}
