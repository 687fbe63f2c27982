//! A unified diff on a terminal: coloured, and harmless.
//!
//! Lines of a diff are text from inside a sandbox. Into a pipe they go as they are, so that `git
//! apply` can read them; on a terminal every control character is spelled out first.

use super::palette::{Palette, Tone};
use agar_core::text::printable;

/// The diff as a terminal may show it.
pub fn for_terminal(patch: &str, palette: Palette) -> String {
    let mut text = String::with_capacity(patch.len() + patch.len() / 4);
    for line in patch.split_inclusive('\n') {
        let (line, end) = line
            .strip_suffix('\n')
            .map_or((line, ""), |line| (line, "\n"));
        // Tabs are what they seem.
        let safe: Vec<_> = line.split('\t').map(printable).collect();
        let safe = safe.join("\t");
        match tone(line) {
            Some(tone) => text.push_str(&palette.paint(tone, &safe)),
            None => text.push_str(&safe),
        }
        text.push_str(end);
    }
    text
}

fn tone(line: &str) -> Option<Tone> {
    if ["diff ", "--- ", "+++ "]
        .iter()
        .any(|head| line.starts_with(head))
    {
        return Some(Tone::Strong);
    }
    match line.as_bytes().first() {
        Some(b'+') => Some(Tone::Good),
        Some(b'-') => Some(Tone::Bad),
        Some(b'@') => Some(Tone::Name),
        Some(_) | None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_escape_in_a_changed_line_is_shown_not_obeyed() {
        let patch = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\x1b[2J\ttab\n";
        let shown = for_terminal(patch, Palette::Plain);
        assert_eq!(
            shown,
            "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\\e[2J\ttab\n"
        );
        let coloured = for_terminal(patch, Palette::Colour);
        assert!(coloured.contains("\x1b[31m-old\x1b[0m\n"));
        assert!(!coloured.contains("\x1b[2J"));
    }
}
