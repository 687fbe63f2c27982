//! The memory of one sandbox: what happened in it and what was seen there, kept apart until it
//! graduates and kept as provenance when the sandbox goes.

use crate::error::MemoryError;
use crate::experiment::{Operation, PartialSuccess, Status, SuccessMetrics};
use crate::finding::{Finding, FindingKind};
use crate::memory::{Memory, days};
use crate::record::{Document, document_of, suggestion_of, to_json};
use agar_core::id::{ExperimentId, SandboxId};
use agar_core::seam::Timestamp;
use agar_core::secret::redact_argv;
use agar_store::memory::{
    Closing, ExperimentRow, GraduatedPattern, MemoryWriter, NewExperiment, SandboxMemoryRow,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// Everything about one experiment, in the seed's words (`SandboxMemory`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxMemory {
    /// The sandbox.
    pub sandbox_id: SandboxId,
    /// The experiment.
    pub experiment_id: ExperimentId,
    /// The memory it may graduate into.
    pub parent_memory_path: String,
    /// What was tried.
    pub experiment: Tried,
    /// What came of it.
    pub outcome: SeedOutcome,
    /// What it taught.
    pub lessons: Taught,
    /// What it did to memory.
    pub evolution: MemoryEvolution,
}

/// The seed's `experiment`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tried {
    /// In one line.
    pub description: String,
    /// As it was proposed.
    pub ai_suggestion: String,
    /// The rest of the context.
    pub original_context: Value,
    /// When it began.
    pub start_time: String,
    /// When it ended.
    pub end_time: Option<String>,
}

/// The seed's `outcome`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SeedOutcome {
    /// Where it is.
    pub status: Status,
    /// The four questions.
    pub success_metrics: Option<SuccessMetrics>,
    /// Why it failed.
    pub failure_reasons: Vec<String>,
    /// What worked and what did not.
    pub partial_success: Option<PartialSuccess>,
}

/// The seed's `lessons`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Taught {
    /// What was seen.
    pub patterns: Vec<SeenPattern>,
    /// In plain words.
    pub insights: Vec<String>,
    /// From −1 to 1.
    pub confidence_adjustment: f64,
    /// Which others are alike.
    pub similar_experiments: Vec<ExperimentId>,
}

/// The seed's `evolution`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MemoryEvolution {
    /// Memories of this experiment.
    pub memories_created: Vec<Value>,
    /// Lessons whose state it changed.
    pub memories_modified: Vec<Value>,
    /// What was seen.
    pub patterns_detected: Vec<SeenPattern>,
    /// Whether it may be offered for graduation.
    pub graduation_candidate: bool,
}

/// Something seen in a sandbox.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SeenPattern {
    /// Its short name, the same in all sandboxes.
    pub id: String,
    /// What sort it is.
    pub pattern_type: String,
    /// What it says.
    pub description: String,
    /// How sure that is.
    pub confidence: f64,
}

impl Memory {
    /// Writes down a command as it is executed, in the sandbox's own memory.
    pub fn track(
        &self,
        sandbox: SandboxId,
        experiment: ExperimentId,
        operation: &Operation,
    ) -> Result<(), MemoryError> {
        let mut store = self.sandbox_store(sandbox, operation.started)?;
        let Some(row) = self.store.read().experiment(experiment)? else {
            return Err(MemoryError::Missing(experiment.to_string()));
        };
        store.write(|writer| {
            adopt(writer, &row)?;
            Ok::<(), MemoryError>(writer.set_memory(&operation_row(&row, operation))?)
        })
    }

