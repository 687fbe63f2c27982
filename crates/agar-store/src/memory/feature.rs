//! Things that can be seen again, and where they were seen.

use crate::column::moment;
use crate::memory::{MemoryReader, MemoryWriter};
use crate::store::StoreError;
use agar_core::id::ProjectId;
use agar_core::seam::Timestamp;
use rusqlite::{OptionalExtension, Row, params};

/// Something that can be seen again, with what came of the experiments that showed it.
#[derive(Debug, Clone, PartialEq)]
pub struct Feature {
    /// Its place.
    pub number: i64,
    /// Its short name.
    pub id: String,
    /// What sort it is.
    pub kind: String,
    /// What it says, in plain words.
    pub sentence: String,
    /// What it is made of, as JSON.
    pub parts: String,
    /// Experiments that showed it and worked.
    pub worked: u64,
    /// Experiments that showed it and failed.
    pub failed: u64,
    /// The same, weighed by age.
    pub worked_weight: f64,
    /// The same, weighed by age.
    pub failed_weight: f64,
    /// When they weighed so.
    pub as_of: Timestamp,
    /// When it was first seen.
    pub first: Timestamp,
    /// When it was last seen.
    pub last: Timestamp,
}

/// A feature as one experiment showed it.
#[derive(Debug, Clone)]
pub struct Mark<'a> {
    /// Its short name.
    pub id: &'a str,
    /// What sort it is.
    pub kind: &'a str,
    /// What it says, in plain words.
    pub sentence: &'a str,
    /// What it is made of, as JSON.
    pub parts: &'a str,
}

/// Where a feature was seen.
#[derive(Debug, Clone, PartialEq)]
pub struct Sighting {
    /// The experiment's number.
    pub experiment: i64,
    /// 1 for success, 0 for failure.
    pub success: f64,
    /// What was measured, where something was.
    pub value: Option<f64>,
    /// When.
    pub at: Timestamp,
}

const COLUMNS: &str = "number, id, kind, sentence, parts, worked, failed, worked_weight, \
     failed_weight, as_of_ms, first_ms, last_ms";

impl MemoryWriter<'_> {
    /// Finds the feature, or makes it without any sighting.
    pub fn mark(
        &self,
        project: ProjectId,
        mark: &Mark<'_>,
        at: Timestamp,
    ) -> Result<Feature, StoreError> {
        if let Some(known) = self.read().feature(mark.id)? {
            return Ok(known);
        }
        self.transaction
            .prepare_cached(
                "INSERT INTO feature (id, project, kind, sentence, parts, as_of_ms, first_ms,
                 last_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?6)",
            )?
            .execute(params![
                mark.id,
                project.to_string(),
                mark.kind,
                mark.sentence,
                mark.parts,
                at.millis()
            ])?;
        Ok(Feature {
            number: self.transaction.last_insert_rowid(),
            id: mark.id.to_owned(),
            kind: mark.kind.to_owned(),
            sentence: mark.sentence.to_owned(),
            parts: mark.parts.to_owned(),
            worked: 0,
            failed: 0,
            worked_weight: 0.0,
            failed_weight: 0.0,
            as_of: at,
            first: at,
            last: at,
        })
    }

    /// Records that an experiment showed it. Answers whether that is news.
    pub fn sight(&self, feature: i64, sighting: &Sighting) -> Result<bool, StoreError> {
        let added = self
            .transaction
            .prepare_cached(
                "INSERT OR IGNORE INTO sighting (feature, experiment, success, value, at_ms)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![
                feature,
                sighting.experiment,
                sighting.success,
                sighting.value,
                sighting.at.millis()
            ])?;
        Ok(added == 1)
    }

    /// Keeps the counts, the sentence and the parts of a feature.
    pub fn set_feature(&self, feature: &Feature) -> Result<(), StoreError> {
        self.transaction
            .prepare_cached(
                "UPDATE feature SET sentence = ?2, parts = ?3, worked = ?4, failed = ?5,
                 worked_weight = ?6, failed_weight = ?7, as_of_ms = ?8, first_ms = ?9, last_ms = ?10
                 WHERE number = ?1",
            )?
            .execute(params![
                feature.number,
                feature.sentence,
                feature.parts,
                feature.worked,
                feature.failed,
                feature.worked_weight,
                feature.failed_weight,
                feature.as_of.millis(),
                feature.first.millis(),
                feature.last.millis()
            ])?;
        Ok(())
    }
}

impl MemoryReader<'_> {
    /// The feature of this short name.
    pub fn feature(&self, id: &str) -> Result<Option<Feature>, StoreError> {
        Ok(self
            .connection
            .prepare_cached(&format!("SELECT {COLUMNS} FROM feature WHERE id = ?1"))?
            .query_row([id], read)
            .optional()?)
    }

    /// The feature with this number.
    pub fn feature_numbered(&self, number: i64) -> Result<Option<Feature>, StoreError> {
        Ok(self
            .connection
            .prepare_cached(&format!("SELECT {COLUMNS} FROM feature WHERE number = ?1"))?
            .query_row([number], read)
            .optional()?)
    }

    /// Features of a project whose short name begins so.
    pub fn features_like(
        &self,
        project: ProjectId,
        prefix: &str,
    ) -> Result<Vec<Feature>, StoreError> {
        let query = format!(
            "SELECT {COLUMNS} FROM feature WHERE id >= ?2 AND id < ?2 || '~' AND project = ?1
             ORDER BY id LIMIT 16"
        );
        self.rows(&query, params![project.to_string(), prefix], read)
    }

    /// Features of a project of one sort, most recently seen first.
    pub fn features(
        &self,
        project: ProjectId,
        kind: &str,
        limit: u32,
    ) -> Result<Vec<Feature>, StoreError> {
        let query = format!(
            "SELECT {COLUMNS} FROM feature WHERE project = ?1 AND kind = ?2
             ORDER BY last_ms DESC LIMIT ?3"
        );
        self.rows(&query, params![project.to_string(), kind, limit], read)
    }

    /// Where a feature was seen, newest first.
    pub fn sightings(&self, feature: i64, limit: u32) -> Result<Vec<Sighting>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT experiment, success, value, at_ms FROM sighting WHERE feature = ?1
             ORDER BY experiment DESC LIMIT ?2",
        )?;
        let found = statement.query_map(params![feature, limit], |row| {
            Ok(Sighting {
                experiment: row.get(0)?,
                success: row.get(1)?,
                value: row.get(2)?,
                at: moment(row, 3)?,
            })
        })?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    }

    /// What an experiment showed.
    pub fn features_of(&self, experiment: i64) -> Result<Vec<Feature>, StoreError> {
        let query = format!(
            "SELECT {COLUMNS} FROM feature WHERE number IN
             (SELECT feature FROM sighting WHERE experiment = ?1) ORDER BY number"
        );
        self.rows(&query, [experiment], read)
    }
}

pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Feature> {
    Ok(Feature {
        number: row.get(0)?,
        id: row.get(1)?,
        kind: row.get(2)?,
        sentence: row.get(3)?,
        parts: row.get(4)?,
        worked: row.get(5)?,
        failed: row.get(6)?,
        worked_weight: row.get(7)?,
        failed_weight: row.get(8)?,
        as_of: moment(row, 9)?,
        first: moment(row, 10)?,
        last: moment(row, 11)?,
    })
}
