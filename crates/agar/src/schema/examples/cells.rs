//! What lasting cells answer.

use super::{BORN, values};
use agar_engine::evolve::{
    CellAnswered, CellSaid, CellSent, CellVersionView, CellVersionsAnswer, CellView, CellWorked,
    CellsAnswer, CellsRemoveAnswer, Condition, Metrics, Said, ShadowVerdict, ShadowView,
};
use serde_json::Value;

/// Everything that cells answer.
pub(super) fn all() -> Vec<(&'static str, Vec<Value>)> {
    let views = || values([cell(), crashed()]);
    vec![
        ("evolve-cells-create", views()),
        (
            "evolve-cells-ls",
            values([CellsAnswer {
                cells: vec![cell(), crashed()],
            }]),
        ),
        ("evolve-cells-info", views()),
        ("evolve-cells-run", values([said(), called()])),
        (
            "evolve-cells-send",
            values([cell(), crashed()].map(|cell| CellSent { cell, ticket: 3 })),
        ),
        ("evolve-cells-work", values([cell(), crashed()].map(worked))),
        ("evolve-cells-shadow", views()),
        ("evolve-cells-unshadow", views()),
        ("evolve-cells-reload", views()),
        ("evolve-cells-versions", values([versions()])),
        ("evolve-cells-rollback", views()),
        ("evolve-cells-restart", views()),
        (
            "evolve-cells-rm",
            values([CellsRemoveAnswer {
                removed: vec!["counter".to_owned()],
            }]),
        ),
    ]
}

fn cell() -> CellView {
    CellView {
        name: "counter".to_owned(),
        condition: Condition::Asleep,
        genome: "5f0c".to_owned(),
        current_version: 2,
        total_versions: 2,
        state_bytes: 4_152,
        waiting: 0,
        shadow: Some(ShadowView {
            genome: "91cc".to_owned(),
            asked: 12,
            same: 12,
            comparisons: 1_000,
            alike: 0.99,
            cost: 1.1,
            current_instructions: 720,
            variant_instructions: 705,
        }),
        metrics: Metrics {
            runs: 7,
            instructions: 420,
            ..Metrics::default()
        },
        created_at: BORN,
        changed_at: BORN,
    }
}

fn worked(cell: CellView) -> CellWorked {
    let answered = |ticket, error: Option<&str>| CellAnswered {
        ticket,
        text: error.is_none().then(|| "12".to_owned()),
        digits: error.is_none().then(|| "3132".to_owned()),
        error: error.map(str::to_owned),
    };
    CellWorked {
        cell,
        answers: vec![
            answered(1, None),
            answered(2, Some("the genome refuses: no")),
        ],
    }
}

fn crashed() -> CellView {
    CellView {
        condition: Condition::Crashed,
        state_bytes: 0,
        shadow: None,
        ..cell()
    }
}

fn said() -> CellSaid {
    CellSaid {
        cell: cell(),
        text: Some("12".to_owned()),
        digits: Some("3132".to_owned()),
        values: Vec::new(),
        artifacts: vec![Said {
            key: "note".to_owned(),
            text: "a dozen".to_owned(),
        }],
        instructions: 60,
        shadow: Some(ShadowVerdict::Wait),
    }
}

fn called() -> CellSaid {
    CellSaid {
        cell: crashed(),
        text: None,
        digits: None,
        values: vec!["49".to_owned()],
        shadow: None,
        ..said()
    }
}

fn versions() -> CellVersionsAnswer {
    CellVersionsAnswer {
        name: "counter".to_owned(),
        current_version: 2,
        total_versions: 2,
        versions: [(1, Some(8)), (2, None)]
            .map(|(number, snapshot_bytes)| CellVersionView {
                number,
                genome: "5f0c".to_owned(),
                parents: vec!["77aa".to_owned()],
                reason: "created".to_owned(),
                at: BORN,
                bytes: 300,
                snapshot_bytes,
            })
            .to_vec(),
    }
}
