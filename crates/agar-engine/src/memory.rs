//! What is remembered: looked at, added to, passed on and forgotten.
//!
//! Each function opens the memory of the caller's project, concludes what a crash left open, and asks
//! it one thing. What the numbers mean is `agar-memory`'s business.

mod forget;
mod history;
mod of_sandbox;
mod transfer;

pub use agar_memory::{
    Band, Calibration, Cell, ChangeType, CheckEvidence, Confidence, Cost, Decision, Ending,
    ExperimentDetail, ExperimentSummary, FindingKind, Forgotten, Found, Graduate, Graduation,
    Imported, Learned, Lesson, LessonState, MemoryEvolution, NoteText, Operation, PackageMove,
    PartialSuccess, Pattern, Provenance, Refusal, SandboxMemory, SeedOutcome, Seen, SeenPattern,
    Similar, Stats, Status, SuccessMetrics, Suggestion, Taught, Tried, Verdict,
};
pub use forget::{ForgetAnswer, ForgetRequest, forget};
pub use history::{
    ExperimentsAnswer, ExperimentsRequest, HistoryAnswer, HistoryDay, HistoryRequest, experiments,
    history,
};
pub use of_sandbox::{OfSandboxAnswer, of_sandbox};
pub use transfer::{ExportAnswer, ExportForm, ExportRequest, ImportRequest, export, import};

use crate::experiment::{self, Proposal, directory, graduation_fact};
use crate::here::Here;
use crate::wishes::learning;
use crate::{Caller, Engine, EngineError, find};
use agar_core::fault::{Fault as _, Kind};
use agar_core::id::{ExperimentId, SandboxId};
use agar_memory::{Memory, MemoryError, Occasion, PERSON};
use agar_store::memory::Evolution;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Opens the memory of the caller's project.
fn open(engine: &Engine) -> Result<(&Here, Memory), EngineError> {
    let here = engine.here()?;
    let project = here.project(engine)?.id;
    let learning = learning(engine, here)?;
    experiment::settle(engine, here, &learning)?;
    let memory = Memory::open(&directory(here.state.path()), project, learning.tuning)?;
    Ok((here, memory))
}

/// Asks how likely a suggestion is to work.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConfidenceRequest {
    /// What is proposed.
    pub suggestion: String,
    /// What sort of change it is; inferred if left out.
    pub change: Option<ChangeType>,
    /// Anything worth knowing about it.
    pub context: serde_json::Map<String, Value>,
    /// Who asks.
    pub caller: Caller,
}

/// How likely it is, and how good such answers have been.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConfidenceAnswer {
    /// The answer.
    #[serde(flatten)]
    pub confidence: Confidence,
    /// Whether there is any evidence; if not, the number is the prior.
    pub known: bool,
    /// The mean square error of past answers for this project, and over how many.
    pub brier: Option<f64>,
    /// Over how many.
    pub predictions: u64,
}

/// Says how likely a suggestion is to work here, and why. Changes nothing.
pub fn confidence(
    engine: &Engine,
    request: &ConfidenceRequest,
) -> Result<ConfidenceAnswer, EngineError> {
    let (_, memory) = open(engine)?;
    let word = |key: &str| {
        let value = request.context.get(key).and_then(Value::as_str);
        value.map(str::to_owned)
    };
    let suggestion = Suggestion {
        text: request.suggestion.clone(),
        agent: request.caller.agent().unwrap_or(PERSON).to_owned(),
        change: request.change,
        strategy: word("strategy"),
        problem: word("problem"),
        language: word("language"),
        context: experiment::remaining(&request.context),
        ..Suggestion::default()
    };
    let confidence = memory.predict(&suggestion, engine.now())?;
    let calibration = memory.calibration()?;
    Ok(ConfidenceAnswer {
        known: confidence.is_known(),
        confidence,
        brier: (calibration.predictions > 0).then_some(calibration.brier),
        predictions: calibration.predictions,
    })
}

/// Asks for what memory holds, or for one thing of it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ShowRequest {
    /// The name of a pattern, lesson, note or experiment, or the beginning of one.
    pub name: Option<String>,
}

/// What memory holds. Only what was asked for is there.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ShowAnswer {
    /// A pattern or a lesson, with the experiments behind it.
    pub finding: Option<Provenance>,
    /// An experiment, in the words of the first seed.
    pub experiment: Option<SandboxMemory>,
    /// What somebody said.
    pub note: Option<NoteText>,
    /// The patterns in force, the surest first.
    pub patterns: Vec<Pattern>,
    /// The lessons in force, the newest first.
    pub lessons: Vec<Lesson>,
    /// What people and agents said, the newest first.
    pub notes: Vec<NoteText>,
    /// How many patterns and lessons are hidden: expired or retired.
    pub hidden: u64,
}

