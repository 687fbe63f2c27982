//! Tasks whose candidates are programs, and the programs that a search begins with.

use super::super::failure::EvolveError;
use super::super::tables::{module, unhex};
use super::Case;
use agar_evolve::Code;
use agar_evolve::task::{Answers, Lander};
use std::path::Path;

/// Questions and the modules to begin with.
pub(super) fn answers(cases: &[Case], code: &[String]) -> Result<Answers, EvolveError> {
    if cases.is_empty() || code.is_empty() {
        let why = "`answers` needs `cases`, and `modules` to begin with";
        return Err(EvolveError::Task(why.to_owned()));
    }
    let cases = cases.iter().map(|case| {
        (
            case.question.clone().into_bytes(),
            case.answer.clone().into_bytes(),
        )
    });
    Ok(Answers::new(cases.collect(), programs(code)?))
}

/// Games, and the bots to begin with.
pub(super) fn lander(
    code: &[String],
    games: usize,
    goal: Option<f64>,
    seed: u64,
) -> Result<Lander, EvolveError> {
    if code.is_empty() || !(1..=1_000).contains(&games) {
        let why = "`lander` needs `bots` to begin with, and 1 to 1000 `games`";
        return Err(EvolveError::Task(why.to_owned()));
    }
    let goal = goal.unwrap_or(f64::MAX);
    Ok(Lander::new(games, goal, seed, programs(code)?))
}

/// A module in a file, as bytes; a script as it is.
pub(super) fn program(path: &Path) -> Result<Vec<u8>, EvolveError> {
    let bytes = fs_err::read(path).map_err(|source| EvolveError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    if path.extension().is_some_and(|it| it == "js" || it == "mjs") {
        return Ok(bytes);
    }
    module(&bytes)
}

/// What [`program`] read, from its digits: modules by their first bytes, else scripts.
fn programs(code: &[String]) -> Result<Vec<Code>, EvolveError> {
    let programs = code.iter().map(|digits| {
        let bytes = unhex(digits)?;
        if bytes.starts_with(b"\0asm") {
            return Ok(Code::Module(bytes));
        }
        let source = String::from_utf8(bytes);
        let wrong = |_| EvolveError::Task("a script is not text".to_owned());
        source.map(Code::Script).map_err(wrong)
    });
    programs.collect()
}
