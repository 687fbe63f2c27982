//! `agar experiments`: what was tried, and what came of it.

use crate::DONE;
use crate::context::Context;
use crate::report::Failure;
use crate::ui::block::{self, Block};
use crate::ui::human;
use crate::ui::learning::{percent, word};
use crate::ui::palette::{Palette, Tone};
use crate::ui::table::{Cell, Table};
use agar_core::seam::Timestamp;
use agar_core::text::printable;
use agar_engine::command_line;
use agar_engine::memory::{
    CheckEvidence, ExperimentAnswer, ExperimentRequest, ExperimentsAnswer, ExperimentsRequest,
    Status, experiments, show_experiment,
};

/// Show what was tried, and what came of it
///
/// Every `agar try`, and every run with a --suggestion, is an experiment: what was proposed, the
/// runs, the checks and the outcome.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = "\
Examples:
  agar experiments ls -n 50
  agar experiments show                  the newest
  agar experiments show calm-fern --json | jq .sandbox_memory.outcome")]
pub struct ExperimentsArgs {
    /// What to do.
    #[command(subcommand)]
    pub action: ExperimentsAction,
}

/// What can be done with experiments.
#[derive(Debug, Clone, clap::Subcommand)]
pub enum ExperimentsAction {
    /// List the experiments of this project, the newest first
    Ls(LsArgs),
    /// Show everything about one experiment
    ///
    /// In --json the answer also has it in the words of the sandbox memory: outcome, lessons,
    /// evolution.
    Show(ShowArgs),
}

/// Which experiments.
#[derive(Debug, Clone, clap::Args)]
pub struct LsArgs {
    /// How many at most
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 20)]
    pub limit: u32,

    /// Only those before the one with this number
    #[arg(long, value_name = "NUMBER", hide_short_help = true)]
    pub before: Option<i64>,
}

/// Which experiment.
#[derive(Debug, Clone, clap::Args)]
pub struct ShowArgs {
    /// Its id, the beginning of it, or the name of its sandbox; the newest if left out
    #[arg(value_name = "EXPERIMENT")]
    pub name: Option<String>,
}

/// Shows them.
pub fn run(args: &ExperimentsArgs, context: &Context) -> Result<u8, Failure> {
    let engine = context.engine()?;
    let now = engine.surroundings().clock.now();
    match &args.action {
        ExperimentsAction::Ls(args) => {
            let request = ExperimentsRequest {
                limit: args.limit,
                before: args.before,
                ..ExperimentsRequest::default()
            };
            let answer = experiments(&engine, &request)?;
            context
                .ui
                .answer(&answer, |answer, palette| list(answer, now, palette))?;
        }
        ExperimentsAction::Show(args) => {
            let request = ExperimentRequest {
                name: args.name.clone(),
            };
            let answer = show_experiment(&engine, &request)?;
            context.ui.answer(&answer, one)?;
        }
    }
    Ok(DONE)
}

/// The tone of an outcome.
pub fn tone(status: Status) -> Tone {
    match status {
        Status::Success => Tone::Good,
        Status::Failure => Tone::Bad,
        Status::Partial | Status::Running => Tone::Warn,
    }
}

fn list(answer: &ExperimentsAnswer, now: Timestamp, palette: Palette) -> String {
    let mut table = Table::new(&["NUMBER", "ID", "OUTCOME", "AGE", "TYPE", "BY", "SUGGESTION"]);
    for experiment in &answer.experiments {
        let age = now.millis().saturating_sub(experiment.started.millis());
        let mut said = printable(&experiment.suggestion).into_owned();
        if let Some(reason) = &experiment.reason {
            said = format!("{said} · {}", printable(reason));
        }
        table.row(vec![
            Cell::from(experiment.number.to_string()),
            Cell::toned(
                Tone::Name,
                experiment
                    .id
                    .to_string()
                    .chars()
                    .take(13)
                    .collect::<String>(),
            ),
            Cell::toned(tone(experiment.status), word(experiment.status).to_owned()),
            Cell::from(human::age(age)),
            Cell::from(experiment.change.clone()),
            Cell::from(printable(&experiment.agent).into_owned()),
            Cell::from(said),
        ]);
    }
    table.render(palette)
}

fn one(answer: &ExperimentAnswer, palette: Palette) -> String {
    let detail = &answer.detail;
    let summary = &detail.summary;
    let mut block = Block::new()
        .line(block::EXPERIMENT, summary.id.to_string())
        .line(block::SUGGESTED, printable(&detail.suggestion.text))
        .more(format!(
            "{} · by {}",
            summary.change,
            printable(&summary.agent)
        ));
    if let Some((p, low, high, evidence)) = detail.predicted {
        let said = if evidence < 0.5 {
            "no evidence".to_owned()
        } else {
            format!("{} ({:.0}–{:.0})", percent(p), low * 100.0, high * 100.0)
        };
        block.push(block::PREDICTED, said);
    }
    block.push(block::OUTCOME, summary.status.word());
    if let Some(ending) = &detail.ending {
        for reason in &ending.failure_reasons {
            block.push_more(printable(reason));
        }
        for operation in &ending.operations {
            let command = command_line(&operation.command);
            let exit = operation
                .exit
                .map_or_else(|| "?".to_owned(), |code| code.to_string());
            let took = human::duration(operation.millis);
            block.push(
                block::RAN,
                format!("{} · exit {exit} · {took}", printable(&command)),
            );
        }
        for check in &ending.checks {
            block.push(block::CHECKS, checked(check));
        }
        if !ending.changed.is_empty() {
            let files: Vec<_> = ending
                .changed
                .iter()
                .take(5)
                .map(|it| printable(it))
                .collect();
            let count = human::count(ending.changed.len(), "file", "files");
            block.push(block::CHANGED, format!("{count} · {}", files.join(", ")));
        }
    }
    if let Some(learned) = &detail.learned {
        block.push(block::LEARNED, printable(&learned.headline));
        let more = learned.insights.iter();
        for insight in more.filter(|it| **it != learned.headline).take(5) {
            block.push_more(printable(insight));
        }
    }
    if let Some(decision) = &detail.decision {
        let word = if decision.accepted {
            "accepted"
        } else {
            "rejected"
        };
        let said = decision.feedback.as_deref().map(printable);
        let said = said.map_or_else(|| word.to_owned(), |said| format!("{word} · {said}"));
        block.push(block::DECIDED, said);
    }
    block.render(palette)
}

/// What a check found: `test pass · 148 passed, 0 failed`.
fn checked(check: &CheckEvidence) -> String {
    let verdict = format!("{:?}", check.verdict).to_lowercase();
    let (name, passed, failed) = (printable(&check.name), check.passed, check.failed);
    match passed + failed {
        0 => format!("{name} {verdict}"),
        _ => format!("{name} {verdict} · {passed} passed, {failed} failed"),
    }
}
