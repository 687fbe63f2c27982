//! Example answers: the source of the published schemas, and sample data for tests of rendering.
//!
//! Each command has as many examples as it takes to show every field present and every field that
//! may be absent, absent.

mod cells;
mod checks;
mod evolution;
mod experiment;
mod learning;
mod machine;
mod promotion;
mod running;
mod travel;

pub use checks::{checks_failed, checks_passed};
use machine::{approve, configs, doctors};
pub use machine::{config, doctor, init};
use promotion::{applications, changes, diffs};
pub use promotion::{apply, undo};
use running::{exec_answers, run_answers, runs, tries};
pub use running::{run, run_answer};
pub use travel::{restore_answers, snapshot_answers, snapshots, tree};

use crate::report::Failure;
use agar_core::fault::{Kind, Remedy};
use agar_core::id::{ProjectId, SandboxId};
use agar_core::limits::{Limits, Resource};
use agar_core::seam::Timestamp;
use agar_core::size::Bytes;
use agar_core::state::State;
use agar_core::walls::{BaseKind, Network, Tier};
use agar_engine::BaseView;
use agar_engine::attach::{AttachAnswer, TerminalKind};
use agar_engine::batch::{BatchFault, BatchResult};
use agar_engine::copy_files::CopyAnswer;
use agar_engine::create::CreateAnswer;
use agar_engine::inspect::{EventView, InspectAnswer, StackView};
use agar_engine::jail_plan::JailPlanAnswer;
use agar_engine::list::{ListAnswer, Listed};
use agar_engine::logs::LogsAnswer;
use agar_engine::processes::{ProcessView, ProcessesAnswer};
use agar_engine::prune::PruneAnswer;
use agar_engine::remove::{RemoveAnswer, RemovedView};
use agar_engine::stop::StopAnswer;
use agar_engine::take_back::TakeBackAnswer;
use agar_engine::{LineageView, SandboxView};
use serde::Serialize;
use serde_json::{Value, json};

/// Stands for a value whose shape is not promised.
pub const ANYTHING: &str = "(anything)";

const BORN: Timestamp = Timestamp::from_millis(1_790_000_000_000);

/// Every name that has a schema, with its examples.
pub fn all() -> Vec<(&'static str, Vec<Value>)> {
    let mut all = vec![
        ("try", values(tries())),
        ("run", values(run_answers())),
        (
            "create",
            values(sandboxes().map(|sandbox| CreateAnswer {
                sandbox,
                setup: vec!["npm ci".to_owned()],
            })),
        ),
        ("exec", values(run_answers().flat_map(exec_answers))),
        ("attach", values(attachments())),
        ("shell", values(attachments())),
        (
            "stop",
            values([StopAnswer {
                stopped: sandboxes().collect(),
            }]),
        ),
        ("batch", values(batch_results())),
        ("ls", values(lists())),
        ("top", values(lists())),
        ("ps", values([processes()])),
        (
            "logs",
            values(run_answers().map(|a| LogsAnswer {
                sandbox: a.sandbox,
                run: a.run,
                output: b"ok\n".to_vec(),
                until: 3,
            })),
        ),
        ("inspect", values(inspections())),
        (
            "cp",
            values(sandboxes().map(|sandbox| CopyAnswer {
                sandbox,
                files: 1,
                bytes: 100,
            })),
        ),
        ("diff", values(diffs())),
        ("check", values(checks::answers())),
        ("apply", values(applications())),
        ("undo", values([undo()])),
        ("rm", values([remove()])),
        ("prune", values([prune()])),
        ("doctor", values(doctors())),
        (
            "jail",
            values([JailPlanAnswer {
                text: "overlay /home/ana".to_owned(),
                plan: json!(ANYTHING),
            }]),
        ),
        ("config", values(configs())),
        ("approve", values([approve()])),
        ("init", values([init()])),
        ("serve", values([crate::commands::serve::example()])),
        ("error", values(failures())),
    ];
    all.extend(travels());
    all.extend(learning::all().into_iter().chain(evolution::all()));
    all
}

