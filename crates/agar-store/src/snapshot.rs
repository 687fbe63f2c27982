//! Snapshots on record: named points in the layers of sandboxes.

use crate::column::{bytes, moment, parsed, parsed_option, path, word};
use crate::fact::Fact;
use crate::store::{Reader, StoreError, Writer};
use agar_core::id::{ProjectId, SandboxId, SnapshotId};
use agar_core::seam::Timestamp;
use agar_core::secret;
use agar_core::snapshot::{SnapshotKind, Taken};
use agar_core::walls::BaseKind;
use rusqlite::{ErrorCode, OptionalExtension, Row, params};
use std::path::PathBuf;

/// A snapshot on record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Its permanent name.
    pub id: SnapshotId,
    /// The sandbox it is a point of.
    pub sandbox: SandboxId,
    /// Its number within that sandbox, in the order in which they were taken.
    pub number: u64,
    /// Its name within that sandbox.
    pub name: String,
    /// Why it is there.
    pub kind: SnapshotKind,
    /// What a person or an agent said about it, without secrets.
    pub note: Option<String>,
    /// The snapshot that the state it holds descends from.
    pub parent: Option<SnapshotId>,
    /// What its layers lie on.
    pub base: BaseKind,
    /// The generation they lie on, when frozen.
    pub generation: Option<u64>,
    /// Its layers, as the JSON that their owner wrote.
    pub stacks: String,
    /// In which state the sandbox was.
    pub taken: Taken,
    /// How long processes stood still for it, in microseconds.
    pub frozen_us: Option<u64>,
    /// When it was taken.
    pub created: Timestamp,
}

/// A directory that stands for a run of layers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joined {
    /// The directory.
    pub layer: PathBuf,
    /// The sandbox in whose directory it lies.
    pub sandbox: SandboxId,
    /// What it stands for, topmost first, as the JSON that their owner wrote.
    pub parts: String,
}

const COLUMNS: &str = "snapshot.id, snapshot.sandbox, snapshot.name, snapshot.kind, \
     snapshot.note, snapshot.parent, snapshot.base, snapshot.generation, snapshot.stacks, \
     snapshot.taken, snapshot.frozen_us, snapshot.created_ms, snapshot.number";

impl Writer<'_> {
    /// Records a snapshot whose layers are on disk. The sandbox's state descends from it now.
    pub fn add_snapshot(&self, new: &Snapshot) -> Result<(), StoreError> {
        let project = self.read().project_of(new.sandbox)?;
        let inserted = self
            .transaction
            .prepare_cached(
                "INSERT INTO snapshot (id, sandbox, name, kind, note, parent, base, generation,
                 stacks, taken, frozen_us, created_ms, number)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
            )?
            .execute(params![
                new.id.to_string(),
                new.sandbox.to_string(),
                new.name,
                new.kind.word(),
                new.note.as_deref().map(secret::redact),
                new.parent.map(|id| id.to_string()),
                new.base.word(),
                new.generation,
                new.stacks,
                new.taken.word(),
                new.frozen_us,
                new.created.millis(),
                new.number
            ]);
        match inserted {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
                return Err(StoreError::AliasTaken(new.name.clone()));
            }
            other => drop(other?),
        }
        let fact = Fact::SnapshotTaken {
            snapshot: new.id,
            name: new.name.clone(),
            reason: new.kind,
            frozen_us: new.frozen_us,
        };
        self.append(project, Some(new.sandbox), new.created, &fact)?;
        Ok(())
    }

    /// Forgets a snapshot. What descends from it, also a fork, descends from its parent from then on. Its
    /// layers are the owner's to remove.
    pub fn remove_snapshot(
        &self,
        snapshot: &Snapshot,
        reason: &str,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let gone = self
            .transaction
            .prepare_cached("DELETE FROM snapshot WHERE id = ?1")?
            .execute([snapshot.id.to_string()])?;
        self.transaction
            .prepare_cached("UPDATE snapshot SET parent = ?2 WHERE parent = ?1")?
            .execute(params![
                snapshot.id.to_string(),
                snapshot.parent.map(|id| id.to_string())
            ])?;
        self.transaction
            .prepare_cached(
                "UPDATE sandbox SET head = ?2 WHERE head = ?1 AND (id = ?3 OR parent = ?3)",
            )?
            .execute(params![
                snapshot.id.to_string(),
                snapshot.parent.map(|id| id.to_string()),
                snapshot.sandbox.to_string()
            ])?;
        if gone == 1 {
            let project = self.read().project_of(snapshot.sandbox)?;
            let fact = Fact::SnapshotRemoved {
                snapshot: snapshot.id,
                name: snapshot.name.clone(),
                reason: reason.to_owned(),
            };
            self.append(project, Some(snapshot.sandbox), at, &fact)?;
        }
        Ok(())
    }

    /// Replaces the layers of a snapshot by others that show the same.
    pub fn set_snapshot_stacks(&self, id: SnapshotId, stacks: &str) -> Result<(), StoreError> {
        self.transaction
            .prepare_cached("UPDATE snapshot SET stacks = ?2 WHERE id = ?1")?
            .execute(params![id.to_string(), stacks])?;
        Ok(())
    }

    /// Notes that one directory stands for a run of layers.
    pub fn add_joined(&self, joined: &Joined) -> Result<(), StoreError> {
        self.transaction
            .prepare_cached(
                "INSERT OR REPLACE INTO joined (layer, sandbox, parts) VALUES (?1, ?2, ?3)",
            )?
            .execute(params![
                bytes(&joined.layer),
                joined.sandbox.to_string(),
                joined.parts
            ])?;
        Ok(())
    }

    /// Forgets all directories of a sandbox that stood for runs of layers.
    pub fn remove_joined_of(&self, sandbox: SandboxId) -> Result<(), StoreError> {
        self.transaction
            .prepare_cached("DELETE FROM joined WHERE sandbox = ?1")?
            .execute([sandbox.to_string()])?;
        Ok(())
    }

    /// Forgets a directory that stood for a run of layers.
    pub fn remove_joined(&self, layer: &std::path::Path) -> Result<(), StoreError> {
        self.transaction
            .prepare_cached("DELETE FROM joined WHERE layer = ?1")?
            .execute([bytes(layer)])?;
        Ok(())
    }
}

