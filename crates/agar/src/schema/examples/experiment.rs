//! What is known of one experiment, with every field that may be there and every one that may not.

use super::learning::{experiment_id, learned};
use super::{BORN, id};
use agar_engine::memory::{
    ChangeType, CheckEvidence, Cost, Decision, Ending, ExperimentAnswer, ExperimentDetail,
    ExperimentSummary, MemoryEvolution, Operation, PackageMove, PartialSuccess, SandboxMemory,
    SeedOutcome, SeenPattern, Status, SuccessMetrics, Suggestion, Taught, Tried, Verdict,
};
use serde_json::json;

pub(super) fn summary() -> ExperimentSummary {
    ExperimentSummary {
        id: experiment_id(),
        sandbox: id(1),
        suggestion: "cargo update".to_owned(),
        agent: "person".to_owned(),
        change: "dependency".to_owned(),
        status: Status::Partial,
        started: BORN,
        ended: Some(BORN),
        reason: Some("lint: exit 1".to_owned()),
        cost: Some(Cost {
            wall_millis: 14_200,
            cpu_millis: 9_000,
            memory_bytes: 212 << 20,
        }),
        number: 17,
    }
}

pub(super) fn begun() -> ExperimentSummary {
    ExperimentSummary {
        status: Status::Running,
        ended: None,
        reason: None,
        cost: None,
        ..summary()
    }
}

fn ending() -> Ending {
    Ending {
        operations: vec![Operation {
            command: vec!["cargo".to_owned(), "update".to_owned()],
            exit: Some(0),
            started: BORN,
            millis: 14_200,
        }],
        changed: vec!["Cargo.lock".to_owned()],
        packages: vec![PackageMove {
            name: "serde".to_owned(),
            from: Some("1.0.1".to_owned()),
            to: Some("1.0.2".to_owned()),
        }],
        checks: vec![CheckEvidence {
            name: "test".to_owned(),
            verdict: Verdict::Fail,
            passed: 147,
            failed: 1,
            newly_failing: vec!["tests::config".to_owned()],
            newly_passing: vec!["tests::old".to_owned()],
            millis: 22_000,
        }],
        output: "error: no".to_owned(),
        metrics: SuccessMetrics {
            tests_pass: Some(false),
            build_succeeds: Some(true),
            no_errors: Some(false),
            performance_improved: None,
        },
        failure_reasons: vec!["test: tests::config fails".to_owned()],
        partial: Some(PartialSuccess {
            what_worked: vec!["build".to_owned()],
            what_failed: vec!["test".to_owned()],
        }),
        performance_ratio: Some(0.85),
        ..Ending::new(experiment_id(), Status::Partial, BORN)
    }
}

fn bare_ending() -> Ending {
    Ending {
        operations: vec![Operation {
            command: Vec::new(),
            exit: None,
            started: BORN,
            millis: 0,
        }],
        metrics: SuccessMetrics {
            performance_improved: Some(true),
            ..SuccessMetrics::default()
        },
        packages: vec![PackageMove {
            name: "serde".to_owned(),
            from: None,
            to: None,
        }],
        ..Ending::new(experiment_id(), Status::Success, BORN)
    }
}

fn suggestion() -> Suggestion {
    Suggestion {
        commands: vec![vec!["cargo".to_owned(), "update".to_owned()]],
        files: vec!["Cargo.lock".to_owned()],
        language: Some("cargo".to_owned()),
        strategy: Some("incremental".to_owned()),
        problem: Some("spring upgrades".to_owned()),
        change: Some(ChangeType::Dependency),
        ..Suggestion::new("cargo update")
    }
}

pub(super) fn details() -> [ExperimentAnswer; 3] {
    let detail = |ending: Option<Ending>| ExperimentDetail {
        summary: summary(),
        suggestion: suggestion(),
        ending,
        learned: Some(learned()),
        decision: Some(Decision {
            accepted: true,
            feedback: Some("fine".to_owned()),
            at: BORN,
        }),
        predicted: Some((0.72, 0.61, 0.82, 14.2)),
    };
    let answer = |detail| ExperimentAnswer {
        detail,
        sandbox_memory: sandbox_memory(),
    };
    let open = ExperimentDetail {
        summary: begun(),
        suggestion: Suggestion::new("x"),
        ending: None,
        learned: None,
        decision: None,
        predicted: None,
    };
    let mut undecided = detail(Some(bare_ending()));
    undecided.decision = Some(Decision {
        accepted: false,
        feedback: None,
        at: BORN,
    });
    [
        answer(detail(Some(ending()))),
        ExperimentAnswer {
            sandbox_memory: plain_memory(),
            detail: undecided,
        },
        ExperimentAnswer {
            detail: open,
            sandbox_memory: bare_memory(),
        },
    ]
}

pub(super) fn sandbox_memory() -> SandboxMemory {
    let seen = SeenPattern {
        id: "4a5b8f2c0d1e".to_owned(),
        pattern_type: "command".to_owned(),
        description: "`cargo update`".to_owned(),
        confidence: 0.5,
    };
    SandboxMemory {
        sandbox_id: id(1),
        experiment_id: experiment_id(),
        parent_memory_path: "/home/ana/.local/state/agar/memory/memory.db".to_owned(),
        experiment: Tried {
            description: "cargo update".to_owned(),
            ai_suggestion: "cargo update".to_owned(),
            original_context: json!(super::ANYTHING),
            start_time: BORN.to_string(),
            end_time: Some(BORN.to_string()),
        },
        outcome: SeedOutcome {
            status: Status::Partial,
            success_metrics: Some(ending().metrics),
            failure_reasons: vec!["test: tests::config fails".to_owned()],
            partial_success: ending().partial,
        },
        lessons: Taught {
            patterns: vec![seen.clone()],
            insights: vec!["Cargo.lock changed".to_owned()],
            confidence_adjustment: 0.28,
            similar_experiments: vec![experiment_id()],
        },
        evolution: MemoryEvolution {
            memories_created: vec![json!(super::ANYTHING)],
            memories_modified: vec![json!(super::ANYTHING)],
            patterns_detected: vec![seen],
            graduation_candidate: false,
        },
    }
}

/// One that answers none of the questions but the last.
pub(super) fn plain_memory() -> SandboxMemory {
    let mut memory = sandbox_memory();
    memory.outcome.success_metrics = Some(bare_ending().metrics);
    memory
}

pub(super) fn bare_memory() -> SandboxMemory {
    let mut memory = sandbox_memory();
    memory.experiment.end_time = None;
    memory.outcome.success_metrics = None;
    memory.outcome.partial_success = None;
    memory
}
