//! Random trees on all three sides: nothing of the person's is lost, and undo is the way back.

use crate::play::{Stage, label};
use agar_sandbox::merge::{Choice, Selection};
use agar_sandbox::promote::Proposal;
use agar_testkit::Tree;
use proptest::prelude::*;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

/// What a path is on one side.
#[derive(Debug, Clone, PartialEq)]
enum Thing {
    Nothing,
    File(u8, bool),
    Link(u8),
    Directory,
}

fn things() -> impl Strategy<Value = Vec<Thing>> {
    let thing = prop_oneof![
        2 => Just(Thing::Nothing),
        4 => (0_u8..4, any::<bool>()).prop_map(|(content, run)| Thing::File(content, run)),
        1 => (0_u8..2).prop_map(Thing::Link),
        3 => Just(Thing::Directory),
    ];
    proptest::collection::vec(thing, PATHS.len())
}

const PATHS: [&str; 8] = ["a", "a/b", "a/b/c", "a/d", "e", "e/f", "g", "h"];

/// Makes a side; what lies below something that is not a directory is left out.
fn make(root: &Path, things: &[Thing]) {
    for (path, thing) in PATHS.iter().zip(things) {
        let path = root.join(path);
        if !path
            .parent()
            .is_some_and(|parent| parent.is_dir() && !parent.is_symlink())
        {
            continue;
        }
        match thing {
            Thing::Nothing => {}
            Thing::File(content, run) => {
                let text = format!("first {}\nmiddle\nlast {}\n", content % 2, content / 2);
                fs_err::write(&path, text).unwrap();
                let mode = if *run { 0o755 } else { 0o644 };
                fs_err::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            }
            Thing::Link(target) => symlink(format!("to{target}"), &path).unwrap(),
            Thing::Directory => fs_err::create_dir(&path).unwrap(),
        }
    }
}

/// One side differs from another in a few places only.
fn varied(base: &[Thing], other: &[Thing], mask: u8) -> Vec<Thing> {
    let pairs = base.iter().zip(other).enumerate();
    pairs
        .map(|(at, (base, other))| if mask >> at & 1 == 1 { other } else { base }.clone())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_promotion_of_anything_keeps_what_only_the_person_changed(
        base in things(), mine in things(), theirs in things(), masks: (u8, u8),
        choice in prop_oneof![Just(None), Just(Some(Choice::Mine)), Just(Some(Choice::Theirs)), Just(Some(Choice::Markers))],
    ) {
        let stage = Stage::fast();
        make(&stage.path("base"), &base);
        make(&stage.mine_dir(), &varied(&base, &mine, masks.0));
        make(&stage.path("theirs"), &varied(&base, &theirs, masks.1));
        let selection = Selection { otherwise: choice, ..Selection::default() };
        let before = Tree::read(&stage.mine_dir());
        let items = stage.items();
        let proposal = Proposal::prepare(&stage.mine_dir(), items.clone(), &selection).unwrap();
        let promotions = stage.promotions();
        let applied = promotions.apply(&proposal, &label(1));
        if proposal.conflicts().next().is_some() {
            prop_assert!(applied.is_err());
            before.assert_unchanged(&stage.mine_dir(), "a refused apply");
            return Ok(());
        }
        let applied = applied.unwrap();
        let after = Tree::read(&stage.mine_dir());
        for path in before.paths() {
            let touched = items.iter().any(|item| path.starts_with(&item.path));
            if !touched {
                let (was, is) = (before.get(path), after.get(path));
                prop_assert_eq!(was, is, "{} was not the sandbox's to change", path.display());
            }
        }
        if let Some(id) = applied.promotion {
            let everything = Selection::default();
            let back = promotions.undo(id, &stage.mine_dir(), &everything).unwrap();
            promotions.apply(&back, &label(2)).unwrap();
        }
        let restored = Tree::read(&stage.mine_dir()).without_times();
        prop_assert_eq!(before.without_times().difference(&restored), "");
    }
}
