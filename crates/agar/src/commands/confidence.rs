//! `agar confidence`: how likely something is to work here.

use crate::DONE;
use crate::args::{caller, change_type};
use crate::context::Context;
use crate::report::Failure;
use crate::ui::human;
use crate::ui::learning::{percent, word};
use crate::ui::palette::{Palette, Tone};
use agar_core::seam::Timestamp;
use agar_core::text::printable;
use agar_engine::memory::{
    Band, ChangeType, ConfidenceAnswer, ConfidenceRequest, Status, confidence, context,
};
use std::fmt::Write as _;

/// Say how likely a suggestion is to work here, and why
///
/// The answer comes from what was tried before: its probability with an interval, the experiments
/// that are alike and how they ended, lessons that apply, and how good such answers have been.
/// Without evidence it says so. Nothing is run and nothing is changed.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = "\
Examples:
  agar confidence 'upgrade axum to 0.9'
  agar confidence --agent claude --change-type refactor 'split the cart module'
  agar confidence --json 'npm update' | jq .p")]
pub struct ConfidenceArgs {
    /// What is proposed, in words or as a command
    #[arg(value_name = "SUGGESTION", required = true, num_args = 1..)]
    pub suggestion: Vec<String>,

    /// Who proposes it
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,

    /// What sort of change it is
    #[arg(long, value_name = "TYPE", value_parser = change_type())]
    pub change_type: Option<ChangeType>,

    /// What else is known about it, as a JSON object
    #[arg(long, value_name = "JSON")]
    pub context: Option<String>,
}

/// Says it.
pub fn run(args: &ConfidenceArgs, context_: &Context) -> Result<u8, Failure> {
    let request = ConfidenceRequest {
        suggestion: args.suggestion.join(" "),
        change: args.change_type,
        context: args
            .context
            .as_deref()
            .map(context)
            .transpose()?
            .unwrap_or_default(),
        caller: caller(args.agent.clone().or(context_.environment.agent())),
    };
    let engine = context_.engine()?;
    let answer = confidence(&engine, &request)?;
    let now = engine.surroundings().clock.now();
    context_
        .ui
        .answer(&answer, |answer, palette| words(answer, now, palette))?;
    Ok(DONE)
}

fn words(answer: &ConfidenceAnswer, now: Timestamp, palette: Palette) -> String {
    let confidence = &answer.confidence;
    let mut text = String::new();
    if answer.known {
        let tone = match confidence.band {
            Band::Green => Tone::Good,
            Band::Yellow => Tone::Warn,
            Band::Red => Tone::Bad,
        };
        let (here, elsewhere) = (confidence.here.0, confidence.elsewhere.0);
        let p = palette.paint(tone, &percent(confidence.p));
        let interval = format!(
            "{:.0}–{:.0}",
            confidence.low * 100.0,
            confidence.high * 100.0
        );
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{p}  ({interval})  from {here} like it here, {elsewhere} elsewhere"
        );
    } else {
        let _ = writeln!(text, "no evidence yet");
    }
    for similar in &confidence.similar {
        let age = now.millis().saturating_sub(similar.at.millis());
        let place = if similar.here { "" } else { " elsewhere" };
        let reason = similar.reason.as_deref().map(printable).unwrap_or_default();
        let tone = match similar.status {
            Status::Success => Tone::Good,
            Status::Failure => Tone::Bad,
            Status::Partial | Status::Running => Tone::Warn,
        };
        let line = format!(
            "  {:<7}  {:<40}  {:>4} ago{place}  {:.2} alike  {reason}",
            word(similar.status),
            printable(&similar.suggestion),
            human::age(age),
            similar.likeness,
        );
        let _ = writeln!(text, "{}", palette.paint(tone, line.trim_end()));
    }
    for lesson in &confidence.lessons {
        let _ = writeln!(text, "lesson  {}", printable(&lesson.sentence));
    }
    for note in &confidence.notes {
        let (said, author) = (printable(&note.text), printable(&note.author));
        let _ = writeln!(text, "note    {said} ({author}; a note, not evidence)");
    }
    for reason in &confidence.reasons {
        let _ = writeln!(text, "because {}", printable(reason));
    }
    if let Some(brier) = answer.brier {
        let count = human::count(answer.predictions, "prediction", "predictions");
        let _ = writeln!(
            text,
            "calibration on this project: Brier {brier:.2} over {count}"
        );
    }
    text
}
