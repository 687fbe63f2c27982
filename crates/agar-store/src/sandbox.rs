//! Sandboxes on record.

use crate::column::{json, json_option, moment, parsed, parsed_option, to_json, word};
use crate::fact::Fact;
use crate::store::{Reader, StoreError, Writer};
use agar_core::alias;
use agar_core::id::{ProjectId, SandboxId, SnapshotId};
use agar_core::limits::Limits;
use agar_core::seam::{Entropy, Timestamp};
use agar_core::secret;
use agar_core::state::{Event, State};
use agar_core::walls::{BaseKind, Identity, Network, Tier};
use rusqlite::{ErrorCode, OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};

/// A sandbox on record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sandbox {
    /// Its permanent name.
    pub id: SandboxId,
    /// Its two words, unique among the living: those in the trash do not count.
    pub alias: String,
    /// The project it is a copy of.
    pub project: ProjectId,
    /// Where it is in its life.
    pub state: State,
    /// The walls around it.
    pub tier: Tier,
    /// What it may reach.
    pub network: Network,
    /// What it starts from.
    pub base: BaseKind,
    /// The generation it starts from, when frozen.
    pub generation: Option<u64>,
    /// Its stacks of layers, as the JSON that their owner wrote.
    pub stacks: String,
    /// The walls against runaways.
    pub limits: Limits,
    /// Whose id its processes carry.
    pub identity: Identity,
    /// What a person or an agent said it is for, without secrets.
    pub note: Option<String>,
    /// The sandbox it was forked from.
    pub parent: Option<SandboxId>,
    /// The snapshot it was forked from.
    pub origin: Option<SnapshotId>,
    /// How many forks lie between it and a sandbox that was created.
    pub depth: u32,
    /// The snapshot that its present state descends from.
    pub head: Option<SnapshotId>,
    /// A change of its layers that was begun, as the JSON that its owner wrote.
    pub pending: Option<String>,
    /// When it was made.
    pub created: Timestamp,
    /// When its record last changed.
    pub updated: Timestamp,
    /// The process that keeps it, while there is one.
    pub keeper: Option<Keeper>,
}

/// The process that keeps a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keeper {
    /// Its process id.
    pub pid: u32,
    /// When it started, in clock ticks since boot (field 22 of `/proc/<pid>/stat`): process ids are
    /// given out again.
    pub start_ticks: u64,
}

/// What a sandbox is made of after its layers changed.
#[derive(Debug, Clone, Copy)]
pub struct Arrival<'a> {
    /// Its layers, as the JSON that their owner wrote.
    pub stacks: &'a str,
    /// What they lie on.
    pub base: BaseKind,
    /// The generation they lie on, when frozen.
    pub generation: Option<u64>,
}

/// A sandbox about to be recorded.
#[derive(Debug, Clone)]
pub struct NewSandbox {
    /// Its permanent name.
    pub id: SandboxId,
    /// The two words somebody chose, or none to draw some.
    pub alias: Option<String>,
    /// The project it is a copy of.
    pub project: ProjectId,
    /// The walls around it.
    pub tier: Tier,
    /// What it may reach.
    pub network: Network,
    /// What it starts from.
    pub base: BaseKind,
    /// The generation it starts from, when frozen.
    pub generation: Option<u64>,
    /// Its stacks of layers, as JSON.
    pub stacks: String,
    /// The walls against runaways.
    pub limits: Limits,
    /// Whose id its processes carry.
    pub identity: Identity,
    /// What it is for. Secrets in it are not kept.
    pub note: Option<String>,
    /// The sandbox it was forked from.
    pub parent: Option<SandboxId>,
    /// The snapshot it was forked from, and how many forks lie above it.
    pub origin: Option<(SnapshotId, u32)>,
}

/// Which sandboxes to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scope {
    /// Those whose layers are on disk.
    #[default]
    Kept,
    /// Those whose jail may be up.
    Alive,
    /// Also those of which only the record remains.
    All,
}

impl Scope {
    const fn holds(self, state: State) -> bool {
        match self {
            Self::Kept => state.has_layers(),
            Self::Alive => state.is_alive(),
            Self::All => true,
        }
    }
}

/// The columns that [`read`] expects, in its order.
pub(crate) const COLUMNS: &str = "id, alias, project, state, tier, network, base, generation, \
     stacks, limits, identity, note, parent, created_ms, updated_ms, keeper, origin, depth, head, \
     pending";

/// Moves a sandbox on whose jail is up, or about to be.
const ADVANCE: &str = "UPDATE sandbox SET state = ?2, updated_ms = ?3 WHERE id = ?1";

