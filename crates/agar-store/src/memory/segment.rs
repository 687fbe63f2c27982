//! The files of the index that are in force.

use crate::memory::{MemoryReader, MemoryWriter};
use crate::store::StoreError;
use rusqlite::params;

/// A file of the index, over a range of evidence numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// The file's name.
    pub name: String,
    /// The first number.
    pub first: i64,
    /// The last number.
    pub last: i64,
    /// How many documents it holds.
    pub documents: u64,
    /// A hash of its content.
    pub checksum: String,
}

impl MemoryWriter<'_> {
    /// Puts a file into force in place of others. Answers whether the others were in force still:
    /// if not, nothing has changed.
    pub fn replace_segments(
        &self,
        old: &[Segment],
        new: Option<&Segment>,
    ) -> Result<bool, StoreError> {
        let present = self.read().segments()?;
        if !old.iter().all(|segment| present.contains(segment)) {
            return Ok(false);
        }
        for segment in old {
            self.transaction
                .prepare_cached("DELETE FROM segment WHERE name = ?1")?
                .execute([&segment.name])?;
        }
        if let Some(new) = new {
            let overlaps = present
                .iter()
                .filter(|segment| !old.contains(segment))
                .any(|segment| segment.first <= new.last && new.first <= segment.last);
            if overlaps {
                return Ok(false);
            }
            self.transaction
                .prepare_cached(
                    "INSERT INTO segment (name, first, last, documents, checksum)
                     VALUES (?1, ?2, ?3, ?4, ?5)",
                )?
                .execute(params![
                    new.name,
                    new.first,
                    new.last,
                    new.documents,
                    new.checksum
                ])?;
        }
        Ok(true)
    }
}

impl MemoryReader<'_> {
    /// The files in force, by their numbers.
    pub fn segments(&self) -> Result<Vec<Segment>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT name, first, last, documents, checksum FROM segment ORDER BY first",
        )?;
        let found = statement.query_map([], |row| {
            Ok(Segment {
                name: row.get(0)?,
                first: row.get(1)?,
                last: row.get(2)?,
                documents: row.get(3)?,
                checksum: row.get(4)?,
            })
        })?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    }
}