/// Shows what memory holds.
pub fn show(engine: &Engine, request: &ShowRequest) -> Result<ShowAnswer, EngineError> {
    let (_, memory) = open(engine)?;
    let Some(name) = &request.name else {
        let patterns = patterns_of(engine, &memory, false)?;
        let lessons = lessons_of(engine, &memory, false)?;
        return Ok(ShowAnswer {
            notes: memory.notes()?,
            hidden: patterns.hidden + lessons.hidden,
            patterns: patterns.patterns,
            lessons: lessons.lessons,
            ..ShowAnswer::default()
        });
    };
    match memory.provenance(name) {
        Ok(finding) => {
            return Ok(ShowAnswer {
                finding: Some(finding),
                ..ShowAnswer::default()
            });
        }
        Err(error) if error.kind() == Kind::NotFound => {}
        Err(error) => return Err(error.into()),
    }
    let notes = memory.notes()?;
    if let Some(note) = notes
        .into_iter()
        .find(|note| note.id.starts_with(name.as_str()))
    {
        return Ok(ShowAnswer {
            note: Some(note),
            ..ShowAnswer::default()
        });
    }
    let detail = memory.experiment(name)?;
    Ok(ShowAnswer {
        experiment: Some(memory.sandbox_memory(detail.summary.id)?),
        ..ShowAnswer::default()
    })
}

/// Asks for what fits some words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SearchRequest {
    /// The words.
    pub words: String,
    /// How many answers at most.
    pub limit: usize,
}

impl Default for SearchRequest {
    fn default() -> Self {
        Self {
            words: String::new(),
            limit: 20,
        }
    }
}

/// What fits, the best first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchAnswer {
    /// Experiments, findings and notes.
    pub found: Vec<Found>,
}

/// Finds experiments, patterns, lessons and notes by words.
pub fn search(engine: &Engine, request: &SearchRequest) -> Result<SearchAnswer, EngineError> {
    let (_, memory) = open(engine)?;
    let found = memory.search(&request.words, request.limit, engine.now())?;
    Ok(SearchAnswer { found })
}

/// Asks for patterns or lessons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FindingsRequest {
    /// Also those that are hidden: expired, or retired.
    pub all: bool,
}

/// The patterns of the project.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PatternsAnswer {
    /// The surest first.
    pub patterns: Vec<Pattern>,
    /// How many are not shown because they have expired.
    pub hidden: u64,
    /// Patterns of more than three sandboxes: the seed's view `pattern_evolution`.
    pub evolution: Vec<EvolutionView>,
}

/// One line of the view `pattern_evolution`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvolutionView {
    /// What sort of pattern.
    pub pattern_type: String,
    /// What it says.
    pub description: String,
    /// In how many sandboxes.
    pub sandbox_count: u64,
    /// The mean share of successes.
    pub avg_success_rate: f64,
    /// The mean confidence.
    pub avg_confidence: f64,
    /// How often in all.
    pub total_occurrences: u64,
}

/// Lists the patterns.
pub fn patterns(engine: &Engine, request: &FindingsRequest) -> Result<PatternsAnswer, EngineError> {
    let (_, memory) = open(engine)?;
    patterns_of(engine, &memory, request.all)
}

fn patterns_of(engine: &Engine, memory: &Memory, all: bool) -> Result<PatternsAnswer, EngineError> {
    let mut patterns = memory.patterns(engine.now())?;
    let before = patterns.len();
    patterns.retain(|pattern| all || !pattern.expired);
    Ok(PatternsAnswer {
        hidden: (before - patterns.len()) as u64,
        patterns,
        evolution: memory.evolution()?.into_iter().map(evolution).collect(),
    })
}

fn evolution(row: Evolution) -> EvolutionView {
    EvolutionView {
        pattern_type: row.kind,
        description: row.description,
        sandbox_count: row.sandboxes,
        avg_success_rate: row.success_rate,
        avg_confidence: row.confidence,
        total_occurrences: row.occurrences,
    }
}

/// The lessons of the project.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LessonsAnswer {
    /// Those that changed last first.
    pub lessons: Vec<Lesson>,
    /// How many are not shown because they have expired or are retired.
    pub hidden: u64,
}

/// Lists the lessons.
pub fn lessons(engine: &Engine, request: &FindingsRequest) -> Result<LessonsAnswer, EngineError> {
    let (_, memory) = open(engine)?;
    lessons_of(engine, &memory, request.all)
}

fn lessons_of(engine: &Engine, memory: &Memory, all: bool) -> Result<LessonsAnswer, EngineError> {
    let mut lessons = memory.lessons(engine.now())?;
    let before = lessons.len();
    lessons.retain(|lesson| all || !(lesson.expired || lesson.state == LessonState::Retired));
    Ok(LessonsAnswer {
        hidden: (before - lessons.len()) as u64,
        lessons,
    })
}