/// The same where no process keeps it any more.
pub(crate) const ADVANCE_DOWN: &str =
    "UPDATE sandbox SET state = ?2, updated_ms = ?3, keeper = NULL WHERE id = ?1";

impl Writer<'_> {
    /// Records a sandbox that is being made, under its chosen alias or a free one.
    pub fn create_sandbox(
        &self,
        new: &NewSandbox,
        entropy: &dyn Entropy,
        at: Timestamp,
    ) -> Result<Sandbox, StoreError> {
        let alias = match &new.alias {
            Some(chosen) if !alias::is_alias_like(chosen) => {
                return Err(StoreError::NotAnAlias(chosen.chars().take(64).collect()));
            }
            // It would stand in front of the sandbox of that id.
            Some(chosen) if chosen.parse::<SandboxId>().is_ok() => {
                return Err(StoreError::AliasIsId(chosen.clone()));
            }
            Some(chosen) => chosen.clone(),
            None => self.draw_alias(entropy)?,
        };
        self.insert_sandbox(new, &alias, at)?;
        let fact = Fact::SandboxCreated {
            alias,
            tier: new.tier,
            network: new.network.clone(),
            base: new.base,
            generation: new.generation,
            parent: new.parent,
        };
        self.append(new.project, Some(new.id), at, &fact)?;
        if let Some((snapshot, depth)) = new.origin {
            let fact = Fact::SandboxForked { snapshot, depth };
            self.append(new.project, Some(new.id), at, &fact)?;
        }
        self.read().sandbox(new.id)
    }

    fn insert_sandbox(
        &self,
        new: &NewSandbox,
        alias: &str,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let inserted = self
            .transaction
            .prepare_cached(
                "INSERT INTO sandbox (id, alias, project, state, tier, network, base, generation,
                 stacks, limits, identity, note, parent, created_ms, updated_ms, origin, depth, head)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?14, ?15,
                 ?16, ?15)",
            )?
            .execute(params![
                new.id.to_string(),
                alias,
                new.project.to_string(),
                State::Creating.word(),
                new.tier.word(),
                to_json(&new.network)?,
                new.base.word(),
                new.generation,
                new.stacks,
                to_json(&new.limits)?,
                new.identity.word(),
                new.note.as_deref().map(secret::redact),
                new.parent.map(|id| id.to_string()),
                at.millis(),
                new.origin.map(|(snapshot, _)| snapshot.to_string()),
                new.origin.map_or(0, |(_, depth)| depth)
            ]);
        match inserted {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation)
                    && self.is_taken(alias)? =>
            {
                Err(StoreError::AliasTaken(alias.to_owned()))
            }
            other => Ok(other.map(|_| ())?),
        }
    }

    /// Moves a sandbox on in its life, if the event fits.
    ///
    /// An event that leaves it where it is changes nothing and is not journalled.
    pub fn advance_sandbox(
        &self,
        id: SandboxId,
        event: Event,
        at: Timestamp,
    ) -> Result<State, StoreError> {
        let sandbox = self.read().sandbox(id)?;
        let from = sandbox.state;
        let to = from.after(event)?;
        if from == to {
            return Ok(to);
        }
        let change = if to.is_alive() { ADVANCE } else { ADVANCE_DOWN };
        self.transaction.prepare_cached(change)?.execute(params![
            id.to_string(),
            to.word(),
            at.millis()
        ])?;
        let fact = Fact::SandboxState { from, to, event };
        self.append(sandbox.project, Some(id), at, &fact)?;
        Ok(to)
    }

    /// Remembers the process that keeps a sandbox, or that there is none.
    pub fn set_keeper(
        &self,
        id: SandboxId,
        keeper: Option<&Keeper>,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let keeper = keeper.map(to_json).transpose()?;
        self.update(id, "keeper", keeper.as_deref(), at)
    }

    /// Replaces the note of a sandbox. Secrets in it are not kept.
    pub fn set_note(
        &self,
        id: SandboxId,
        note: Option<&str>,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        self.update(id, "note", note.map(secret::redact).as_deref(), at)
    }

    /// Replaces the stacks of a sandbox.
    pub fn set_stacks(&self, id: SandboxId, stacks: &str, at: Timestamp) -> Result<(), StoreError> {
        self.update(id, "stacks", Some(stacks), at)
    }

    /// Notes a change of a sandbox's layers that is about to be made, or that none is.
    pub fn set_pending(
        &self,
        id: SandboxId,
        pending: Option<&str>,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        self.update(id, "pending", pending, at)
    }

    /// Makes a change of a sandbox's layers true: what it is made of from now on, what that descends
    /// from, and that no change is under way. One statement, since its row is a long one.
    pub fn arrive(
        &self,
        id: SandboxId,
        arrival: Option<&Arrival<'_>>,
        head: Option<SnapshotId>,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let changed = self
            .transaction
            .prepare_cached(
                "UPDATE sandbox SET stacks = coalesce(?2, stacks), base = coalesce(?3, base),
                 generation = CASE WHEN ?3 IS NULL THEN generation ELSE ?4 END,
                 head = ?5, pending = NULL, updated_ms = ?6 WHERE id = ?1",
            )?
            .execute(params![
                id.to_string(),
                arrival.map(|arrival| arrival.stacks),
                arrival.map(|arrival| arrival.base.word()),
                arrival.and_then(|arrival| arrival.generation),
                head.map(|head| head.to_string()),
                at.millis()
            ])?;
        if changed == 1 {
            Ok(())
        } else {
            Err(missing(&id.to_string()))
        }
    }

    /// Replaces the limits of a sandbox.
    pub fn set_limits(
        &self,
        id: SandboxId,
        limits: &Limits,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        self.update(id, "limits", Some(&to_json(limits)?), at)
    }

    pub(crate) fn update(
        &self,
        id: SandboxId,
        column: &'static str,
        value: Option<&str>,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let changed = self
            .transaction
            .prepare_cached(&format!(
                "UPDATE sandbox SET {column} = ?2, updated_ms = ?3 WHERE id = ?1"
            ))?
            .execute(params![id.to_string(), value, at.millis()])?;
        if changed == 1 {
            Ok(())
        } else {
            Err(missing(&id.to_string()))
        }
    }
}

