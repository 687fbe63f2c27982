//! How alike two suggestions are: the cosine of the angle between their terms.
//!
//! Suggestions say more or less about themselves: one names a command, another only says what it
//! wants. What one side says nothing about is no difference, so each side is as long as its terms in
//! the parts that the other has too, and those that the other has anywhere. The same words are then
//! the same suggestion, whatever else one of the two says.

use crate::terms::{Term, Terms};

/// From 0 to 1. What both have weighs as it tells apart now, as `own` says; what only one has, as
/// that one says.
pub(super) fn likeness(own: &Terms, other: &Terms) -> f64 {
    let both = parts(own) & parts(other);
    let (mut product, mut own_squares, mut other_squares) = (0.0, 0.0, 0.0);
    let alone = |term: Term| match term.part.bit() & both {
        0 => 0.0,
        _ => (term.weight() * term.telling()).powi(2),
    };
    let mut mine = own.iter().peekable();
    for theirs in other.iter() {
        while let Some(term) = mine.next_if(|term| term.hash < theirs.hash) {
            own_squares += alone(term);
        }
        match mine.next_if(|term| term.hash == theirs.hash) {
            Some(term) => {
                let telling = term.telling().powi(2);
                product += term.weight() * theirs.weight() * telling;
                own_squares += term.weight().powi(2) * telling;
                other_squares += theirs.weight().powi(2) * telling;
            }
            None => other_squares += alone(theirs),
        }
    }
    own_squares += mine.map(alone).sum::<f64>();
    let lengths = (own_squares * other_squares).sqrt();
    if lengths > 0.0 {
        (product / lengths).clamp(0.0, 1.0)
    } else {
        0.0
    }
}

/// The parts that a suggestion says something in. What is only for finding was not said.
fn parts(terms: &Terms) -> u8 {
    let said = terms.iter().filter(|term| term.told > 0);
    said.fold(0, |parts, term| parts | term.part.bit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Suggestion;
    use proptest::prelude::*;

    fn said(text: &str, command: &[&str], context: &[(&str, &str)]) -> Terms {
        let command: Vec<String> = command.iter().map(|&word| word.to_owned()).collect();
        let context = context
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).into()));
        Terms::of(&Suggestion {
            commands: if command.is_empty() {
                Vec::new()
            } else {
                vec![command]
            },
            context: context.collect(),
            ..Suggestion::new(text)
        })
    }

    fn alike(a: &Terms, b: &Terms) -> f64 {
        let there = likeness(a, b);
        assert!(
            (there - likeness(b, a)).abs() < 1e-9,
            "it depends on who asks"
        );
        there
    }

    #[test]
    fn the_same_words_are_the_same_whatever_else_one_side_says() {
        let asked = said("break it", &[], &[]);
        for tried in [
            said(
                "break it",
                &["sh", "-c", "echo no > src/lib.rs; exit 1"],
                &[],
            ),
            said(
                "break it",
                &["make", "break"],
                &[("ticket", "AG-12"), ("branch", "main")],
            ),
        ] {
            assert!(alike(&asked, &tried) > 0.999, "{}", alike(&asked, &tried));
        }
    }

    #[test]
    fn what_a_command_is_about_tells_more_than_the_command() {
        let of = |line: &str| said(line, &line.split(' ').collect::<Vec<_>>(), &[]);
        let other = alike(&of("make docs"), &of("make tests"));
        assert!(
            other < alike(&of("make docs"), &of("make docs all")),
            "{other}"
        );
    }

    #[test]
    fn other_commands_and_other_words_make_it_another() {
        let tried = said("break it", &["make", "break"], &[]);
        let other_command = alike(&tried, &said("break it", &["npm", "update", "--save"], &[]));
        let other_words = alike(&tried, &said("upgrade the parser", &[], &[]));
        assert!((0.2..0.9).contains(&other_command), "{other_command}");
        assert!(other_words < 1e-9, "{other_words}");
    }

    #[test]
    fn a_command_is_found_by_its_words() {
        let tried = said("run the whole suite", &["pytest", "tests", "checkout"], &[]);
        let found = alike(&said("checkout", &[], &[]), &tried);
        assert!((0.2..0.9).contains(&found), "{found}");
    }

    #[test]
    fn files_that_changed_are_no_difference() {
        let tried = said("break it", &[], &[]);
        let files = ["a.rs", "b.rs", "c.rs"].map(Terms::file);
        assert!(alike(&tried, &tried.clone().with(files.into_iter())) > 0.999);
    }

    proptest! {
        #[test]
        fn it_is_symmetric_bounded_and_one_for_the_same(a in "[a-f ]{0,30}", b in "[a-f ]{0,30}") {
            let (one, two) = (said(&a, &["make", &b], &[]), said(&b, &["cargo", "run", &a], &[]));
            let there = alike(&one, &two);
            prop_assert!((0.0..=1.0).contains(&there));
            prop_assert!(alike(&one, &one) > 0.999);
        }
    }
}
