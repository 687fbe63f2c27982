//! Scoring candidates that somebody else bred: agar as the evaluator of another framework.

use super::failure::EvolveError;
use super::tables;
use super::wish::Wish;
use crate::{Engine, EngineError};
use agar_evolve::{Code, Tree};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Asks for candidates to be scored.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EvalRequest {
    /// The evolve file whose task it is.
    pub file: Option<PathBuf>,
    /// A formula to find, instead of a file.
    pub target: Option<String>,
    /// The candidates.
    pub candidates: Vec<Candidate>,
}

/// A candidate: exactly one of the forms of code.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Candidate {
    /// Whatever the caller calls it; given back.
    pub id: Option<Value>,
    /// A formula.
    pub formula: Option<String>,
    /// An expression in prefix form.
    pub tree: Option<String>,
    /// A module in text form.
    pub wat: Option<String>,
    /// A module in hexadecimal digits.
    pub wasm: Option<String>,
    /// JavaScript source.
    pub javascript: Option<String>,
    /// Numbers for a program of the task's.
    pub numbers: Option<Vec<f64>>,
}

/// What a candidate is worth.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scored {
    /// What the caller calls it.
    pub id: Option<Value>,
    /// Its score, if it has one; more is better.
    pub score: Option<f64>,
    /// What the score is made of.
    pub components: BTreeMap<String, f64>,
    /// What each case lost.
    pub cases: Vec<f64>,
    /// Whether it is a solution.
    pub solved: bool,
    /// Why it has no score, in one word.
    pub invalid: Option<String>,
    /// The same in a sentence: what to tell whoever made it.
    pub why: Option<String>,
    /// What the trial took, in instructions.
    pub instructions: u64,
}

/// What the candidates are worth.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvalAnswer {
    /// In the order in which they were given.
    pub results: Vec<Scored>,
}

/// Scores candidates; one that cannot be read is one without a score.
pub fn eval(engine: &Engine, request: &EvalRequest) -> Result<EvalAnswer, EngineError> {
    let wish = match (&request.file, &request.target) {
        (Some(file), _) => Wish::read(&engine.surroundings().cwd.join(file))?,
        (None, Some(target)) => Wish::for_formula(target),
        (None, None) => return Err(EvolveError::NoTask.into()),
    };
    let task = wish.make_task()?;
    let bench = wish.bench(Arc::clone(&engine.surroundings().clock));
    let results = request.candidates.iter().map(|candidate| {
        let code = match code(candidate, task.arguments()) {
            Ok(code) => code,
            Err(why) => return unreadable(candidate, &why),
        };
        let evaluation = task.evaluate(&code, &bench);
        let fitness = evaluation.verdict.as_ref().ok();
        let reason = evaluation.verdict.as_ref().err();
        Scored {
            id: candidate.id.clone(),
            score: fitness.map(|it| it.score),
            components: fitness.map(|it| it.components.clone()).unwrap_or_default(),
            cases: fitness.map(|it| it.cases.clone()).unwrap_or_default(),
            solved: fitness.is_some_and(|it| it.solved),
            invalid: reason.map(|it| it.word().to_owned()),
            why: reason.map(ToString::to_string),
            instructions: evaluation.instructions,
        }
    });
    Ok(EvalAnswer {
        results: results.collect(),
    })
}

fn unreadable(candidate: &Candidate, why: &str) -> Scored {
    Scored {
        id: candidate.id.clone(),
        score: None,
        components: BTreeMap::new(),
        cases: Vec::new(),
        solved: false,
        invalid: Some("refused".to_owned()),
        why: Some(why.to_owned()),
        instructions: 0,
    }
}

/// The code of a candidate, or why there is none.
pub(super) fn code(candidate: &Candidate, arguments: u16) -> Result<Code, String> {
    let Candidate {
        id: _,
        formula,
        tree,
        wat,
        wasm,
        javascript,
        numbers,
    } = candidate;
    let mut forms = Vec::new();
    if let Some(formula) = formula {
        forms.push(of_formula(formula, arguments));
    }
    if let Some(tree) = tree {
        let tree = Tree::parse(tree, arguments).map(Code::Tree);
        forms.push(tree.map_err(|error| error.to_string()));
    }
    if let Some(text) = wat {
        let module = tables::module(text.as_bytes()).map(Code::Module);
        forms.push(module.map_err(|error| error.to_string()));
    }
    if let Some(digits) = wasm {
        let module = tables::unhex(digits).map(Code::Module);
        forms.push(module.map_err(|error| error.to_string()));
    }
    if let Some(source) = javascript {
        forms.push(Ok(Code::Script(source.clone())));
    }
    if let Some(numbers) = numbers {
        forms.push(Ok(Code::Numbers(numbers.clone())));
    }
    match (forms.pop(), forms.is_empty()) {
        (Some(code), true) => code,
        (Some(_), false) | (None, _) => Err(FORMS.to_owned()),
    }
}

const FORMS: &str =
    "give exactly one of `formula`, `tree`, `wat`, `wasm`, `javascript` and `numbers`";

fn of_formula(formula: &str, arguments: u16) -> Result<Code, String> {
    let tree = Tree::formula(formula).map_err(|error| error.to_string())?;
    let tree = Tree::new(arguments, tree.nodes().to_vec());
    tree.map(Code::Tree).map_err(|error| error.to_string())
}
