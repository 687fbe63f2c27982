//! Where in a text the secrets are.

use super::{names_secret, shape};
use std::ops::Range;

/// The secrets in a text: apart from each other, in order, on character boundaries.
pub(super) fn secrets(text: &str) -> Vec<Range<usize>> {
    let mut found = private_keys(text);
    found.extend(passwords_in_urls(text));
    found.extend(named_values(text));
    found.extend(tokens(text));
    found.retain(|span| !span.is_empty());
    found.sort_by_key(|span| (span.start, span.end));
    let mut apart: Vec<Range<usize>> = Vec::with_capacity(found.len());
    for span in found {
        match apart.last_mut() {
            Some(last) if span.start < last.end => last.end = last.end.max(span.end),
            _ => apart.push(span),
        }
    }
    apart
}

/// Private keys in their armour, to the end of the text if the armour is cut off.
fn private_keys(text: &str) -> Vec<Range<usize>> {
    const DASHES: &str = "-----";
    let mut found = Vec::new();
    for (start, begin) in text.match_indices("-----BEGIN ") {
        let label = &text[start + begin.len()..];
        let Some((label, _)) = label.split_once(DASHES) else {
            continue;
        };
        if !label.ends_with("PRIVATE KEY") && !label.ends_with("PRIVATE KEY BLOCK") {
            continue;
        }
        let close = format!("-----END {label}{DASHES}");
        let end = text[start..].find(&close);
        let end = end.map_or(text.len(), |at| start + at + close.len());
        found.push(start..end);
    }
    found
}

/// `scheme://user:password@host`
fn passwords_in_urls(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for (at, separator) in text.match_indices("://") {
        let start = at + separator.len();
        let rest = &text[start..];
        let length = rest.find(|c: char| c.is_whitespace() || "/?#\"'`<>".contains(c));
        let authority = &rest[..length.unwrap_or(rest.len())];
        let Some((user, _)) = authority.rsplit_once('@') else {
            continue;
        };
        if let Some((name, _)) = user.split_once(':') {
            found.push(start + name.len() + 1..start + user.len());
        }
    }
    found
}

/// `NAME=value`, `"name": "value"` and `Header: value` where the name says that it is a secret.
fn named_values(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices(['=', ':']) {
        let name = name_before(&text[..at]);
        let colon = text[at..].starts_with(':');
        if !names_secret(name) || (colon && is_file(text, name)) {
            continue;
        }
        let start = value_start(text, at + 1, colon);
        let Some(start) = start else { continue };
        found.push(start..value_end(text, start, is_header(name) && colon));
    }
    found
}

/// The name that ends where an equals sign or colon stands, without its quotes.
fn name_before(text: &str) -> &str {
    let text = text.trim_end_matches(['"', '\'', ' ']);
    let start = text
        .char_indices()
        .rev()
        .take_while(|&(_, c)| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
        .last();
    start.map_or("", |(at, _)| &text[at..])
}

/// Whether the name before a colon is a file's, as compilers write it: `src/auth.rs:12`.
fn is_file(text: &str, name: &str) -> bool {
    let start = name.as_ptr() as usize - text.as_ptr() as usize;
    name.contains('.') || text[..start].ends_with('/')
}

/// Headers whose value is several words.
fn is_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.ends_with("authorization") || name.ends_with("cookie")
}

/// Where the value begins after an equals sign or colon; nowhere if there is none to hide.
fn value_start(text: &str, after: usize, colon: bool) -> Option<usize> {
    let rest = &text[after..];
    let spaces = if colon {
        rest.len() - rest.trim_start_matches(' ').len()
    } else {
        0
    };
    let rest = &rest[spaces..];
    let quote = usize::from(rest.starts_with(['"', '\'']));
    let value = &rest[quote..];
    let is_reference = value.starts_with('$') || value.starts_with("//") || value.starts_with(':');
    (!value.is_empty() && !is_reference).then_some(after + spaces + quote)
}

fn value_end(text: &str, start: usize, whole_line: bool) -> usize {
    let before = text[..start].chars().next_back();
    let quote = before.filter(|c| matches!(c, '"' | '\''));
    let rest = &text[start..];
    let length = match quote {
        Some(quote) => rest.find(quote),
        None if whole_line => rest.find(['\n', '\r', '"', '\'']),
        None => rest.find(|c: char| c.is_whitespace() || "\"'`;&|,)}".contains(c)),
    };
    start + length.unwrap_or(rest.len())
}

/// Words with the shape of a token, and what follows `Bearer`.
fn tokens(text: &str) -> Vec<Range<usize>> {
    const LONGEST_HARMLESS: usize = 7;
    let mut found = Vec::new();
    let mut before = "";
    for (start, word) in words(text) {
        let bearer = before.eq_ignore_ascii_case("bearer") && word.len() > LONGEST_HARMLESS;
        let digits = word.bytes().any(|b| b.is_ascii_digit());
        if shape::is_token(word) || (bearer && digits) {
            found.push(start..start + word.len());
        }
        before = word;
    }
    found
}

/// Runs of the characters that tokens are made of.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let part = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '~' | '+'));
    text.split(part)
        .filter(|word| !word.is_empty())
        .map(move |word| (word.as_ptr() as usize - text.as_ptr() as usize, word))
}
