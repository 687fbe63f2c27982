//! What applying and undoing do to the person's tree, and what they refuse to.

mod meanwhile;
mod undoing;

use crate::play::{Stage, label, sides};
use agar_sandbox::merge::{Choice, Clash, Pattern, Selection, Special};
use agar_sandbox::promote::{
    ApplyError, Content, Item, Outcome, PrepareError, Proposal, Reason, Source,
};
use agar_testkit::Tree;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

fn propose(stage: &Stage, selection: &Selection) -> Proposal {
    Proposal::prepare(&stage.mine_dir(), stage.items(), selection).unwrap()
}

fn apply(stage: &Stage) {
    let proposal = propose(stage, &Selection::default());
    stage.promotions().apply(&proposal, &label(1)).unwrap();
}

fn undo(stage: &Stage, number: u8, as_number: u8) {
    let promotions = stage.promotions();
    let proposal = promotions
        .undo(label(number).id, &stage.mine_dir(), &Selection::default())
        .unwrap();
    promotions.apply(&proposal, &label(as_number)).unwrap();
}

fn outcomes(proposal: &Proposal) -> Vec<(String, Outcome)> {
    let files = proposal.files().iter();
    files
        .map(|file| (file.path().display().to_string(), file.outcome))
        .collect()
}

#[test]
fn files_that_are_not_changed_keep_inode_and_time() {
    let stage = Stage::new();
    stage.base("a", "a\n").base("b", "b\n").base("same", "s\n");
    stage.start();
    stage.theirs("a", "A\n");
    stage.mine("same", "t\n").theirs("same", "t\n");
    let before = Tree::read(&stage.mine_dir());
    apply(&stage);
    let after = Tree::read(&stage.mine_dir());
    for path in ["b", "same"] {
        assert_eq!(before.get(Path::new(path)), after.get(Path::new(path)));
    }
    assert_eq!(stage.read("a"), "A\n");
}

#[test]
fn a_modified_file_keeps_mode_owner_and_attributes() {
    let stage = Stage::new();
    stage.base("a", "a\n").start();
    stage.theirs("a", "A\n");
    let path = stage.mine_dir().join("a");
    fs_err::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    let xattr = rustix::fs::lsetxattr(
        &path,
        c"user.note",
        b"mine",
        rustix::fs::XattrFlags::empty(),
    );
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        std::os::unix::fs::chown(&path, Some(12), Some(34)).unwrap();
    }
    apply(&stage);
    let meta = fs_err::metadata(&path).unwrap();
    assert_eq!(meta.permissions().mode() & 0o7777, 0o640);
    if is_root {
        assert_eq!((meta.uid(), meta.gid()), (12, 34));
    }
    if xattr.is_ok() {
        let mut value = [0_u8; 16];
        let size = rustix::fs::lgetxattr(&path, c"user.note", &mut value[..]).unwrap();
        assert_eq!(&value[..size], b"mine");
    }
    assert_eq!(stage.read("a"), "A\n");
}

#[test]
fn a_new_file_gets_the_sandboxs_mode_without_privileges() {
    let stage = Stage::new();
    stage
        .start()
        .theirs("run", "#!\n")
        .chmod_theirs("run", 0o4751);
    apply(&stage);
    let mode = fs_err::metadata(stage.mine_dir().join("run"))
        .unwrap()
        .mode();
    assert_eq!(mode & 0o7777, 0o751);
}

#[test]
fn only_the_mode_changes_in_place() {
    let stage = Stage::new();
    stage.base("run", "#!\n").start();
    stage.chmod_theirs("run", 0o755);
    let before = fs_err::metadata(stage.mine_dir().join("run")).unwrap();
    apply(&stage);
    let after = fs_err::metadata(stage.mine_dir().join("run")).unwrap();
    assert_eq!(after.mode() & 0o777, 0o755);
    assert_eq!(
        (before.ino(), before.mtime_nsec()),
        (after.ino(), after.mtime_nsec())
    );
    undo(&stage, 1, 2);
    let back = fs_err::metadata(stage.mine_dir().join("run")).unwrap();
    assert_eq!(back.mode() & 0o777, before.mode() & 0o777);
}

