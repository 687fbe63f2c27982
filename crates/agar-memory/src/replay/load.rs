//! Outcomes by the million: what is known of each becomes evidence, without predictions or lessons.

use crate::error::MemoryError;
use crate::memory::{Memory, Tuning};
use crate::rates::{self, Levels};
use crate::record::to_json;
use crate::redact;
use crate::replay::Outcome;
use crate::terms::{Terms, hash64};
use agar_core::id::{ExperimentId, ProjectId, SandboxId};
use agar_core::seam::Timestamp;
use agar_store::memory::{Closing, MemoryWriter, NewEvidence, NewExperiment};

/// Outcomes in one transaction.
const PAGE: usize = 10_000;

impl Memory {
    /// Takes in outcomes of this project that were never predicted. Answers how many. Follow it
    /// with [`tidy`](Self::tidy), which makes the index.
    pub fn load(
        &mut self,
        outcomes: &mut dyn Iterator<Item = Outcome>,
    ) -> Result<u64, MemoryError> {
        let mut count = 0_u64;
        let (project, tuning) = (self.project, self.tuning);
        loop {
            let page: Vec<Outcome> = outcomes.take(PAGE).collect();
            if page.is_empty() {
                return Ok(count);
            }
            self.store
                .write(|writer| take_page(writer, (project, &tuning), &page, count))?;
            count += page.len() as u64;
        }
    }
}

fn take_page(
    writer: &MemoryWriter<'_>,
    (project, tuning): (ProjectId, &Tuning),
    page: &[Outcome],
    before: u64,
) -> Result<(), MemoryError> {
    for (number, outcome) in (before..).zip(page) {
        let evidence = take_in(writer, project, outcome, number)?;
        let levels = Levels::of(project, &outcome.suggestion);
        rates::add(writer, &levels, tuning, evidence)?;
    }
    Ok(())
}

/// Writes one down, and answers what it adds to the sums.
fn take_in(
    writer: &MemoryWriter<'_>,
    project: ProjectId,
    outcome: &Outcome,
    number: u64,
) -> Result<(f64, Timestamp), MemoryError> {
    let suggestion = redact::suggestion(&outcome.suggestion);
    let mut random = [0; 10];
    let key = format!("{project} {number} {}", outcome.opened);
    random.copy_from_slice(&blake3::hash(key.as_bytes()).as_bytes()[..10]);
    let change = suggestion.change_type().word();
    let id = ExperimentId::new(outcome.opened, random);
    let experiment = writer.begin_experiment(&NewExperiment {
        id,
        sandbox: SandboxId::new(outcome.opened, random),
        project,
        user: "",
        agent: &suggestion.agent,
        change,
        suggestion: &suggestion.text,
        context: &to_json(&suggestion.context)?,
        limits: "{}",
        started: outcome.opened,
    })?;
    let status = if outcome.success {
        "success"
    } else {
        "failure"
    };
    if let Some(row) = writer.read().experiment_numbered(experiment)? {
        let closing = Closing {
            status,
            success: outcome.success,
            document: "",
            metrics: "{}",
            errors: "[]",
            lessons: "[]",
            ended: outcome.closed,
        };
        writer.close_experiment(&row, &closing)?;
    }
    let success = if outcome.success { 1.0 } else { 0.0 };
    writer.add_evidence(&NewEvidence {
        experiment,
        project: rates::project_hash(project),
        agent: rates::agent_hash(&suggestion.agent),
        change: hash64("change", change).cast_signed(),
        closed: outcome.closed,
        success,
        expected: 0.5,
        terms: &Terms::of(&suggestion).told(|_| 0.5).pack(),
    })?;
    Ok((success, outcome.closed))
}
