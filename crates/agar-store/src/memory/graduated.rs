//! What a sandbox's memory holds, and what of it crossed into the project's.

use crate::memory::{MemoryReader, MemoryWriter};
use crate::store::StoreError;
use agar_core::id::{ProjectId, SandboxId};
use agar_core::seam::Timestamp;
use rusqlite::{Row, params};
use serde::{Deserialize, Serialize};

/// A pattern of a sandbox, or one that graduated from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GraduatedPattern {
    /// The name of this row.
    #[serde(rename = "row")]
    pub id: String,
    /// The sandbox it was seen in.
    pub sandbox: String,
    /// What sort it is.
    pub kind: String,
    /// What it says.
    pub description: String,
    /// How often it was seen.
    pub occurrences: u64,
    /// The share that worked.
    pub success_rate: f64,
    /// How sure that is.
    pub confidence: f64,
    /// When it was first seen, RFC 3339.
    pub first_seen: String,
    /// When it was last seen, RFC 3339.
    pub last_seen: String,
    /// Where it comes from, as JSON.
    pub metadata: String,
    /// The short name of the pattern, the same in all sandboxes.
    pub pattern: String,
    /// `sandbox` or `sandbox_graduation`.
    pub source: String,
}

/// A memory of a sandbox, or one that graduated from it.
#[derive(Debug, Clone, PartialEq)]
pub struct SandboxMemoryRow {
    /// The name of this row.
    pub id: String,
    /// The sandbox.
    pub sandbox: String,
    /// What sort it is.
    pub kind: String,
    /// What it holds, as JSON.
    pub content: String,
    /// How sure it is.
    pub confidence: f64,
    /// Whether it crossed.
    pub graduated: bool,
    /// When, RFC 3339.
    pub created: String,
}

/// A successful exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversation {
    /// Its name: the experiment's.
    pub id: String,
    /// What was proposed.
    pub input: String,
    /// What came of it, as JSON.
    pub reply: String,
    /// Where it comes from, as JSON.
    pub metadata: String,
    /// When, RFC 3339.
    pub created: String,
}

/// A line of the view `pattern_evolution`.
#[derive(Debug, Clone, PartialEq)]
pub struct Evolution {
    /// What sort of pattern.
    pub kind: String,
    /// What it says.
    pub description: String,
    /// In how many sandboxes.
    pub sandboxes: u64,
    /// The mean share of successes.
    pub success_rate: f64,
    /// The mean confidence.
    pub confidence: f64,
    /// How often in all.
    pub occurrences: u64,
}

const COLUMNS: &str = "id, sandbox_id, pattern_type, description, occurrences, success_rate, \
     confidence, first_seen, last_seen, metadata, pattern_id, source";

impl MemoryWriter<'_> {
    /// Keeps a pattern.
    pub fn set_pattern(
        &self,
        project: ProjectId,
        pattern: &GraduatedPattern,
    ) -> Result<(), StoreError> {
        self.transaction
            .prepare_cached(
                "INSERT OR REPLACE INTO sandbox_patterns (id, sandbox_id, pattern_type,
                 description, occurrences, success_rate, confidence, first_seen, last_seen,
                 metadata, project, pattern_id, source)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
            )?
            .execute(params![
                pattern.id,
                pattern.sandbox,
                pattern.kind,
                pattern.description,
                pattern.occurrences,
                pattern.success_rate,
                pattern.confidence,
                pattern.first_seen,
                pattern.last_seen,
                pattern.metadata,
                project.to_string(),
                pattern.pattern,
                pattern.source
            ])?;
        Ok(())
    }

    /// Keeps how sure a pattern is.
    pub fn set_confidence(
        &self,
        pattern: &str,
        confidence: f64,
        uses: (u64, u64),
        at: Timestamp,
    ) -> Result<(), StoreError> {
        self.transaction
            .prepare_cached(
                "INSERT OR REPLACE INTO pattern_confidence
                 (pattern_id, confidence, successful_uses, failed_uses, last_updated)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![pattern, confidence, uses.0, uses.1, at.to_string()])?;
        Ok(())
    }

    /// Brings the confidence of a graduated pattern up to date; says whether there is one.
    pub fn update_confidence(
        &self,
        pattern: &str,
        confidence: f64,
        uses: (u64, u64),
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let changed = self
            .transaction
            .prepare_cached(
                "UPDATE pattern_confidence SET confidence = ?2, successful_uses = ?3,
                 failed_uses = ?4, last_updated = ?5 WHERE pattern_id = ?1",
            )?
            .execute(params![pattern, confidence, uses.0, uses.1, at.to_string()])?;
        Ok(changed == 1)
    }

    /// Keeps a memory.
    pub fn set_memory(&self, memory: &SandboxMemoryRow) -> Result<(), StoreError> {
        self.transaction
            .prepare_cached(
                "INSERT OR REPLACE INTO sandbox_memories (id, sandbox_id, memory_type, content,
                 confidence, graduated, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?
            .execute(params![
                memory.id,
                memory.sandbox,
                memory.kind,
                memory.content,
                memory.confidence,
                memory.graduated,
                memory.created
            ])?;
        Ok(())
    }

    /// Marks every memory of a sandbox as crossed.
    pub fn mark_graduated(&self, sandbox: SandboxId) -> Result<(), StoreError> {
        self.transaction
            .prepare_cached("UPDATE sandbox_memories SET graduated = TRUE WHERE sandbox_id = ?1")?
            .execute([sandbox.to_string()])?;
        Ok(())
    }

    /// Keeps a successful exchange.
    pub fn set_conversation(
        &self,
        project: ProjectId,
        conversation: &Conversation,
    ) -> Result<(), StoreError> {
        self.transaction
            .prepare_cached(
                "INSERT OR REPLACE INTO conversations (id, project, user_input, reply, success,
                 metadata, created_at) VALUES (?1, ?2, ?3, ?4, TRUE, ?5, ?6)",
            )?
            .execute(params![
                conversation.id,
                project.to_string(),
                conversation.input,
                conversation.reply,
                conversation.metadata,
                conversation.created
            ])?;
        Ok(())
    }
}

