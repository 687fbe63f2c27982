//! What one walk hands to the next.

use super::*;

fn entry(name: &str, mode: u32, ino: u64) -> Entry {
    Entry {
        name: CString::new(name).unwrap(),
        mode,
        nlink: 1,
        uid: 0,
        gid: 0,
        size: 1,
        blocks: 8,
        mtime_ns: 5,
        ctime_ns: 6,
        ino,
        closed: false,
        racy: false,
        landed: Some(Landed::default()),
        follower: false,
    }
}

fn listing(directories: &[(&str, &[Entry])]) -> Listing {
    let directories = directories.iter().map(|(path, entries)| Directory {
        path: path.as_bytes().to_vec(),
        entries: entries.iter().map(|entry| (*entry).clone()).collect(),
    });
    Listing {
        directories: directories.collect(),
        ..Listing::default()
    }
}

fn fresh(mut listing: Listing) -> Listing {
    for directory in &mut listing.directories {
        directory
            .entries
            .iter_mut()
            .for_each(|entry| entry.landed = None);
    }
    listing
}

const FILE: u32 = 0o100_644;
const DIRECTORY: u32 = 0o040_755;

#[test]
fn an_unchanged_tree_carries_everything_over() {
    let tree = listing(&[
        ("", &[entry("a", DIRECTORY, 1), entry("b", FILE, 2)]),
        ("a", &[entry("c", FILE, 3)]),
    ]);
    let mut later = fresh(tree.clone());
    assert!(tree.carry_into(&mut later).is_empty());
    assert_eq!(later, tree);
}

#[test]
fn what_is_new_changed_or_gone_is_told_apart() {
    let before = listing(&[(
        "",
        &[
            entry("a", FILE, 1),
            entry("b", FILE, 2),
            entry("d", FILE, 4),
        ],
    )]);
    let mut changed = entry("b", FILE, 2);
    changed.ctime_ns = 7;
    let after = [changed, entry("c", FILE, 3), entry("d", FILE, 4)];
    let mut later = fresh(listing(&[("", &after)]));
    let gone = before.carry_into(&mut later);
    assert_eq!(gone.entries, [b"a".to_vec()]);
    assert_eq!(later.missing(), [PathBuf::from("b"), PathBuf::from("c")]);
}

#[test]
fn a_directory_that_is_gone_is_named_once() {
    let before = listing(&[
        ("", &[entry("a", DIRECTORY, 1)]),
        ("a", &[entry("b", FILE, 2)]),
    ]);
    let mut later = listing(&[("", &[])]);
    let gone = before.carry_into(&mut later);
    assert_eq!((gone.entries, gone.closed), (vec![b"a".to_vec()], vec![]));
}

#[test]
fn a_directory_that_is_closed_now_is_named_apart() {
    let before = listing(&[
        ("", &[entry("a", DIRECTORY, 1)]),
        ("a", &[entry("b", FILE, 2)]),
    ]);
    let mut closed = entry("a", DIRECTORY, 1);
    closed.closed = true;
    let mut later = fresh(listing(&[("", &[closed])]));
    let gone = before.carry_into(&mut later);
    assert_eq!((gone.entries, gone.closed), (vec![], vec![b"a".to_vec()]));
    assert_eq!(later.missing(), [PathBuf::from("a")]);
}

#[test]
fn a_racy_entry_is_never_taken_for_unchanged() {
    let mut racy = entry("a", FILE, 1);
    racy.racy = true;
    let before = listing(&[("", &[racy])]);
    let mut later = fresh(listing(&[("", &[entry("a", FILE, 1)])]));
    before.carry_into(&mut later);
    assert_eq!(later.missing(), [PathBuf::from("a")]);
}

#[test]
fn what_vanished_before_it_could_be_copied_again_is_gone() {
    let mut changed = entry("a", FILE, 1);
    changed.landed = None;
    let mut left_out = entry("b", FILE, 2);
    left_out.landed = Some(Landed {
        left_out: true,
        ..Landed::default()
    });
    let before = listing(&[("", &[changed, left_out])]);
    let gone = before.carry_into(&mut listing(&[("", &[])]));
    assert_eq!(gone.entries, [b"a".to_vec()]);
}

#[test]
fn a_further_whiteout_changes_none_that_was_there() {
    let whiteout = entry("a", 0o020_000, 1);
    let mut later = whiteout.clone();
    (later.nlink, later.ctime_ns) = (2, 7);
    assert!(whiteout.is_same(&later));
}

#[test]
fn entries_are_found_by_their_path() {
    let tree = listing(&[
        ("", &[entry("a", DIRECTORY, 1)]),
        ("a", &[entry("b", FILE, 2), entry("c", FILE, 3)]),
    ]);
    assert_eq!(tree.entry(b"a/c").unwrap().ino, 3);
    assert_eq!(tree.entry(b"a").unwrap().ino, 1);
    assert!(tree.entry(b"a/d").is_none() && tree.entry(b"x/d").is_none());
    assert_eq!((parent(b"a/b/c"), last(b"a/b/c")), (&b"a/b"[..], &b"c"[..]));
}
