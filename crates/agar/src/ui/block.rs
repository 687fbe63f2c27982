//! Lines that begin with a word saying what they are, aligned with their neighbours.
//!
//! ```text
//! stopped  memory limit 512 MB reached
//! hint     raise it with `--memory 2G`
//! ```

use super::palette::{Palette, Tone};

/// The word a line begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label {
    word: &'static str,
    tone: Tone,
}

impl Label {
    /// A label in a tone.
    pub const fn new(word: &'static str, tone: Tone) -> Self {
        Self { word, tone }
    }
}

/// Where agar introduces a sandbox.
pub const AGAR: Label = Label::new("agar", Tone::Dim);
/// The command ended well.
pub const OK: Label = Label::new("ok", Tone::Good);
/// The command ended badly.
pub const FAILED: Label = Label::new("failed", Tone::Bad);
/// A limit or a person ended the command.
pub const STOPPED: Label = Label::new("stopped", Tone::Warn);
/// Changes were written to the project.
pub const APPLIED: Label = Label::new("applied", Tone::Good);
/// Changes were taken back.
pub const UNDONE: Label = Label::new("undone", Tone::Good);
/// What the checks say.
pub const CHECKS: Label = Label::new("checks", Tone::Good);
/// What an experiment taught.
pub const LEARNED: Label = Label::new("learned", Tone::Name);
/// Patterns entered the project's memory.
pub const GRADUATED: Label = Label::new("graduated", Tone::Good);
/// Something did not.
pub const REFUSED: Label = Label::new("refused", Tone::Warn);
/// Something is deleted for good.
pub const FORGOT: Label = Label::new("forgot", Tone::Dim);
/// Somebody said something.
pub const NOTED: Label = Label::new("noted", Tone::Name);
/// Something was read in.
pub const IMPORTED: Label = Label::new("imported", Tone::Good);
/// What was seen to hold.
pub const SEEN: Label = Label::new("seen", Tone::Name);
/// Which experiment.
pub const EXPERIMENT: Label = Label::new("experiment", Tone::Name);
/// What was proposed.
pub const SUGGESTED: Label = Label::new("suggested", Tone::Name);
/// What was said before.
pub const PREDICTED: Label = Label::new("predicted", Tone::Name);
/// What came of it.
pub const OUTCOME: Label = Label::new("outcome", Tone::Name);
/// A command that was executed.
pub const RAN: Label = Label::new("ran", Tone::Dim);
/// Files that changed.
pub const CHANGED: Label = Label::new("changed", Tone::Dim);
/// What a person made of it.
pub const DECIDED: Label = Label::new("decided", Tone::Name);
/// A check could not tell.
pub const UNDECIDED: Label = Label::new("undecided", Tone::Warn);
/// A sandbox was given up.
pub const DISCARDED: Label = Label::new("discarded", Tone::Dim);
/// A sandbox is gone.
pub const REMOVED: Label = Label::new("removed", Tone::Dim);
/// A sandbox would be gone.
pub const WOULD_REMOVE: Label = Label::new("would remove", Tone::Dim);
/// A sandbox in which nothing runs would be taken down.
pub const WOULD_STOP: Label = Label::new("would stop", Tone::Dim);
/// Space would be given back.
pub const WOULD_FREE: Label = Label::new("would free", Tone::Dim);
/// Space was given back.
pub const FREED: Label = Label::new("freed", Tone::Good);
/// A sandbox is as it was.
pub const RESTORED: Label = Label::new("restored", Tone::Good);
/// Processes are gone.
pub const ENDED: Label = Label::new("ended", Tone::Warn);
/// Processes stand still.
pub const PAUSED: Label = Label::new("paused", Tone::Warn);
/// Processes go on.
pub const RESUMED: Label = Label::new("resumed", Tone::Good);
/// Files were copied.
pub const COPIED: Label = Label::new("copied", Tone::Good);
/// A file was written.
pub const WROTE: Label = Label::new("wrote", Tone::Good);
/// A commit was made.
pub const COMMITTED: Label = Label::new("committed", Tone::Good);
/// A sandbox waits for a decision.
pub const KEPT: Label = Label::new("kept", Tone::Name);
/// Both sides changed the same thing.
pub const CONFLICT: Label = Label::new("conflict", Tone::Bad);
/// Both sides changed a file and both changes fit.
pub const MERGED: Label = Label::new("merged", Tone::Good);
/// Only the sandbox changed it.
pub const CLEAN: Label = Label::new("clean", Tone::Good);
/// Both sides made it the same.
pub const SAME: Label = Label::new("same", Tone::Dim);
/// A person chose a side.
pub const CHOSEN: Label = Label::new("chosen", Tone::Good);
/// Nothing was done with it.
pub const SKIPPED: Label = Label::new("skipped", Tone::Dim);
/// Something worth knowing.
pub const NOTE: Label = Label::new("note", Tone::Warn);
/// agar could not do it.
pub const ERROR: Label = Label::new("error", Tone::Bad);
/// Why, one level down.
pub const CAUSE: Label = Label::new("cause", Tone::Dim);
/// What to type next.
pub const HINT: Label = Label::new("hint", Tone::Name);
/// What can be typed.
pub const USAGE: Label = Label::new("usage", Tone::Name);
/// What mends it.
pub const FIX: Label = Label::new("fix", Tone::Name);
/// Another way.
pub const OR: Label = Label::new("or", Tone::Name);

/// Labelled lines that belong together.
#[derive(Debug, Clone, Default)]
pub struct Block {
    lines: Vec<(Option<Label>, String)>,
}

impl Block {
    /// No lines yet.
    pub const fn new() -> Self {
        Self { lines: Vec::new() }
    }

    /// Adds a line with its label.
    #[must_use]
    pub fn line(mut self, label: Label, text: impl Into<String>) -> Self {
        self.push(label, text);
        self
    }

    /// Adds a line below the one before.
    #[must_use]
    pub fn more(mut self, text: impl Into<String>) -> Self {
        self.push_more(text);
        self
    }

    /// Adds a line with its label.
    pub fn push(&mut self, label: Label, text: impl Into<String>) {
        self.lines.push((Some(label), text.into()));
    }

    /// Adds a line below the one before.
    pub fn push_more(&mut self, text: impl Into<String>) {
        self.lines.push((None, text.into()));
    }

    /// Whether there is nothing to print.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The lines, their texts in one column.
    pub fn render(&self, palette: Palette) -> String {
        let width = self.width();
        let mut text = String::new();
        for (label, line) in &self.lines {
            match label {
                Some(label) => {
                    text.push_str(&palette.paint(label.tone, label.word));
                    text.extend(std::iter::repeat_n(' ', width - label.word.len()));
                }
                None => text.extend(std::iter::repeat_n(' ', width)),
            }
            text.push_str(line);
            text.push('\n');
        }
        text
    }

    /// The column where texts begin: two after the longest label, and never before the sixth.
    fn width(&self) -> usize {
        let labels = self.lines.iter().filter_map(|(label, _)| label.as_ref());
        labels.map(|label| label.word.len()).fold(4, usize::max) + 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_one_block_begin_in_one_column() {
        let block = Block::new()
            .line(STOPPED, "memory limit 512 MB reached")
            .more("by cc1plus")
            .line(HINT, "raise it");
        insta::assert_snapshot!(block.render(Palette::Plain), @r"
        stopped  memory limit 512 MB reached
                 by cc1plus
        hint     raise it
        ");
    }

    #[test]
    fn short_labels_leave_room_for_agar() {
        let block = Block::new().line(OK, "exit 0");
        assert_eq!(block.render(Palette::Plain), "ok    exit 0\n");
    }
}
