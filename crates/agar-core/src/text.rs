//! Text from inside a sandbox, made harmless before agar prints it in its own voice.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The text with every control, direction-changing and invisible character spelled out.
///
/// A file name may hold an escape sequence that would clear the reader's screen or rewrite the line
/// that names it. What a command prints goes to the terminal untouched, as it would without agar;
/// what agar says about it passes through here.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_treacherous) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' => safe.push_str("\\n"),
            '\t' => safe.push_str("\\t"),
            '\r' => safe.push_str("\\r"),
            '\u{1b}' => safe.push_str("\\e"),
            c if is_treacherous(c) => {
                // Writing to a string cannot fail.
                let _ = write!(safe, "\\u{{{:x}}}", u32::from(c));
            }
            c => safe.push(c),
        }
    }
    Cow::Owned(safe)
}

/// The same for bytes that may not be UTF-8: what is not is shown as `\xNN`.
pub fn printable_bytes(bytes: &[u8]) -> String {
    let mut safe = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        safe.push_str(&printable(chunk.valid()));
        for byte in chunk.invalid() {
            let _ = write!(safe, "\\x{byte:02x}");
        }
    }
    safe
}

/// Characters that change what a reader sees without being seen.
fn is_treacherous(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn plain_text_is_left_alone() {
        assert!(matches!(
            printable("src/größe.rs"),
            Cow::Borrowed("src/größe.rs")
        ));
    }

    #[test]
    fn an_escape_sequence_is_shown_not_obeyed() {
        assert_eq!(printable("a\u{1b}[2Jb\n"), "a\\e[2Jb\\n");
        assert_eq!(printable("a\u{202e}b"), "a\\u{202e}b");
        assert_eq!(printable_bytes(b"a\xff\x07"), "a\\xff\\u{7}");
    }

    proptest! {
        #[test]
        fn nothing_printed_holds_a_control_character(bytes: Vec<u8>) {
            prop_assert!(!printable_bytes(&bytes).chars().any(char::is_control));
        }
    }
}