#[test]
fn a_conflict_writes_nothing_until_a_side_is_chosen() {
    let stage = Stage::new();
    stage.base("a", "1\n2\n3\n").base("b", "b\n").start();
    stage
        .mine("a", "1\nmine\n3\n")
        .theirs("a", "1\ntheirs\n3\n")
        .theirs("b", "B\n");
    let before = Tree::read(&stage.mine_dir());
    let proposal = propose(&stage, &Selection::default());
    assert_eq!(
        outcomes(&proposal),
        [
            ("a".into(), Outcome::Conflict(Clash::Lines)),
            ("b".into(), Outcome::Clean)
        ]
    );
    let explained = proposal.conflicts().next().unwrap().explanation();
    assert_eq!(
        explained.as_deref(),
        Some("you and the sandbox both changed line 2")
    );
    let refused = stage.promotions().apply(&proposal, &label(1));
    assert!(matches!(refused, Err(ApplyError::Conflicts { paths: 1 })));
    before.assert_unchanged(&stage.mine_dir(), "a refused apply");
    for (choice, content) in [
        (Choice::Mine, "1\nmine\n3\n"),
        (Choice::Theirs, "1\ntheirs\n3\n"),
        (
            Choice::Markers,
            "1\n<<<<<<< mine\nmine\n=======\ntheirs\n>>>>>>> theirs\n3\n",
        ),
    ] {
        let stage = Stage::new();
        stage.base("a", "1\n2\n3\n").start();
        stage
            .mine("a", "1\nmine\n3\n")
            .theirs("a", "1\ntheirs\n3\n");
        let selection = Selection {
            rules: vec![(Pattern::new("a"), choice)],
            ..Selection::default()
        };
        let proposal = propose(&stage, &selection);
        assert_eq!(outcomes(&proposal), [("a".into(), Outcome::Chosen(choice))]);
        stage.promotions().apply(&proposal, &label(1)).unwrap();
        assert_eq!(stage.read("a"), content);
    }
}

