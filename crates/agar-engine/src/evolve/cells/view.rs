//! Lasting cells as faces show them.

use super::super::keep::Kept;
use super::keep::{Watched, document, find, rules};
use super::shadow::{is_shadow, shadow_name};
use crate::{Engine, EngineError};
use agar_core::seam::Timestamp;
use agar_evolve::{Condition, GenomeId, Metrics};
use agar_store::evolution::CellRow;
use serde::{Deserialize, Serialize};

/// A cell, seen from outside.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellView {
    /// Its name.
    pub name: String,
    /// Whether it sleeps, as all do between two commands, or crashed.
    pub condition: Condition,
    /// The name of its code.
    pub genome: String,
    /// The number of its version.
    pub current_version: u32,
    /// How many versions there have been.
    pub total_versions: u32,
    /// What its state takes, in bytes.
    pub state_bytes: u64,
    /// Messages that wait.
    pub waiting: u64,
    /// The variant in its shadow, if there is one.
    pub shadow: Option<ShadowView>,
    /// What it has done.
    pub metrics: Metrics,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last used.
    pub changed_at: Timestamp,
}

/// A variant that is asked what a cell is asked, and what was seen of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShadowView {
    /// The name of its code.
    pub genome: String,
    /// Runs that both were given.
    pub asked: u64,
    /// Those in which both said the same.
    pub same: u64,
    /// After how many it is judged.
    pub comparisons: u64,
    /// What share of the answers must be the same.
    pub alike: f64,
    /// How many times the cell's instructions it may take.
    pub cost: f64,
    /// Instructions of the cell.
    pub current_instructions: u64,
    /// Instructions of the variant.
    pub variant_instructions: u64,
}

/// The name of a version's code, as [`agar_evolve::Genome::id`] gives it.
fn name_of(code: &[u8]) -> String {
    if code.starts_with(b"\0asm") {
        return GenomeId::of(code).to_string();
    }
    // A script's name is that of its source on an interpreter, which must be there to be named.
    let genome = agar_evolve::Genome::read(code, &rules());
    genome.map_or_else(|_| String::new(), |genome| genome.id().to_string())
}

fn shadow(kept: &Kept, name: &str, watched: Watched) -> Result<Option<ShadowView>, EngineError> {
    let variant = kept.store.cell(kept.project, &shadow_name(name))?;
    let Some(variant) = variant else {
        return Ok(None);
    };
    let versions = kept.store.cell_versions(variant.id)?;
    let Watched { rules, seen } = watched;
    Ok(Some(ShadowView {
        genome: versions
            .last()
            .map(|version| name_of(&version.wasm))
            .unwrap_or_default(),
        asked: seen.asked,
        same: seen.same,
        comparisons: rules.comparisons,
        alike: rules.alike,
        cost: rules.cost,
        current_instructions: seen.current,
        variant_instructions: seen.variant,
    }))
}

impl CellView {
    pub(super) fn new(kept: &Kept, row: &CellRow) -> Result<Self, EngineError> {
        let document = document(row)?;
        let versions = kept.store.cell_versions(row.id)?;
        let genome = versions.last().map(|version| name_of(&version.wasm));
        Ok(Self {
            name: row.name.clone(),
            condition: match row.image {
                Some(_) => Condition::Asleep,
                None => Condition::Crashed,
            },
            genome: genome.unwrap_or_default(),
            current_version: document.total_versions,
            total_versions: document.total_versions,
            state_bytes: row.image.as_ref().map_or(0, |image| image.len() as u64),
            waiting: document.messages.len() as u64,
            shadow: match document.shadow {
                Some(watched) => shadow(kept, &row.name, watched)?,
                None => None,
            },
            metrics: document.metrics,
            created_at: row.created_at,
            changed_at: row.changed_at,
        })
    }
}

/// The cells of a project.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellsAnswer {
    /// By name.
    pub cells: Vec<CellView>,
}

/// Lists the cells of the project.
pub fn list_cells(engine: &Engine) -> Result<CellsAnswer, EngineError> {
    let kept = Kept::open(engine)?;
    let rows = kept.store.cells(kept.project)?;
    // A variant is shown with the cell in whose shadow it is.
    let own = rows.iter().filter(|row| !is_shadow(&row.name));
    let cells: Result<Vec<CellView>, EngineError> =
        own.map(|row| CellView::new(&kept, row)).collect();
    Ok(CellsAnswer { cells: cells? })
}

/// Asks about one cell.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CellInfoRequest {
    /// Which.
    pub name: String,
}

/// Says what can be said of a cell without waking it.
pub fn cell_info(engine: &Engine, request: &CellInfoRequest) -> Result<CellView, EngineError> {
    let kept = Kept::open(engine)?;
    let row = find(&kept, &request.name)?;
    CellView::new(&kept, &row)
}

/// One version of a cell's code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellVersionView {
    /// Its number.
    pub number: u32,
    /// The name of the code: its checksum.
    pub genome: String,
    /// The genomes that it came from.
    pub parents: Vec<String>,
    /// Why it came.
    pub reason: String,
    /// When it came.
    pub at: Timestamp,
    /// How long the code is, in bytes.
    pub bytes: u64,
    /// What it left behind, in bytes, if it left anything.
    pub snapshot_bytes: Option<u64>,
}

/// The versions of a cell, in the seed's fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellVersionsAnswer {
    /// The cell.
    pub name: String,
    /// The number of the current one.
    pub current_version: u32,
    /// How many there have been.
    pub total_versions: u32,
    /// Those that are kept, the oldest first.
    pub versions: Vec<CellVersionView>,
}

/// Shows the versions of a cell's code.
pub fn cell_versions(
    engine: &Engine,
    request: &CellInfoRequest,
) -> Result<CellVersionsAnswer, EngineError> {
    let kept = Kept::open(engine)?;
    let row = find(&kept, &request.name)?;
    let total = document(&row)?.total_versions;
    let versions = kept.store.cell_versions(row.id)?;
    Ok(CellVersionsAnswer {
        name: row.name,
        current_version: total,
        total_versions: total,
        versions: versions
            .into_iter()
            .map(|version| CellVersionView {
                number: version.number,
                genome: name_of(&version.wasm),
                parents: version.parents,
                reason: version.reason,
                at: version.at,
                bytes: version.wasm.len() as u64,
                snapshot_bytes: version.snapshot.map(|(_, bytes)| bytes.len() as u64),
            })
            .collect(),
    })
}
