//! Promotions on record.

use crate::column::{json, moment, moment_option, parsed, parsed_option, to_json, word};
use crate::fact::Fact;
use crate::store::{Reader, StoreError, Writer};
use agar_core::id::{ProjectId, PromotionId, SandboxId};
use agar_core::seam::Timestamp;
use rusqlite::{OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// Where a promotion is.
///
/// ```text
/// Started ──▶ Applied ──▶ Undone
///    ├──────▶ Refused
///    └──────▶ Reversed
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromotionState {
    /// It has begun to write, or is about to.
    Started,
    /// All of it is in the project.
    Applied,
    /// It was in the project and was taken back.
    Undone,
    /// A rule or a conflict stopped it before anything was written.
    Refused,
    /// A failure or a crash cut it short and what it had written was taken back.
    Reversed,
}

impl PromotionState {
    /// Every state.
    pub const ALL: [Self; 5] = [
        Self::Started,
        Self::Applied,
        Self::Undone,
        Self::Refused,
        Self::Reversed,
    ];

    /// The word for it, everywhere.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Applied => "applied",
            Self::Undone => "undone",
            Self::Refused => "refused",
            Self::Reversed => "reversed",
        }
    }

    /// Whether a promotion here may go there.
    const fn may_become(self, to: Self) -> bool {
        match self {
            Self::Started => matches!(to, Self::Applied | Self::Refused | Self::Reversed),
            Self::Applied => matches!(to, Self::Undone),
            Self::Undone | Self::Refused | Self::Reversed => false,
        }
    }
}

impl fmt::Display for PromotionState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// One application of a change set to a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Promotion {
    /// Its permanent name.
    pub id: PromotionId,
    /// The sandbox whose changes it carries.
    pub sandbox: SandboxId,
    /// The project it writes to.
    pub project: ProjectId,
    /// Where it is.
    pub state: PromotionState,
    /// When it began.
    pub created: Timestamp,
    /// When its state last changed.
    pub ended: Option<Timestamp>,
    /// What it did, as its owner describes it.
    pub summary: Value,
    /// The promotion that took it back, if that was one of its own; of one that is still applied,
    /// the promotion that is about to.
    pub undone_by: Option<PromotionId>,
}

const COLUMNS: &str = "id, sandbox, project, state, created_ms, ended_ms, summary, undone_by";

impl Writer<'_> {
    /// Records a promotion that is about to write. Repeating it changes nothing.
    pub fn start_promotion(
        &self,
        id: PromotionId,
        sandbox: SandboxId,
        summary: &Value,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let project = self.read().sandbox(sandbox)?.project;
        let made = self
            .transaction
            .prepare_cached(
                "INSERT INTO promotion (id, sandbox, project, state, created_ms, summary)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (id) DO NOTHING",
            )?
            .execute(params![
                id.to_string(),
                sandbox.to_string(),
                project.to_string(),
                PromotionState::Started.word(),
                at.millis(),
                to_json(summary)?
            ])?;
        if made == 1 {
            let fact = Fact::PromotionStarted { promotion: id };
            self.append(project, Some(sandbox), at, &fact)?;
        }
        Ok(())
    }

    /// Records that all of it is in the project.
    pub fn promotion_applied(
        &self,
        id: PromotionId,
        summary: &Value,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        if !self.advance_promotion(id, PromotionState::Applied, at)? {
            return Ok(());
        }
        self.amend_promotion(id, summary)?;
        let fact = Fact::PromotionApplied {
            promotion: id,
            summary: summary.clone(),
        };
        self.journal_promotion(id, &fact, at)
    }

    /// Replaces what an applied promotion says of itself.
    pub fn amend_promotion(&self, id: PromotionId, summary: &Value) -> Result<(), StoreError> {
        self.transaction
            .prepare_cached("UPDATE promotion SET summary = ?2 WHERE id = ?1")?
            .execute(params![id.to_string(), to_json(summary)?])?;
        Ok(())
    }

    /// Records the promotion that is about to take an applied one back.
    ///
    /// Should the process die, what that promotion came to on disk says whether it did.
    pub fn undo_started(&self, id: PromotionId, by: PromotionId) -> Result<(), StoreError> {
        self.set_undoing(id, Some(by))
    }

    /// Records that nothing took it back after all.
    pub fn undo_reversed(&self, id: PromotionId) -> Result<(), StoreError> {
        self.set_undoing(id, None)
    }

    fn set_undoing(&self, id: PromotionId, by: Option<PromotionId>) -> Result<(), StoreError> {
        self.transaction
            .prepare_cached(
                "UPDATE promotion SET undone_by = ?2 WHERE id = ?1 AND state = 'applied'",
            )?
            .execute(params![id.to_string(), by.map(|by| by.to_string())])?;
        Ok(())
    }

    /// Records that it was taken back.
    pub fn promotion_undone(
        &self,
        id: PromotionId,
        by: Option<PromotionId>,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        if !self.advance_promotion(id, PromotionState::Undone, at)? {
            return Ok(());
        }
        self.transaction
            .prepare_cached("UPDATE promotion SET undone_by = ?2 WHERE id = ?1")?
            .execute(params![id.to_string(), by.map(|by| by.to_string())])?;
        let fact = Fact::PromotionUndone { promotion: id, by };
        self.journal_promotion(id, &fact, at)
    }

    /// Records that a rule or a conflict stopped it and nothing was written.
    pub fn promotion_refused(
        &self,
        id: PromotionId,
        reason: &str,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        if !self.advance_promotion(id, PromotionState::Refused, at)? {
            return Ok(());
        }
        let fact = Fact::PromotionRefused {
            promotion: Some(id),
            reason: reason.to_owned(),
        };
        self.journal_promotion(id, &fact, at)
    }

    /// Records how a promotion that was cut short ended after all. Repeating it changes nothing.
    pub fn promotion_recovered(
        &self,
        id: PromotionId,
        state: PromotionState,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        if !self.advance_promotion(id, state, at)? {
            return Ok(());
        }
        let fact = Fact::PromotionRecovered {
            promotion: id,
            state,
        };
        self.journal_promotion(id, &fact, at)
    }

    /// Changes the state; says whether it was another one before.
    fn advance_promotion(
        &self,
        id: PromotionId,
        to: PromotionState,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let from = self.read().promotion(id)?.state;
        if from == to {
            return Ok(false);
        }
        if !from.may_become(to) {
            return Err(StoreError::PromotionOutOfTurn { from, to });
        }
        self.transaction
            .prepare_cached("UPDATE promotion SET state = ?2, ended_ms = ?3 WHERE id = ?1")?
            .execute(params![id.to_string(), to.word(), at.millis()])?;
        Ok(true)
    }

    fn journal_promotion(
        &self,
        id: PromotionId,
        fact: &Fact,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let promotion = self.read().promotion(id)?;
        self.append(promotion.project, Some(promotion.sandbox), at, fact)?;
        Ok(())
    }
}

