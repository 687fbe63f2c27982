//! Taking out of a message what varies from run to run.

use crate::text;

/// Words that every error has.
const GENERIC: [&str; 41] = [
    "assert",
    "assertion",
    "assertionerror",
    "at",
    "build",
    "code",
    "compile",
    "error",
    "errors",
    "exception",
    "exit",
    "exited",
    "expect",
    "expected",
    "fail",
    "failed",
    "failure",
    "false",
    "fatal",
    "found",
    "from",
    "got",
    "left",
    "line",
    "none",
    "null",
    "panic",
    "panicked",
    "received",
    "right",
    "run",
    "status",
    "test",
    "tests",
    "the",
    "true",
    "undefined",
    "value",
    "want",
    "was",
    "with",
];

/// Longer messages are cut here.
const LENGTH_MAX: usize = 400;

/// The message without what varies; `None` where nothing telling is left.
pub(super) fn mask(message: &str) -> Option<String> {
    let message = text::clip(message.trim(), LENGTH_MAX);
    let words = split(message);
    let masked: Vec<String> = words.iter().map(|word| mask_word(word)).collect();
    let mut template = String::new();
    for word in &masked {
        if word == "#" && template.ends_with('#') {
            continue;
        }
        if !template.is_empty() {
            template.push(' ');
        }
        template.push_str(word);
    }
    is_telling(&template).then_some(template)
}

/// At least two words that not every error has, or one that is a name.
fn is_telling(template: &str) -> bool {
    let telling = template
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| word.chars().count() >= 3 && word.chars().any(char::is_alphabetic))
        .filter(|word| {
            GENERIC
                .binary_search(&word.to_lowercase().as_str())
                .is_err()
        })
        .count();
    telling >= 2
}

