//! Reports that are read one line after the other.

use super::Report;

/// Something that remembers what the lines so far said.
pub(super) trait ByLine: Default {
    /// Takes in the next line.
    fn line(&mut self, line: &str);

    /// What they all said.
    fn finish(self) -> Report;
}

/// Reads every line.
pub(super) fn by_line<R: ByLine>(text: &str) -> Report {
    let mut reader = R::default();
    for line in text.lines() {
        reader.line(line);
    }
    reader.finish()
}