impl MemoryReader<'_> {
    /// The patterns of a sandbox.
    pub fn patterns_of(&self, sandbox: SandboxId) -> Result<Vec<GraduatedPattern>, StoreError> {
        let query =
            format!("SELECT {COLUMNS} FROM sandbox_patterns WHERE sandbox_id = ?1 ORDER BY id");
        self.rows(&query, [sandbox.to_string()], read)
    }

    /// Every row of a project's graduated patterns, newest first.
    pub fn graduated(
        &self,
        project: ProjectId,
        limit: u32,
    ) -> Result<Vec<GraduatedPattern>, StoreError> {
        let query = format!(
            "SELECT {COLUMNS} FROM sandbox_patterns WHERE project = ?1
             AND source = 'sandbox_graduation' ORDER BY last_seen DESC, id LIMIT ?2"
        );
        self.rows(&query, params![project.to_string(), limit], read)
    }

    /// The rows of one graduated pattern: one for each sandbox it came from.
    pub fn graduations_of(
        &self,
        project: ProjectId,
        pattern: &str,
    ) -> Result<Vec<GraduatedPattern>, StoreError> {
        let query = format!(
            "SELECT {COLUMNS} FROM sandbox_patterns WHERE project = ?1 AND pattern_id = ?2
             ORDER BY id"
        );
        self.rows(&query, params![project.to_string(), pattern], read)
    }

    /// The memories of a sandbox, in the order they were made.
    pub fn memories_of(&self, sandbox: SandboxId) -> Result<Vec<SandboxMemoryRow>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT id, sandbox_id, memory_type, content, confidence, graduated, created_at
             FROM sandbox_memories WHERE sandbox_id = ?1 ORDER BY id",
        )?;
        let found = statement.query_map([sandbox.to_string()], |row| {
            Ok(SandboxMemoryRow {
                id: row.get(0)?,
                sandbox: row.get(1)?,
                kind: row.get(2)?,
                content: row.get(3)?,
                confidence: row.get(4)?,
                graduated: row.get(5)?,
                created: row.get(6)?,
            })
        })?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    }

    /// The successful exchanges of a project, oldest first.
    pub fn conversations(&self, project: ProjectId) -> Result<Vec<Conversation>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT id, user_input, reply, metadata, created_at FROM conversations
             WHERE project = ?1 ORDER BY created_at, id",
        )?;
        let found = statement.query_map([project.to_string()], |row| {
            Ok(Conversation {
                id: row.get(0)?,
                input: row.get(1)?,
                reply: row.get(2)?,
                metadata: row.get(3)?,
                created: row.get(4)?,
            })
        })?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    }

    /// The view `pattern_evolution`.
    pub fn evolution(&self) -> Result<Vec<Evolution>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT pattern_type, description, sandbox_count, avg_success_rate, avg_confidence,
             total_occurrences FROM pattern_evolution ORDER BY sandbox_count DESC, description",
        )?;
        let found = statement.query_map([], |row| {
            Ok(Evolution {
                kind: row.get(0)?,
                description: row.get(1)?,
                sandboxes: row.get(2)?,
                success_rate: row.get(3)?,
                confidence: row.get(4)?,
                occurrences: row.get(5)?,
            })
        })?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<GraduatedPattern> {
    Ok(GraduatedPattern {
        id: row.get(0)?,
        sandbox: row.get(1)?,
        kind: row.get(2)?,
        description: row.get(3)?,
        occurrences: row.get(4)?,
        success_rate: row.get(5)?,
        confidence: row.get(6)?,
        first_seen: row.get(7)?,
        last_seen: row.get(8)?,
        metadata: row.get(9)?,
        pattern: row.get(10)?,
        source: row.get(11)?,
    })
}
