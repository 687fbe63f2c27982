//! Lines: the examples git's users know, then the rules for any text.

use super::*;
use proptest::prelude::*;

fn merged(base: &str, mine: &str, theirs: &str) -> Option<String> {
    let clean = TextMerge::new(base.as_bytes(), mine.as_bytes(), theirs.as_bytes()).clean()?;
    Some(String::from_utf8(clean).unwrap())
}

fn marked(base: &str, mine: &str, theirs: &str, style: Markers) -> String {
    let merge = TextMerge::new(base.as_bytes(), mine.as_bytes(), theirs.as_bytes());
    let text = merge.resolve(|region| match region.origin {
        Origin::Conflict => Pick::Markers(style),
        Origin::Unchanged | Origin::Mine | Origin::Theirs | Origin::Both => Pick::Theirs,
    });
    String::from_utf8(text).unwrap()
}

#[test]
fn changes_of_different_lines_are_both_taken() {
    let clean = merged("a\nb\nc\nd\n", "A\nb\nc\nd\n", "a\nb\nc\nD\n");
    assert_eq!(clean.as_deref(), Some("A\nb\nc\nD\n"));
}

#[test]
fn the_same_change_on_both_sides_is_taken_once() {
    let clean = merged("a\nb\nc\n", "a\nX\nc\n", "a\nX\nc\n");
    assert_eq!(clean.as_deref(), Some("a\nX\nc\n"));
    assert_eq!(merged("a\n", "a\nx\n", "a\nx\n").as_deref(), Some("a\nx\n"));
}

#[test]
fn changes_that_touch_are_a_conflict_and_one_line_between_is_enough() {
    assert_eq!(merged("a\nb\nc\n", "A\nb\nc\n", "a\nB\nc\n"), None);
    assert_eq!(
        merged("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n").as_deref(),
        Some("A\nb\nC\n")
    );
    // An insertion next to a replaced line touches it.
    assert_eq!(merged("a\nb\n", "a\nx\nb\n", "A\nb\n"), None);
    // Two different insertions at one place.
    assert_eq!(merged("a\nb\n", "a\nx\nb\n", "a\ny\nb\n"), None);
}

#[test]
fn a_conflict_says_which_lines_of_each_text_meet() {
    let merge = TextMerge::new(b"a\nb\nc\n", b"a\nM\nM\nc\n", b"a\nT\nc\n");
    let conflicts: Vec<&Region> = merge.conflicts().collect();
    assert_eq!(
        conflicts,
        [&Region {
            origin: Origin::Conflict,
            base: 1..2,
            mine: 1..3,
            theirs: 1..2
        }]
    );
}

#[test]
fn markers_stand_on_lines_of_their_own() {
    assert_eq!(
        marked("a\nb\nc\n", "a\nM\nc\n", "a\nT\nc\n", Markers::Sides),
        "a\n<<<<<<< mine\nM\n=======\nT\n>>>>>>> theirs\nc\n"
    );
    assert_eq!(
        marked("a\nb\nc\n", "a\nM\nc\n", "a\nT\nc\n", Markers::WithBase),
        "a\n<<<<<<< mine\nM\n||||||| base\nb\n=======\nT\n>>>>>>> theirs\nc\n"
    );
    // Without a newline at the end on either side.
    assert_eq!(
        marked("a", "M", "T", Markers::Sides),
        "<<<<<<< mine\nM\n=======\nT\n>>>>>>> theirs\n"
    );
}

#[test]
fn lines_both_sides_share_stay_outside_the_markers() {
    assert_eq!(
        marked("", "same\nM\nend\n", "same\nT\nend\n", Markers::Sides),
        "same\n<<<<<<< mine\nM\n=======\nT\n>>>>>>> theirs\nend\n"
    );
}

#[test]
fn carriage_returns_are_kept_and_the_markers_follow_them() {
    assert_eq!(
        merged("a\r\nb\r\nc\r\n", "A\r\nb\r\nc\r\n", "a\r\nb\r\nC\r\n").as_deref(),
        Some("A\r\nb\r\nC\r\n")
    );
    assert_eq!(
        marked("b\r\n", "M\r\n", "T\r\n", Markers::Sides),
        "<<<<<<< mine\r\nM\r\n=======\r\nT\r\n>>>>>>> theirs\r\n"
    );
}

#[test]
fn a_missing_newline_at_the_end_is_kept_or_given_as_the_one_who_changed_it_did() {
    assert_eq!(
        merged("a\nb\nc", "A\nb\nc", "a\nb\nc").as_deref(),
        Some("A\nb\nc")
    );
    assert_eq!(
        merged("a\nb\nc", "A\nb\nc", "a\nb\nc\n").as_deref(),
        Some("A\nb\nc\n")
    );
    assert_eq!(
        merged("a\nb\nc\n", "A\nb\nc\n", "a\nb\nc").as_deref(),
        Some("A\nb\nc")
    );
}

#[test]
fn bytes_that_are_not_utf_8_pass_through() {
    let merge = TextMerge::new(b"\xff\na\nb\n", b"\xfe\na\nb\n", b"\xff\na\n\xfd\n");
    assert_eq!(merge.clean().as_deref(), Some(&b"\xfe\na\n\xfd\n"[..]));
}

#[test]
fn a_hunk_can_be_left_out() {
    let merge = TextMerge::new(b"a\nb\nc\n", b"a\nb\nc\n", b"A\nb\nC\n");
    let hunks: Vec<Region> = merge.hunks().cloned().collect();
    assert_eq!(hunks.len(), 2);
    let without_first = merge.resolve(|region| {
        if *region == hunks[0] {
            Pick::Mine
        } else {
            Pick::Theirs
        }
    });
    assert_eq!(without_first, b"a\nb\nC\n");
}