/// Words, with what stands in quotes as one word.
fn split(message: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote: Option<char> = None;
    let mut previous = ' ';
    for c in message.chars() {
        match quote {
            Some(open) => {
                word.push(c);
                if closes(open, c) {
                    quote = None;
                }
            }
            None if c.is_whitespace() => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            None => {
                // An apostrophe inside a word is not a quote.
                if matches!(c, '"' | '`' | '\'' | '‘' | '“') && !previous.is_alphanumeric() {
                    quote = Some(c);
                }
                word.push(c);
            }
        }
        previous = c;
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

fn closes(open: char, c: char) -> bool {
    match open {
        '‘' => c == '’',
        '“' => c == '”',
        // GNU tools quote `like this'.
        '`' => matches!(c, '`' | '\''),
        other => c == other,
    }
}

fn mask_word(word: &str) -> String {
    let quoted = word.find(['"', '`', '\'', '‘', '“']);
    if let Some(at) = quoted {
        return mask_quoted(word, at);
    }
    let core = word
        .trim_matches(|c: char| matches!(c, '(' | ')' | '[' | ']' | ',' | ';' | '.' | '{' | '}'));
    if core.is_empty() {
        return String::new();
    }
    let bare = core.trim_end_matches(':');
    if is_code(bare) || is_marked_code(word) {
        return word.trim_end_matches([',', ';', '.']).to_owned();
    }
    if bare.contains("://") {
        return "<url>".to_owned();
    }
    if is_path(bare) {
        return "<path>".to_owned();
    }
    if is_hash(bare) {
        return "#".to_owned();
    }
    digits(core)
}

/// Names in quotes stay, values go: a name is one word without numbers or paths, and double quotes
/// hold values.
fn mask_quoted(word: &str, at: usize) -> String {
    let open = word[at..].chars().next().unwrap_or('"');
    let inside_from = at + open.len_utf8();
    let end = word[inside_from..]
        .char_indices()
        .filter(|&(_, c)| closes(open, c))
        .map(|(index, _)| inside_from + index)
        .next();
    let Some(end) = end else {
        return digits(&word.replace(['"', '`', '\'', '‘', '“'], ""));
    };
    let inside = &word[inside_from..end];
    let is_name = !matches!(open, '"' | '“')
        && !inside.is_empty()
        && inside.chars().count() <= 60
        && inside
            .chars()
            .all(|c| c.is_alphabetic() || matches!(c, '_' | '-' | ':' | '.' | '@'));
    let shown = if is_name { inside } else { "…" };
    let before = digits(&word[..at]);
    format!("{before}'{shown}'")
}

/// `E0277`, `TS2345`, `ORA-00942`: numbers that name an error.
fn is_code(word: &str) -> bool {
    let letters = word.bytes().take_while(u8::is_ascii_uppercase).count();
    let rest = word[letters..]
        .strip_prefix('-')
        .unwrap_or(&word[letters..]);
    (1..=6).contains(&letters)
        && (3..=6).contains(&rest.len())
        && rest.bytes().all(|b| b.is_ascii_digit())
}

/// `error[E0277]:`
fn is_marked_code(word: &str) -> bool {
    word.split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'))
        .is_some_and(|(code, _)| is_code(code))
}

fn is_path(word: &str) -> bool {
    let windows = word.len() > 2 && word.as_bytes()[1] == b':' && word.as_bytes()[2] == b'\\';
    let slashes = word.matches('/').count();
    // `and/or` is no path; `src/lib.rs:10:5` and `/tmp/x` are.
    windows
        || word.starts_with('/') && word.len() > 1
        || word.starts_with("./")
        || word.starts_with("../")
        || word.starts_with("~/")
        || slashes >= 2
        || slashes == 1 && word.contains('.')
}

fn is_hash(word: &str) -> bool {
    let word = word.strip_prefix("0x").unwrap_or(word);
    let plain: String = word.chars().filter(|c| *c != '-').collect();
    plain.len() >= 6
        && plain.bytes().all(|b| b.is_ascii_hexdigit())
        && plain.bytes().any(|b| b.is_ascii_digit())
}

/// Every run of digits, with the points, colons and units that belong to it, becomes one sign.
fn digits(word: &str) -> String {
    let mut masked = String::with_capacity(word.len());
    let mut chars = word.chars().peekable();
    while let Some(c) = chars.next() {
        if !c.is_ascii_digit() {
            masked.push(c);
            continue;
        }
        while let Some(&next) = chars.peek() {
            let more =
                next.is_ascii_digit() || matches!(next, '.' | ':' | ',' | '-' | '+' | 'T' | 'Z');
            if !more {
                break;
            }
            chars.next();
        }
        masked.push('#');
    }
    masked.trim_end_matches(':').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_generic_words_can_be_searched() {
        assert!(GENERIC.is_sorted());
    }

    #[test]
    fn what_varies_goes_and_what_names_stays() {
        for (message, template) in [
            (
                "relation \"orders\" does not exist",
                "relation '…' does not exist",
            ),
            ("No module named 'yaml'", "No module named 'yaml'"),
            (
                "error[E0277]: the trait bound `Foo: Bar` is not satisfied",
                "error[E0277]: the trait bound '…' is not satisfied",
            ),
            (
                "could not open /tmp/x.9f3/a.json at 12:03:44",
                "could not open <path> at #",
            ),
            (
                "connection to 10.0.0.3:5432 refused (pid 231)",
                "connection to # refused pid #",
            ),
        ] {
            assert_eq!(mask(message).as_deref(), Some(template));
        }
    }

    #[test]
    fn a_message_that_says_nothing_is_no_fingerprint() {
        for message in [
            "assert False",
            "E # #",
            "AssertionError: assert 3 == 4",
            "exit code 1",
            "",
            "error: 5",
        ] {
            assert_eq!(mask(message), None, "{message}");
        }
    }

    proptest! {
        #[test]
        fn no_message_makes_it_panic(message: String) {
            drop(mask(&message));
        }

        #[test]
        fn numbers_do_not_matter(a in 0_u32.., b in 0_u32..) {
            let of = |n: u32| mask(&format!("worker {n} lost its connection after {n} ms at /run/{n}/sock"));
            prop_assert_eq!(of(a), of(b));
        }
    }
}
