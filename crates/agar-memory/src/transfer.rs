//! Memory as lines of JSON: to keep, to move, and to train on.
//!
//! An export holds what was tried and what came of it; patterns, lessons and sums follow from that
//! and are found again on import, in the order in which things happened. Nothing is imported unless
//! somebody asks.

use crate::error::MemoryError;
use crate::experiment::{Beginning, Decision, Ending, Status, Suggestion};
use crate::lesson::NoteText;
use crate::memory::Memory;
use crate::record::{document_of, suggestion_of};
use agar_core::id::{ExperimentId, SandboxId};
use agar_core::seam::Timestamp;
use agar_store::memory::{ExperimentRow, GraduatedPattern};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, Write};

/// What to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Export {
    /// Everything, for [`Memory::import`].
    Memory,
    /// Suggestion and outcome as chat messages.
    Chat,
    /// Of two attempts at one problem, the one that worked over the one that did not.
    Preferences,
}

/// What an import brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Imported {
    /// Experiments that are new here.
    pub experiments: u64,
    /// Experiments, notes and patterns that were known.
    pub known: u64,
    /// Notes that are new here.
    pub notes: u64,
    /// Graduated patterns that are new here.
    pub patterns: u64,
}

/// One line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "agar")]
enum Line {
    Experiment {
        id: ExperimentId,
        sandbox: SandboxId,
        suggestion: Box<Suggestion>,
        started: Timestamp,
        ending: Option<Box<Ending>>,
        decision: Option<Decision>,
    },
    Note(NoteText),
    Pattern(GraduatedPattern),
}

/// Experiments read at once.
const PAGE: u32 = 500;

impl Memory {
    /// Writes the project's memory as lines of JSON and answers how many.
    pub fn export(&self, what: Export, out: &mut dyn Write) -> Result<u64, MemoryError> {
        match what {
            Export::Memory => self.export_memory(out),
            Export::Chat => self.export_chat(out),
            Export::Preferences => self.export_preferences(out),
        }
    }

    fn export_memory(&self, out: &mut dyn Write) -> Result<u64, MemoryError> {
        let mut lines = 0;
        self.each_oldest_first(|row| {
            lines += 1;
            let ending = document_of(row).map(|document| Box::new(document.ending));
            let line = Line::Experiment {
                id: row.id,
                sandbox: row.sandbox,
                suggestion: Box::new(suggestion_of(row)),
                started: row.started,
                ending,
                decision: row
                    .decision
                    .as_deref()
                    .and_then(|text| serde_json::from_str(text).ok()),
            };
            write(out, &line)
        })?;
        for note in self.notes()? {
            lines += 1;
            write(out, &Line::Note(note))?;
        }
        for row in self.store.read().graduated(self.project, u32::MAX)? {
            lines += 1;
            write(out, &Line::Pattern(row))?;
        }
        Ok(lines)
    }

    fn export_chat(&self, out: &mut dyn Write) -> Result<u64, MemoryError> {
        let mut lines = 0;
        self.each_oldest_first(|row| {
            let Some(document) = document_of(row) else {
                return Ok(());
            };
            lines += 1;
            let outcome = json!({
                "status": document.ending.status,
                "metrics": document.ending.metrics,
                "failure_reasons": document.ending.failure_reasons,
                "insights": document.learned.insights,
            });
            let line = json!({
                "messages": [
                    {"role": "system", "content": "Say what will come of this change and why."},
                    {"role": "user", "content": prompt(row)},
                    {"role": "assistant", "content": outcome.to_string()},
                ],
                "provenance": provenance(row),
            });
            write(out, &line)
        })?;
        Ok(lines)
    }

    fn export_preferences(&self, out: &mut dyn Write) -> Result<u64, MemoryError> {
        let mut problems: BTreeMap<String, Vec<ExperimentRow>> = BTreeMap::new();
        self.each_oldest_first(|row| {
            let suggestion = suggestion_of(row);
            let problem = suggestion.problem.or_else(|| {
                let text = suggestion.text.trim().to_lowercase();
                suggestion.strategy.map(|_| text)
            });
            if let Some(problem) = problem {
                problems.entry(problem).or_default().push(row.clone());
            }
            Ok(())
        })?;
        let mut lines = 0;
        for (problem, rows) in &problems {
            let is = |status: Status| move |row: &&ExperimentRow| row.status == status.word();
            let losers = || rows.iter().filter(is(Status::Failure));
            let winners = rows.iter().filter(is(Status::Success));
            for (winner, loser) in winners.flat_map(|it| losers().map(move |loser| (it, loser))) {
                lines += 1;
                let line = json!({
                    "prompt": problem,
                    "chosen": prompt(winner),
                    "rejected": prompt(loser),
                    "provenance": {"chosen": provenance(winner), "rejected": provenance(loser)},
                });
                write(out, &line)?;
            }
        }
        Ok(lines)
    }

