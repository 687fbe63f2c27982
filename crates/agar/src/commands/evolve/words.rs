//! Answers of searches, in words.

use super::chart;
use crate::ui::block::{self, Block, Label};
use crate::ui::human;
use crate::ui::palette::{Palette, Tone};
use crate::ui::table::{Cell, Table};
use agar_core::text::printable;
use agar_engine::evolve::{
    BestAnswer, Census, EvalAnswer, EvolveAnswer, ForgetSearchAnswer, IndividualView,
    LineageAnswer, PenaliseAnswer, PlotAnswer, SearchState, SearchView, StatusAnswer,
};
use std::collections::BTreeMap;
use std::fmt::Write as _;

const BEST: Label = Label::new("best", Tone::Good);
const SOLVED: Label = Label::new("solved", Tone::Good);
const ENDED: Label = Label::new("ended", Tone::Warn);
const SEARCH: Label = Label::new("search", Tone::Name);
const DIGEST: Label = Label::new("digest", Tone::Dim);
const LIVING: Label = Label::new("living", Tone::Dim);
const SPREAD: Label = Label::new("scores", Tone::Dim);
const PARTS: Label = Label::new("parts", Tone::Dim);
const HELD_OUT: Label = Label::new("held out", Tone::Dim);
const PENALISED: Label = Label::new("penalised", Tone::Warn);
const OUTSIDE: Label = Label::new("outside", Tone::Dim);
const NEXT: Label = Label::new("next", Tone::Name);

fn state(search: &SearchView) -> String {
    let why = match search.ended.as_deref() {
        Some("generations") => " after its last generation",
        Some("trials") => " after its last trial",
        Some("stagnant") => ": nothing better came",
        Some(_) | None => "",
    };
    format!(
        "{}{why} · generation {} of {} · {} · {}",
        search.name,
        search.generation,
        search.generations,
        human::count(search.born, "individual", "individuals"),
        human::count(search.trials, "trial", "trials"),
    )
}

fn parts(components: &BTreeMap<String, f64>) -> String {
    let parts: Vec<String> = components
        .iter()
        .map(|(name, value)| format!("{} {value}", printable(name)))
        .collect();
    parts.join(" · ")
}

fn individual(best: &IndividualView) -> String {
    let score = best
        .score
        .map_or("none".to_owned(), |score| score.to_string());
    format!(
        "{}   score {score} · number {} of generation {}",
        printable(&best.formula),
        best.id,
        best.generation
    )
}

/// What came of a search.
pub(super) fn came(answer: &EvolveAnswer, palette: Palette) -> String {
    let label = match answer.search.state {
        SearchState::Solved => SOLVED,
        SearchState::Running | SearchState::Interrupted | SearchState::Ended => ENDED,
    };
    let mut block = Block::new().line(label, state(&answer.search));
    if let Some(best) = &answer.best {
        block.push(BEST, individual(best));
        if !best.components.is_empty() {
            block.push(PARTS, parts(&best.components));
        }
    }
    if !answer.examined.is_empty() {
        block.push(HELD_OUT, parts(&answer.examined));
    }
    if let Some(asked) = answer.census.as_ref().and_then(outside) {
        block.push(OUTSIDE, asked);
    }
    block.push(DIGEST, answer.search.digest.clone());
    let name = &answer.search.name;
    block.push(
        NEXT,
        format!("agar evolve plot {name} · agar evolve lineage {name}"),
    );
    block.render(palette)
}

/// What was taken off.
pub(super) fn penalised(answer: &PenaliseAnswer, palette: Palette) -> String {
    Block::new()
        .line(PENALISED, individual(&answer.individual))
        .render(palette)
}

/// How searches stand.
pub(super) fn status(answer: &StatusAnswer, palette: Palette) -> String {
    if answer.searches.is_empty() {
        return "this project has no searches\n".to_owned();
    }
    if let (Some(census), Some(search)) = (&answer.census, answer.searches.first()) {
        let mut block = Block::new()
            .line(SEARCH, state(search))
            .line(DIGEST, search.digest.clone());
        population(&mut block, census);
        return block.render(palette);
    }
    let mut table = Table::new(&["NAME", "STATE", "TASK", "GENERATION", "BORN", "SEED"]);
    for search in &answer.searches {
        let tone = match search.state {
            SearchState::Solved => Tone::Good,
            SearchState::Running => Tone::Strong,
            SearchState::Interrupted | SearchState::Ended => Tone::Warn,
        };
        table.row(vec![
            Cell::toned(Tone::Name, search.name.clone()),
            Cell::toned(tone, search.state.word()),
            Cell::from(search.task.clone()),
            Cell::from(format!("{} of {}", search.generation, search.generations)),
            Cell::from(search.born.to_string()),
            Cell::from(search.seed.to_string()),
        ]);
    }
    table.render(palette)
}

