//! A cell's place on disk, and the lock of whoever uses it.

use super::super::failure::EvolveError;
use super::super::keep::Kept;
use super::super::tables::{hex, unhex};
use crate::{Engine, EngineError};
use agar_evolve::dish::{Comparison, Shadow};
use agar_evolve::{
    Cell, DishSettings, Dormant, DormantVersion, GenomeId, Incubator, Limits, Message, Metrics,
    Rules, Settings, State,
};
use agar_store::evolution::{CellRow, CellVersionRow};
use rustix::fs::{FlockOperation, Mode, OFlags};
use serde::{Deserialize, Serialize};
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// What is kept of a cell beside its code and its state.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Document {
    pub(super) total_versions: u32,
    pub(super) limits: Limits,
    seed: u64,
    params: String,
    pub(super) metrics: Metrics,
    pub(super) messages: Vec<(u64, String)>,
    last_ticket: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) shadow: Option<Watched>,
}

/// A variant in the shadow of a cell: by what it is judged, and what was seen of it.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Watched {
    pub(super) rules: Shadow,
    pub(super) seen: Comparison,
}

/// What a genome of a lasting cell may be: the dish's rules.
pub(super) fn rules() -> Rules {
    Rules {
        memory_pages_max: DishSettings::default().memory_pages_max,
        ..Rules::default()
    }
}

/// Where cells live while a command uses them.
pub(super) fn incubator(engine: &Engine) -> Incubator {
    Incubator::new(
        &Settings::default(),
        Arc::clone(&engine.surroundings().clock),
    )
}

/// A record that cannot be understood.
pub(super) fn broken(name: &str, why: &impl ToString) -> EngineError {
    EvolveError::Record {
        name: name.to_owned(),
        why: why.to_string(),
    }
    .into()
}

/// A cell that nobody else uses meanwhile.
pub(super) struct Held {
    pub(super) kept: Kept,
    pub(super) row: CellRow,
    pub(super) cell: Cell,
    pub(super) shadow: Option<Watched>,
    _turn: OwnedFd,
}

impl Held {
    /// Takes a cell, after whoever uses it now.
    pub(super) fn take(engine: &Engine, name: &str) -> Result<Self, EngineError> {
        let kept = Kept::open(engine)?;
        let turn = turn(&kept, find(&kept, name)?.id)?;
        // Whoever had the turn before has changed it, or removed it.
        let row = find(&kept, name)?;
        let shadow = document(&row)?.shadow;
        let dormant = dormant(&kept, &row)?;
        let cell = incubator(engine).revive(&dormant, &rules());
        let cell = cell.map_err(|source| EvolveError::Revive {
            name: row.name.clone(),
            source,
        })?;
        Ok(Self {
            kept,
            row,
            cell,
            shadow,
            _turn: turn,
        })
    }

    /// Writes down what it has become.
    pub(super) fn put(&mut self, engine: &Engine) -> Result<(), EngineError> {
        let (row, versions) = self.rows(engine)?;
        self.kept
            .store
            .write(|writer| writer.update_cell(&row, &versions))?;
        self.row = row;
        Ok(())
    }

    /// What it has become, as rows. It sleeps afterwards.
    pub(super) fn rows(
        &mut self,
        engine: &Engine,
    ) -> Result<(CellRow, Vec<CellVersionRow>), EngineError> {
        let (mut row, versions) = written(&self.row.name, &mut self.cell, self.shadow)?;
        row.id = self.row.id;
        row.changed_at = engine.now();
        Ok((row, versions))
    }
}

/// The turn to use a cell; waits for it.
pub(super) fn turn(kept: &Kept, cell: i64) -> Result<OwnedFd, EngineError> {
    let wrong = EngineError::io("wait for the cell".to_owned());
    let lock = || -> std::io::Result<OwnedFd> {
        crate::layers::make_private(&kept.locks)?;
        let path = kept.locks.join(format!("cell-{cell}.lock"));
        let flags = OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let lock = rustix::fs::open(&path, flags, Mode::from_raw_mode(0o600))?;
        rustix::fs::flock(&lock, FlockOperation::LockExclusive)?;
        Ok(lock)
    };
    lock().map_err(wrong)
}

