//! Children of scripts: the same program with other numbers in it.
//!
//! Whoever writes a program leaves numbers in it that are guesses. Those are what can be changed
//! without understanding the program; everything else about a script is for a mutator outside. Only
//! as much of the language is read as it takes to find numbers that stand in code, and not in text,
//! comments or names.

use crate::chance::Chance;
use std::ops::Range;

/// The parent with one to three of its numbers changed; the parent itself where it has none.
pub fn mutate_script(source: &str, chance: &mut Chance) -> String {
    let mut child = source.to_owned();
    for _ in 0..=chance.below(3) {
        let places = literals(&child);
        let Some(place) = chance.pick(&places).cloned() else {
            return child;
        };
        let number: f64 = child
            .get(place.clone())
            .and_then(|digits| digits.parse().ok())
            .unwrap_or_default();
        child.replace_range(place, &nearby(number, chance));
    }
    child
}

/// One of the two programs with numbers from both, where they differ in their numbers only.
pub fn cross_scripts(mother: &str, father: &str, chance: &mut Chance) -> Option<String> {
    let (ours, theirs) = (literals(mother), literals(father));
    let code = |source: &str, places: &[Range<usize>]| {
        let mut rest = source.to_owned();
        for place in places.iter().rev() {
            rest.replace_range(place.clone(), "0");
        }
        rest
    };
    if code(mother, &ours) != code(father, &theirs) {
        return None;
    }
    let mut child = mother.to_owned();
    for (place, other) in ours.into_iter().zip(theirs).rev() {
        if chance.happens(0.5) {
            child.replace_range(place, father.get(other)?);
        }
    }
    Some(child)
}

/// A number like this one. Never below zero: a sign in front of it stays where it is.
fn nearby(number: f64, chance: &mut Chance) -> String {
    let changed = match chance.below(4) {
        0 => number + chance.normal(),
        1 if chance.happens(0.5) => number * 10.0,
        1 => number / 10.0,
        _ => number * (1.0 + 0.2 * chance.normal()),
    };
    let changed = changed.abs().clamp(0.0, 1e12);
    // Four digits are enough for a guess, and keep children readable.
    let short: f64 = format!("{changed:.3e}").parse().unwrap_or(changed);
    short.to_string()
}

/// Where decimal numbers stand in the code.
fn literals(source: &str) -> Vec<Range<usize>> {
    let bytes = source.as_bytes();
    let at = |index: usize| bytes.get(index).copied().unwrap_or(b' ');
    let mut found = Vec::new();
    let mut index = 0;
    while index < bytes.len() {
        let rest = bytes.get(index..).unwrap_or_default();
        index = match at(index) {
            b'/' if at(index + 1) == b'/' => index + until(rest, b"\n"),
            b'/' if at(index + 1) == b'*' => index + 2 + until(rest.get(2..).unwrap_or(&[]), b"*/"),
            quote @ (b'"' | b'\'' | b'`') => index + text(rest, quote),
            letter if is_name(letter) => {
                let end = index + rest.iter().take_while(|byte| is_name(**byte)).count();
                if letter.is_ascii_digit() {
                    let end = fraction(bytes, end);
                    found.extend(number(source, index..end));
                    end
                } else {
                    end
                }
            }
            _ => index + 1,
        };
    }
    found
}

/// Whether a name or a number may have it inside.
const fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80
}

/// The end of a number that goes on after a point.
fn fraction(bytes: &[u8], end: usize) -> usize {
    let digits = |from: usize| {
        let rest = bytes.get(from..).unwrap_or_default();
        rest.iter().take_while(|byte| is_name(**byte)).count()
    };
    if bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit) {
        end + 1 + digits(end + 1)
    } else {
        end
    }
}

/// The place, if what stands there is digits with at most a point among them.
fn number(source: &str, place: Range<usize>) -> Option<Range<usize>> {
    let word = source.get(place.clone())?;
    let plain = word.bytes().all(|it| it.is_ascii_digit() || it == b'.');
    (plain && word.parse::<f64>().is_ok()).then_some(place)
}

/// Bytes up to and with the mark, or all of them.
fn until(bytes: &[u8], mark: &[u8]) -> usize {
    let found = bytes.windows(mark.len()).position(|it| it == mark);
    found.map_or(bytes.len(), |at| at + mark.len())
}

/// Bytes of a text that begins with this quote.
fn text(bytes: &[u8], quote: u8) -> usize {
    let mut escaped = true;
    for (at, byte) in bytes.iter().enumerate() {
        match (escaped, *byte) {
            (false, b'\\') => escaped = true,
            (false, byte) if byte == quote => return at + 1,
            _ => escaped = false,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(source: &str) -> Vec<&str> {
        let places = literals(source).into_iter();
        places.map(|place| &source[place]).collect()
    }

    #[test]
    fn numbers_are_found_in_code_and_nowhere_else() {
        let source = "const a1 = 2.5; // 3\n/* 4 */ let b = a1 - 60 + \"7\" + '8\\'9' + `10`; f(0x1f, 5n, 1e3, 12);";
        assert_eq!(found(source), ["2.5", "60", "12"]);
        assert_eq!(found("x.y2[3] ? .5 : 4."), ["3", "5", "4"]);
        assert!(found("\"never closed 5").is_empty());
    }

    #[test]
    fn a_child_differs_in_its_numbers_only() {
        let source = "function evaluate(x) { return x > 12 ? 1.5 : -3; }";
        for seed in 0..200 {
            let child = mutate_script(source, &mut Chance::of(&[seed]));
            let crossed = cross_scripts(source, &child, &mut Chance::of(&[seed, 1]));
            assert!(crossed.is_some(), "{child}");
        }
        assert_eq!(cross_scripts("f(1)", "g(1)", &mut Chance::of(&[1])), None);
        assert_eq!(mutate_script("f(x)", &mut Chance::of(&[1])), "f(x)");
    }

    proptest! {
        #[test]
        fn anything_can_be_a_parent(seed: u64, mother: String, father: String) {
            let mut chance = Chance::of(&[seed]);
            let child = mutate_script(&mother, &mut chance);
            drop(cross_scripts(&child, &father, &mut chance));
        }
    }
}
