//! A search's place on disk: its rows, and the lock of whoever works on it.

use super::failure::EvolveError;
use super::tables::{hex, unhex};
use super::wish::Wish;
use crate::here::Here;
use crate::{Engine, EngineError};
use agar_core::id::ProjectId;
use agar_core::seam::Timestamp;
use agar_evolve::search::{Checkpoint, Ended, Generation, Individual, Lineage, Origin};
use agar_evolve::{Artifact, Code, Fitness, Invalid, Penalty, Verdict};
use agar_store::evolution::{
    CodeRow, EVOLUTION_FILE, EvolutionStore, GenerationRow, IndividualRow, SearchRow,
};
use rustix::fs::{FlockOperation, Mode, OFlags};
use serde::{Deserialize, Serialize};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

/// The searches of the caller's project.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) store: EvolutionStore,
    pub(super) project: ProjectId,
    /// The file that the store is in, for those who open it once more.
    pub(super) database: PathBuf,
    pub(super) locks: PathBuf,
}

/// Whoever holds it works on a search; the kernel lets go when the process ends, however it ends.
#[derive(Debug)]
pub(super) struct Working {
    _lock: OwnedFd,
}

impl Kept {
    pub(super) fn open(engine: &Engine) -> Result<Self, EngineError> {
        let here: &Here = engine.here()?;
        let project = here.project(engine)?.id;
        let state = here.state.path();
        let database = state.join(EVOLUTION_FILE);
        Ok(Self {
            store: EvolutionStore::open(&database)?,
            project,
            database,
            locks: state.join("evolution"),
        })
    }

    /// Takes a search for this process, unless another one works on it.
    pub(super) fn take(&self, row: &SearchRow) -> Result<Working, EngineError> {
        let doing = format!("begin to work on {}", row.name);
        let wrong = EngineError::io(doing);
        match self.lock(row.id) {
            Ok(Some(lock)) => Ok(Working { _lock: lock }),
            Ok(None) => Err(EvolveError::Working {
                name: row.name.clone(),
            }
            .into()),
            Err(error) => Err(wrong(error)),
        }
    }

    /// Whether a process works on it.
    pub(super) fn is_running(&self, row: &SearchRow) -> bool {
        matches!(self.lock(row.id), Ok(None))
    }

    fn lock(&self, search: i64) -> std::io::Result<Option<OwnedFd>> {
        crate::layers::make_private(&self.locks)?;
        let path = self.locks.join(format!("{search}.lock"));
        let flags = OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let lock = rustix::fs::open(&path, flags, Mode::from_raw_mode(0o600))?;
        match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(lock)),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// A search by its name, or the newest one.
    pub(super) fn find(&self, name: Option<&str>) -> Result<SearchRow, EngineError> {
        let rows = self.store.searches(self.project)?;
        let Some(name) = name else {
            return Ok(rows.into_iter().next().ok_or(EvolveError::NoSearches)?);
        };
        if let Some(row) = rows.iter().find(|row| row.name == name) {
            return Ok(row.clone());
        }
        let mut like = rows.iter().filter(|row| row.name.starts_with(name));
        if let (Some(row), None) = (like.next(), like.next()) {
            return Ok(row.clone());
        }
        let names = rows.iter().map(|row| row.name.as_str());
        let near = agar_core::suggest::nearest(name, names).map(str::to_owned);
        Err(EvolveError::NoSuchSearch {
            name: name.to_owned(),
            near,
        }
        .into())
    }

    /// Everyone who was not collected.
    pub(super) fn known(&self, row: &SearchRow) -> Result<Vec<Individual>, EngineError> {
        let rows = self.store.individuals(row.id)?;
        let kept = rows.iter().filter(|individual| !individual.collected);
        kept.map(|individual| self.individual(row, individual))
            .collect()
    }

    /// One individual with its code.
    pub(super) fn individual(
        &self,
        row: &SearchRow,
        individual: &IndividualRow,
    ) -> Result<Individual, EngineError> {
        let broken = |why: String| EvolveError::Record {
            name: row.name.clone(),
            why,
        };
        let code = self.store.code(row.id, &individual.digest)?;
        let code = code.ok_or_else(|| broken("code is missing".to_owned()))?;
        let code = Code::read(&code.kind, &code.bytes).map_err(|why| broken(why.to_string()))?;
        Ok(read(individual, code).map_err(broken)?)
    }
}

/// What was asked for.
pub(super) fn wish(row: &SearchRow) -> Result<Wish, EvolveError> {
    Wish::parse(&row.wish).map_err(|why| EvolveError::Record {
        name: row.name.clone(),
        why,
    })
}

/// Where it stands.
pub(super) fn checkpoint(row: &SearchRow) -> Result<Option<Checkpoint>, EvolveError> {
    let document = row.checkpoint.as_deref();
    let read = document.map(serde_json::from_str).transpose();
    read.map_err(|error: serde_json::Error| EvolveError::Record {
        name: row.name.clone(),
        why: error.to_string(),
    })
}

/// A verdict whose numbers are kept by their bits: decimal digits would not always come back.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Exact {
    Score {
        score: u64,
        solved: bool,
        components: Vec<(String, u64)>,
        cases: Vec<u64>,
    },
    Invalid(Invalid),
}