/// Every name that has to do with time.
fn travels() -> Vec<(&'static str, Vec<Value>)> {
    vec![
        ("snapshot", values(snapshot_answers())),
        ("snapshots", values([snapshots()])),
        ("restore", restores()),
        ("fork", values(travel::forks())),
        ("tree", values([tree()])),
        ("pause", values(travel::pauses())),
        ("resume", values(travel::resumes())),
    ]
}

/// Back to a snapshot, and back from the trash.
fn restores() -> Vec<Value> {
    let mut all = values(restore_answers());
    all.extend(values(
        sandboxes()
            .zip([None, Some("calm-fern".to_owned())])
            .map(|(sandbox, renamed_from)| TakeBackAnswer {
                sandbox,
                renamed_from,
            }),
    ));
    all
}

fn values<T: Serialize>(answers: impl IntoIterator<Item = T>) -> Vec<Value> {
    answers
        .into_iter()
        .filter_map(|answer| serde_json::to_value(answer).ok())
        .collect()
}

fn id(seed: u8) -> SandboxId {
    SandboxId::new(BORN, [seed; 10])
}

/// A finished sandbox.
pub fn sandbox() -> SandboxView {
    SandboxView {
        id: id(1),
        alias: "calm-fern".to_owned(),
        state: State::Finished,
        project: ProjectId::new(BORN, [7; 10]),
        project_path: "/home/ana/src/shop".to_owned(),
        base: BaseView {
            kind: BaseKind::Frozen,
            generation: Some(3),
            live_below: vec!["target".to_owned()],
        },
        tier: Tier::Full,
        network: Network::None,
        limits: Limits::agent(),
        agent: None,
        note: None,
        lineage: None,
        created_at: BORN,
        touched_at: BORN,
        runs: 1,
        warnings: Vec::new(),
    }
}

/// A sandbox that differs in every way.
fn other() -> SandboxView {
    SandboxView {
        id: id(2),
        alias: "brave-otter".to_owned(),
        state: State::Running,
        base: BaseView {
            kind: BaseKind::Live,
            generation: None,
            live_below: Vec::new(),
        },
        network: Network::Allow {
            names: vec!["crates.io".to_owned()],
        },
        limits: Limits::default(),
        agent: Some("claude".to_owned()),
        note: Some("migrate".to_owned()),
        lineage: Some(LineageView {
            parent: id(1),
            snapshot: Some(travel::snapshot().id),
            depth: 1,
        }),
        runs: 0,
        warnings: vec!["the base is live".to_owned()],
        ..sandbox()
    }
}

fn sandboxes() -> impl Iterator<Item = SandboxView> {
    [sandbox(), other()].into_iter()
}

/// Two sandboxes.
pub fn list() -> ListAnswer {
    ListAnswer {
        sandboxes: vec![
            Listed {
                sandbox: sandbox(),
                changed_files: Some(1),
                last_run: Some(run()),
                cpu_percent: None,
                memory_bytes: None,
                cpu_ms: None,
                disk_bytes: None,
            },
            Listed {
                sandbox: other(),
                changed_files: None,
                last_run: None,
                cpu_percent: Some(41),
                memory_bytes: Some(212 << 20),
                cpu_ms: Some(3_700),
                disk_bytes: Some(28 << 10),
            },
        ],
    }
}

fn lists() -> [ListAnswer; 2] {
    let ends = runs().map(|run| Listed {
        sandbox: sandbox(),
        changed_files: None,
        last_run: Some(run),
        cpu_percent: None,
        memory_bytes: None,
        cpu_ms: None,
        disk_bytes: None,
    });
    let ends = ListAnswer {
        sandboxes: ends.collect(),
    };
    [list(), ends]
}

/// One process.
pub fn processes() -> ProcessesAnswer {
    ProcessesAnswer {
        processes: vec![ProcessView {
            sandbox: "calm-fern".to_owned(),
            pid: 7,
            host_pid: 4711,
            parent: 1,
            command: "node server.js".to_owned(),
            cpu_ms: 120,
            memory_bytes: 31 << 20,
            age_ms: 9_000,
        }],
    }
}

