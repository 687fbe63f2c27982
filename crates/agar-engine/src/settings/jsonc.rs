//! JSON with comments and trailing commas, as editors' files are written.

/// The text as plain JSON of the same length: comments and trailing commas become spaces, so that
/// an error's place is its place in the file.
pub(super) fn to_json(text: &str) -> String {
    let mut plain = text.to_owned().into_bytes();
    let mut comma = None;
    let mut at = 0;
    while at < plain.len() {
        let end = match (plain[at], plain.get(at + 1)) {
            (b'"', _) => {
                comma = None;
                at = end_of_string(&plain, at);
                continue;
            }
            (b'/', Some(b'/')) => find(&plain, at, b"\n").unwrap_or(plain.len()),
            (b'/', Some(b'*')) => find(&plain, at + 2, b"*/").map_or(plain.len(), |end| end + 2),
            (byte, _) => {
                at += 1;
                comma = after(&mut plain, at - 1, byte, comma);
                continue;
            }
        };
        blank(&mut plain[at..end]);
        at = end;
    }
    // Only whole comments and commas were replaced, so the text is as valid as it was.
    String::from_utf8(plain).unwrap_or_default()
}

/// Drops a comma that only a closing bracket follows; says which comma is still in doubt.
fn after(plain: &mut [u8], at: usize, byte: u8, comma: Option<usize>) -> Option<usize> {
    match byte {
        b',' => Some(at),
        b'}' | b']' => {
            if let Some(comma) = comma {
                plain[comma] = b' ';
            }
            None
        }
        byte if byte.is_ascii_whitespace() => comma,
        _ => None,
    }
}

/// The byte after the closing quote.
fn end_of_string(text: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < text.len() {
        match text[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

fn find(text: &[u8], from: usize, what: &[u8]) -> Option<usize> {
    let rest = text.get(from..)?;
    rest.windows(what.len())
        .position(|window| window == what)
        .map(|at| from + at)
}

/// Line ends stay, so that lines keep their numbers.
fn blank(bytes: &mut [u8]) {
    for byte in bytes.iter_mut().filter(|byte| **byte != b'\n') {
        *byte = b' ';
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    #[test]
    fn comments_and_trailing_commas_are_ignored() {
        let text = r#"{
            // a comment with "quotes"
            "a": "http://x // not a comment", /* b */
            "b": [1, 2, /* c */ ],
            "c": "\",}",
        }"#;
        let value: Value = serde_json::from_str(&to_json(text)).unwrap();
        assert_eq!(
            value,
            json!({ "a": "http://x // not a comment", "b": [1, 2], "c": "\",}" })
        );
    }

    proptest! {
        #[test]
        fn plain_json_is_left_alone(texts: Vec<String>, number: i32) {
            let text = json!({ "a": texts, "b": { "c": number } }).to_string();
            prop_assert_eq!(to_json(&text), text);
        }

        #[test]
        fn nothing_makes_it_panic(text in "([{}\\[\\],\"/*\\\\]|\u{e9}|a|\n){0,30}") {
            prop_assert_eq!(to_json(&text).len(), text.len());
        }
    }
}
