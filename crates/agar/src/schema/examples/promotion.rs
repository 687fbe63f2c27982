//! What changed, and how it was carried over and taken back.

use super::{BORN, other, sandbox, sandboxes};

use agar_core::id::PromotionId;
use agar_engine::answer::CommitView;
use agar_engine::apply::{AppliedFile, ApplyAnswer, HunkView, Merge};
use agar_engine::diff::DiffAnswer;
use agar_engine::undo::UndoAnswer;
use agar_engine::{BulkView, ChangeKind, ChangeView, ChangedFile};

pub(super) fn changes() -> ChangeView {
    let kinds = [
        ChangeKind::Modified,
        ChangeKind::Renamed {
            from: "old.rs".to_owned(),
        },
        ChangeKind::Mode {
            from: "644".to_owned(),
            to: "755".to_owned(),
        },
    ];
    let files: Vec<ChangedFile> = kinds
        .into_iter()
        .enumerate()
        .map(|(at, kind)| ChangedFile {
            path: format!("src/{at}.rs"),
            kind,
            what: "file".to_owned(),
            added: (at == 0).then_some(41),
            removed: (at == 0).then_some(38),
            binary: false,
            bytes: 100,
        })
        .collect();
    ChangeView {
        outside: files.clone(),
        files,
        masked: vec!["/home/ana/.npmrc".to_owned()],
        bulk: vec![BulkView {
            path: "target".to_owned(),
            added: 120,
            modified: 0,
            deleted: 1,
            bytes: 31 << 20,
        }],
        unread: vec!["locked".to_owned()],
        commits: vec![CommitView {
            id: "0123456789abcdef0123456789abcdef01234567".to_owned(),
            subject: "update".to_owned(),
            reference: "refs/heads/main".to_owned(),
        }],
        lines_added: 41,
        lines_removed: 38,
    }
}

pub(super) fn diffs() -> impl Iterator<Item = DiffAnswer> {
    [Some("--- a/x\n+++ b/x\n".to_owned()), None]
        .into_iter()
        .zip(sandboxes())
        .map(|(patch, sandbox)| DiffAnswer {
            sandbox,
            changes: changes(),
            patch,
            drifted: vec!["src/1.rs".to_owned()],
        })
}

/// An application with a commit.
pub fn apply() -> ApplyAnswer {
    ApplyAnswer {
        sandbox: sandbox(),
        applied: true,
        promotion: Some(PromotionId::new(BORN, [3; 10])),
        plan: Some("af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262".to_owned()),
        files: vec![
            AppliedFile {
                path: "Cargo.lock".to_owned(),
                merge: Merge::Clean,
                reason: None,
                hunks: vec![HunkView {
                    number: 1,
                    conflict: false,
                    text: "@@ -1 +1 @@\n-a\n+b\n".to_owned(),
                }],
            },
            AppliedFile {
                path: "src/lib.rs".to_owned(),
                merge: Merge::Merged,
                reason: Some("your edit (line 12) kept".to_owned()),
                hunks: Vec::new(),
            },
        ],
        commit: Some("0123456789abcdef0123456789abcdef01234567".to_owned()),
        references: vec!["refs/agar/calm-fern/main".to_owned()],
        notes: vec!["git hooks were not run".to_owned()],
    }
}

pub(super) fn applications() -> impl Iterator<Item = ApplyAnswer> {
    let conflict = ApplyAnswer {
        sandbox: other(),
        applied: false,
        promotion: None,
        plan: None,
        commit: None,
        ..apply()
    };
    [apply(), conflict].into_iter()
}

/// An application taken back.
pub fn undo() -> UndoAnswer {
    UndoAnswer {
        promotion: PromotionId::new(BORN, [3; 10]),
        sandbox: "calm-fern".to_owned(),
        undone: true,
        files: apply().files,
        notes: vec!["the commit is still there".to_owned()],
    }
}
