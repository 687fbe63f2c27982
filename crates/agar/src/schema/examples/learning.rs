//! What memory answers, with every field that may be there and every one that may not.

use super::experiment::{bare_memory, begun, details, plain_memory, sandbox_memory, summary};
use super::{BORN, id, values};
use agar_core::id::ExperimentId;
use agar_engine::experiment::ExperimentView;
use agar_engine::memory::{
    Band, Calibration, CalibrationAnswer, Cell, Confidence, ConfidenceAnswer, EvolutionView,
    ExperimentsAnswer, ExportAnswer, FindingKind, ForgetAnswer, Forgotten, Found, Graduate,
    Graduation, Imported, Learned, Lesson, LessonState, LessonsAnswer, NoteText, Pattern,
    PatternsAnswer, Provenance, Refusal, SearchAnswer, Seen, ShowAnswer, Similar, Stats, Status,
};
use serde_json::{Value, json};

pub(super) fn experiment_id() -> ExperimentId {
    ExperimentId::new(BORN, [1; 10])
}

/// Everything that memory answers.
pub(super) fn all() -> Vec<(&'static str, Vec<Value>)> {
    vec![
        ("confidence", values(confidences())),
        ("memory-show", values(shown())),
        ("memory-search", values([found()])),
        ("memory-patterns", values([patterns()])),
        ("memory-lessons", values([lessons()])),
        ("memory-graduate", values([graduation()])),
        ("memory-forget", values([forgotten()])),
        ("memory-note", values([note()])),
        ("memory-stats", values([stats()])),
        ("memory-calibration", values(calibrations())),
        ("memory-export", values([ExportAnswer { lines: 12 }])),
        ("memory-import", values([Imported::default()])),
        (
            "experiments-ls",
            values([ExperimentsAnswer {
                experiments: vec![summary(), begun()],
            }]),
        ),
        ("experiments-show", values(details())),
    ]
}

/// A lesson that applies.
fn lesson() -> Lesson {
    Lesson {
        id: "8f2c0d1e4a5b".to_owned(),
        kind: FindingKind::Error,
        sentence: "`serde_yaml` past 0.9.30 broke tests::config (3 of 4)".to_owned(),
        state: LessonState::Confirmed,
        why: "failed 3 of 4 times".to_owned(),
        failed: 3,
        worked: 1,
        confidence: 0.71,
        lower_bound: 0.42,
        upper_bound: 0.93,
        first: BORN,
        last: BORN,
        expired: false,
    }
}

fn note() -> NoteText {
    NoteText {
        id: "0a1b2c3d4e5f".to_owned(),
        author: "person".to_owned(),
        text: "always back up before a migration".to_owned(),
        at: BORN,
    }
}

/// How likely something is, with evidence.
pub(super) fn confidence() -> Confidence {
    let similar = |reason: Option<&str>, status| Similar {
        id: experiment_id(),
        suggestion: "upgrade tower to 0.6".to_owned(),
        status,
        agent: "claude".to_owned(),
        at: BORN,
        likeness: 0.64,
        here: true,
        reason: reason.map(str::to_owned),
    };
    Confidence {
        p: 0.72,
        low: 0.61,
        high: 0.82,
        raw: 0.7,
        evidence: 14.2,
        band: Band::Yellow,
        here: (11, 8),
        elsewhere: (3, 1),
        similar: vec![
            similar(None, Status::Success),
            similar(Some("trait bound not satisfied"), Status::Failure),
        ],
        lessons: vec![lesson()],
        notes: vec![note()],
        reasons: vec!["8 of 11 similar experiments here worked".to_owned()],
    }
}

fn confidences() -> [ConfidenceAnswer; 2] {
    let known = ConfidenceAnswer {
        confidence: confidence(),
        known: true,
        brier: Some(0.16),
        predictions: 230,
    };
    let unknown = ConfidenceAnswer {
        known: false,
        brier: None,
        ..known.clone()
    };
    [known, unknown]
}

pub(super) fn learned() -> Learned {
    Learned {
        id: experiment_id(),
        headline: "\"cargo update\" works here: 15 of 17".to_owned(),
        insights: vec!["Cargo.lock changed".to_owned()],
        lessons: vec![lesson()],
        confidence_adjustment: 0.28,
        similar: vec![experiment_id()],
        graduation_candidate: true,
    }
}

fn graduation() -> Graduation {
    Graduation {
        sandbox: id(1),
        graduated: vec![Graduate {
            id: "4a5b8f2c0d1e".to_owned(),
            kind: FindingKind::Command,
            sentence: "`cargo update` works here".to_owned(),
            confidence: 0.83,
        }],
        refused: vec![Refusal {
            id: "5b8f2c0d1e4a".to_owned(),
            sentence: "Cargo.lock and Cargo.toml change together".to_owned(),
            why: vec!["seen 2 times, 3 are needed".to_owned()],
        }],
        memories: 2,
        conversations: vec![experiment_id()],
    }
}