/// Everything about a sandbox.
pub fn inspect() -> InspectAnswer {
    InspectAnswer {
        sandbox: sandbox(),
        stacks: vec![StackView {
            role: "project".to_owned(),
            target: "/home/ana/src/shop".to_owned(),
            upper: "/home/ana/.local/state/agar/sandboxes/x/stacks/0/upper".to_owned(),
            lowers: vec!["/home/ana/.local/state/agar/projects/y/generations/3".to_owned()],
        }],
        masks: vec!["/home/ana/.ssh".to_owned()],
        environment: vec!["PATH".to_owned()],
        directory: "/home/ana/.local/state/agar/sandboxes/x".to_owned(),
        disk_bytes: 28 << 10,
        runs: runs().collect(),
        events: vec![EventView {
            number: 12,
            at: BORN,
            kind: "run.started".to_owned(),
            data: json!(ANYTHING),
        }],
    }
}

fn inspections() -> [InspectAnswer; 2] {
    let live = InspectAnswer {
        sandbox: other(),
        ..inspect()
    };
    [inspect(), live]
}

/// Two sandboxes given up.
pub fn remove() -> RemoveAnswer {
    let removed = |seed, alias: &str, in_trash: bool| RemovedView {
        id: id(seed),
        alias: alias.to_owned(),
        in_trash,
        disk_bytes: in_trash.then_some(28 << 10),
        idle_ms: in_trash.then_some(2 * 3_600_000),
        why: "idle".to_owned(),
    };
    RemoveAnswer {
        removed: vec![
            removed(1, "calm-fern", true),
            removed(2, "brave-otter", false),
        ],
    }
}

/// A clean-up.
pub fn prune() -> PruneAnswer {
    PruneAnswer {
        removed: remove().removed,
        stopped: remove().removed,
        refused: remove().removed,
        snapshots: 3,
        generations: 2,
        emptied: 1,
        freed_bytes: Bytes::mib(31).0,
        trash_bytes: 28 << 10,
        dry_run: false,
    }
}

fn failures() -> Vec<crate::report::WireFailure> {
    let plain = Failure::new(Kind::Invalid, "the request is wrong");
    let remedies = [
        Remedy::UseTier {
            tier: Tier::Landlock,
        },
        Remedy::RaiseLimit {
            limit: Resource::Memory,
        },
        Remedy::ShowDiff {
            sandbox: "calm-fern".to_owned(),
        },
        Remedy::Suggest {
            value: "calm-fern".to_owned(),
        },
        Remedy::Command {
            line: "agar ls".to_owned(),
        },
    ];
    let cause = std::io::Error::other("EPERM");
    let caused = Failure::because(Kind::Internal, "could not", &cause);
    std::iter::once(plain)
        .chain(std::iter::once(caused))
        .chain(
            remedies
                .into_iter()
                .map(|remedy| Failure::new(Kind::Limit, "it did not fit").with_remedy(remedy)),
        )
        .map(|failure| failure.wire())
        .collect()
}

fn attachments() -> impl Iterator<Item = AttachAnswer> {
    sandboxes().map(|sandbox| AttachAnswer {
        session: format!("sandbox_{}", sandbox.id),
        sandbox,
        started: false,
        kind: TerminalKind::Tmux,
        opened: true,
        viewers: 0,
        over: false,
    })
}

fn batch_results() -> impl Iterator<Item = BatchResult> {
    let done = run_answers().map(|answer| BatchResult {
        line: 1,
        id: Some("first".to_owned()),
        sandbox: Some(answer.sandbox.id),
        kept: Some(answer.sandbox.alias),
        run: Some(answer.run),
        success: true,
        stdout: "ok\n".to_owned(),
        stderr: String::new(),
        error: None,
    });
    let refused = BatchResult {
        line: 2,
        error: Some(BatchFault {
            code: "invalid".to_owned(),
            message: "line 2 is not a request".to_owned(),
            causes: Vec::new(),
        }),
        ..BatchResult::default()
    };
    done.chain([refused])
}
