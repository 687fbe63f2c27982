//! A variant in the shadow of a lasting cell: asked what the cell is asked, compared, and let in or
//! thrown away.
//!
//! It is a cell of its own beside the other, which begins with the other's state. Whoever holds the
//! turn of the cell may take that of its variant, never the other way round. Both are written in one
//! transaction, so the comparison never knows more or less than the two have done.

use super::super::failure::EvolveError;
use super::super::watch::note;
use super::act::{loaded, wrong};
use super::keep::{Held, Watched, incubator, rules, written};
use super::load::genome;
use super::view::CellView;
use crate::{Engine, EngineError};
use agar_evolve::dish::{Comparison, Shadow, ShadowVerdict};
use agar_evolve::{Cell, CellError, Swap};
use agar_store::Fact;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Asks for a variant in the shadow of a cell.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CellShadowRequest {
    /// In whose shadow.
    pub name: String,
    /// A file with the variant's code.
    pub file: Option<PathBuf>,
    /// A formula instead.
    pub formula: Option<String>,
    /// End the one that is there instead.
    pub end: bool,
    /// After how many comparisons it is judged; 1,000 if left out.
    pub comparisons: Option<u64>,
    /// What share of the answers must be the same; 0.99 if left out.
    pub alike: Option<f64>,
    /// How many times the cell's instructions it may take; 1.1 if left out.
    pub cost: Option<f64>,
}

/// What the variant of a cell is called. A dot is in no name that a person can give.
pub(super) fn shadow_name(name: &str) -> String {
    format!("{name}.shadow")
}

/// Whether a cell of this name is somebody's variant.
pub(super) fn is_shadow(name: &str) -> bool {
    name.ends_with(".shadow")
}

/// Puts a variant into the shadow of a cell, in the place of one that is there, or ends it.
pub fn shadow_cell(engine: &Engine, request: &CellShadowRequest) -> Result<CellView, EngineError> {
    if request.end {
        let mut held = Held::take(engine, &request.name)?;
        end(engine, &mut held)?;
        return CellView::new(&held.kept, &held.row);
    }
    let genome = genome(engine, request.file.as_ref(), request.formula.as_ref())?;
    let defaults = Shadow::default();
    let rules_of_shadow = Shadow {
        comparisons: request.comparisons.unwrap_or(defaults.comparisons),
        alike: request.alike.unwrap_or(defaults.alike),
        cost: request.cost.unwrap_or(defaults.cost),
    };
    let sound = (0.0..=1.0).contains(&rules_of_shadow.alike) && rules_of_shadow.cost > 0.0;
    if !sound || rules_of_shadow.comparisons == 0 {
        let why = "compare at least once, alike from 0 to 1, and for a cost above 0".to_owned();
        return Err(EngineError::Invalid(why));
    }
    let mut held = Held::take(engine, &request.name)?;
    let mut dormant = held.cell.dormant().map_err(wrong)?;
    dormant.messages.clear();
    let revived = incubator(engine).revive(&dormant, &rules());
    let mut variant = revived.map_err(|source| EvolveError::Revive {
        name: request.name.clone(),
        source,
    })?;
    let swap = Swap {
        parents: vec![held.cell.genome().id()],
        ..Swap::to(genome, "in the shadow")
    };
    variant.swap(swap).map_err(wrong)?;
    held.shadow = Some(Watched {
        rules: rules_of_shadow,
        seen: Comparison::default(),
    });
    let (project, name) = (held.kept.project, shadow_name(&request.name));
    let (new, its_versions) = written(&name, &mut variant, None)?;
    let old = held.kept.store.cell(project, &name)?;
    let (row, versions) = held.rows(engine)?;
    held.kept.store.write(|writer| {
        old.map_or(Ok(()), |old| writer.remove_cell(old.id))?;
        writer.add_cell(project, &new, &its_versions)?;
        writer.update_cell(&row, &versions)
    })?;
    held.row = row;
    CellView::new(&held.kept, &held.row)
}

/// Writes down a cell without the variant in its shadow, if it has one.
pub(super) fn end(engine: &Engine, held: &mut Held) -> Result<(), EngineError> {
    let name = shadow_name(&held.row.name);
    let variant = match held.shadow.take() {
        Some(_) => held.kept.store.cell(held.kept.project, &name)?,
        None => None,
    };
    let (row, versions) = held.rows(engine)?;
    held.kept.store.write(|writer| {
        variant.map_or(Ok(()), |variant| writer.remove_cell(variant.id))?;
        writer.update_cell(&row, &versions)
    })?;
    held.row = row;
    Ok(())
}

/// Asks the variant what the cell was asked, and writes down what both have become. `said` is the
/// cell's answer and what it took, nothing where its run failed: then there is nothing to compare.
pub(super) fn compare<T: PartialEq>(
    engine: &Engine,
    held: &mut Held,
    said: Option<(&T, u64)>,
    ask: impl FnOnce(&mut Cell) -> Result<T, CellError>,
) -> Result<Option<ShadowVerdict>, EngineError> {
    let (Some(mut watched), Some((said, cost))) = (held.shadow, said) else {
        held.put(engine)?;
        return Ok(None);
    };
    let name = shadow_name(&held.row.name);
    if held.kept.store.cell(held.kept.project, &name)?.is_none() {
        end(engine, held)?;
        return Ok(None);
    }
    let mut variant = Held::take(engine, &name)?;
    watched.seen.asked += 1;
    watched.seen.current += cost;
    if let Ok(other) = ask(&mut variant.cell) {
        watched.seen.variant += variant.cell.metrics().last_instructions;
        watched.seen.same += u64::from(other == *said);
    }
    held.shadow = Some(watched);
    let verdict = match watched.seen.verdict(&watched.rules) {
        ShadowVerdict::Promote => promoted(held, &variant),
        other @ (ShadowVerdict::Wait | ShadowVerdict::Discard) => other,
    };
    if verdict == ShadowVerdict::Wait {
        let (row, versions) = held.rows(engine)?;
        let (other, others) = variant.rows(engine)?;
        held.kept.store.write(|writer| {
            writer.update_cell(&other, &others)?;
            writer.update_cell(&row, &versions)
        })?;
        held.row = row;
        return Ok(Some(verdict));
    }
    end(engine, held)?;
    let fact = match verdict {
        ShadowVerdict::Promote => {
            let version = held.cell.info().current_version;
            loaded(&held.row.name, version, held.cell.genome(), PROMOTED)
        }
        ShadowVerdict::Wait | ShadowVerdict::Discard => Fact::CellRemoved { cell: name },
    };
    note(engine, &fact)?;
    Ok(Some(verdict))
}

const PROMOTED: &str = "promoted from the shadow";

/// Swaps the variant's code into the cell, which keeps its state. A variant that cannot take the
/// state up is one to discard.
fn promoted(held: &mut Held, variant: &Held) -> ShadowVerdict {
    let swap = Swap {
        parents: vec![held.cell.genome().id()],
        ..Swap::to(variant.cell.genome().clone(), PROMOTED)
    };
    match held.cell.swap(swap) {
        Ok(_) => ShadowVerdict::Promote,
        Err(_) => ShadowVerdict::Discard,
    }
}
