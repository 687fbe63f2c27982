//! Patterns of a sandbox cross into the project's memory, when the evidence allows it.
//!
//! The seed's conditions are kept under its names. Its arithmetic is not: it multiplies a confidence
//! by 1.2 on graduation and adds 0.1 or takes 0.2 for each operation, which ends above 1 and says
//! nothing about how often something works. Here a confidence is a share of counted experiments,
//! and the lower end of that share must beat how often anything works here.

use crate::confidence::{levels, lower_bound};
use crate::error::MemoryError;
use crate::finding::FindingKind;
use crate::lesson::weights;
use crate::memory::{Memory, days};
use crate::rates;
use crate::record::{document_of, suggestion_of, to_json};
use agar_core::id::{ExperimentId, SandboxId};
use agar_core::seam::Timestamp;
use agar_store::memory::{
    Conversation, ExperimentRow, Feature, GraduatedPattern, MemoryReader, MemoryWriter,
    SandboxMemoryRow,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Who asks for a graduation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occasion {
    /// The experiment ended well.
    Ended,
    /// A person accepted the change.
    Accepted,
    /// A person asked for it by command.
    Asked,
}

/// What crossed, and what did not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Graduation {
    /// The sandbox.
    pub sandbox: SandboxId,
    /// What crossed.
    pub graduated: Vec<Graduate>,
    /// What did not, and why.
    pub refused: Vec<Refusal>,
    /// How many memories of the sandbox crossed.
    pub memories: u64,
    /// The experiments whose exchange was kept.
    pub conversations: Vec<ExperimentId>,
}

/// A pattern that crossed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Graduate {
    /// Its short name.
    pub id: String,
    /// What sort it is.
    pub kind: FindingKind,
    /// What it says.
    pub sentence: String,
    /// How sure it is.
    pub confidence: f64,
}

/// What did not cross.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The short name of a pattern, or the id of an experiment.
    pub id: String,
    /// What it says.
    pub sentence: String,
    /// Why not, in plain words.
    pub why: Vec<String>,
}

impl Memory {
    /// Moves what has earned it from a sandbox's memory into the project's. One transaction: a
    /// crash leaves all of it or nothing. Doing it twice is doing it once.
    pub fn graduate(
        &mut self,
        sandbox: SandboxId,
        occasion: Occasion,
        now: Timestamp,
    ) -> Result<Graduation, MemoryError> {
        let rows = self.store.read().experiments_of(sandbox)?;
        if rows.is_empty() {
            return Err(MemoryError::Missing(sandbox.to_string()));
        }
        let (patterns, memories) = self.of_sandbox(sandbox, now)?;
        let mut answer = Graduation {
            sandbox,
            graduated: Vec::new(),
            refused: Vec::new(),
            memories: 0,
            conversations: Vec::new(),
        };
        let mut crossing = Vec::new();
        for row in &rows {
            let why = self.unfit(row, occasion, now)?;
            if why.is_empty() {
                crossing.push(row);
            } else {
                answer.refused.push(Refusal {
                    id: row.id.to_string(),
                    sentence: crate::text::line(&row.suggestion, 72),
                    why,
                });
            }
        }
        let fit = self.judge(&patterns, &crossing, &mut answer, now)?;
        let own: Vec<(&ExperimentRow, Vec<&SandboxMemoryRow>)> = crossing
            .iter()
            .map(|row| {
                let own = format!("{}/", row.id);
                let memories = memories.iter().filter(|it| it.id.starts_with(&own));
                (*row, memories.collect())
            })
            .collect();
        self.cross(&fit, &own, &mut answer, now)?;
        Ok(answer)
    }

    /// What the sandbox's own memory holds; nothing where it has none.
    fn of_sandbox(
        &self,
        sandbox: SandboxId,
        now: Timestamp,
    ) -> Result<(Vec<GraduatedPattern>, Vec<SandboxMemoryRow>), MemoryError> {
        if !Self::sandbox_file(&self.directory, sandbox).exists() {
            return Ok((Vec::new(), Vec::new()));
        }
        let store = self.sandbox_store(sandbox, now)?;
        let reader = store.read();
        Ok((reader.patterns_of(sandbox)?, reader.memories_of(sandbox)?))
    }