fn exact(verdict: &Verdict) -> Exact {
    match verdict {
        Err(reason) => Exact::Invalid(reason.clone()),
        Ok(fitness) => Exact::Score {
            score: fitness.score.to_bits(),
            solved: fitness.solved,
            components: fitness
                .components
                .iter()
                .map(|(name, value)| (name.clone(), value.to_bits()))
                .collect(),
            cases: fitness.cases.iter().map(|loss| loss.to_bits()).collect(),
        },
    }
}

fn verdict(exact: Exact) -> Verdict {
    match exact {
        Exact::Invalid(reason) => Err(reason),
        Exact::Score {
            score,
            solved,
            components,
            cases,
        } => Ok(Fitness {
            score: f64::from_bits(score),
            solved,
            components: components
                .into_iter()
                .map(|(name, bits)| (name, f64::from_bits(bits)))
                .collect(),
            cases: cases.into_iter().map(f64::from_bits).collect(),
        }),
    }
}

fn read(row: &IndividualRow, code: Code) -> Result<Individual, String> {
    let said: Exact = serde_json::from_str(&row.verdict).map_err(|error| error.to_string())?;
    let penalties: Vec<(u64, String)> =
        serde_json::from_str(&row.penalties).map_err(|error| error.to_string())?;
    let penalties = penalties.into_iter().map(|(amount, reason)| Penalty {
        amount: f64::from_bits(amount),
        reason,
    });
    let origin = Origin::named(&row.mutation_type);
    Ok(Individual {
        id: row.number,
        generation: row.generation,
        island: row.island as usize,
        lineage: Lineage {
            parents: row.parents.clone(),
            mutation_type: origin.ok_or_else(|| "an origin is unknown".to_owned())?,
            operator: row.operator.clone(),
            seed: row.seed,
            lineage_depth: row.lineage_depth,
        },
        digest: row.digest,
        code: Arc::new(code),
        verdict: verdict(said),
        instructions: row.instructions,
        penalties: penalties.collect(),
        artifacts: artifacts(&row.artifacts)?,
    })
}

/// What was put out, from a document.
fn artifacts(document: &str) -> Result<Vec<Artifact>, String> {
    let read: Vec<(String, String)> =
        serde_json::from_str(document).map_err(|error| error.to_string())?;
    let read = read.into_iter().map(|(key, digits)| {
        let value = unhex(&digits).map_err(|error| error.to_string())?;
        Ok(Artifact { key, value })
    });
    read.collect()
}

/// What was taken off a score, as a document that keeps every bit.
pub(super) fn penalties(individual: &Individual) -> Result<String, String> {
    let penalties = individual.penalties.iter();
    let penalties: Vec<(u64, &str)> = penalties
        .map(|penalty| (penalty.amount.to_bits(), penalty.reason.as_str()))
        .collect();
    serde_json::to_string(&penalties).map_err(|error| error.to_string())
}

fn written(individual: &Individual, at: Timestamp) -> Result<(IndividualRow, CodeRow), String> {
    let document = |error: serde_json::Error| error.to_string();
    let artifacts: Vec<(&str, String)> = individual
        .artifacts
        .iter()
        .map(|artifact| (artifact.key.as_str(), hex(&artifact.value)))
        .collect();
    let row = IndividualRow {
        number: individual.id,
        generation: individual.generation,
        island: u32::try_from(individual.island).unwrap_or(u32::MAX),
        parents: individual.lineage.parents.clone(),
        mutation_type: individual.lineage.mutation_type.word().to_owned(),
        operator: individual.lineage.operator.clone(),
        seed: individual.lineage.seed,
        lineage_depth: individual.lineage.lineage_depth,
        digest: individual.digest,
        score: individual.score(),
        verdict: serde_json::to_string(&exact(&individual.verdict)).map_err(document)?,
        penalties: penalties(individual)?,
        artifacts: serde_json::to_string(&artifacts).map_err(document)?,
        instructions: individual.instructions,
        evaluated_at: at,
        collected: false,
    };
    let code = CodeRow {
        kind: individual.code.kind().to_owned(),
        bytes: individual.code.bytes(),
    };
    Ok((row, code))
}

/// The word for an ending.
pub(super) const fn ending(ended: Ended) -> &'static str {
    match ended {
        Ended::Solved => "solved",
        Ended::Generations => "generations",
        Ended::Trials => "trials",
        Ended::Stagnant => "stagnant",
    }
}

/// All that a generation leaves behind, as rows.
pub(super) fn generation(
    new: &Generation,
    ended: Option<Ended>,
    at: Timestamp,
) -> Result<GenerationRow, String> {
    let document = |error: serde_json::Error| error.to_string();
    let births: Result<Vec<_>, String> = new.births.iter().map(|it| written(it, at)).collect();
    Ok(GenerationRow {
        generation: new.number,
        checkpoint: serde_json::to_string(&new.checkpoint).map_err(document)?,
        ended: ended.map(|ended| ending(ended).to_owned()),
        census: serde_json::to_string(&new.census).map_err(document)?,
        births: births?,
        collected: new.collected.clone(),
        at,
    })
}
