//! What was tried before, what came of it, and how likely the next attempt is to work.
//!
//! A project's memory is opened once per process and asked through one handle:
//!
//! ```text
//! let memory = Memory::open(&state.join("memory"), project, Tuning::new(&graduation, &patterns))?;
//!
//! memory.predict(&suggestion, now)   -> Confidence   before anything runs; changes nothing
//! memory.begin(&beginning)           -> Confidence   the experiment starts: the prediction is kept,
//!                                                    the sandbox gets a memory of its own
//! memory.track(sandbox, id, &op)                     a command was executed (optional; `record`
//!                                                    writes all operations of the ending as well)
//! memory.record(&ending)             -> Learned      it ended: scored, counted, lessons taught
//! memory.graduate(sandbox, why, now) -> Graduation   patterns that earned it cross: after `record`
//!                                                    of a success, on accept, or by command
//! memory.decide(id, &decision)                       a person accepted or rejected
//!
//! memory.patterns(now) lessons(now) notes() note(..) provenance(name) evolution()
//! memory.search(words, limit, now) experiments(before, limit) experiment(name) stats()
//! memory.sandbox_memory(id)          -> SandboxMemory  the seed's words
//! memory.calibration()               -> Calibration    Brier, error, table, plot(), svg()
//! memory.forget(&target)             -> Forgotten      really deleted
//! memory.export(what, out) import(lines) tidy()
//! check(directory)                   -> Health         for doctor
//! ```
//!
//! Outcomes are evidence: exit codes, tests, error lines, never anybody's word, and no language
//! model reads them. A probability says on how much evidence it rests, and "no evidence yet" where
//! there is none ([`Confidence::is_known`]). Secrets are taken out before anything is stored.
//!
//! Several processes may use one memory at once. Everything that must hold together is one SQLite
//! transaction in `agar-store`; the index beside it is made from the rows and can be made again.

mod calibration;
mod change;
mod command;
mod confidence;
mod error;
mod experiment;
mod finding;
mod fingerprint;
mod forget;
mod graduation;
mod index;
mod lesson;
mod memory;
pub mod packages;
mod pattern;
mod rates;
mod record;
mod redact;
pub mod replay;
mod sandbox;
mod search;
mod terms;
mod text;
mod transfer;

pub use crate::calibration::{Calibration, Cell};
pub use crate::change::{ChangeType, NotAChangeType};
pub use crate::confidence::{Band, Confidence, EVIDENCE_LEAST, Platt, Similar};
pub use crate::error::MemoryError;
pub use crate::experiment::{
    Beginning, CheckEvidence, Cost, Decision, Ending, Operation, PERSON, PackageMove,
    PartialSuccess, Status, SuccessMetrics, Suggestion, Verdict,
};
pub use crate::finding::FindingKind;
pub use crate::fingerprint::{
    Fingerprint, Tool, VERSION as FINGERPRINT_VERSION, echoes, fingerprints,
};
pub use crate::forget::{Forgotten, Target};
pub use crate::graduation::{Graduate, Graduation, Occasion, Refusal};
pub use crate::lesson::{Lesson, LessonState, NoteText};
pub use crate::memory::{Memory, Tuning, check};
pub use crate::pattern::{Pattern, Provenance, Seen};
pub use crate::record::Learned;
pub use crate::sandbox::{MemoryEvolution, SandboxMemory, SeedOutcome, SeenPattern, Taught, Tried};
pub use crate::search::{ExperimentDetail, ExperimentSummary, Found, Stats};
pub use crate::transfer::{Export, Imported};
pub use agar_store::Health;
pub use agar_store::memory::{DayCount, Evolution, ExperimentPage};
