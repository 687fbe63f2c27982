//! Cells, in words.

use crate::ui::block::{Block, Label};
use crate::ui::human;
use crate::ui::palette::{Palette, Tone};
use crate::ui::table::{Cell, Table};
use agar_core::text::printable;
use agar_engine::evolve::{
    CellSaid, CellSent, CellVersionsAnswer, CellView, CellWorked, CellsAnswer, CellsRemoveAnswer,
    Condition, ShadowView,
};
use std::fmt::Write as _;

const CELL: Label = Label::new("cell", Tone::Name);
const GENOME: Label = Label::new("genome", Tone::Dim);
const DONE: Label = Label::new("done", Tone::Dim);
const WAITING: Label = Label::new("waiting", Tone::Dim);
const SHADOW: Label = Label::new("shadow", Tone::Dim);

fn short(genome: &str) -> &str {
    genome.get(..12).unwrap_or(genome)
}

const fn word(condition: Condition) -> (&'static str, Tone) {
    match condition {
        Condition::Awake => ("awake", Tone::Strong),
        Condition::Asleep => ("asleep", Tone::Good),
        Condition::Crashed => ("crashed", Tone::Bad),
    }
}

pub(super) fn info(view: &CellView, palette: Palette) -> String {
    let metrics = &view.metrics;
    let mut block = Block::new()
        .line(
            CELL,
            format!(
                "{} · {} · version {} · {} bytes of state",
                view.name,
                word(view.condition).0,
                view.current_version,
                view.state_bytes
            ),
        )
        .line(GENOME, short(&view.genome))
        .line(
            DONE,
            format!(
                "{}, {} failed · {} · {}",
                human::count(metrics.runs, "run", "runs"),
                metrics.failures,
                human::count(metrics.instructions, "instruction", "instructions"),
                human::count(metrics.swaps, "swap", "swaps"),
            ),
        );
    if view.waiting > 0 {
        block.push(WAITING, human::count(view.waiting, "message", "messages"));
    }
    if let Some(shadow) = &view.shadow {
        block.push(SHADOW, in_the_shadow(shadow));
    }
    block.render(palette)
}

/// What was seen of a variant so far.
fn in_the_shadow(shadow: &ShadowView) -> String {
    format!(
        "{} · {} of {} compared, {} the same · {} instructions to the cell's {}",
        short(&shadow.genome),
        shadow.asked,
        shadow.comparisons,
        shadow.same,
        shadow.variant_instructions,
        shadow.current_instructions,
    )
}

/// A message that waits.
pub(super) fn sent(answer: &CellSent, palette: Palette) -> String {
    let waiting = human::count(answer.cell.waiting, "message waits", "messages wait");
    Block::new()
        .line(WAITING, format!("message {} · {waiting}", answer.ticket))
        .render(palette)
}

/// Answers as they are, each after the number of its message.
pub(super) fn worked(answer: &CellWorked) -> String {
    let mut lines = String::new();
    for it in &answer.answers {
        let said = match &it.error {
            Some(error) => format!("failed: {}", printable(error)),
            None => shown(it.text.as_deref(), it.digits.as_deref()),
        };
        let _ = writeln!(lines, "{} {said}", it.ticket);
    }
    lines
}

pub(super) fn list(answer: &CellsAnswer, palette: Palette) -> String {
    if answer.cells.is_empty() {
        return "this project has no cells\n".to_owned();
    }
    let mut table = Table::new(&[
        "NAME",
        "CONDITION",
        "VERSION",
        "GENOME",
        "RUNS",
        "FAILED",
        "STATE",
    ]);
    for view in &answer.cells {
        let (condition, tone) = word(view.condition);
        table.row(vec![
            Cell::toned(Tone::Name, view.name.clone()),
            Cell::toned(tone, condition),
            Cell::from(view.current_version.to_string()),
            Cell::from(short(&view.genome).to_owned()),
            Cell::from(view.metrics.runs.to_string()),
            Cell::from(view.metrics.failures.to_string()),
            Cell::from(view.state_bytes.to_string()),
        ]);
    }
    table.render(palette)
}

pub(super) fn versions(answer: &CellVersionsAnswer, palette: Palette) -> String {
    let mut table = Table::new(&["VERSION", "GENOME", "WHEN", "LEFT BEHIND", "REASON"]);
    for version in &answer.versions {
        let current = version.number == answer.current_version;
        let tone = if current { Tone::Good } else { Tone::Dim };
        let left = match version.snapshot_bytes {
            Some(bytes) => format!("{bytes} bytes"),
            None if current => "current".to_owned(),
            None => "nothing".to_owned(),
        };
        table.row(vec![
            Cell::toned(tone, version.number.to_string()),
            Cell::from(short(&version.genome).to_owned()),
            Cell::from(version.at.to_string()),
            Cell::from(left),
            Cell::from(printable(&version.reason).to_string()),
        ]);
    }
    table.render(palette)
}

/// What the cell said: text as it is, other bytes in digits, numbers one a line.
pub(super) fn answer(said: &CellSaid) -> String {
    let mut lines = match &said.digits {
        None => said.values.join("\n"),
        Some(digits) => shown(said.text.as_deref(), Some(digits)),
    };
    lines.push('\n');
    lines
}

/// An answer as text where a terminal only shows it, else in digits.
fn shown(text: Option<&str>, digits: Option<&str>) -> String {
    let text = text.unwrap_or_default();
    let plain = !text.contains('\u{fffd}') && !text.chars().any(is_odd);
    match (plain, digits) {
        (true, _) | (false, None) => text.trim_end_matches('\n').to_owned(),
        (false, Some(digits)) => digits.to_owned(),
    }
}

/// Whether a terminal would do something with it other than show it.
fn is_odd(letter: char) -> bool {
    letter.is_control() && letter != '\n' && letter != '\t'
}

pub(super) fn removed(answer: &CellsRemoveAnswer, palette: Palette) -> String {
    let mut block = Block::new();
    for name in &answer.removed {
        block.push(crate::ui::block::REMOVED, name.clone());
    }
    block.render(palette)
}
