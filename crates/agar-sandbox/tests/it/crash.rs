//! A promotion that stops anywhere leaves the tree wholly before or wholly after.
//!
//! Each case is played once to count its effects. Then, for every effect, it is played again and
//! ends there: by an error, or as if the process had been killed. Recovery is ended at every one of
//! its own effects in the same way.

use crate::play::{Stage, label, sides};
use agar_sandbox::merge::{Choice, Selection};
use agar_sandbox::promote::{
    ApplyError, Fate, Faults, Promotions, Proposal, RecoverError, Settled,
};
use agar_testkit::Tree;
use std::cell::Cell;
use std::path::Path;

/// Stops after a number of effects.
struct StopAfter {
    left: Cell<Option<usize>>,
    seen: Cell<usize>,
    fate: Fate,
    exchange: bool,
}

impl StopAfter {
    fn new(effects: usize, fate: Fate, exchange: bool) -> Self {
        Self {
            left: Cell::new(Some(effects)),
            seen: Cell::new(0),
            fate,
            exchange,
        }
    }

    fn never(exchange: bool) -> Self {
        Self::new(usize::MAX, Fate::Go, exchange)
    }
}

impl Faults for StopAfter {
    fn after(&self, _effect: &'static str) -> Fate {
        self.seen.set(self.seen.get() + 1);
        match self.left.get() {
            Some(1) => {
                // An error strikes once; a dead process stays dead.
                if self.fate == Fate::Fail {
                    self.left.set(None);
                }
                self.fate
            }
            Some(left) => {
                self.left.set(Some(left - 1));
                Fate::Go
            }
            None => Fate::Go,
        }
    }

    fn can_exchange(&self) -> bool {
        self.exchange
    }
}

