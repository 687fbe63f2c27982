//! Cutting text without breaking it.

/// At most `most` bytes from the start, never inside a character.
pub(crate) fn clip(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let mut end = most;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// At most `most` bytes from the end, never inside a character.
pub(crate) fn clip_end(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let mut start = text.len() - most;
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

/// The text in one line, at most this many characters.
pub(crate) fn line(text: &str, most: usize) -> String {
    let first = text.lines().find(|line| !line.trim().is_empty());
    let first = first.unwrap_or("").trim();
    if first.chars().count() <= most {
        return first.to_owned();
    }
    let mut short: String = first.chars().take(most.saturating_sub(1)).collect();
    short.push('…');
    short
}
