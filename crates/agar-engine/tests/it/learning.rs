//! What is tried is remembered as what the evidence says, and nothing else.

use crate::desk::{Desk, capture};
use agar_engine::apply::{ApplyRequest, apply};
use agar_engine::check::{CheckAnswer, CheckRequest, check};
use agar_engine::exec::{ExecRequest, exec};
use agar_engine::experiment::{ExperimentView, Proposal};
use agar_engine::memory::{
    ExperimentAnswer, ExperimentRequest, ExperimentsRequest, ForgetRequest, Status, experiments,
    forget, show_experiment,
};
use agar_engine::remove::{RemoveRequest, remove};
use agar_engine::run::RunAnswer;
use agar_engine::try_change::{Begun, TryRequest, try_change};
use agar_engine::{Command, Engine, NoControls};

fn attempt(engine: &Engine, script: &str) -> RunAnswer {
    begun(engine, script, &mut |_| {})
}

fn begun(engine: &Engine, script: &str, begun: &mut dyn FnMut(&Begun)) -> RunAnswer {
    let request = TryRequest {
        command: Command::new(["sh", "-c", script]),
        proposal: Proposal {
            text: Some("teach the shop to count".to_owned()),
            ..Proposal::default()
        },
        ..TryRequest::default()
    };
    let mut output = Vec::new();
    try_change(engine, &request, capture(&mut output), begun).unwrap()
}

fn checked(engine: &Engine, tried: &RunAnswer) -> CheckAnswer {
    let request = CheckRequest {
        sandbox: Some(tried.sandbox.id.to_string()),
        ..CheckRequest::default()
    };
    check(engine, &request, &mut NoControls, &mut |_| {}).unwrap()
}

fn shown(engine: &Engine, tried: &RunAnswer) -> ExperimentAnswer {
    let request = ExperimentRequest {
        name: Some(tried.sandbox.id.to_string()),
    };
    show_experiment(engine, &request).unwrap()
}

fn experiment(answer: &RunAnswer) -> &ExperimentView {
    answer.experiment.as_ref().unwrap()
}

fn desk() -> Desk {
    let desk = Desk::new();
    desk.write("a.txt", "one\n");
    desk
}

#[test]
fn a_command_that_works_is_a_success_and_one_that_fails_a_failure() {
    let desk = desk();
    let worked = attempt(&desk.engine(), "echo two >> a.txt");
    assert_eq!(experiment(&worked).status, Status::Success);
    assert!(experiment(&worked).learned.is_some());
    let failed = attempt(&desk.engine(), "echo 'ERROR: no such table orders'; exit 4");
    assert_eq!(experiment(&failed).status, Status::Failure);
    let record = shown(&desk.engine(), &failed).sandbox_memory;
    assert_eq!(
        record.outcome.failure_reasons,
        ["ERROR: no such table orders"]
    );
    assert_eq!(record.experiment.ai_suggestion, "teach the shop to count");
}

#[test]
fn what_is_likely_is_said_before_the_command_runs_and_kept() {
    let desk = desk();
    attempt(&desk.engine(), "true");
    let mut said = None;
    let answer = begun(&desk.engine(), "true", &mut |begun| {
        said.clone_from(&begun.confidence);
    });
    let said = said.unwrap();
    assert!(said.is_known(), "there is one like it");
    let predicted = shown(&desk.engine(), &answer).detail.predicted.unwrap();
    assert!((predicted.0 - said.p).abs() < 1e-9);
}

#[test]
fn a_setting_hides_it() {
    let desk = desk();
    desk.write("agar.toml", "[ui]\nshow_confidence = false\n");
    let mut said = None;
    begun(&desk.engine(), "true", &mut |begun| {
        said.clone_from(&begun.confidence);
    });
    assert_eq!(said, None);
}

const CHECKS: &str = "[[check]]\nname = 'build'\nrun = 'true'\n\
    [[check]]\nname = 'test'\nrun = 'grep -q one a.txt'\n\
    [[check]]\nname = 'lint'\nrun = '! grep -q ugly a.txt'\nmust_pass = false\n";

#[test]
fn the_outcome_is_what_the_checks_say() {
    let desk = desk();
    desk.write("agar.toml", CHECKS);
    for (script, status) in [
        ("echo two >> a.txt", Status::Success),
        ("echo ugly >> a.txt", Status::Partial),
        ("echo two > a.txt", Status::Failure),
    ] {
        let engine = desk.engine();
        let tried = attempt(&engine, script);
        assert_eq!(experiment(&tried).status, Status::Running, "checks are due");
        let answer = checked(&engine, &tried);
        assert_eq!(answer.experiment.unwrap().status, status, "{script}");
        let record = shown(&engine, &tried).sandbox_memory.outcome;
        assert_eq!(record.status, status);
        let metrics = record.success_metrics.unwrap();
        assert_eq!(metrics.build_succeeds, Some(true));
        if status == Status::Partial {
            let partial = record.partial_success.unwrap();
            assert_eq!(partial.what_worked, ["the command", "build", "test"]);
            assert_eq!(partial.what_failed, ["lint: exit 1"]);
        }
    }
}