/// Experiments that ended, that go on, and that memory could not keep.
pub(super) fn experiments() -> [Option<ExperimentView>; 3] {
    let ended = ExperimentView {
        id: experiment_id(),
        confidence: Some(confidence()),
        status: Status::Success,
        learned: Some(learned()),
        graduated: Some(graduation()),
        trouble: None,
    };
    let open = ExperimentView {
        confidence: None,
        status: Status::Running,
        learned: None,
        graduated: None,
        trouble: Some("agar's memory is damaged".to_owned()),
        ..ended.clone()
    };
    [Some(ended), Some(open), None]
}

fn shown() -> Vec<ShowAnswer> {
    let all = ShowAnswer {
        patterns: patterns().patterns,
        lessons: vec![lesson()],
        notes: vec![note()],
        hidden: 2,
        ..ShowAnswer::default()
    };
    let finding = ShowAnswer {
        finding: Some(Provenance {
            id: lesson().id,
            sentence: lesson().sentence,
            parts: json!(super::ANYTHING),
            experiments: vec![Seen {
                id: experiment_id(),
                suggestion: "cargo update".to_owned(),
                worked: false,
                at: BORN,
            }],
        }),
        ..ShowAnswer::default()
    };
    let experiment = |memory| ShowAnswer {
        experiment: Some(memory),
        ..ShowAnswer::default()
    };
    let noted = ShowAnswer {
        note: Some(note()),
        ..ShowAnswer::default()
    };
    vec![
        all,
        finding,
        experiment(sandbox_memory()),
        experiment(plain_memory()),
        experiment(bare_memory()),
        noted,
    ]
}

fn patterns() -> PatternsAnswer {
    PatternsAnswer {
        patterns: vec![Pattern {
            id: "4a5b8f2c0d1e".to_owned(),
            kind: FindingKind::Command,
            sentence: "`cargo update` works here".to_owned(),
            worked: 15,
            failed: 2,
            confidence: 0.83,
            lower_bound: 0.7,
            upper_bound: 0.97,
            first: BORN,
            last: BORN,
            expired: false,
            from: vec![id(1)],
        }],
        hidden: 1,
        evolution: vec![EvolutionView {
            pattern_type: "command".to_owned(),
            description: "`cargo update`".to_owned(),
            sandbox_count: 4,
            avg_success_rate: 0.9,
            avg_confidence: 0.8,
            total_occurrences: 17,
        }],
    }
}

fn lessons() -> LessonsAnswer {
    LessonsAnswer {
        lessons: vec![lesson()],
        hidden: 0,
    }
}

fn found() -> SearchAnswer {
    SearchAnswer {
        found: vec![
            Found::Experiment {
                fit: 0.9,
                experiment: summary(),
            },
            Found::Experiment {
                fit: 0.9,
                experiment: begun(),
            },
            Found::Finding {
                fit: 0.5,
                id: lesson().id,
                kind: FindingKind::Error,
                sentence: lesson().sentence,
            },
            Found::Note {
                fit: 0.2,
                id: note().id,
                text: note().text,
            },
        ],
    }
}

fn forgotten() -> ForgetAnswer {
    ForgetAnswer {
        forgotten: Forgotten {
            experiments: vec![experiment_id()],
            sandboxes: vec![id(1)],
            findings: 3,
            notes: 1,
        },
        left: vec!["projects/x/generations/y/3/notes.txt".to_owned()],
    }
}

fn stats() -> Stats {
    Stats {
        experiments: 17,
        by_status: vec![("success".to_owned(), 15), ("failure".to_owned(), 2)],
        experiments_everywhere: 230,
        findings: 40,
        patterns: 3,
        lessons: 2,
        notes: 1,
        bytes: 4 << 20,
        index_files: 1,
    }
}

fn calibrations() -> [CalibrationAnswer; 2] {
    let known = CalibrationAnswer {
        calibration: Calibration {
            predictions: 230,
            without_evidence: 12,
            brier: 0.16,
            brier_of_rate: 0.21,
            calibration_error: 0.03,
            discrimination: Some(0.73),
            cells: vec![Cell {
                from: 0.6,
                to: 0.7,
                count: 41,
                said: 0.65,
                came: 0.68,
            }],
        },
        plot: String::new(),
        svg: String::new(),
    };
    let mut one_sided = known.clone();
    one_sided.calibration.discrimination = None;
    [known, one_sided]
}