/// Ends the process at the first effect of a name.
struct DieAt(&'static str);

impl Faults for DieAt {
    fn after(&self, effect: &'static str) -> Fate {
        if effect == self.0 {
            Fate::Crash
        } else {
            Fate::Go
        }
    }
}

/// A world to start from, and what to do in it.
struct Case {
    name: &'static str,
    build: fn(&Stage),
    choice: Option<Choice>,
}

const CASES: [Case; 7] = [
    Case {
        name: "modify, add, delete",
        build: |stage| {
            stage
                .base("a", "one\n")
                .base("b/c", "two\n")
                .base("gone", "x\n");
            stage.start();
            stage
                .theirs("a", "ONE\n")
                .theirs("b/new", "n\n")
                .delete_theirs("gone");
            stage.theirs("deep/er/est", "d\n");
        },
        choice: None,
    },
    Case {
        name: "merge and mode",
        build: |stage| {
            stage
                .base("a", "1\n2\n3\n4\n")
                .base("run", "#!\n")
                .base("keep", "k\n");
            stage.start();
            stage.mine("a", "0\n2\n3\n4\n").theirs("a", "1\n2\n3\n5\n");
            stage.chmod_theirs("run", 0o755).mine("keep", "mine\n");
        },
        choice: None,
    },
    Case {
        name: "file becomes directory and directory becomes file",
        build: |stage| {
            stage
                .base("f", "file\n")
                .base("d/x", "x\n")
                .base("d/y/z", "z\n");
            stage.start();
            stage.delete_theirs("f").theirs("f/inside", "i\n");
            stage.delete_theirs("d").theirs("d", "now a file\n");
        },
        choice: None,
    },
    Case {
        name: "links and modes of directories",
        build: |stage| {
            stage
                .base("a", "a\n")
                .link_base("l", "a")
                .base("d/x", "x\n");
            stage.start();
            stage.delete_theirs("l").link_theirs("l", "d/x");
            stage.delete_theirs("a").link_theirs("a", "nowhere");
            stage
                .chmod_theirs("d", 0o700)
                .theirs("e/x", "e\n")
                .chmod_theirs("e", 0o500);
        },
        choice: None,
    },
    Case {
        name: "directories that are closed to their owner",
        build: |stage| {
            for path in ["d/x", "d/gone/y", "wider/x", "opened/x", "removed/sub/x"] {
                stage.base(path, "x\n");
            }
            let closed = ["removed/sub", "removed", "opened", "wider", "d/gone", "d"];
            for path in closed {
                stage.chmod_base(path, 0o500);
            }
            stage.start();
            for path in closed.iter().rev() {
                stage.chmod_theirs(path, 0o700);
            }
            stage.theirs("d/x", "changed\n").theirs("d/new", "n\n");
            stage.delete_theirs("d/gone").theirs("wider/new", "n\n");
            stage.delete_theirs("opened/x").delete_theirs("removed");
            stage.chmod_theirs("d", 0o500).chmod_theirs("wider", 0o555);
        },
        choice: None,
    },
    Case {
        name: "directory removed, another kept for the person",
        build: |stage| {
            stage.base("d/x", "x\n").base("k/x", "x\n");
            stage.start();
            stage
                .delete_theirs("d")
                .delete_theirs("k")
                .mine("k/own", "mine\n");
        },
        choice: None,
    },
    Case {
        name: "theirs against mine",
        build: |stage| {
            stage.base("a", "a\n").base("b", "b\n").base("c", "c\n");
            stage.start();
            stage.mine("a", "mine\n").theirs("a", "theirs\n");
            stage.mine("b", "mine\n").delete_theirs("b");
            stage.delete_mine("c").theirs("c", "theirs\n");
        },
        choice: Some(Choice::Theirs),
    },
];

impl Case {
    fn stage(&self) -> Stage {
        let stage = Stage::fast();
        (self.build)(&stage);
        stage
    }

    fn selection(&self) -> Selection {
        Selection {
            otherwise: self.choice,
            ..Selection::default()
        }
    }

    fn propose(&self, stage: &Stage) -> Proposal {
        Proposal::prepare(&stage.mine_dir(), stage.items(), &self.selection()).unwrap()
    }
}

/// Checks that the tree is one of the two, whole, and that nothing is left lying about.
fn assert_settled(stage: &Stage, before: &Tree, after: &Tree, moment: &str) {
    let now = Tree::read(&stage.mine_dir());
    let is_before = now.difference(before).is_empty();
    let is_after = now.clone().without_times() == *after;
    assert!(
        is_before || is_after,
        "{moment}: neither before nor after\nagainst before:\n{}\nagainst after:\n{}",
        before.difference(&now),
        after.difference(&now.without_times())
    );
    for name in sides(&stage.promotions_dir()) {
        assert!(!name.contains(".open"), "{moment}: {name} is still open");
    }
}

#[test]
fn a_promotion_killed_anywhere_is_wholly_before_or_wholly_after() {
    for (case, exchange) in CASES.iter().flat_map(|case| [(case, true), (case, false)]) {
        let stage = case.stage();
        let count = StopAfter::never(exchange);
        let promotions = stage.promotions();
        promotions
            .apply_with(&case.propose(&stage), &label(1), &count)
            .unwrap();
        let after = Tree::read(&stage.mine_dir()).without_times();
        for effects in 1..=count.seen.get() {
            let stage = case.stage();
            let before = Tree::read(&stage.mine_dir());
            let moment = format!("{}, killed after effect {effects}", case.name);
            let faults = StopAfter::new(effects, Fate::Crash, exchange);
            let promotions = stage.promotions();
            let died = promotions.apply_with(&case.propose(&stage), &label(1), &faults);
            assert!(
                matches!(died, Err(ApplyError::Crashed)),
                "{moment}: {died:?}"
            );
            promotions.recover(None).unwrap();
            assert_settled(&stage, &before, &after, &moment);
            assert_eq!(
                promotions.recover(None).unwrap(),
                [],
                "{moment}: recovered twice"
            );
            // Whatever happened, it can be done afterwards.
            if Tree::read(&stage.mine_dir()).without_times() != after {
                promotions.apply(&case.propose(&stage), &label(2)).unwrap();
                assert_eq!(
                    Tree::read(&stage.mine_dir()).without_times(),
                    after,
                    "{moment}"
                );
            }
        }
    }
}

#[test]
fn an_error_anywhere_changes_nothing_or_comes_after_the_end() {
    for (case, exchange) in CASES.iter().flat_map(|case| [(case, true), (case, false)]) {
        let stage = case.stage();
        let count = StopAfter::never(exchange);
        let promotions = stage.promotions();
        promotions
            .apply_with(&case.propose(&stage), &label(1), &count)
            .unwrap();
        let after = Tree::read(&stage.mine_dir()).without_times();
        for effects in 1..=count.seen.get() {
            let stage = case.stage();
            let before = Tree::read(&stage.mine_dir());
            let moment = format!("{}, error after effect {effects}", case.name);
            let faults = StopAfter::new(effects, Fate::Fail, exchange);
            let promotions = stage.promotions();
            match promotions.apply_with(&case.propose(&stage), &label(1), &faults) {
                Ok(_) => assert_eq!(
                    Tree::read(&stage.mine_dir()).without_times(),
                    after,
                    "{moment}"
                ),
                Err(_) => before.assert_unchanged(&stage.mine_dir(), &moment),
            }
            promotions.recover(None).unwrap();
            assert_settled(&stage, &before, &after, &moment);
        }
    }
}

/// Recovers, dying each time one effect later, until it gets through; counts the deaths.
fn recover_dying(promotions: &Promotions, exchange: bool) -> usize {
    for further in 1..1000 {
        let faults = StopAfter::new(further, Fate::Crash, exchange);
        match promotions.recover_with(None, &faults) {
            Err(RecoverError::Crashed) => {}
            Err(error) => panic!("recovery failed: {error:?}"),
            Ok(_) => return further - 1,
        }
    }
    panic!("recovery never ends");
}

#[test]
fn recovery_killed_anywhere_can_be_repeated() {
    for (case, exchange) in CASES.iter().flat_map(|case| [(case, true), (case, false)]) {
        let stage = case.stage();
        let count = StopAfter::never(exchange);
        stage
            .promotions()
            .apply_with(&case.propose(&stage), &label(1), &count)
            .unwrap();
        let after = Tree::read(&stage.mine_dir()).without_times();
        // Every third moment: each is then recovered with as many deaths as recovery has effects.
        for effects in (1..=count.seen.get()).step_by(3) {
            let stage = case.stage();
            let before = Tree::read(&stage.mine_dir());
            let promotions = stage.promotions();
            let faults = StopAfter::new(effects, Fate::Crash, exchange);
            let died = promotions.apply_with(&case.propose(&stage), &label(1), &faults);
            assert!(matches!(died, Err(ApplyError::Crashed)));
            let deaths = recover_dying(&promotions, exchange);
            let moment = format!("{}, killed after {effects}, then {deaths} times", case.name);
            assert_settled(&stage, &before, &after, &moment);
        }
    }
}

#[test]
fn an_undo_killed_anywhere_is_wholly_before_or_wholly_after() {
    for (case, exchange) in CASES.iter().flat_map(|case| [(case, true), (case, false)]) {
        let applied = || {
            let stage = case.stage();
            let original = Tree::read(&stage.mine_dir()).without_times();
            stage
                .promotions()
                .apply(&case.propose(&stage), &label(1))
                .unwrap();
            (stage, original)
        };
        let undo = |stage: &Stage| {
            let promotions = stage.promotions();
            promotions
                .undo(label(1).id, &stage.mine_dir(), &Selection::default())
                .unwrap()
        };
        let (stage, original) = applied();
        let count = StopAfter::never(exchange);
        stage
            .promotions()
            .apply_with(&undo(&stage), &label(2), &count)
            .unwrap();
        assert_eq!(
            Tree::read(&stage.mine_dir()).without_times(),
            original,
            "{}",
            case.name
        );
        for effects in 1..=count.seen.get() {
            let (stage, original) = applied();
            let before = Tree::read(&stage.mine_dir());
            let moment = format!("undo of {}, killed after effect {effects}", case.name);
            let faults = StopAfter::new(effects, Fate::Crash, exchange);
            let died = stage
                .promotions()
                .apply_with(&undo(&stage), &label(2), &faults);
            assert!(matches!(died, Err(ApplyError::Crashed)), "{moment}");
            stage.promotions().recover(None).unwrap();
            assert_settled(&stage, &before, &original, &moment);
        }
    }
}

#[test]
fn an_edit_between_a_crash_and_its_recovery_is_kept() {
    let case = &CASES[0];
    let stage = case.stage();
    let count = StopAfter::never(true);
    stage
        .promotions()
        .apply_with(&case.propose(&stage), &label(1), &count)
        .unwrap();
    for effects in 1..=count.seen.get() {
        for path in ["a", "b/new", "b/c", "gone"] {
            let stage = case.stage();
            let faults = StopAfter::new(effects, Fate::Crash, true);
            let died = stage
                .promotions()
                .apply_with(&case.propose(&stage), &label(1), &faults);
            assert!(matches!(died, Err(ApplyError::Crashed)));
            if stage
                .mine_dir()
                .join(path)
                .parent()
                .is_none_or(|parent| !parent.exists())
            {
                continue;
            }
            stage.mine(path, "edited since\n");
            let recovered = stage.promotions().recover(None).unwrap();
            let now = fs_err::read_to_string(stage.mine_dir().join(path)).unwrap();
            assert_eq!(
                now, "edited since\n",
                "{path} after effect {effects}: {recovered:?}"
            );
        }
    }
}

#[test]
fn what_recovery_did_is_told() {
    let stage = CASES[0].stage();
    let promotions = stage.promotions();
    let died = promotions.apply_with(&CASES[0].propose(&stage), &label(1), &DieAt("swap"));
    assert!(matches!(died, Err(ApplyError::Crashed)));
    let recovered = promotions.recover(None).unwrap();
    assert_eq!(recovered.len(), 1);
    assert!(matches!(
        recovered[0].settled,
        Settled::Finished | Settled::Reversed
    ));
    assert_eq!(recovered[0].id, Some(label(1).id));
}

#[test]
fn a_project_that_moved_after_the_crash_is_found_again() {
    let stage = CASES[0].stage();
    let before = Tree::read(&stage.mine_dir());
    let promotions = stage.promotions();
    let died = promotions.apply_with(&CASES[0].propose(&stage), &label(1), &DieAt("swap"));
    assert!(matches!(died, Err(ApplyError::Crashed)));
    let moved = stage.mine_dir().with_file_name("moved");
    fs_err::rename(stage.mine_dir(), &moved).unwrap();
    assert!(promotions.recover(None).is_err());
    promotions.recover(Some(Path::new(&moved))).unwrap();
    before.assert_unchanged(&moved, "recovery at another path");
}

#[test]
fn a_project_on_another_mount_is_served_and_left_clean() {
    let case = &CASES[0];
    for with_git in [false, true] {
        let build = || {
            let stage = Stage::apart()?;
            (case.build)(&stage);
            if with_git {
                stage.mine(".git/HEAD", "ref: refs/heads/main\n");
            }
            Some(stage)
        };
        let Some(stage) = build() else {
            agar_testkit::skip!("promotion on two mounts", "only one filesystem to write to");
        };
        let before = Tree::read(&stage.mine_dir()).without_times();
        let count = StopAfter::never(true);
        let promotions = stage.promotions();
        promotions
            .apply_with(&case.propose(&stage), &label(1), &count)
            .unwrap();
        let after = Tree::read(&stage.mine_dir()).without_times();
        assert!(
            !after
                .paths()
                .any(|path| path.to_string_lossy().contains("agar-stage"))
        );
        let everything = Selection::default();
        let back = promotions
            .undo(label(1).id, &stage.mine_dir(), &everything)
            .unwrap();
        promotions.apply(&back, &label(2)).unwrap();
        assert_eq!(Tree::read(&stage.mine_dir()).without_times(), before);
        for effects in 1..=count.seen.get() {
            let stage = build().unwrap();
            let before = Tree::read(&stage.mine_dir());
            let faults = StopAfter::new(effects, Fate::Crash, true);
            let died = stage
                .promotions()
                .apply_with(&case.propose(&stage), &label(1), &faults);
            assert!(matches!(died, Err(ApplyError::Crashed)));
            stage.promotions().recover(None).unwrap();
            let moment = format!("on another mount, killed after effect {effects}");
            assert_settled(&stage, &before, &after, &moment);
        }
    }
}