#[test]
fn an_experiment_whose_process_died_ends_as_what_is_on_record() {
    let desk = desk();
    desk.write("agar.toml", CHECKS);
    // Whoever began it goes away before the checks ran.
    let tried = attempt(&desk.engine(), "echo two >> a.txt");
    assert_eq!(experiment(&tried).status, Status::Running);
    let record = shown(&desk.engine(), &tried).sandbox_memory.outcome;
    assert_eq!(record.status, Status::Partial);
    assert_eq!(record.failure_reasons, ["agar ended before the checks ran"]);
    assert_eq!(desk.left_in_state("memory/open"), 0, "nothing stays open");
}

#[test]
fn applying_accepts_and_giving_up_rejects_beside_the_evidence() {
    let desk = desk();
    let engine = desk.engine();
    let applied = attempt(&engine, "echo two >> a.txt");
    let request = ApplyRequest {
        sandbox: Some(applied.sandbox.id.to_string()),
        feedback: Some("just right".to_owned()),
        ..ApplyRequest::default()
    };
    assert!(apply(&engine, &request).unwrap().applied);
    let detail = shown(&engine, &applied).detail;
    let decision = detail.decision.unwrap();
    assert!(decision.accepted);
    assert_eq!(decision.feedback.as_deref(), Some("just right"));
    let rejected = attempt(&engine, "echo three >> a.txt");
    let request = RemoveRequest {
        sandboxes: vec![rejected.sandbox.id.to_string()],
        feedback: Some("not wanted".to_owned()),
        ..RemoveRequest::default()
    };
    remove(&engine, &request).unwrap();
    let detail = shown(&engine, &rejected).detail;
    assert!(!detail.decision.unwrap().accepted);
    assert_eq!(detail.summary.status, Status::Success, "evidence stays");
    let nothing = attempt(&engine, "true");
    let request = RemoveRequest {
        sandboxes: vec![nothing.sandbox.id.to_string()],
        ..RemoveRequest::default()
    };
    remove(&engine, &request).unwrap();
    let detail = shown(&engine, &nothing).detail;
    assert_eq!(detail.decision, None, "there was nothing to decide");
}

#[test]
fn a_run_without_a_suggestion_leaves_memory_alone() {
    let desk = desk();
    desk.run("echo two >> a.txt");
    assert!(!desk.home().join(".local/state/agar/memory").exists());
}

#[test]
fn a_damaged_memory_does_not_stand_in_the_way() {
    let desk = desk();
    attempt(&desk.engine(), "true");
    let memory = desk.home().join(".local/state/agar/memory/memory.db");
    fs_err::remove_file(memory.with_extension("db-wal")).ok();
    fs_err::write(&memory, "not a database, and long enough to be looked at").unwrap();
    let answer = attempt(&desk.engine(), "echo two >> a.txt");
    assert!(answer.run.end.unwrap().is_success());
    let trouble = answer.experiment.unwrap().trouble.unwrap();
    assert!(trouble.contains("memory"), "{trouble}");
}

#[test]
fn what_moved_in_a_lock_file_is_noticed() {
    let desk = desk();
    desk.write(
        "package.json",
        "{\"dependencies\": {\"x\": \"1.0.0\", \"y\": \"1.0.0\"}}",
    );
    let script = "echo '{\"dependencies\": {\"x\": \"2.0.0\", \"y\": \"1.0.0\"}}' > package.json";
    let tried = attempt(&desk.engine(), script);
    let ending = shown(&desk.engine(), &tried).detail.ending.unwrap();
    assert_eq!(ending.packages.len(), 1);
    assert_eq!(ending.packages[0].to.as_deref(), Some("2.0.0"));
}

#[test]
fn forgetting_everything_leaves_an_empty_memory() {
    let desk = desk();
    let engine = desk.engine();
    attempt(&engine, "echo two >> a.txt");
    let gone = forget(&engine, &ForgetRequest::Everything).unwrap();
    assert_eq!(gone.forgotten.experiments.len(), 1);
    let left = experiments(&engine, &ExperimentsRequest::default()).unwrap();
    assert_eq!(left.experiments.len(), 0);
    assert_eq!(desk.left_in_state("sandboxes"), 0);
}

#[test]
fn a_further_command_with_a_suggestion_is_an_experiment_of_its_own() {
    let desk = desk();
    let engine = desk.engine();
    let tried = attempt(&engine, "echo two >> a.txt");
    let exec_with = |script: &str, text: Option<&str>| {
        let request = ExecRequest {
            sandbox: Some(tried.sandbox.id.to_string()),
            command: Command::new(["sh", "-c", script]),
            proposal: text.map(|text| Proposal {
                text: Some(text.to_owned()),
                ..Proposal::default()
            }),
            ..ExecRequest::default()
        };
        let mut output = Vec::new();
        exec(&engine, &request, capture(&mut output)).unwrap()
    };
    assert_eq!(exec_with("true", None).experiment, None);
    let failed = exec_with("echo three > b.txt; exit 3", Some("add a file"));
    let view = failed.experiment.unwrap();
    assert_eq!(view.status, Status::Failure);
    let request = ExperimentRequest {
        name: Some(view.id.to_string()),
    };
    let detail = show_experiment(&engine, &request).unwrap().detail;
    assert_eq!(detail.suggestion.text, "add a file");
    // What the try before it changed is not its doing.
    assert_eq!(detail.ending.unwrap().changed, ["b.txt"]);
    let known = experiments(&engine, &ExperimentsRequest::default()).unwrap();
    assert_eq!(known.experiments.len(), 2);
}