    /// Why nothing of an experiment may cross: the seed's four conditions.
    fn unfit(
        &self,
        row: &ExperimentRow,
        occasion: Occasion,
        now: Timestamp,
    ) -> Result<Vec<String>, MemoryError> {
        let mut why = Vec::new();
        let Some(document) = document_of(row) else {
            return Ok(vec!["it has not ended".to_owned()]);
        };
        if !document.ending.status.success() {
            why.push(format!("it ended as {}", document.ending.status.word()));
        }
        if !document.ending.failure_reasons.is_empty() {
            why.push(format!(
                "something critical went wrong: {}",
                document.ending.failure_reasons[0]
            ));
        }
        if document.learned.confidence_adjustment < 0.0 {
            why.push("it came out below what was expected".to_owned());
        }
        // A person's word stands in for others' successes, nothing else does.
        if occasion == Occasion::Ended && why.is_empty() {
            let similar = self.similar_successes(row, now)?;
            if similar < self.tuning.min_similar_successes {
                why.push(format!(
                    "{similar} similar experiments worked; minSimilarSuccesses is {}",
                    self.tuning.min_similar_successes
                ));
            }
        }
        Ok(why)
    }

    fn similar_successes(&self, row: &ExperimentRow, now: Timestamp) -> Result<u32, MemoryError> {
        let asked;
        let neighbours = match &self.recent {
            Some((id, told)) if *id == row.id => &told.neighbours,
            _ => {
                asked = self.tell(&suggestion_of(row), now)?;
                &asked.neighbours
            }
        };
        let similar = neighbours
            .iter()
            .filter(|it| it.experiment != row.number && it.here && it.success)
            .filter(|it| it.likeness >= crate::confidence::SIMILAR);
        Ok(u32::try_from(similar.count()).unwrap_or(u32::MAX))
    }

    /// The patterns that may cross; the others are refused with reasons.
    fn judge(
        &self,
        patterns: &[GraduatedPattern],
        crossing: &[&ExperimentRow],
        answer: &mut Graduation,
        now: Timestamp,
    ) -> Result<Vec<(GraduatedPattern, Feature)>, MemoryError> {
        let mut fit = Vec::new();
        let reader = self.store.read();
        for pattern in patterns {
            let own = crossing
                .iter()
                .find(|row| pattern.id.starts_with(&row.id.to_string()));
            let (Some(_), Some(feature)) = (own, reader.feature(&pattern.pattern)?) else {
                continue;
            };
            let why = self.short_of(&reader, &feature, now)?;
            if why.is_empty() {
                fit.push((pattern.clone(), feature));
            } else {
                answer.refused.push(Refusal {
                    id: feature.id.clone(),
                    sentence: pattern.description.clone(),
                    why,
                });
            }
        }
        Ok(fit)
    }

    /// Which thresholds a pattern misses.
    fn short_of(
        &self,
        reader: &MemoryReader<'_>,
        feature: &Feature,
        now: Timestamp,
    ) -> Result<Vec<String>, MemoryError> {
        let tuning = &self.tuning;
        let mut why = Vec::new();
        let seen = feature.worked + feature.failed;
        if seen < u64::from(tuning.min_occurrences) {
            why.push(format!(
                "seen {seen} times; minOccurrences is {}",
                tuning.min_occurrences
            ));
        }
        #[expect(clippy::cast_precision_loss, reason = "a count of experiments")]
        let rate = feature.worked as f64 / seen.max(1) as f64;
        if rate < tuning.min_success_rate {
            why.push(format!(
                "{rate:.2} of them worked; minSuccessRate is {}",
                tuning.min_success_rate
            ));
        }
        let sure = crate::pattern::confidence(feature, tuning, now);
        if sure < tuning.min_confidence {
            why.push(format!(
                "confidence {sure:.2}; minConfidence is {}",
                tuning.min_confidence
            ));
        }
        if days(now.since(feature.last)) > f64::from(tuning.max_pattern_age_days) {
            why.push(format!(
                "not seen for more than maxPatternAge, {} days",
                tuning.max_pattern_age_days
            ));
        }
        let base = levels(&[rates::everything(reader, tuning, now)?]).0;
        let (failed, worked) = weights(feature, tuning, now);
        let bound = lower_bound(worked, failed);
        // Where nearly everything works, beating that is not asked of a share whose lower end
        // cannot reach it with few experiments.
        if bound <= base.min(tuning.min_confidence * 0.75) {
            why.push(format!(
                "the lower end of its share, {bound:.2}, does not beat the usual {base:.2}"
            ));
        }
        Ok(why)
    }

