//! What is done with lasting cells.

use super::super::failure::EvolveError;
use super::super::keep::Kept;
use super::super::tables::hex;
use super::super::watch::note;
use super::keep::{Held, find, incubator, turn, written};
use super::load::genome;
use super::shadow;
use super::view::CellView;
use crate::{Engine, EngineError};
use agar_core::fault::{Fault as _, Kind};
use agar_evolve::dish::ShadowVerdict;
use agar_evolve::outside::Said;
use agar_evolve::{
    Cell, CellError, DishSettings, Genome, Limits, Probe, RollbackState, Spec, Swap, Value,
    ValueType,
};
use agar_store::Fact;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// Asks for a cell.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CellCreateRequest {
    /// Its name: letters, digits, dashes and underscores.
    pub name: String,
    /// A file with its code: WebAssembly or its text format, JavaScript (`.js`), C (`.c`), Rust (`.rs`).
    pub file: Option<PathBuf>,
    /// A formula instead.
    pub formula: Option<String>,
    /// Where its random numbers begin.
    pub seed: u64,
    /// What its `init` is told.
    pub params: Option<String>,
    /// Instructions of one run.
    pub instructions: Option<u64>,
    /// Wall time of one run.
    pub timeout_ms: Option<u64>,
}

/// Asks for other code in a cell.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CellReloadRequest {
    /// Which.
    pub name: String,
    /// A file with the code.
    pub file: Option<PathBuf>,
    /// A formula instead.
    pub formula: Option<String>,
    /// Why.
    pub reason: Option<String>,
    /// Messages that the new code must answer, aside, before it is trusted.
    pub probe: Vec<String>,
    /// Its answers to them must be those of the old code.
    pub same: bool,
}

/// Asks for an earlier version of a cell's code.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CellRollbackRequest {
    /// Which.
    pub name: String,
    /// To which version.
    pub version: u32,
    /// Keep what the cell knows now, instead of what the version left behind.
    pub keep_state: bool,
}

/// Asks for a cell to begin anew.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CellRestartRequest {
    /// Which.
    pub name: String,
}

/// Asks a cell something.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CellRunRequest {
    /// Which.
    pub name: String,
    /// A message.
    pub message: Vec<u8>,
    /// Ask `evaluate`, which keeps nothing, instead of `step`.
    pub evaluate: bool,
    /// Call this function with numbers, instead of passing a message.
    pub call: Option<String>,
    /// The numbers.
    pub arguments: Vec<String>,
}

/// What a cell said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellSaid {
    /// The cell, as it is now.
    pub cell: CellView,
    /// Its answer as text; what is no text is replaced.
    pub text: Option<String>,
    /// Its answer in hexadecimal digits.
    pub digits: Option<String>,
    /// The numbers that a function answered, as text.
    pub values: Vec<String>,
    /// What it put out meanwhile.
    pub artifacts: Vec<Said>,
    /// What the run took, in instructions.
    pub instructions: u64,
    /// What is to become of the variant in its shadow, where there was one: `promote` and `discard`
    /// have been done.
    pub shadow: Option<ShadowVerdict>,
}

pub(super) fn wrong(error: impl Into<EvolveError>) -> EngineError {
    error.into().into()
}

pub(super) fn loaded(name: &str, version: u32, genome: &Genome, reason: &str) -> Fact {
    Fact::CellLoaded {
        cell: name.to_owned(),
        version,
        genome: genome.id().to_string(),
        reason: reason.to_owned(),
    }
}

