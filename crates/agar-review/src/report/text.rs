//! Text as a terminal would show it, in pieces of a bounded size.

use std::borrow::Cow;

/// The bytes as text, without the sequences that colour it.
pub(super) fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    without_colours(&text).into_owned()
}

/// Without escape sequences and carriage returns.
fn without_colours(text: &str) -> Cow<'_, str> {
    if !text.contains(['\u{1b}', '\r']) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\u{1b}' if letters.peek() == Some(&'[') => {
                letters.next();
                // Parameters, then one letter that says what they are for.
                let ends = |&letter: &char| ('@'..='~').contains(&letter) || letter == '\n';
                letters.by_ref().find(ends);
            }
            '\u{1b}' | '\r' => {}
            other => clean.push(other),
        }
    }
    Cow::Owned(clean)
}

/// At most so many characters.
pub(super) fn clip(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// The number a text begins with, and what follows it.
pub(super) fn leading_number(text: &str) -> Option<(u64, &str)> {
    let end = text
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(text.len());
    let number = text[..end].parse().ok()?;
    Some((number, &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_not_part_of_a_text() {
        assert_eq!(plain(b"\x1b[32;1mok\x1b[0m done\r\n"), "ok done\n");
        assert_eq!(plain(b"\x1b["), "");
        assert_eq!(plain(b"a\x1bMb"), "aMb");
    }

    #[test]
    fn a_long_text_is_cut_between_letters() {
        assert_eq!(clip("äöü", 2), "äö…");
        assert_eq!(clip("äöü", 3), "äöü");
    }

    #[test]
    fn a_number_is_read_up_to_what_is_none() {
        assert_eq!(leading_number("12 passed"), Some((12, " passed")));
        assert_eq!(leading_number("x"), None);
        assert_eq!(leading_number("99999999999999999999999"), None);
    }
}