/// What came of asking outside in a generation, where anybody was asked.
fn outside(census: &Census) -> Option<String> {
    let asked: usize = census.outside.values().sum();
    let children = census.outside.get("child").copied().unwrap_or(0);
    let mut words = format!("{children} of {asked} answers were a child");
    for (reason, count) in census.outside.iter().filter(|(word, _)| *word != "child") {
        let _ = write!(words, " · {count} {}", reason.replace('_', " "));
    }
    (asked > 0).then_some(words)
}

fn population(block: &mut Block, census: &Census) {
    if let Some(asked) = outside(census) {
        block.push(OUTSIDE, asked);
    }
    let health = &census.health;
    let mut living = format!(
        "{} with a score, {} without, {} different genomes",
        health.valid, health.invalid, health.distinct
    );
    for (reason, count) in &health.reasons {
        let _ = write!(living, " · {count} {}", reason.replace('_', " "));
    }
    block.push(LIVING, living);
    let most = census
        .distribution
        .iter()
        .map(|bin| bin.count)
        .max()
        .unwrap_or(0);
    let lines = census.distribution.iter().map(|bin| {
        let bar = "#".repeat((bin.count * 40).div_ceil(most.max(1)));
        format!(
            "{:>12.6} to {:<12.6} {:>6} {bar}",
            bin.from, bin.to, bin.count
        )
    });
    for (index, line) in lines.enumerate() {
        if index == 0 {
            block.push(SPREAD, line);
        } else {
            block.push_more(line);
        }
    }
}

/// The best.
pub(super) fn best(answer: &BestAnswer, palette: Palette) -> String {
    let mut block = Block::new();
    for best in &answer.best {
        block.push(BEST, individual(best));
        if !best.components.is_empty() {
            block.push_more(parts(&best.components));
        }
    }
    if !answer.examined.is_empty() {
        block.push(HELD_OUT, parts(&answer.examined));
    }
    block.render(palette)
}

/// Ancestors, the youngest first.
pub(super) fn lineage(answer: &LineageAnswer, palette: Palette) -> String {
    let mut table = Table::new(&["NUMBER", "GENERATION", "MADE BY", "OF", "SCORE"]);
    for relative in answer.individuals.iter().rev() {
        let parents: Vec<String> = relative.parents.iter().map(ToString::to_string).collect();
        let score = relative
            .score
            .map_or("none".to_owned(), |score| format!("{score:.6}"));
        table.row(vec![
            Cell::toned(Tone::Name, relative.id.to_string()),
            Cell::from(relative.generation.to_string()),
            Cell::from(printable(&relative.operator).into_owned()),
            Cell::from(parents.join(" and ")),
            Cell::from(score),
        ]);
    }
    table.render(palette)
}

/// Fitness over generations.
pub(super) fn plot(answer: &PlotAnswer, palette: Palette) -> String {
    let heading = Block::new()
        .line(SEARCH, state(&answer.search))
        .render(palette);
    format!("{heading}{}", chart::letters(&answer.generations))
}

/// What candidates are worth.
pub(super) fn scored(answer: &EvalAnswer, palette: Palette) -> String {
    let mut table = Table::new(&["CANDIDATE", "SCORE", "WHY"]);
    for (index, result) in answer.results.iter().enumerate() {
        let id = result.id.as_ref().map_or((index + 1).to_string(), |id| {
            id.as_str().map_or_else(|| id.to_string(), str::to_owned)
        });
        let why = result.why.as_deref().map(printable).unwrap_or_default();
        table.row(vec![
            Cell::toned(Tone::Name, printable(&id).into_owned()),
            match result.score {
                Some(score) => Cell::from(score.to_string()),
                None => Cell::toned(Tone::Bad, "invalid"),
            },
            Cell::from(why.into_owned()),
        ]);
    }
    table.render(palette)
}

/// What was removed.
pub(super) fn removed(answer: &ForgetSearchAnswer, palette: Palette) -> String {
    let mut block = Block::new();
    for name in &answer.removed {
        block.push(block::REMOVED, name.clone());
    }
    block.render(palette)
}