    /// Removes the memories of sandboxes that are gone and whose experiments ended longer ago than a
    /// pattern may be old: nothing in them could graduate any more, and what was tried, executed and
    /// learned is in the project's memory. `there` says whether a sandbox is. Answers how many.
    pub fn drop_sandbox_memories(
        &self,
        there: &dyn Fn(SandboxId) -> bool,
        now: Timestamp,
    ) -> Result<u64, MemoryError> {
        let entries = match fs_err::read_dir(self.directory.join("sandboxes")) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            Err(error) => return Err(MemoryError::io(error)),
        };
        let mut dropped = 0;
        for entry in entries {
            let path = entry.map_err(MemoryError::io)?.path();
            let name = path.file_name().and_then(|name| name.to_str());
            let name = name.and_then(|name| name.strip_suffix(".db"));
            let Some(sandbox) = name.and_then(|name| name.parse::<SandboxId>().ok()) else {
                continue;
            };
            if !there(sandbox) && self.is_spent(sandbox, &path, now)? {
                remove_database(&path).map_err(MemoryError::io)?;
                dropped += 1;
            }
        }
        Ok(dropped)
    }

    /// Whether nothing of a sandbox could graduate any more.
    fn is_spent(
        &self,
        sandbox: SandboxId,
        path: &Path,
        now: Timestamp,
    ) -> Result<bool, MemoryError> {
        let old = f64::from(self.tuning.max_pattern_age_days);
        let rows = self.store.read().experiments_of(sandbox)?;
        let last = match rows.iter().map(|row| row.ended).max() {
            // Forgotten or taken back; a new one is about to be written down.
            None => written(path).map_err(MemoryError::io)?,
            Some(_) if rows.iter().any(|row| row.ended.is_none()) => return Ok(false),
            Some(ended) => ended.unwrap_or(now),
        };
        Ok(days(now.since(last)) > old)
    }

    /// Everything about one experiment, in the seed's words.
    pub fn sandbox_memory(&self, id: ExperimentId) -> Result<SandboxMemory, MemoryError> {
        let row = self.store.read().experiment(id)?;
        let row = row.ok_or_else(|| MemoryError::Missing(id.to_string()))?;
        let path = Self::sandbox_file(&self.directory, row.sandbox);
        let (patterns, memories) = if path.exists() {
            let store = self.sandbox_store(row.sandbox, row.started)?;
            let reader = store.read();
            (
                reader.patterns_of(row.sandbox)?,
                reader.memories_of(row.sandbox)?,
            )
        } else {
            (Vec::new(), Vec::new())
        };
        let own = format!("{id}/");
        let created = memories
            .iter()
            .filter(|memory| memory.id.starts_with(&own))
            .map(|memory| serde_json::from_str(&memory.content).unwrap_or_default())
            .collect();
        let seen: Vec<SeenPattern> = patterns
            .into_iter()
            .filter(|pattern| pattern.id.starts_with(&own))
            .map(|pattern| SeenPattern {
                id: pattern.pattern,
                pattern_type: pattern.kind,
                description: pattern.description,
                confidence: pattern.confidence,
            })
            .collect();
        Ok(assemble(self, &row, seen, created))
    }
}

/// When a file was last written to.
fn written(path: &Path) -> io::Result<Timestamp> {
    let at = fs_err::metadata(path)?.modified()?;
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let millis = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
    Ok(Timestamp::from_millis(millis))
}

