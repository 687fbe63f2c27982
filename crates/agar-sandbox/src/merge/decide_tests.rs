//! The table, row by row and then as a whole.

use super::*;

fn file(content: &str, mode: u32) -> Entry {
    Entry::File(FileEntry {
        digest: Digest::of(content.as_bytes()),
        size: content.len() as u64,
        mode,
        text: !content.contains('\0'),
    })
}

fn link(target: &str) -> Entry {
    Entry::Symlink(target.as_bytes().to_vec())
}

/// Every sort of thing that can stand at a path, more than once where two of a sort can differ.
fn entries() -> Vec<Entry> {
    vec![
        Entry::Absent,
        file("one", 0o644),
        file("two", 0o644),
        file("three", 0o644),
        file("one", 0o755),
        file("two", 0o755),
        file("\0one", 0o644),
        file("\0two", 0o600),
        link("here"),
        link("there"),
        Entry::Directory(0o755),
        Entry::Directory(0o700),
        Entry::Special(Special::Fifo),
        Entry::Special(Special::Device),
    ]
}

/// Every combination that can occur: only mine is ever blocked, only a base is ever unknown.
fn combinations() -> Vec<(Entry, Entry, Entry)> {
    let mut all = Vec::new();
    let with = |extra: Entry| entries().into_iter().chain([extra]);
    for base in with(Entry::Unknown) {
        for mine in with(Entry::Blocked) {
            for theirs in entries() {
                all.push((base.clone(), mine.clone(), theirs));
            }
        }
    }
    all
}

fn content(entry: &Entry) -> Option<Digest> {
    match entry {
        Entry::File(file) => Some(file.digest),
        Entry::Absent
        | Entry::Symlink(_)
        | Entry::Directory(_)
        | Entry::Special(_)
        | Entry::Blocked
        | Entry::Unknown => None,
    }
}

#[test]
fn what_the_sandbox_did_not_change_stays_as_the_person_has_it() {
    for (base, mine, theirs) in combinations() {
        if theirs.is(&base) || theirs.is(&mine) {
            assert_eq!(decide(&base, &mine, &theirs), Decision::AlreadyThere);
        }
    }
}

#[test]
fn what_the_person_did_not_change_becomes_what_the_sandbox_has() {
    for (base, mine, theirs) in combinations() {
        let special = [&base, &mine, &theirs]
            .iter()
            .any(|entry| matches!(entry, Entry::Special(_)));
        if mine.is(&base) && mine != Entry::Blocked && !theirs.is(&mine) && !special {
            assert!(matches!(
                decide(&base, &mine, &theirs),
                Decision::Take { .. }
            ));
        }
    }
}

#[test]
fn nothing_that_only_the_person_has_is_ever_replaced() {
    for (base, mine, theirs) in combinations() {
        if let Decision::Take { .. } = decide(&base, &mine, &theirs) {
            let nothing_to_lose = mine.is_nothing()
                || mine.is(&base)
                || content(&mine).is_some_and(|mine| content(&base) == Some(mine))
                || matches!((&base, &mine), (Entry::Directory(_), Entry::Directory(_)));
            assert!(nothing_to_lose, "{base:?} {mine:?} {theirs:?}");
        }
    }
}

#[test]
fn a_conflict_is_one_whichever_side_is_mine() {
    for (base, mine, theirs) in combinations() {
        if mine == Entry::Blocked {
            continue;
        }
        let conflict = |decision| matches!(decision, Decision::Conflict(_) | Decision::Refuse(_));
        let there = decide(&base, &mine, &theirs);
        let back = decide(&base, &theirs, &mine);
        if matches!(there, Decision::Refuse(_)) || matches!(back, Decision::Refuse(_)) {
            continue;
        }
        assert_eq!(
            conflict(there),
            conflict(back),
            "{base:?} {mine:?} {theirs:?}"
        );
    }
}

#[test]
fn lines_are_merged_only_between_three_different_texts() {
    for (base, mine, theirs) in combinations() {
        if let Decision::Merge { .. } = decide(&base, &mine, &theirs) {
            let all = [&base, &mine, &theirs];
            assert!(
                all.iter()
                    .all(|e| matches!(e, Entry::File(file) if file.text))
            );
            assert!(content(&base) != content(&mine) && content(&mine) != content(&theirs));
        }
    }
}