impl Reader<'_> {
    /// The sandbox of this id.
    pub fn sandbox(&self, id: SandboxId) -> Result<Sandbox, StoreError> {
        self.connection
            .prepare_cached(&format!("SELECT {COLUMNS} FROM sandbox WHERE id = ?1"))?
            .query_row([id.to_string()], read)
            .optional()?
            .ok_or_else(|| missing(&id.to_string()))
    }

    /// The project of a sandbox.
    pub(crate) fn project_of(&self, id: SandboxId) -> Result<ProjectId, StoreError> {
        self.connection
            .prepare_cached("SELECT project FROM sandbox WHERE id = ?1")?
            .query_row([id.to_string()], |row| parsed(row, 0))
            .optional()?
            .ok_or_else(|| missing(&id.to_string()))
    }

    /// Sandboxes with a change of their layers under way.
    pub fn sandboxes_pending(&self) -> Result<Vec<Sandbox>, StoreError> {
        let mut statement = self.connection.prepare_cached(&format!(
            "SELECT {COLUMNS} FROM sandbox WHERE pending IS NOT NULL"
        ))?;
        let found = statement.query_map([], read)?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    }

    /// Sandboxes of one project, or of all, oldest first.
    pub fn sandboxes(
        &self,
        project: Option<ProjectId>,
        scope: Scope,
    ) -> Result<Vec<Sandbox>, StoreError> {
        let mut statement = self.connection.prepare_cached(&format!(
            "SELECT {COLUMNS} FROM sandbox WHERE (?1 IS NULL OR project = ?1)
             AND (?2 OR state <> 'collected') ORDER BY created_ms, id"
        ))?;
        let all = scope == Scope::All;
        let found = statement.query_map(params![project.map(|id| id.to_string()), all], read)?;
        let found: Vec<Sandbox> = found.collect::<rusqlite::Result<_>>()?;
        Ok(found
            .into_iter()
            .filter(|sandbox| scope.holds(sandbox.state))
            .collect())
    }
}

pub(crate) fn missing(name: &str) -> StoreError {
    StoreError::Missing {
        what: "sandbox",
        name: name.chars().take(64).collect(),
    }
}

pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Sandbox> {
    Ok(Sandbox {
        id: parsed(row, 0)?,
        alias: row.get(1)?,
        project: parsed(row, 2)?,
        state: word(row, 3, State::from_word)?,
        tier: parsed(row, 4)?,
        network: json(row, 5)?,
        base: word(row, 6, |text| {
            [BaseKind::Frozen, BaseKind::Live]
                .into_iter()
                .find(|base| base.word() == text)
        })?,
        generation: row.get(7)?,
        stacks: row.get(8)?,
        limits: json(row, 9)?,
        identity: word(row, 10, |text| {
            [Identity::Caller, Identity::FakeRoot]
                .into_iter()
                .find(|identity| identity.word() == text)
        })?,
        note: row.get(11)?,
        parent: parsed_option(row, 12)?,
        created: moment(row, 13)?,
        updated: moment(row, 14)?,
        keeper: json_option(row, 15)?,
        origin: parsed_option(row, 16)?,
        depth: row.get(17)?,
        head: parsed_option(row, 18)?,
        pending: row.get(19)?,
    })
}
