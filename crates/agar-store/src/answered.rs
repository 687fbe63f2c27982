//! Answers to requests that carried a key of their own.
//!
//! A client that did not hear the answer asks again with the same key and gets the same answer,
//! also from another process; nothing is done twice.

use crate::column::moment;
use crate::store::{Reader, StoreError, Writer};
use agar_core::seam::Timestamp;
use rusqlite::{OptionalExtension, params};

/// How many answers are kept.
const KEPT: u32 = 10_000;

/// An answer that was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// What identifies the request beyond its key: asked for something else, a key is refused.
    pub request: String,
    /// The status of the answer.
    pub status: u16,
    /// Its text.
    pub body: String,
    /// When it was given.
    pub at: Timestamp,
}

impl Writer<'_> {
    /// Remembers an answer, and forgets the oldest beyond those that are kept.
    pub fn set_answered(&self, key: &str, answered: &Answered) -> Result<(), StoreError> {
        self.transaction
            .prepare_cached(
                "INSERT OR REPLACE INTO answered (key, request, status, body, at_ms)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![
                key,
                answered.request,
                answered.status,
                answered.body,
                answered.at.millis()
            ])?;
        self.transaction
            .prepare_cached(
                "DELETE FROM answered WHERE key IN
                 (SELECT key FROM answered ORDER BY at_ms DESC LIMIT -1 OFFSET ?1)",
            )?
            .execute([KEPT])?;
        Ok(())
    }
}

impl Reader<'_> {
    /// What was answered to the request with this key, if it is remembered.
    pub fn answered(&self, key: &str) -> Result<Option<Answered>, StoreError> {
        Ok(self
            .connection
            .prepare_cached("SELECT request, status, body, at_ms FROM answered WHERE key = ?1")?
            .query_row([key], |row| {
                Ok(Answered {
                    request: row.get(0)?,
                    status: row.get(1)?,
                    body: row.get(2)?,
                    at: moment(row, 3)?,
                })
            })
            .optional()?)
    }
}