/// A cell by its name.
pub(super) fn find(kept: &Kept, name: &str) -> Result<CellRow, EngineError> {
    if let Some(row) = kept.store.cell(kept.project, name)? {
        return Ok(row);
    }
    let rows = kept.store.cells(kept.project)?;
    let names = rows.iter().map(|row| row.name.as_str());
    let near = agar_core::suggest::nearest(name, names).map(str::to_owned);
    Err(EvolveError::NoSuchCell {
        name: name.to_owned(),
        near,
    }
    .into())
}

/// What is kept beside code and state.
pub(super) fn document(row: &CellRow) -> Result<Document, EngineError> {
    serde_json::from_str(&row.document).map_err(|error| broken(&row.name, &error))
}

fn dormant(kept: &Kept, row: &CellRow) -> Result<Dormant, EngineError> {
    let document = document(row)?;
    let wrong = |error: EvolveError| broken(&row.name, &error);
    let versions: Result<Vec<DormantVersion>, EngineError> = kept
        .store
        .cell_versions(row.id)?
        .into_iter()
        .map(|version| asleep(row, version))
        .collect();
    let messages: Result<Vec<Message>, EvolveError> = document
        .messages
        .iter()
        .map(|(ticket, digits)| {
            Ok(Message {
                ticket: *ticket,
                bytes: unhex(digits)?,
            })
        })
        .collect();
    Ok(Dormant {
        versions: versions?,
        total_versions: document.total_versions,
        limits: document.limits,
        seed: document.seed,
        params: unhex(&document.params).map_err(wrong)?,
        metrics: document.metrics,
        created_at: row.created_at,
        messages: messages.map_err(wrong)?,
        last_ticket: document.last_ticket,
        image: row.image.clone(),
    })
}

fn asleep(row: &CellRow, version: CellVersionRow) -> Result<DormantVersion, EngineError> {
    let parents: Result<Vec<GenomeId>, _> = version.parents.iter().map(|id| id.parse()).collect();
    Ok(DormantVersion {
        number: version.number,
        wasm: version.wasm,
        parents: parents.map_err(|error: agar_evolve::NotAGenomeId| broken(&row.name, &error))?,
        reason: version.reason,
        at: version.at,
        snapshot: version
            .snapshot
            .map(|(schema, bytes)| State { schema, bytes }),
    })
}

/// A cell as rows. It sleeps afterwards.
pub(super) fn written(
    name: &str,
    cell: &mut Cell,
    shadow: Option<Watched>,
) -> Result<(CellRow, Vec<CellVersionRow>), EngineError> {
    let dormant = cell.dormant().map_err(EvolveError::from)?;
    let document = Document {
        total_versions: dormant.total_versions,
        limits: dormant.limits,
        seed: dormant.seed,
        params: hex(&dormant.params),
        metrics: dormant.metrics,
        messages: dormant
            .messages
            .iter()
            .map(|message| (message.ticket, hex(&message.bytes)))
            .collect(),
        last_ticket: dormant.last_ticket,
        shadow,
    };
    let versions = dormant
        .versions
        .into_iter()
        .map(|version| CellVersionRow {
            number: version.number,
            wasm: version.wasm,
            parents: version.parents.iter().map(ToString::to_string).collect(),
            reason: version.reason,
            at: version.at,
            snapshot: version.snapshot.map(|state| (state.schema, state.bytes)),
        })
        .collect();
    let row = CellRow {
        id: 0,
        name: name.to_owned(),
        document: serde_json::to_string(&document).map_err(|error| broken(name, &error))?,
        image: dormant.image,
        created_at: dormant.created_at,
        changed_at: dormant.created_at,
    };
    Ok((row, versions))
}
