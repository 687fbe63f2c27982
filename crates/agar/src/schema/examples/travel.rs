//! Examples of snapshots and what descends from them.

use super::{BORN, id, other, sandbox, sandboxes};
use agar_core::id::SnapshotId;
use agar_core::snapshot::{SnapshotKind, Taken};
use agar_engine::SnapshotView;
use agar_engine::fork::ForkAnswer;
use agar_engine::pause::{PauseAnswer, ResumeAnswer};
use agar_engine::restore::RestoreAnswer;
use agar_engine::snapshot::SnapshotAnswer;
use agar_engine::snapshots::{ListedSnapshot, SnapshotsAnswer};
use agar_engine::tree::{Branch, Point, TreeAnswer};

fn named(seed: u8) -> SnapshotId {
    SnapshotId::new(BORN, [seed; 10])
}

/// A snapshot of an idle sandbox.
pub(super) fn snapshot() -> SnapshotView {
    SnapshotView {
        id: named(1),
        reference: "calm-fern@s1".to_owned(),
        name: "s1".to_owned(),
        sandbox: id(1),
        kind: SnapshotKind::Asked,
        note: Some("tests pass".to_owned()),
        parent: None,
        taken: Taken::Idle,
        frozen_us: None,
        created_at: BORN,
    }
}

/// One that differs in every way.
fn before() -> SnapshotView {
    SnapshotView {
        id: named(2),
        reference: "calm-fern@before".to_owned(),
        name: "before".to_owned(),
        kind: SnapshotKind::BeforeRestore,
        note: None,
        parent: Some(named(1)),
        taken: Taken::Running,
        frozen_us: Some(4200),
        ..snapshot()
    }
}

/// An idle sandbox, and one in which something ran.
pub fn snapshot_answers() -> [SnapshotAnswer; 2] {
    let [idle, busy] = [(sandbox(), snapshot()), (other(), before())];
    [
        SnapshotAnswer {
            sandbox: idle.0,
            snapshot: idle.1,
            jail_ended: false,
        },
        SnapshotAnswer {
            sandbox: busy.0,
            snapshot: busy.1,
            jail_ended: true,
        },
    ]
}

/// Two snapshots.
pub fn snapshots() -> SnapshotsAnswer {
    let listed = |snapshot, disk_bytes, is_head| ListedSnapshot {
        snapshot,
        disk_bytes,
        is_head,
    };
    SnapshotsAnswer {
        snapshots: vec![listed(snapshot(), 40_960, false), listed(before(), 0, true)],
    }
}

/// A return that ended something, and one that had nothing to do.
pub fn restore_answers() -> [RestoreAnswer; 3] {
    [
        RestoreAnswer {
            sandbox: sandbox(),
            snapshot: snapshot(),
            left: Some(before()),
            ended: 2,
            jail_ended: true,
        },
        RestoreAnswer {
            sandbox: other(),
            snapshot: before(),
            left: None,
            ended: 0,
            jail_ended: false,
        },
        RestoreAnswer {
            sandbox: other(),
            snapshot: before(),
            left: Some(snapshot()),
            ended: 0,
            jail_ended: false,
        },
    ]
}

/// Two forks, of either sort of snapshot.
pub(super) fn forks() -> impl Iterator<Item = ForkAnswer> {
    [snapshot(), before()]
        .into_iter()
        .map(|snapshot| ForkAnswer {
            snapshot,
            forks: sandboxes().collect(),
        })
}

/// A sandbox with a fork, and one without anything.
pub fn tree() -> TreeAnswer {
    let bare = |sandbox| Branch {
        sandbox,
        parent: None,
        origin: None,
        depth: 0,
        head: None,
        snapshots: Vec::new(),
        forks: Vec::new(),
    };
    let fork = |sandbox| Branch {
        parent: Some(id(1)),
        origin: Some(named(1)),
        depth: 1,
        head: Some(named(1)),
        ..bare(sandbox)
    };
    let mut last = sandbox();
    "dim-reed".clone_into(&mut last.alias);
    let forks = vec![fork(other()), fork(last)];
    let points = [(snapshot(), forks), (before(), Vec::new())];
    let points = points.map(|(snapshot, forks)| Point { snapshot, forks });
    TreeAnswer {
        roots: vec![
            Branch {
                head: Some(named(2)),
                snapshots: points.into(),
                ..bare(sandbox())
            },
            bare(other()),
        ],
    }
}

/// A sandbox with processes that stand still.
pub(super) fn pauses() -> impl Iterator<Item = PauseAnswer> {
    sandboxes().map(|sandbox| PauseAnswer {
        sandbox,
        processes: 2,
    })
}

/// A sandbox with processes that go on.
pub(super) fn resumes() -> impl Iterator<Item = ResumeAnswer> {
    sandboxes().map(|sandbox| ResumeAnswer {
        sandbox,
        processes: 2,
    })
}