#[test]
fn hunks_are_taken_one_by_one() {
    let stage = Stage::new();
    stage
        .base("a", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")
        .base("whole", "w\n")
        .start();
    stage
        .theirs("a", "one\n2\n3\n4\nfive\n6\n7\n8\nnine\n")
        .delete_theirs("whole");
    let proposal = propose(&stage, &Selection::default());
    let hunks = proposal.hunks(Path::new("a")).unwrap();
    assert_eq!(hunks.len(), 3);
    assert_eq!(
        String::from_utf8_lossy(&hunks[1].text),
        "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"
    );
    assert_eq!(proposal.hunks(Path::new("whole")).unwrap().len(), 1);
    let selection = Selection {
        hunks: [
            (PathBuf::from("a"), vec![1, 3]),
            (PathBuf::from("whole"), vec![]),
        ]
        .into(),
        ..Selection::default()
    };
    let proposal = propose(&stage, &selection);
    stage.promotions().apply(&proposal, &label(1)).unwrap();
    assert_eq!(stage.read("a"), "one\n2\n3\n4\n5\n6\n7\n8\nnine\n");
    assert_eq!(stage.read("whole"), "w\n");
}

#[test]
fn only_the_paths_asked_for_are_written() {
    let stage = Stage::new();
    stage
        .start()
        .theirs("src/a.rs", "a\n")
        .theirs("src/b.txt", "b\n")
        .theirs("c.rs", "c\n");
    let selection = Selection {
        only: vec![Pattern::new("src/*.rs")],
        ..Selection::default()
    };
    stage
        .promotions()
        .apply(&propose(&stage, &selection), &label(1))
        .unwrap();
    assert_eq!(sides(&stage.mine_dir()), ["src"]);
    assert_eq!(sides(&stage.mine_dir().join("src")), ["a.rs"]);
}

#[test]
fn git_masked_and_special_files_stay_behind() {
    let stage = Stage::new();
    stage.base(".git/config", "[core]\n").start();
    stage
        .theirs(".git/config", "[evil]\n")
        .theirs("sub/.GIT/hooks/x", "x\n")
        .theirs(".env", "s\n");
    let pipe = stage.path("theirs").join("pipe");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mkfifoat(rustix::fs::CWD, pipe, mode).unwrap();
    let masked = |mut items: Vec<Item>| {
        for item in &mut items {
            item.masked = item.path == Path::new(".env");
        }
        items
    };
    let root = stage.mine_dir();
    let proposal = Proposal::prepare(&root, masked(stage.items()), &Selection::default()).unwrap();
    let reason = |path: &str| {
        let mut files = proposal.files().iter();
        files
            .find(|file| file.path() == Path::new(path))
            .map(|file| file.outcome)
    };
    assert_eq!(reason(".git/config"), Some(Outcome::LeftOut(Reason::Git)));
    assert_eq!(
        reason("sub/.GIT/hooks/x"),
        Some(Outcome::LeftOut(Reason::Git))
    );
    assert_eq!(reason(".env"), Some(Outcome::LeftOut(Reason::Masked)));
    assert_eq!(
        reason("pipe"),
        Some(Outcome::LeftOut(Reason::Special(Special::Fifo)))
    );
    stage.promotions().apply(&proposal, &label(1)).unwrap();
    assert_eq!(sides(&root), [".git", "sub"]);
    let named = Selection {
        only: vec![Pattern::new(".env"), Pattern::new(".git/config")],
        ..Selection::default()
    };
    let proposal = Proposal::prepare(&root, masked(stage.items()), &named).unwrap();
    stage.promotions().apply(&proposal, &label(2)).unwrap();
    assert_eq!(stage.read(".env"), "s\n");
    assert_eq!(stage.read(".git/config"), "[core]\n");
}

#[test]
fn a_path_that_leaves_the_project_is_refused() {
    let stage = Stage::new();
    for path in ["../out", "/etc/passwd", "a/../../b", ""] {
        let item = Item {
            path: path.into(),
            base: Source::Nothing,
            theirs: Source::File {
                mode: 0o644,
                content: Content::Bytes(b"x".as_slice().into()),
            },
            masked: false,
            from: None,
        };
        let refused = Proposal::prepare(&stage.mine_dir(), vec![item], &Selection::default());
        assert!(
            matches!(refused, Err(PrepareError::BadPath { .. })),
            "{path}"
        );
    }
}

#[test]
fn an_edit_follows_a_file_that_the_sandbox_moved() {
    let stage = Stage::new();
    stage
        .base("old", "1\n2\n3\n4\n5\n")
        .base("plain", "p\nq\n")
        .start();
    stage
        .delete_theirs("old")
        .theirs("new", "1\n2\n3\n4\nfive\n");
    stage.delete_theirs("plain").theirs("moved", "p\nq\n");
    stage
        .mine("old", "one\n2\n3\n4\n5\n")
        .mine("plain", "p\nedited\n");
    let mut items = stage.items();
    for item in &mut items {
        item.from = match item.path.to_str() {
            Some("new") => Some("old".into()),
            Some("moved") => Some("plain".into()),
            _ => None,
        };
    }
    let proposal = Proposal::prepare(&stage.mine_dir(), items, &Selection::default()).unwrap();
    assert_eq!(
        outcomes(&proposal),
        [
            ("moved".into(), Outcome::Merged),
            ("new".into(), Outcome::Merged),
            ("old".into(), Outcome::Clean),
            ("plain".into(), Outcome::Clean)
        ]
    );
    stage.promotions().apply(&proposal, &label(1)).unwrap();
    assert_eq!(sides(&stage.mine_dir()), ["moved", "new"]);
    assert_eq!(stage.read("new"), "one\n2\n3\n4\nfive\n");
    assert_eq!(stage.read("moved"), "p\nedited\n");
    undo(&stage, 1, 2);
    assert_eq!(sides(&stage.mine_dir()), ["old", "plain"]);
    assert_eq!(stage.read("old"), "one\n2\n3\n4\n5\n");
}

#[test]
fn a_base_that_moved_is_a_conflict_unless_both_agree() {
    let stage = Stage::new();
    stage.base("a", "a\n").base("b", "b\n").start();
    stage
        .theirs("a", "A\n")
        .theirs("b", "B\n")
        .mine("a", "mine\n")
        .mine("b", "B\n");
    let mut items = stage.items();
    for item in &mut items {
        item.base = Source::Unknown;
    }
    let proposal = Proposal::prepare(&stage.mine_dir(), items, &Selection::default()).unwrap();
    assert_eq!(
        outcomes(&proposal),
        [
            ("a".into(), Outcome::Conflict(Clash::BaseMoved)),
            ("b".into(), Outcome::AlreadyThere)
        ]
    );
}

#[test]
fn many_files_and_odd_names_go_through() {
    use std::os::unix::ffi::OsStrExt as _;
    let stage = Stage::fast();
    stage.start();
    for number in 0..300 {
        stage.theirs(&format!("d{}/f{number}", number % 7), format!("{number}\n"));
    }
    for name in [&b"new\nline"[..], b"\xff\xfe", b"-rf", b" ", b"{\"}"] {
        let path = stage.path("theirs").join(std::ffi::OsStr::from_bytes(name));
        fs_err::write(path, "odd\n").unwrap();
    }
    apply(&stage);
    let expected = Tree::read(&stage.path("theirs")).without_times();
    assert_eq!(Tree::read(&stage.mine_dir()).without_times(), expected);
    undo(&stage, 1, 2);
    assert!(Tree::read(&stage.mine_dir()).is_empty());
}
