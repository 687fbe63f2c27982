//! Lowering a fitness from outside: somebody who watches knows what no score shows.

use super::failure::EvolveError;
use super::keep::{self, Kept};
use super::run::{restore, tried_at};
use super::view::IndividualView;
use crate::{Engine, EngineError};
use agar_evolve::Penalty;
use serde::{Deserialize, Serialize};

/// Asks for something to be taken off a score.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PenaliseRequest {
    /// In which search; the newest if left out.
    pub name: Option<String>,
    /// Whose.
    pub individual: u64,
    /// How much; more than nothing.
    pub amount: f64,
    /// Why.
    pub reason: String,
}

/// What was taken off.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PenaliseAnswer {
    /// The search.
    pub name: String,
    /// Whoever was penalised, with the score that is left.
    pub individual: IndividualView,
    /// Who is the best of all now.
    pub best: Option<u64>,
}

/// Takes something off somebody's score, for a reason. It counts when the search goes on.
pub fn penalise(engine: &Engine, request: &PenaliseRequest) -> Result<PenaliseAnswer, EngineError> {
    let mut kept = Kept::open(engine)?;
    let row = kept.find(request.name.as_deref())?;
    let _working = kept.take(&row)?;
    let row = kept.find(Some(&row.name))?;
    let mut search = restore(engine, &kept, &row)?;
    let number = request.individual;
    if search.individual(number).is_none() {
        return Err(EvolveError::NoSuchIndividual {
            name: row.name,
            number,
        }
        .into());
    }
    let penalty = Penalty {
        amount: request.amount,
        reason: request.reason.clone(),
    };
    if !search.penalise(number, penalty) {
        let why = "a penalty is a number above zero".to_owned();
        return Err(EngineError::Invalid(why));
    }
    let (Some(individual), at) = (search.individual(number), search.checkpoint()) else {
        return Err(EvolveError::Nobody { name: row.name }.into());
    };
    let broken = |why: String| EvolveError::Record {
        name: row.name.clone(),
        why,
    };
    let penalties = keep::penalties(individual).map_err(broken)?;
    let checkpoint = serde_json::to_string(at).map_err(|error| broken(error.to_string()))?;
    let changed = (number, individual.score(), penalties.as_str());
    kept.store
        .write(|writer| writer.penalise(row.id, changed, &checkpoint))?;
    Ok(PenaliseAnswer {
        individual: IndividualView::new(individual, tried_at(&kept, &row, number)),
        best: at.best,
        name: row.name,
    })
}