/// Makes a cell.
pub fn create_cell(engine: &Engine, request: &CellCreateRequest) -> Result<CellView, EngineError> {
    let named = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    if request.name.is_empty() || request.name.len() > 64 || !request.name.chars().all(named) {
        let why = "a cell's name is made of up to 64 letters, digits, dashes and underscores";
        return Err(EngineError::Invalid(why.to_owned()));
    }
    let genome = genome(engine, request.file.as_ref(), request.formula.as_ref())?;
    let settings = DishSettings::default();
    let defaults = Limits::default();
    let wall = request.timeout_ms.map(Duration::from_millis);
    let spec = Spec {
        limits: Limits {
            instructions: request.instructions.unwrap_or(defaults.instructions),
            wall: Some(wall.unwrap_or(settings.run_timeout)),
            mailbox: settings.mailbox,
            ..defaults
        },
        seed: request.seed,
        cases: None,
        params: request.params.clone().unwrap_or_default().into_bytes(),
    };
    let mut cell = incubator(engine).create(&genome, spec).map_err(wrong)?;
    let (row, versions) = written(&request.name, &mut cell, None)?;
    let mut kept = Kept::open(engine)?;
    let project = kept.project;
    let made = kept
        .store
        .write(|writer| writer.add_cell(project, &row, &versions))?;
    if made.is_none() {
        return Err(EvolveError::CellExists {
            name: request.name.clone(),
        }
        .into());
    }
    note(engine, &loaded(&request.name, 1, &genome, "created"))?;
    CellView::new(&kept, &find(&kept, &request.name)?)
}

/// Swaps other code into a cell; its state comes along. If anything fails, the old code goes on.
pub fn reload_cell(engine: &Engine, request: &CellReloadRequest) -> Result<CellView, EngineError> {
    let genome = genome(engine, request.file.as_ref(), request.formula.as_ref())?;
    let mut held = Held::take(engine, &request.name)?;
    let probe: Vec<Vec<u8>> = request
        .probe
        .iter()
        .map(|message| message.clone().into_bytes())
        .collect();
    let reason = request.reason.as_deref().unwrap_or("reloaded");
    let swap = Swap {
        parents: vec![held.cell.genome().id()],
        probe: match (probe.is_empty(), request.same) {
            (true, _) => Probe::None,
            (false, true) => Probe::Same(&probe),
            (false, false) => Probe::Answers(&probe),
        },
        ..Swap::to(genome.clone(), reason)
    };
    let version = held.cell.swap(swap).map_err(wrong)?;
    shadow::end(engine, &mut held)?;
    note(engine, &loaded(&request.name, version, &genome, reason))?;
    CellView::new(&held.kept, &held.row)
}

/// Goes back to a version that is kept. It becomes the newest one.
pub fn rollback_cell(
    engine: &Engine,
    request: &CellRollbackRequest,
) -> Result<CellView, EngineError> {
    let mut held = Held::take(engine, &request.name)?;
    let with = if request.keep_state {
        RollbackState::Current
    } else {
        RollbackState::Snapshot
    };
    let version = held.cell.rollback(request.version, with).map_err(wrong)?;
    shadow::end(engine, &mut held)?;
    let reason = format!("rollback to version {}", request.version);
    let genome = held.cell.genome().clone();
    note(engine, &loaded(&request.name, version, &genome, &reason))?;
    CellView::new(&held.kept, &held.row)
}

/// Begins a cell anew in the same version, without its state.
pub fn restart_cell(
    engine: &Engine,
    request: &CellRestartRequest,
) -> Result<CellView, EngineError> {
    let mut held = Held::take(engine, &request.name)?;
    held.cell.restart().map_err(wrong)?;
    shadow::end(engine, &mut held)?;
    CellView::new(&held.kept, &held.row)
}