/// Removes a database with its log.
fn remove_database(path: &Path) -> io::Result<()> {
    for ending in ["-wal", "-shm", ""] {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        match fs_err::remove_file(Path::new(&name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

fn assemble(
    memory: &Memory,
    row: &ExperimentRow,
    seen: Vec<SeenPattern>,
    created: Vec<Value>,
) -> SandboxMemory {
    let suggestion = suggestion_of(row);
    let document = document_of(row);
    let ending = document.as_ref().map(|document| &document.ending);
    let learned = document.as_ref().map(|document| &document.learned);
    SandboxMemory {
        sandbox_id: row.sandbox,
        experiment_id: row.id,
        parent_memory_path: memory.store.path().display().to_string(),
        experiment: Tried {
            description: crate::text::line(&suggestion.text, 120),
            ai_suggestion: suggestion.text.clone(),
            original_context: json!(suggestion.context),
            start_time: row.started.to_string(),
            end_time: row.ended.map(|at| at.to_string()),
        },
        outcome: SeedOutcome {
            status: Status::from_word(&row.status).unwrap_or(Status::Running),
            success_metrics: ending.map(|ending| ending.metrics),
            failure_reasons: ending.map_or_else(Vec::new, |it| it.failure_reasons.clone()),
            partial_success: ending.and_then(|ending| ending.partial.clone()),
        },
        lessons: Taught {
            patterns: seen.clone(),
            insights: learned.map_or_else(Vec::new, |learned| learned.insights.clone()),
            confidence_adjustment: learned.map_or(0.0, |learned| learned.confidence_adjustment),
            similar_experiments: learned.map_or_else(Vec::new, |learned| learned.similar.clone()),
        },
        evolution: MemoryEvolution {
            memories_created: created,
            memories_modified: learned.map_or_else(Vec::new, |learned| {
                learned.lessons.iter().map(|lesson| json!(lesson)).collect()
            }),
            patterns_detected: seen,
            graduation_candidate: learned.is_some_and(|learned| learned.graduation_candidate),
        },
    }
}

/// Writes an ended experiment into its sandbox's memory, where that has one.
pub(crate) fn remember(
    memory: &Memory,
    row: &ExperimentRow,
    document: &Document,
    findings: &[Finding],
) -> Result<(), MemoryError> {
    if !Memory::sandbox_file(&memory.directory, row.sandbox).exists() {
        return Ok(());
    }
    let at = document.ending.at;
    let mut store = memory.sandbox_store(row.sandbox, at)?;
    let success = document.ending.status.success();
    store.write(|writer| {
        adopt(writer, row)?;
        for operation in &document.ending.operations {
            writer.set_memory(&operation_row(row, operation))?;
        }
        let content = to_json(&json!({
            "experiment": row.id,
            "suggestion": row.suggestion,
            "outcome": document.ending.status,
            "insights": document.learned.insights,
        }))?;
        writer.set_memory(&SandboxMemoryRow {
            id: format!("{}/outcome", row.id),
            sandbox: row.sandbox.to_string(),
            kind: "outcome".to_owned(),
            content,
            confidence: if success { 1.0 } else { 0.0 },
            graduated: false,
            created: at.to_string(),
        })?;
        for finding in findings.iter().filter(|it| it.kind.becomes_pattern()) {
            writer.set_pattern(memory.project, &seen(memory, row, finding, success, at))?;
        }
        let current = writer.read().experiment(row.id)?;
        if let Some(current) = current {
            writer.close_experiment(&current, &closing(document, at)?.borrow())?;
        }
        Ok::<(), MemoryError>(())
    })
}

struct OwnedClosing {
    document: String,
    metrics: String,
    errors: String,
    status: Status,
    at: Timestamp,
}

impl OwnedClosing {
    fn borrow(&self) -> Closing<'_> {
        Closing {
            status: self.status.word(),
            success: self.status.success(),
            document: &self.document,
            metrics: &self.metrics,
            errors: &self.errors,
            lessons: "[]",
            ended: self.at,
        }
    }
}

fn closing(document: &Document, at: Timestamp) -> Result<OwnedClosing, MemoryError> {
    Ok(OwnedClosing {
        document: to_json(document)?,
        metrics: to_json(&document.ending.metrics)?,
        errors: to_json(&document.ending.failure_reasons)?,
        status: document.ending.status,
        at,
    })
}

/// Makes the experiment known in the sandbox's memory.
fn adopt(writer: &MemoryWriter<'_>, row: &ExperimentRow) -> Result<(), MemoryError> {
    if writer.read().experiment(row.id)?.is_some() {
        return Ok(());
    }
    writer.begin_experiment(&NewExperiment {
        id: row.id,
        sandbox: row.sandbox,
        project: row.project,
        user: "",
        agent: &row.agent,
        change: &row.change,
        suggestion: &row.suggestion,
        context: &row.context,
        limits: "{}",
        started: row.started,
    })?;
    Ok(())
}

fn operation_row(row: &ExperimentRow, operation: &Operation) -> SandboxMemoryRow {
    let clean = Operation {
        command: redact_argv(&operation.command),
        ..operation.clone()
    };
    let key = format!("{}{:?}", operation.started, clean.command);
    let hash = blake3::hash(key.as_bytes()).to_hex();
    SandboxMemoryRow {
        id: format!("{}/operation/{}", row.id, &hash[..12]),
        sandbox: row.sandbox.to_string(),
        kind: "operation".to_owned(),
        content: json!(clean).to_string(),
        confidence: if operation.success() { 1.0 } else { 0.0 },
        graduated: false,
        created: operation.started.to_string(),
    }
}

fn seen(
    memory: &Memory,
    row: &ExperimentRow,
    finding: &Finding,
    success: bool,
    at: Timestamp,
) -> GraduatedPattern {
    let id = finding.id(memory.project);
    GraduatedPattern {
        id: format!("{}/{id}", row.id),
        sandbox: row.sandbox.to_string(),
        kind: finding.kind.word().to_owned(),
        description: subject(finding),
        occurrences: 1,
        success_rate: if success { 1.0 } else { 0.0 },
        confidence: 0.5,
        first_seen: at.to_string(),
        last_seen: at.to_string(),
        metadata: json!({"sandboxId": row.sandbox, "experimentId": row.id}).to_string(),
        pattern: id,
        source: "sandbox".to_owned(),
    }
}

/// What a finding is about, the same text in every sandbox, so that the view can count it.
pub(crate) fn subject(finding: &Finding) -> String {
    let part = |name: &str| {
        finding
            .parts
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or("")
    };
    match finding.kind {
        FindingKind::Error => part("error").to_owned(),
        FindingKind::Test => part("test").to_owned(),
        FindingKind::Command => format!("`{}`", part("command")),
        FindingKind::Strategy => format!("`{}` for {} changes", part("strategy"), part("change")),
        FindingKind::File => part("file").to_owned(),
        FindingKind::Files => format!("{} and {} change together", part("a"), part("b")),
        FindingKind::Package | FindingKind::Break => part("package").to_owned(),
        FindingKind::Packages => format!("{} and {} must move together", part("a"), part("b")),
        FindingKind::Version => format!("{} {}", part("package"), part("version")),
        FindingKind::Overhead => format!("cost of `{}`", part("of")),
        FindingKind::Duration => format!("duration of `{}`", part("command")),
    }
}