impl Reader<'_> {
    /// The promotion of this id.
    pub fn promotion(&self, id: PromotionId) -> Result<Promotion, StoreError> {
        self.connection
            .prepare_cached(&format!("SELECT {COLUMNS} FROM promotion WHERE id = ?1"))?
            .query_row([id.to_string()], read)
            .optional()?
            .ok_or_else(|| StoreError::Missing {
                what: "promotion",
                name: id.to_string(),
            })
    }

    /// The promotions of a project, newest first.
    pub fn promotions(&self, project: ProjectId) -> Result<Vec<Promotion>, StoreError> {
        let mut statement = self.connection.prepare_cached(&format!(
            "SELECT {COLUMNS} FROM promotion WHERE project = ?1 ORDER BY id DESC"
        ))?;
        let promotions = statement.query_map([project.to_string()], read)?;
        Ok(promotions.collect::<rusqlite::Result<_>>()?)
    }

    /// The promotions of a project that a process began to apply or to take back and did not say how
    /// it ended, oldest first.
    pub fn unsettled_promotions(&self, project: ProjectId) -> Result<Vec<Promotion>, StoreError> {
        let mut statement = self.connection.prepare_cached(&format!(
            "SELECT {COLUMNS} FROM promotion WHERE project = ?1
             AND (state = 'started' OR (state = 'applied' AND undone_by IS NOT NULL)) ORDER BY id"
        ))?;
        let promotions = statement.query_map([project.to_string()], read)?;
        Ok(promotions.collect::<rusqlite::Result<_>>()?)
    }

    /// The newest promotion of a project that is in it now: the one that `undo` takes back.
    pub fn last_applied(&self, project: ProjectId) -> Result<Option<Promotion>, StoreError> {
        Ok(self
            .connection
            .prepare_cached(&format!(
                "SELECT {COLUMNS} FROM promotion WHERE project = ?1 AND state = 'applied'
                 ORDER BY id DESC LIMIT 1"
            ))?
            .query_row([project.to_string()], read)
            .optional()?)
    }

    /// The newest promotion of a sandbox's changes that is in the project now.
    pub fn last_applied_of(&self, sandbox: SandboxId) -> Result<Option<Promotion>, StoreError> {
        Ok(self
            .connection
            .prepare_cached(&format!(
                "SELECT {COLUMNS} FROM promotion WHERE sandbox = ?1 AND state = 'applied'
                 ORDER BY id DESC LIMIT 1"
            ))?
            .query_row([sandbox.to_string()], read)
            .optional()?)
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Promotion> {
    Ok(Promotion {
        id: parsed(row, 0)?,
        sandbox: parsed(row, 1)?,
        project: parsed(row, 2)?,
        state: word(row, 3, |text| {
            PromotionState::ALL
                .into_iter()
                .find(|state| state.word() == text)
        })?,
        created: moment(row, 4)?,
        ended: moment_option(row, 5)?,
        summary: json(row, 6)?,
        undone_by: parsed_option(row, 7)?,
    })
}