/// Passes a message to a cell, or calls one of its functions. What the run did to the cell is kept
/// also where it failed.
pub fn run_cell(engine: &Engine, request: &CellRunRequest) -> Result<CellSaid, EngineError> {
    let mut held = Held::take(engine, &request.name)?;
    let ran = asked(&mut held.cell, request);
    let instructions = held.cell.metrics().last_instructions;
    let artifacts = held.cell.artifacts().iter();
    let artifacts = artifacts.map(|artifact| Said {
        key: artifact.key.clone(),
        text: String::from_utf8_lossy(&artifact.value).into_owned(),
    });
    let artifacts = artifacts.collect();
    let pair = ran.as_ref().ok().map(|said| (said, instructions));
    let seen = shadow::compare(engine, &mut held, pair, |cell| asked(cell, request))?;
    let (bytes, values) = match ran {
        Ok(said) => said,
        Err(error) => return Err(failed(engine, &request.name, error)?),
    };
    Ok(CellSaid {
        cell: CellView::new(&held.kept, &held.row)?,
        text: bytes
            .as_ref()
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned()),
        digits: bytes.as_deref().map(hex),
        values,
        artifacts,
        instructions,
        shadow: seen,
    })
}

/// The failure, once it is on record where it was a limit or a crash.
pub(super) fn failed(
    engine: &Engine,
    name: &str,
    error: CellError,
) -> Result<EngineError, EngineError> {
    if matches!(error.kind(), Kind::Limit | Kind::Refused) {
        let fact = Fact::CellFailed {
            cell: name.to_owned(),
            why: error.to_string(),
        };
        note(engine, &fact)?;
    }
    Ok(wrong(error))
}

type Answered = (Option<Vec<u8>>, Vec<String>);

fn asked(cell: &mut Cell, request: &CellRunRequest) -> Result<Answered, CellError> {
    let facts = cell.genome().facts();
    let Some(function) = &request.call else {
        let steps = facts.function("step").is_some() && !request.evaluate;
        let said = if steps {
            cell.step(&request.message)?
        } else {
            cell.evaluate(&request.message)?
        };
        return Ok((Some(said), Vec::new()));
    };
    let wrong = |expected: String| CellError::Arguments {
        name: function.clone(),
        expected,
    };
    let found = facts.functions.iter().find(|it| it.name == *function);
    let params = found.map(|it| it.params.clone()).unwrap_or_default();
    let words: Vec<String> = params.iter().map(ToString::to_string).collect();
    let given: Option<Vec<Value>> = params
        .iter()
        .zip(&request.arguments)
        .map(|(ty, word)| number(*ty, word))
        .collect();
    let given = given.filter(|given| given.len() == request.arguments.len());
    let given = given.ok_or_else(|| wrong(words.join(", ")))?;
    let values = cell.call(function, &given)?;
    Ok((None, values.iter().map(ToString::to_string).collect()))
}

fn number(ty: ValueType, word: &str) -> Option<Value> {
    Some(match ty {
        ValueType::I32 => Value::I32(word.parse().ok()?),
        ValueType::I64 => Value::I64(word.parse().ok()?),
        ValueType::F32 => Value::F32(word.parse().ok()?),
        ValueType::F64 => Value::F64(word.parse().ok()?),
    })
}

/// Asks for cells to be removed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CellsRemoveRequest {
    /// Which.
    pub names: Vec<String>,
}

/// What was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellsRemoveAnswer {
    /// The names.
    pub removed: Vec<String>,
}

/// Removes cells, with their state and all their versions.
pub fn remove_cells(
    engine: &Engine,
    request: &CellsRemoveRequest,
) -> Result<CellsRemoveAnswer, EngineError> {
    let mut kept = Kept::open(engine)?;
    let rows: Result<Vec<_>, EngineError> =
        request.names.iter().map(|name| find(&kept, name)).collect();
    let mut removed = Vec::new();
    for row in rows? {
        let _turn = turn(&kept, row.id)?;
        let variant = kept
            .store
            .cell(kept.project, &shadow::shadow_name(&row.name))?;
        kept.store.write(|writer| {
            variant.map_or(Ok(()), |variant| writer.remove_cell(variant.id))?;
            writer.remove_cell(row.id)
        })?;
        note(
            engine,
            &Fact::CellRemoved {
                cell: row.name.clone(),
            },
        )?;
        removed.push(row.name);
    }
    Ok(CellsRemoveAnswer { removed })
}