#[test]
fn a_zero_byte_near_the_start_makes_a_file_binary() {
    assert!(is_text(b"plain\xff"));
    assert!(!is_text(b"\0"));
    assert!(is_text(&[b'a'; 9000]));
}

/// What one side does to each base line: keep it, drop it, replace it, or put lines before it.
#[derive(Debug, Clone)]
enum Deed {
    Keep,
    Drop,
    Replace,
    Before(u8),
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let deed = prop_oneof![
        6 => Just(Deed::Keep),
        1 => Just(Deed::Drop),
        1 => Just(Deed::Replace),
        1 => (1_u8..3).prop_map(Deed::Before),
    ];
    proptest::collection::vec(deed, 0..40)
}

/// The side's text, and the lines that are its own; each is marked with the side's name, so that
/// none can come from anywhere else.
fn perform(base: &[String], deeds: &[Deed], name: &str) -> (String, Vec<String>) {
    let (mut text, mut own) = (String::new(), Vec::new());
    let mut add = |text: &mut String, line: String| {
        text.push_str(&line);
        own.push(line);
    };
    for (index, line) in base.iter().enumerate() {
        match deeds.get(index).unwrap_or(&Deed::Keep) {
            Deed::Keep => text.push_str(line),
            Deed::Drop => {}
            Deed::Replace => add(&mut text, format!("{name} instead of {index}\n")),
            Deed::Before(count) => {
                for nth in 0..*count {
                    add(&mut text, format!("{name} before {index}, {nth}\n"));
                }
                text.push_str(line);
            }
        }
    }
    (text, own)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_line_that_only_one_side_touched_is_never_lost(
        repeats in proptest::collection::vec(0_u8..30, 0..40), mine in deeds(), theirs in deeds(),
    ) {
        let base: Vec<String> = repeats.iter().map(|n| format!("line {n}\n")).collect();
        let (mine, my_own) = perform(&base, &mine, "mine");
        let (theirs, their_own) = perform(&base, &theirs, "theirs");
        let base = base.concat();
        let merge = TextMerge::new(base.as_bytes(), mine.as_bytes(), theirs.as_bytes());
        // With markers nothing at all is lost; without conflict neither.
        let result = merge.resolve(|region| match region.origin {
            Origin::Conflict => Pick::Markers(Markers::Sides),
            Origin::Unchanged | Origin::Mine | Origin::Theirs | Origin::Both => Pick::Theirs,
        });
        let result = String::from_utf8(result).unwrap();
        for line in my_own.iter().chain(&their_own) {
            let kept = result.split_inclusive('\n').filter(|kept| kept == line).count();
            prop_assert_eq!(kept, 1, "{} in {}", line, result);
        }
        // Whatever is chosen in a conflict, the chosen side keeps all of its own.
        let all_mine = merge.resolve(|region| match region.origin {
            Origin::Conflict => Pick::Mine,
            Origin::Unchanged | Origin::Mine | Origin::Theirs | Origin::Both => Pick::Theirs,
        });
        let all_mine = String::from_utf8(all_mine).unwrap();
        prop_assert!(my_own.iter().all(|line| all_mine.contains(line.as_str())));
    }

    #[test]
    fn the_regions_cover_all_three_texts_in_order(base in texts(), mine in texts(), theirs in texts()) {
        let merge = TextMerge::new(&base, &mine, &theirs);
        let (mut b, mut m, mut t) = (0, 0, 0);
        for region in merge.regions() {
            prop_assert_eq!((region.base.start, region.mine.start, region.theirs.start), (b, m, t));
            (b, m, t) = (region.base.end, region.mine.end, region.theirs.end);
        }
        prop_assert_eq!((b, m, t), (lines(&base).len(), lines(&mine).len(), lines(&theirs).len()));
    }

    #[test]
    fn a_change_against_an_unchanged_side_is_that_change(base in texts(), side in texts()) {
        let clean = TextMerge::new(&base, &side, &base).clean();
        prop_assert_eq!(clean.as_ref(), Some(&side));
        let clean = TextMerge::new(&base, &base, &side).clean();
        prop_assert_eq!(clean.as_ref(), Some(&side));
        let clean = TextMerge::new(&base, &side, &side).clean();
        prop_assert_eq!(clean.as_ref(), Some(&side));
    }

    #[test]
    fn it_does_not_matter_whose_side_is_whose(base in texts(), a in texts(), b in texts()) {
        let there = TextMerge::new(&base, &a, &b);
        let back = TextMerge::new(&base, &b, &a);
        prop_assert_eq!(there.clean(), back.clean());
        prop_assert_eq!(there.conflicts().count(), back.conflicts().count());
    }

    #[test]
    fn no_bytes_make_it_panic(base: Vec<u8>, mine: Vec<u8>, theirs: Vec<u8>) {
        let merge = TextMerge::new(&base, &mine, &theirs);
        merge.resolve(|_| Pick::Markers(Markers::WithBase));
    }
}

/// Short texts over few lines, so that the three often agree.
fn texts() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(
        prop_oneof![
            Just("a\n"),
            Just("b\n"),
            Just("c\r\n"),
            Just("\n"),
            Just("end")
        ],
        0..12,
    )
    .prop_map(|lines| lines.concat().into_bytes())
}