    fn cross(
        &mut self,
        fit: &[(GraduatedPattern, Feature)],
        own: &[(&ExperimentRow, Vec<&SandboxMemoryRow>)],
        answer: &mut Graduation,
        now: Timestamp,
    ) -> Result<(), MemoryError> {
        let (project, tuning) = (self.project, self.tuning);
        let sandbox = answer.sandbox;
        self.store.write(|writer| {
            for (pattern, feature) in fit {
                let sure = crate::pattern::confidence(feature, &tuning, now);
                writer.set_pattern(project, &graduated(pattern, feature, sure))?;
                let uses = (feature.worked, feature.failed);
                writer.set_confidence(&feature.id, sure, uses, now)?;
                answer.graduated.push(graduate(feature, sure));
            }
            for (row, memories) in own {
                answer.memories += cross_memories(writer, memories)?;
                writer.set_conversation(project, &conversation(row)?)?;
                answer.conversations.push(row.id);
            }
            Ok::<(), MemoryError>(())
        })?;
        if answer.memories > 0 {
            let mut store = self.sandbox_store(sandbox, now)?;
            store.write(|writer| Ok::<(), MemoryError>(writer.mark_graduated(sandbox)?))?;
        }
        Ok(())
    }
}

fn cross_memories(
    writer: &MemoryWriter<'_>,
    memories: &[&SandboxMemoryRow],
) -> Result<u64, MemoryError> {
    for memory in memories {
        writer.set_memory(&SandboxMemoryRow {
            graduated: true,
            ..(*memory).clone()
        })?;
    }
    Ok(memories.len() as u64)
}

fn graduate(feature: &Feature, sure: f64) -> Graduate {
    let kind = FindingKind::from_word(&feature.kind).unwrap_or(FindingKind::Command);
    let parts = serde_json::from_str(&feature.parts).unwrap_or_default();
    Graduate {
        id: feature.id.clone(),
        kind,
        sentence: crate::finding::say(kind, &parts, feature.worked, feature.failed),
        confidence: sure,
    }
}

fn graduated(pattern: &GraduatedPattern, feature: &Feature, sure: f64) -> GraduatedPattern {
    #[expect(clippy::cast_precision_loss, reason = "a count of experiments")]
    let rate = feature.worked as f64 / (feature.worked + feature.failed).max(1) as f64;
    GraduatedPattern {
        success_rate: rate,
        confidence: sure,
        first_seen: feature.first.to_string(),
        last_seen: feature.last.to_string(),
        source: "sandbox_graduation".to_owned(),
        ..pattern.clone()
    }
}

fn conversation(row: &ExperimentRow) -> Result<Conversation, MemoryError> {
    let document = document_of(row);
    let outcome = json!({
        "status": row.status,
        "successMetrics": document.as_ref().map(|it| it.ending.metrics),
        "insights": document.map(|it| it.learned.insights),
    });
    Ok(Conversation {
        id: row.id.to_string(),
        input: row.suggestion.clone(),
        reply: to_json(&outcome)?,
        metadata: json!({
            "source": "sandbox_graduation",
            "graduatedFrom": row.sandbox,
            "experimentId": row.id,
        })
        .to_string(),
        created: row.ended.unwrap_or(row.started).to_string(),
    })
}