/// Asks for a sandbox's patterns to enter the project's memory.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GraduateRequest {
    /// The sandbox, or one of its experiments.
    pub name: Option<String>,
}

/// Lets what has earned it enter the project's memory, and says why the rest did not.
pub fn graduate(engine: &Engine, request: &GraduateRequest) -> Result<Graduation, EngineError> {
    let (here, mut memory) = open(engine)?;
    let sandbox = sandbox_of(here, &memory, request.name.as_deref())?;
    let graduation = memory.graduate(sandbox, Occasion::Asked, engine.now())?;
    here.write(|store| {
        let fact = graduation_fact(&graduation);
        store.append(memory.project(), Some(sandbox), engine.now(), &fact)?;
        Ok(())
    })?;
    Ok(graduation)
}

/// The sandbox of that name, also after it is gone, when one of its experiments is named.
fn sandbox_of(here: &Here, memory: &Memory, name: Option<&str>) -> Result<SandboxId, EngineError> {
    match find::sandbox(here, name) {
        Ok(record) => Ok(record.id),
        Err(error) => match name.map(|name| memory.experiment(name)) {
            Some(Ok(detail)) => Ok(detail.summary.sandbox),
            Some(Err(_)) | None => Err(error),
        },
    }
}

/// Asks for something to be remembered that somebody says.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NoteRequest {
    /// What they say.
    pub text: String,
    /// Who says it.
    pub caller: Caller,
}

/// Writes a note down. It carries no evidence, and is shown as what it is.
pub fn note(engine: &Engine, request: &NoteRequest) -> Result<NoteText, EngineError> {
    if request.text.trim().is_empty() {
        return Err(EngineError::Invalid("there is nothing to note".to_owned()));
    }
    let (_, mut memory) = open(engine)?;
    let author = request.caller.agent().unwrap_or(PERSON);
    Ok(memory.note(author, &request.text, engine.now())?)
}

/// Says how much is remembered.
pub fn stats(engine: &Engine) -> Result<Stats, EngineError> {
    Ok(open(engine)?.1.stats()?)
}

/// How good predictions were.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CalibrationAnswer {
    /// The figures.
    #[serde(flatten)]
    pub calibration: Calibration,
    /// The plot for a terminal.
    #[serde(skip)]
    pub plot: String,
    /// The plot as a picture.
    #[serde(skip)]
    pub svg: String,
}

/// Holds what was predicted against what came.
pub fn calibration(engine: &Engine) -> Result<CalibrationAnswer, EngineError> {
    let calibration = open(engine)?.1.calibration()?;
    Ok(CalibrationAnswer {
        plot: calibration.plot(),
        svg: calibration.svg(),
        calibration,
    })
}

/// Asks for one experiment.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ExperimentRequest {
    /// Its id, the beginning of it, or the name of its sandbox; the newest if left out.
    pub name: Option<String>,
}

/// Everything about an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExperimentAnswer {
    /// In our words.
    #[serde(flatten)]
    pub detail: ExperimentDetail,
    /// In the words of the first seed.
    pub sandbox_memory: SandboxMemory,
}

/// Shows one experiment.
pub fn show_experiment(
    engine: &Engine,
    request: &ExperimentRequest,
) -> Result<ExperimentAnswer, EngineError> {
    let (here, memory) = open(engine)?;
    let id: ExperimentId = match &request.name {
        None => match memory.experiments(None, 1)?.first() {
            Some(newest) => newest.id,
            None => {
                return Err(EngineError::Missing {
                    doing: "show an experiment",
                    what: "experiment in this project".to_owned(),
                });
            }
        },
        Some(name) => match memory.experiment(name) {
            Ok(detail) => detail.summary.id,
            Err(error @ MemoryError::Missing(_)) => match find::sandbox(here, Some(name)) {
                Ok(record) => experiment::same(record.id),
                Err(_) => return Err(error.into()),
            },
            Err(error) => return Err(error.into()),
        },
    };
    Ok(ExperimentAnswer {
        detail: memory.experiment(&id.to_string())?,
        sandbox_memory: memory.sandbox_memory(id)?,
    })
}

/// Reads what a caller says about a proposal.
pub fn context(text: &str) -> Result<serde_json::Map<String, Value>, EngineError> {
    match serde_json::from_str(text) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(EngineError::Invalid(
            "the context is not a JSON object".to_owned(),
        )),
        Err(error) => Err(EngineError::Invalid(format!(
            "the context is not JSON: {error}"
        ))),
    }
}

/// A proposal in words, with what is said about it.
pub fn proposal(
    text: Option<String>,
    change: Option<ChangeType>,
    context_text: Option<&str>,
) -> Result<Proposal, EngineError> {
    Ok(Proposal {
        text,
        change,
        context: context_text.map(context).transpose()?.unwrap_or_default(),
    })
}