    fn each_oldest_first(
        &self,
        mut show: impl FnMut(&ExperimentRow) -> Result<(), MemoryError>,
    ) -> Result<(), MemoryError> {
        let mut after = 0;
        loop {
            let page = self
                .store
                .read()
                .experiments_after(self.project, after, PAGE)?;
            let Some(last) = page.last() else {
                return Ok(());
            };
            after = last.number;
            for row in &page {
                show(row)?;
            }
        }
    }

    /// Reads lines that an export wrote. What is known stays as it is.
    pub fn import(&mut self, lines: &mut dyn BufRead) -> Result<Imported, MemoryError> {
        let mut imported = Imported::default();
        let mut text = String::new();
        for number in 1.. {
            text.clear();
            if lines.read_line(&mut text).map_err(MemoryError::io)? == 0 {
                break;
            }
            if text.trim().is_empty() {
                continue;
            }
            let line: Line =
                serde_json::from_str(&text).map_err(|error| MemoryError::NotAnExport {
                    line: number,
                    what: error.to_string(),
                })?;
            self.import_line(line, &mut imported)?;
        }
        self.tidy()?;
        Ok(imported)
    }

    fn import_line(&mut self, line: Line, imported: &mut Imported) -> Result<(), MemoryError> {
        match line {
            Line::Experiment {
                id,
                sandbox,
                suggestion,
                started,
                ending,
                decision,
            } => {
                if self.store.read().experiment(id)?.is_some() {
                    imported.known += 1;
                    return Ok(());
                }
                imported.experiments += 1;
                self.begin_without_sandbox(&Beginning {
                    id,
                    sandbox,
                    user: "import".to_owned(),
                    suggestion: *suggestion,
                    limits: Value::Null,
                    at: started,
                })?;
                if let Some(ending) = ending {
                    self.record(&Ending { id, ..*ending })?;
                }
                if let Some(decision) = decision {
                    self.decide(id, &decision)?;
                }
                Ok(())
            }
            Line::Note(note) => {
                let (_, new) = self.add_note(&note.author, &note.text, note.at)?;
                imported.notes += u64::from(new);
                imported.known += u64::from(!new);
                Ok(())
            }
            Line::Pattern(pattern) => {
                let new = self.import_pattern(pattern)?;
                imported.patterns += u64::from(new);
                imported.known += u64::from(!new);
                Ok(())
            }
        }
    }

    /// Takes in a graduated pattern, and says whether it is new.
    fn import_pattern(&mut self, pattern: GraduatedPattern) -> Result<bool, MemoryError> {
        let project = self.project;
        // The short name holds the project: here it is another one.
        let here = self.renamed(&pattern.kind, &pattern.description);
        let pattern = GraduatedPattern {
            pattern: here.unwrap_or(pattern.pattern),
            source: "sandbox_graduation".to_owned(),
            ..pattern
        };
        self.store.write(|writer| {
            let known = writer.read().graduations_of(project, &pattern.pattern)?;
            writer.set_pattern(project, &pattern)?;
            Ok::<bool, MemoryError>(known.iter().all(|row| row.id != pattern.id))
        })
    }

    /// The short name that a pattern has in this project, found by what it is about.
    fn renamed(&self, kind: &str, description: &str) -> Option<String> {
        let found = self.store.read().features(self.project, kind, 5000).ok()?;
        let kind = crate::finding::FindingKind::from_word(kind)?;
        found
            .into_iter()
            .find(|feature| {
                let parts = serde_json::from_str(&feature.parts).unwrap_or_default();
                let finding = crate::finding::Finding::new(kind, "", parts);
                description.starts_with(&crate::sandbox::subject(&finding))
            })
            .map(|feature| feature.id)
    }
}

/// What was proposed, with what tells attempts apart.
fn prompt(row: &ExperimentRow) -> String {
    let suggestion = suggestion_of(row);
    let mut text = suggestion.text.clone();
    if let Some(strategy) = &suggestion.strategy {
        text.push_str("\nstrategy: ");
        text.push_str(strategy);
    }
    for command in &suggestion.commands {
        text.push_str("\n$ ");
        text.push_str(&command.join(" "));
    }
    text
}

fn provenance(row: &ExperimentRow) -> Value {
    json!({
        "experiment": row.id,
        "sandbox": row.sandbox,
        "project": row.project,
        "agent": row.agent,
        "status": row.status,
        "started": row.started.to_string(),
        "ended": row.ended.map(|at| at.to_string()),
    })
}

fn write<T: Serialize>(out: &mut dyn Write, line: &T) -> Result<(), MemoryError> {
    let text = crate::record::to_json(line)?;
    writeln!(out, "{text}").map_err(MemoryError::io)
}
