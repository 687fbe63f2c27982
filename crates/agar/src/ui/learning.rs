//! What memory says before and after a run.

use super::block::{self, Block};
use super::human;
use super::{Form, Ui};
use agar_core::text::printable;
use agar_engine::experiment::ExperimentView;
use agar_engine::memory::{Confidence, Lesson, Status};

/// The part of the heading that says how likely it is: `61–82 % likely (14 similar, 9 worked)`.
pub fn headline(confidence: &Confidence) -> String {
    printable(&confidence.headline()).into_owned()
}

/// What went wrong last time, where something did that applies.
pub fn last_time(confidence: &Confidence) -> Option<String> {
    let lesson: &Lesson = confidence.lessons.first()?;
    Some(format!(
        "last time: {} — agar memory show {}",
        printable(&lesson.sentence),
        short(&lesson.id)
    ))
}

/// What an experiment taught.
fn learned(block: &mut Block, experiment: &ExperimentView) {
    if let Some(learned) = &experiment.learned {
        block.push(block::LEARNED, printable(&learned.headline));
    }
    let graduated = experiment
        .graduated
        .as_ref()
        .map_or(&[][..], |it| &it.graduated);
    if let Some(first) = graduated.first() {
        let count = human::count(graduated.len(), "pattern", "patterns");
        let sentence = printable(&first.sentence);
        block.push(block::GRADUATED, format!("{count} · {sentence}"));
    }
}

/// Says what was learned, where somebody looks, and what is wrong with memory wherever it goes.
pub fn after(ui: &Ui, experiment: Option<&ExperimentView>) {
    let Some(experiment) = experiment.filter(|_| ui.form == Form::Words) else {
        return;
    };
    let mut block = Block::new();
    if ui.terminals.stderr {
        learned(&mut block, experiment);
    }
    let told = experiment.learned.is_none();
    trouble(&mut block, experiment.trouble.as_deref().filter(|_| told));
    ui.say_block(&block);
}

/// What is wrong with memory, where something is.
pub fn trouble(block: &mut Block, trouble: Option<&str>) {
    if let Some(trouble) = trouble {
        block.push(block::NOTE, format!("memory: {}", printable(trouble)));
        block.push(block::HINT, "`agar doctor` looks at it");
    }
}

/// A name as short as one types it.
pub fn short(id: &str) -> String {
    id.chars().take(8).collect()
}

/// What became of an experiment, in one word.
pub fn word(status: Status) -> &'static str {
    match status {
        Status::Running => "running",
        Status::Success => "worked",
        Status::Failure => "failed",
        Status::Partial => "partial",
    }
}

/// A share as a person says it: `58 %`.
pub fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}
