//! Answers of memory, in words.

use crate::ui::block::{self, Block};
use crate::ui::human;
use crate::ui::learning::{percent, short, word};
use crate::ui::palette::{Palette, Tone};
use crate::ui::table::{Cell, Table};
use agar_core::size::Bytes;
use agar_core::text::printable;
use agar_engine::memory::{
    CalibrationAnswer, ForgetAnswer, Found, Graduation, Imported, Lesson, LessonState,
    LessonsAnswer, NoteText, Pattern, PatternsAnswer, Provenance, SandboxMemory, SearchAnswer,
    ShowAnswer, Stats,
};
use std::fmt::Write as _;

/// Everything, or one thing.
pub(super) fn show(answer: &ShowAnswer, palette: Palette) -> String {
    if let Some(finding) = &answer.finding {
        return provenance(finding, palette);
    }
    if let Some(experiment) = &answer.experiment {
        return tried(experiment, palette);
    }
    if let Some(note) = &answer.note {
        return noted(note, palette);
    }
    let mut text = String::new();
    for (title, table) in [
        ("patterns", pattern_table(&answer.patterns)),
        ("lessons", lesson_table(&answer.lessons)),
        ("notes", note_table(&answer.notes)),
    ] {
        if !table.is_empty() {
            let _ = writeln!(text, "{}", palette.paint(Tone::Name, title));
            text.push_str(&table.render(palette));
        }
    }
    if text.is_empty() {
        text.push_str("nothing is remembered of this project yet\n");
    }
    hidden(&mut text, answer.hidden);
    text
}

fn hidden(text: &mut String, count: u64) {
    if count > 0 {
        let _ = writeln!(
            text,
            "{count} hidden: expired or retired (`agar memory lessons --all` and `patterns --all` show them)"
        );
    }
}

fn provenance(finding: &Provenance, palette: Palette) -> String {
    let mut block = Block::new().line(block::SEEN, printable(&finding.sentence));
    for seen in &finding.experiments {
        let came = if seen.worked { "worked" } else { "failed" };
        block.push_more(format!("{came}  {}", printable(&seen.suggestion)));
    }
    block.render(palette)
}

fn tried(memory: &SandboxMemory, palette: Palette) -> String {
    let mut block = Block::new()
        .line(block::EXPERIMENT, memory.experiment_id.to_string())
        .line(
            block::SUGGESTED,
            printable(&memory.experiment.ai_suggestion),
        )
        .line(block::OUTCOME, word(memory.outcome.status));
    for reason in &memory.outcome.failure_reasons {
        block.push_more(printable(reason));
    }
    for insight in &memory.lessons.insights {
        block.push(block::LEARNED, printable(insight));
    }
    block.render(palette)
}

fn pattern_table(patterns: &[Pattern]) -> Table {
    let mut table = Table::default();
    for pattern in patterns {
        table.row(vec![
            Cell::toned(Tone::Name, short(&pattern.id)),
            Cell::from(percent(pattern.confidence)),
            Cell::from(printable(&pattern.sentence).into_owned()),
        ]);
    }
    table
}

fn lesson_table(lessons: &[Lesson]) -> Table {
    let mut table = Table::default();
    for lesson in lessons {
        let tone = match lesson.state {
            LessonState::Confirmed => Tone::Bad,
            LessonState::Quarantined => Tone::Warn,
            LessonState::Contradicted | LessonState::Retired => Tone::Dim,
        };
        let state = format!("{:?}", lesson.state).to_lowercase();
        table.row(vec![
            Cell::toned(Tone::Name, short(&lesson.id)),
            Cell::toned(tone, state),
            Cell::from(printable(&lesson.sentence).into_owned()),
        ]);
    }
    table
}

fn note_table(notes: &[NoteText]) -> Table {
    let mut table = Table::default();
    for note in notes {
        table.row(vec![
            Cell::toned(Tone::Name, short(&note.id)),
            Cell::from(printable(&note.author).into_owned()),
            Cell::from(printable(&note.text).into_owned()),
        ]);
    }
    table
}

/// Patterns, the surest first.
pub(super) fn patterns(answer: &PatternsAnswer, palette: Palette) -> String {
    let mut text = pattern_table(&answer.patterns).render(palette);
    if answer.patterns.is_empty() {
        text.push_str("no pattern has graduated yet\n");
    }
    hidden(&mut text, answer.hidden);
    text
}

/// Lessons, the newest first.
pub(super) fn lessons(answer: &LessonsAnswer, palette: Palette) -> String {
    let mut text = lesson_table(&answer.lessons).render(palette);
    if answer.lessons.is_empty() {
        text.push_str("no lesson yet\n");
    }
    hidden(&mut text, answer.hidden);
    text
}