impl Reader<'_> {
    /// The snapshot of this id.
    pub fn snapshot(&self, id: SnapshotId) -> Result<Snapshot, StoreError> {
        self.connection
            .prepare_cached(&format!("SELECT {COLUMNS} FROM snapshot WHERE id = ?1"))?
            .query_row([id.to_string()], read)
            .optional()?
            .ok_or_else(|| StoreError::Missing {
                what: "snapshot",
                name: id.to_string(),
            })
    }

    /// The snapshot of this name.
    pub fn snapshot_named(
        &self,
        sandbox: SandboxId,
        name: &str,
    ) -> Result<Option<Snapshot>, StoreError> {
        Ok(self
            .connection
            .prepare_cached(&format!(
                "SELECT {COLUMNS} FROM snapshot WHERE sandbox = ?1 AND name = ?2"
            ))?
            .query_row([sandbox.to_string(), name.to_owned()], read)
            .optional()?)
    }

    /// The snapshots of a sandbox, oldest first.
    pub fn snapshots(&self, sandbox: SandboxId) -> Result<Vec<Snapshot>, StoreError> {
        let mut statement = self.connection.prepare_cached(&format!(
            "SELECT {COLUMNS} FROM snapshot WHERE sandbox = ?1 ORDER BY number"
        ))?;
        let found = statement.query_map([sandbox.to_string()], read)?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    }

    /// The snapshots of a project's sandboxes, or of all, oldest first.
    pub fn snapshots_of(&self, project: Option<ProjectId>) -> Result<Vec<Snapshot>, StoreError> {
        let mut statement = self.connection.prepare_cached(&format!(
            "SELECT {COLUMNS} FROM snapshot JOIN sandbox ON sandbox.id = snapshot.sandbox
             WHERE ?1 IS NULL OR sandbox.project = ?1 ORDER BY snapshot.created_ms, snapshot.number"
        ))?;
        let found = statement.query_map([project.map(|id| id.to_string())], read)?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    }

    /// How many snapshots a sandbox has.
    pub fn snapshot_count(&self, sandbox: SandboxId) -> Result<u32, StoreError> {
        Ok(self
            .connection
            .prepare_cached("SELECT count(*) FROM snapshot WHERE sandbox = ?1")?
            .query_row([sandbox.to_string()], |row| row.get(0))?)
    }

    /// The number of the next snapshot of a sandbox.
    pub fn next_snapshot_number(&self, sandbox: SandboxId) -> Result<u64, StoreError> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT max(number) FROM snapshot WHERE sandbox = ?1")?;
        let highest: Option<u64> = statement.query_row([sandbox.to_string()], |row| row.get(0))?;
        Ok(highest.unwrap_or(0) + 1)
    }

    /// Whether a sandbox joined layers that others may stand on.
    pub fn has_joined(&self, sandbox: SandboxId) -> Result<bool, StoreError> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT EXISTS (SELECT 1 FROM joined WHERE sandbox = ?1)")?;
        Ok(statement.query_row([sandbox.to_string()], |row| row.get(0))?)
    }

    /// The directories that stand for runs of layers.
    pub fn joined(&self) -> Result<Vec<Joined>, StoreError> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT layer, sandbox, parts FROM joined ORDER BY layer")?;
        let found = statement.query_map([], |row| {
            Ok(Joined {
                layer: path(row, 0)?,
                sandbox: parsed(row, 1)?,
                parts: row.get(2)?,
            })
        })?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Snapshot> {
    Ok(Snapshot {
        id: parsed(row, 0)?,
        sandbox: parsed(row, 1)?,
        name: row.get(2)?,
        kind: word(row, 3, SnapshotKind::from_word)?,
        note: row.get(4)?,
        parent: parsed_option(row, 5)?,
        base: word(row, 6, |text| {
            [BaseKind::Frozen, BaseKind::Live]
                .into_iter()
                .find(|base| base.word() == text)
        })?,
        generation: row.get(7)?,
        stacks: row.get(8)?,
        taken: word(row, 9, Taken::from_word)?,
        frozen_us: row.get(10)?,
        created: moment(row, 11)?,
        number: row.get(12)?,
    })
}
