//! What searches and cells leave behind for those who watch: journal, events, metrics, penalties.

use crate::desk::Desk;
use agar_engine::evolve::{
    CellCreateRequest, CellRunRequest, CellsRemoveRequest, EvolveRequest, PenaliseRequest,
    ResumeSearchRequest, create_cell, penalise, remove_cells, resume_search, run_cell, run_search,
};
use agar_store::{Fact, Store};
use serde_json::Value;
use std::collections::BTreeSet;

/// Everything in the journal of the desk's only project.
fn journal(desk: &Desk) -> Vec<Fact> {
    let state = desk.home().join(".local/state/agar");
    let store = Store::open(&state.join("store.db")).unwrap();
    let reader = store.read();
    let project = reader.projects().unwrap().first().unwrap().id;
    let entries = reader.journal_since(project, 0, 1_000).unwrap();
    entries.into_iter().map(|entry| entry.fact).collect()
}

/// Half of the candidates spin, and one of them boasts.
const CASES: &str = "[task]\nkind = 'answers'\nmodules = ['spin.wat', 'good.wat', 'boast.wat']\n\
    cases = [{ question = 'a', answer = 'a' }, { question = 'b', answer = 'b' }]\n\
    [search]\npopulation = 6\nislands = 1\ncrossover = 0.4\nstop = { generations = 2, solved = false }\n\
    [limits]\ninstructions = 20000\n";

const HEAD: &str = "(module (memory (export \"memory\") 1)\n\
    (func (export \"alloc\") (param i32) (result i32) (i32.const 64))\n";

fn with_modules() -> Desk {
    let desk = Desk::new();
    let spin = "(func (export \"evaluate\") (param i32 i32) (result i64) (loop $l (br $l)) (i64.const 0)))";
    let good =
        "(func (export \"evaluate\") (param i32 i32) (result i64) (i64.const 0x4000000001)))";
    let boast = "(func (export \"score\") (result i32) (i32.const 9)) (func (export \"evaluate\") (param i32 i32) (result i64) (i64.const 0)))";
    for (name, body) in [("spin", spin), ("good", good), ("boast", boast)] {
        desk.write(&format!("{name}.wat"), &format!("{HEAD}{body}"));
    }
    desk.write("it.toml", CASES);
    desk
}

#[test]
fn who_was_stopped_and_who_cheated_is_in_the_journal() {
    let desk = with_modules();
    let request = EvolveRequest {
        file: Some("it.toml".into()),
        ..EvolveRequest::default()
    };
    let answer = run_search(&desk.engine(), &request).unwrap();
    let facts = journal(&desk);
    let began = |fact: &Fact| matches!(fact, Fact::EvolveBegan { outside: None, .. });
    assert!(facts.iter().any(began), "{facts:?}");
    let contained = |fact: &Fact| {
        matches!(
            fact,
            Fact::EvolveContained {
                limits: 1..,
                cheats: 1..,
                ..
            }
        )
    };
    assert!(facts.iter().any(contained), "{facts:?}");
    let end = &answer.search.digest;
    let ended = |fact: &Fact| matches!(fact, Fact::EvolveEnded { digest, .. } if digest == end);
    assert!(facts.iter().any(ended), "{facts:?}");
}

#[test]
fn events_are_a_stream_and_metrics_a_file() {
    let desk = with_modules();
    let request = EvolveRequest {
        file: Some("it.toml".into()),
        events: Some("events.jsonl".into()),
        metrics: Some("agar.prom".into()),
        ..EvolveRequest::default()
    };
    run_search(&desk.engine(), &request).unwrap();
    let lines: Vec<Value> = desk
        .read("events.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let names: BTreeSet<&str> = lines.iter().filter_map(|it| it["event"].as_str()).collect();
    for name in [
        "sandbox.batch.start",
        "sandbox.batch.stop",
        "sandbox.evaluate.start",
        "sandbox.evaluate.stop",
        "sandbox.evaluate.exception",
        "sandbox.fitness.computed",
        "sandbox.killed.resource_limit",
        "sandbox.generation",
    ] {
        assert!(names.contains(name), "{name} is not among {names:?}");
    }
    assert!(
        lines
            .iter()
            .all(|it| it["at"].is_string() || it["at"].is_number())
    );
    let failed = lines
        .iter()
        .find(|it| it["event"] == "sandbox.evaluate.exception");
    let failed = failed.unwrap();
    assert!(
        failed["id"].is_string() && failed["result"].is_string(),
        "{failed}"
    );
    let generation = lines
        .iter()
        .rev()
        .find(|it| it["event"] == "sandbox.generation");
    assert!(generation.unwrap()["distribution"].is_array());
    let metrics = desk.read("agar.prom");
    assert!(metrics.contains("agar_evolve_generation 2\n"), "{metrics}");
    assert!(metrics.contains("agar_evolve_events_total{event=\"sandbox.killed.resource_limit\"}"));
}

#[test]
fn a_penalty_from_outside_counts_when_the_search_goes_on() {
    let desk = Desk::new();
    let engine = desk.engine();
    let request = EvolveRequest {
        target: Some("x^3".to_owned()),
        population: Some(10),
        generations: Some(2),
        ..EvolveRequest::default()
    };
    let best = run_search(&engine, &request).unwrap().best.unwrap();
    let penalty = |amount| PenaliseRequest {
        name: None,
        individual: best.id,
        amount,
        reason: "it was seen to misbehave".to_owned(),
    };
    assert!(penalise(&engine, &penalty(0.0)).is_err());
    assert!(penalise(&engine, &penalty(f64::NAN)).is_err());
    let answer = penalise(&engine, &penalty(100.0)).unwrap();
    assert!(answer.individual.score.unwrap() < -90.0);
    assert_ne!(answer.best, Some(best.id));
    let go_on = ResumeSearchRequest {
        generations: Some(4),
        ..ResumeSearchRequest::default()
    };
    let after = resume_search(&engine, &go_on).unwrap().best.unwrap();
    assert_ne!(after.id, best.id);
}

#[test]
fn code_that_enters_a_cell_and_runs_that_fail_are_in_the_journal() {
    let desk = with_modules();
    let engine = desk.engine();
    let create = CellCreateRequest {
        name: "spin".to_owned(),
        file: Some("spin.wat".into()),
        instructions: Some(10_000),
        ..CellCreateRequest::default()
    };
    let made = create_cell(&engine, &create).unwrap();
    let run = CellRunRequest {
        name: "spin".to_owned(),
        message: b"x".to_vec(),
        ..CellRunRequest::default()
    };
    run_cell(&engine, &run).unwrap_err();
    let remove = CellsRemoveRequest {
        names: vec!["spin".to_owned()],
    };
    remove_cells(&engine, &remove).unwrap();
    let facts = journal(&desk);
    let loaded =
        |fact: &&Fact| matches!(fact, Fact::CellLoaded { genome, .. } if *genome == made.genome);
    let failed =
        |fact: &&Fact| matches!(fact, Fact::CellFailed { why, .. } if why.contains("instructions"));
    assert_eq!(facts.iter().filter(loaded).count(), 1);
    assert_eq!(facts.iter().filter(failed).count(), 1);
    assert!(
        facts
            .iter()
            .any(|fact| matches!(fact, Fact::CellRemoved { .. }))
    );
}