#[test]
fn a_special_file_never_crosses() {
    for (base, mine, theirs) in combinations() {
        let decision = decide(&base, &mine, &theirs);
        if matches!(theirs, Entry::Special(_)) {
            assert!(matches!(
                decision,
                Decision::AlreadyThere | Decision::Refuse(_)
            ));
        }
    }
}

#[test]
fn nothing_is_put_below_what_is_not_a_directory() {
    for (base, mine, theirs) in combinations() {
        if mine == Entry::Blocked {
            let decision = decide(&base, &mine, &theirs);
            assert!(!matches!(
                decision,
                Decision::Take { .. } | Decision::Merge { .. } | Decision::Chmod { .. }
            ));
        }
    }
}

#[test]
fn each_kind_of_conflict_has_its_name() {
    let (one, two, three) = (file("one", 0o644), file("two", 0o644), file("three", 0o644));
    let (binary_one, binary_two) = (file("\0one", 0o644), file("\0two", 0o644));
    let (none, directory) = (Entry::Absent, Entry::Directory(0o755));
    let rows = [
        (&binary_one, &binary_two, &two, Clash::Binary),
        (&one, &none, &two, Clash::YouDeleted),
        (&one, &two, &none, Clash::TheyDeleted),
        (&none, &one, &two, Clash::BothAdded),
        (&none, &one, &link("x"), Clash::BothAdded),
        (&one, &two, &link("x"), Clash::TypeChanged),
        (&link("x"), &one, &link("y"), Clash::TypeChanged),
        (&link("x"), &link("z"), &link("y"), Clash::Binary),
        (&one, &two, &directory, Clash::DirectoryInTheWay),
        (&one, &directory, &two, Clash::DirectoryInTheWay),
        (&none, &directory, &two, Clash::DirectoryInTheWay),
        (&none, &link("x"), &directory, Clash::DirectoryInTheWay),
        (&one, &Entry::Blocked, &two, Clash::DirectoryInTheWay),
        (&Entry::Unknown, &one, &two, Clash::BaseMoved),
        (&Entry::Unknown, &none, &two, Clash::PerhapsDeleted),
    ];
    for (base, mine, theirs, clash) in rows {
        assert_eq!(decide(base, mine, theirs), Decision::Conflict(clash));
    }
    assert_eq!(decide(&one, &two, &three), Decision::Merge { mode: 0o644 });
}

#[test]
fn permission_bits_merge_apart_from_content() {
    let rows = [
        // The sandbox made it executable, the person edited it.
        (
            file("one", 0o644),
            file("two", 0o664),
            file("one", 0o755),
            Decision::Chmod { mode: 0o775 },
        ),
        // The person made it executable, the sandbox edited it.
        (
            file("one", 0o644),
            file("one", 0o755),
            file("two", 0o644),
            Decision::Take { mode: 0o755 },
        ),
        // One took the right to run it away, the other the right to read it.
        (
            file("one", 0o755),
            file("one", 0o700),
            file("one", 0o644),
            Decision::Chmod { mode: 0o600 },
        ),
        (
            file("one", 0o644),
            file("two", 0o755),
            file("three", 0o600),
            Decision::Merge { mode: 0o711 },
        ),
        // Both added the same file, only one as a program.
        (
            Entry::Absent,
            file("one", 0o644),
            file("one", 0o755),
            Decision::Chmod { mode: 0o755 },
        ),
        (
            Entry::Absent,
            file("one", 0o755),
            file("one", 0o600),
            Decision::AlreadyThere,
        ),
    ];
    for (base, mine, theirs, decision) in rows {
        assert_eq!(decide(&base, &mine, &theirs), decision);
    }
}

#[test]
fn a_privileged_bit_never_crosses() {
    let decision = decide(
        &file("one", 0o755),
        &file("one", 0o755),
        &file("two", 0o4755),
    );
    assert_eq!(decision, Decision::Take { mode: 0o755 });
    assert_eq!(merged_mode(0o755, 0o2755, 0o4755), 0o2755);
}

#[test]
fn a_directory_both_made_is_one_directory() {
    let (a, b) = (Entry::Directory(0o755), Entry::Directory(0o700));
    assert_eq!(decide(&Entry::Absent, &a, &b), Decision::AlreadyThere);
    assert_eq!(decide(&a, &a, &b), Decision::Take { mode: 0o700 });
    assert_eq!(decide(&a, &b, &Entry::Absent), Decision::Take { mode: 0 });
}