/// What fits, the best first.
pub(super) fn found(answer: &SearchAnswer, palette: Palette) -> String {
    let mut table = Table::default();
    for found in &answer.found {
        let (sort, id, said) = match found {
            Found::Experiment { experiment, .. } => (
                word(experiment.status).to_owned(),
                experiment.id.to_string().chars().take(13).collect(),
                experiment.suggestion.clone(),
            ),
            Found::Finding {
                id, kind, sentence, ..
            } => (
                format!("{kind:?}").to_lowercase(),
                short(id),
                sentence.clone(),
            ),
            Found::Note { id, text, .. } => ("note".to_owned(), short(id), text.clone()),
        };
        table.row(vec![
            Cell::from(format!("{:.2}", found.fit())),
            Cell::from(sort),
            Cell::toned(Tone::Name, id),
            Cell::from(printable(&said).into_owned()),
        ]);
    }
    if table.is_empty() {
        return "nothing fits\n".to_owned();
    }
    table.render(palette)
}

/// What crossed, and what did not.
pub(super) fn graduation(answer: &Graduation, palette: Palette) -> String {
    let mut block = Block::new();
    for graduate in &answer.graduated {
        let sure = percent(graduate.confidence);
        block.push(
            block::GRADUATED,
            format!("{} · {sure}", printable(&graduate.sentence)),
        );
    }
    for refusal in &answer.refused {
        let why = printable(&refusal.why.join("; ")).into_owned();
        block.push(
            block::REFUSED,
            format!("{} · {why}", printable(&refusal.sentence)),
        );
    }
    if block.is_empty() {
        block.push(block::NOTE, "there is nothing to graduate");
    }
    block.render(palette)
}

/// What is gone.
pub(super) fn forgotten(answer: &ForgetAnswer, palette: Palette) -> String {
    let gone = &answer.forgotten;
    let parts = [
        human::count(gone.experiments.len(), "experiment", "experiments"),
        human::count(gone.findings, "finding", "findings"),
        human::count(gone.notes, "note", "notes"),
        human::count(gone.sandboxes.len(), "sandbox", "sandboxes"),
    ];
    let mut block = Block::new().line(block::FORGOT, parts.join(" · "));
    for left in &answer.left {
        block.push(block::NOTE, format!("still in {}", printable(left)));
    }
    block.render(palette)
}

/// A note.
pub(super) fn noted(answer: &NoteText, palette: Palette) -> String {
    let line = format!(
        "{} · {} · {}",
        short(&answer.id),
        printable(&answer.author),
        printable(&answer.text)
    );
    Block::new().line(block::NOTED, line).render(palette)
}

/// How much there is.
pub(super) fn stats(answer: &Stats, palette: Palette) -> String {
    let mut table = Table::default();
    let mut row = |name: &str, value: String| table.row(vec![Cell::from(name), Cell::from(value)]);
    row("experiments", answer.experiments.to_string());
    for (status, count) in &answer.by_status {
        row(&format!("  {status}"), count.to_string());
    }
    row("everywhere", answer.experiments_everywhere.to_string());
    row("patterns", answer.patterns.to_string());
    row("lessons", answer.lessons.to_string());
    row("notes", answer.notes.to_string());
    row("findings", answer.findings.to_string());
    row("on disk", Bytes(answer.bytes).to_string());
    table.render(palette)
}

/// How good predictions were.
pub(super) fn calibration(answer: &CalibrationAnswer, palette: Palette) -> String {
    let figures = &answer.calibration;
    if figures.predictions == 0 {
        return "no prediction has been scored yet\n".to_owned();
    }
    let mut text = format!(
        "Brier {:.3} over {} (always saying the rate: {:.3}) · calibration error {:.3}\n",
        figures.brier,
        human::count(figures.predictions, "prediction", "predictions"),
        figures.brier_of_rate,
        figures.calibration_error,
    );
    let mut table = Table::new(&["SAID", "COUNT", "MEAN", "CAME"]);
    for cell in figures.cells.iter().filter(|cell| cell.count > 0) {
        table.row(vec![
            Cell::from(format!("{}–{}", percent(cell.from), percent(cell.to))),
            Cell::from(cell.count.to_string()),
            Cell::from(percent(cell.said)),
            Cell::from(percent(cell.came)),
        ]);
    }
    text.push_str(&table.render(palette));
    text.push_str(&answer.plot);
    text
}

/// What an import brought.
pub(super) fn imported(answer: &Imported, palette: Palette) -> String {
    let line = format!(
        "{} new, {} known · {} · {}",
        human::count(answer.experiments, "experiment", "experiments"),
        answer.known,
        human::count(answer.notes, "note", "notes"),
        human::count(answer.patterns, "pattern", "patterns"),
    );
    Block::new().line(block::IMPORTED, line).render(palette)
}
