//! Three-way merging of text, line by line.
//!
//! The person and the sandbox both started from the same base. Where only one of them changed lines,
//! those lines win; where both made the same change it is taken once; where their changes meet, a
//! person must choose. "Meet" is what git means by it: changes that touch, with no unchanged line
//! between them, are one conflict.
//!
//! Lines are bytes up to and including a newline, so carriage returns, bytes that are not UTF-8 and a
//! missing newline at the end all pass through unchanged.

use serde::Serialize;
use similar::{Algorithm, DiffOp, capture_diff_slices};
use std::ops::Range;

/// Bytes looked at to tell text from binary; the same number as git.
const SNIFFED: usize = 8000;

/// Files larger than this are merged as a whole: a line merge of one would take seconds and nobody
/// could read its conflicts.
pub const TEXT_BYTES_MAX: u64 = 32 << 20;

/// Whether the content can be merged by lines.
pub fn is_text(content: &[u8]) -> bool {
    content.len() as u64 <= TEXT_BYTES_MAX && !content.iter().take(SNIFFED).any(|&byte| byte == 0)
}

/// Who changed a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Nobody.
    Unchanged,
    /// The person alone.
    Mine,
    /// The sandbox alone.
    Theirs,
    /// Both, in the same way.
    Both,
    /// Both, differently.
    Conflict,
}

/// A run of lines and where it stands in each of the three texts (line indexes from zero).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Region {
    /// Who changed it.
    pub origin: Origin,
    /// Its lines in the base.
    pub base: Range<usize>,
    /// Its lines in the person's text.
    pub mine: Range<usize>,
    /// Its lines in the sandbox's text.
    pub theirs: Range<usize>,
}

/// Which side of a region goes into the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pick {
    /// The person's lines.
    Mine,
    /// The sandbox's lines.
    Theirs,
    /// Both, between conflict markers.
    Markers(Markers),
}

/// How a conflict is written into a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Markers {
    /// Both sides.
    #[default]
    Sides,
    /// Both sides with the base between them.
    WithBase,
}

/// Three texts, aligned.
#[derive(Debug)]
pub struct TextMerge<'a> {
    base: Vec<&'a [u8]>,
    mine: Vec<&'a [u8]>,
    theirs: Vec<&'a [u8]>,
    regions: Vec<Region>,
}

impl<'a> TextMerge<'a> {
    /// Aligns the person's and the sandbox's text over their base.
    pub fn new(base: &'a [u8], mine: &'a [u8], theirs: &'a [u8]) -> Self {
        let (base, mine, theirs) = (lines(base), lines(mine), lines(theirs));
        let regions = regions(&base, &mine, &theirs);
        Self {
            base,
            mine,
            theirs,
            regions,
        }
    }

    /// Every region in order; together they cover all three texts.
    pub fn regions(&self) -> &[Region] {
        &self.regions
    }

    /// The regions that bring something from the sandbox: what a person may take or leave.
    pub fn hunks(&self) -> impl Iterator<Item = &Region> {
        self.regions
            .iter()
            .filter(|region| matches!(region.origin, Origin::Theirs | Origin::Conflict))
    }

    /// The regions that a person must decide.
    pub fn conflicts(&self) -> impl Iterator<Item = &Region> {
        self.regions
            .iter()
            .filter(|region| region.origin == Origin::Conflict)
    }

    /// Whether nothing needs deciding.
    pub fn is_clean(&self) -> bool {
        self.conflicts().next().is_none()
    }

    /// The merged text, if there is no conflict.
    pub fn clean(&self) -> Option<Vec<u8>> {
        self.is_clean().then(|| self.resolve(|_| Pick::Theirs))
    }

    /// The text that results from picking a side for each hunk.
    pub fn resolve(&self, mut pick: impl FnMut(&Region) -> Pick) -> Vec<u8> {
        let size = |lines: &[&[u8]]| lines.iter().map(|line| line.len()).sum::<usize>();
        let mut out = Vec::with_capacity(size(&self.mine).max(size(&self.theirs)));
        for region in &self.regions {
            let picked = match region.origin {
                Origin::Unchanged | Origin::Mine | Origin::Both => Pick::Mine,
                Origin::Theirs | Origin::Conflict => pick(region),
            };
            match picked {
                Pick::Mine => put(&mut out, &self.mine[region.mine.clone()]),
                Pick::Theirs => put(&mut out, &self.theirs[region.theirs.clone()]),
                Pick::Markers(style) => self.put_markers(&mut out, region, style),
            }
        }
        out
    }

    /// The person's lines.
    pub fn mine(&self) -> &[&'a [u8]] {
        &self.mine
    }

    /// The sandbox's lines.
    pub fn theirs(&self) -> &[&'a [u8]] {
        &self.theirs
    }

    /// Writes a region between markers. Lines that both sides begin or end with stay outside them,
    /// unless the base is shown too: it could not be cut at the same place.
    fn put_markers(&self, out: &mut Vec<u8>, region: &Region, style: Markers) {
        let (base, mine, theirs) = (
            &self.base[region.base.clone()],
            &self.mine[region.mine.clone()],
            &self.theirs[region.theirs.clone()],
        );
        let (before, after) = match style {
            Markers::Sides => common_ends(mine, theirs),
            Markers::WithBase => (0, 0),
        };
        let newline = self.newline();
        put(out, &mine[..before]);
        put_marker(out, b"<<<<<<< mine", newline);
        put_closed(out, &mine[before..mine.len() - after], newline);
        if style == Markers::WithBase {
            put_marker(out, b"||||||| base", newline);
            put_closed(out, base, newline);
        }
        put_marker(out, b"=======", newline);
        put_closed(out, &theirs[before..theirs.len() - after], newline);
        put_marker(out, b">>>>>>> theirs", newline);
        put(out, &mine[mine.len() - after..]);
    }

    /// The line ending of the person's text, by its first line.
    fn newline(&self) -> &'static [u8] {
        let first = self.mine.first().or(self.theirs.first());
        if first.is_some_and(|line| line.ends_with(b"\r\n")) {
            b"\r\n"
        } else {
            b"\n"
        }
    }
}

/// The lines of a text, each with its newline.
pub fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|&byte| byte == b'\n').collect()
}

fn put(out: &mut Vec<u8>, lines: &[&[u8]]) {
    for line in lines {
        out.extend_from_slice(line);
    }
}

/// Writes lines and ends the last one if it was not, so that a marker starts on a line of its own.
fn put_closed(out: &mut Vec<u8>, lines: &[&[u8]], newline: &[u8]) {
    put(out, lines);
    if lines.last().is_some_and(|line| !line.ends_with(b"\n")) {
        out.extend_from_slice(newline);
    }
}

fn put_marker(out: &mut Vec<u8>, marker: &[u8], newline: &[u8]) {
    if out.last().is_some_and(|&byte| byte != b'\n') {
        out.extend_from_slice(newline);
    }
    out.extend_from_slice(marker);
    out.extend_from_slice(newline);
}

/// How many lines two texts share at their beginning and, beyond those, at their end.
fn common_ends(mine: &[&[u8]], theirs: &[&[u8]]) -> (usize, usize) {
    let before = mine.iter().zip(theirs).take_while(|(a, b)| a == b).count();
    let (mine, theirs) = (&mine[before..], &theirs[before..]);
    let after = mine
        .iter()
        .rev()
        .zip(theirs.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    (before, after)
}

/// One side's replacement of base lines.
#[derive(Debug, Clone)]
struct Edit {
    base: Range<usize>,
    side: Range<usize>,
}

/// The edits that lead from the base to one side, never touching one another.
fn edits(base: &[&[u8]], side: &[&[u8]]) -> Vec<Edit> {
    let mut edits: Vec<Edit> = Vec::new();
    for op in capture_diff_slices(Algorithm::Histogram, base, side) {
        if matches!(op, DiffOp::Equal { .. }) {
            continue;
        }
        let (base, side) = (op.old_range(), op.new_range());
        match edits.last_mut() {
            Some(last) if last.base.end == base.start => {
                last.base.end = base.end;
                last.side.end = side.end;
            }
            _ => edits.push(Edit { base, side }),
        }
    }
    edits
}

/// One side while the base is walked from top to bottom.
struct Side {
    edits: std::iter::Peekable<std::vec::IntoIter<Edit>>,
    /// The base line and the side's line that the walk has reached.
    base: usize,
    at: usize,
}

impl Side {
    fn new(edits: Vec<Edit>) -> Self {
        Self {
            edits: edits.into_iter().peekable(),
            base: 0,
            at: 0,
        }
    }

    /// Where the next edit begins.
    fn next_start(&mut self) -> Option<usize> {
        self.edits.peek().map(|edit| edit.base.start)
    }

    /// Takes the next edit if it touches the base lines up to `end`; says where it ends.
    fn take_touching(&mut self, end: usize) -> Option<usize> {
        let edit = self.edits.next_if(|edit| edit.base.start <= end)?;
        self.at = edit.side.end;
        self.base = edit.base.end;
        Some(edit.base.end)
    }

    /// Moves over unchanged lines up to a base line; gives the side's lines passed since `from`.
    fn advance(&mut self, base: usize, from: usize) -> Range<usize> {
        self.at += base - self.base;
        self.base = base;
        from..self.at
    }
}

/// Cuts the three texts into regions, in one walk over the base.
fn regions(base: &[&[u8]], mine: &[&[u8]], theirs: &[&[u8]]) -> Vec<Region> {
    let mut my = Side::new(edits(base, mine));
    let mut their = Side::new(edits(base, theirs));
    let mut regions = Vec::new();
    let mut done = 0;
    loop {
        let start = match (my.next_start(), their.next_start()) {
            (Some(a), Some(b)) => a.min(b),
            (Some(only), None) | (None, Some(only)) => only,
            (None, None) => break,
        };
        push_unchanged(&mut regions, done..start, &mut my, &mut their);
        let (mine_from, theirs_from) = (my.at, their.at);
        let (mut end, mut touched) = (start, (false, false));
        loop {
            if let Some(reached) = my.take_touching(end) {
                end = end.max(reached);
                touched.0 = true;
            } else if let Some(reached) = their.take_touching(end) {
                end = end.max(reached);
                touched.1 = true;
            } else {
                break;
            }
        }
        let mine_range = my.advance(end, mine_from);
        let theirs_range = their.advance(end, theirs_from);
        let origin = match touched {
            (true, false) => Origin::Mine,
            (false, true) => Origin::Theirs,
            (true, true) | (false, false)
                if mine[mine_range.clone()] == theirs[theirs_range.clone()] =>
            {
                Origin::Both
            }
            (true, true) | (false, false) => Origin::Conflict,
        };
        regions.push(Region {
            origin,
            base: start..end,
            mine: mine_range,
            theirs: theirs_range,
        });
        done = end;
    }
    push_unchanged(&mut regions, done..base.len(), &mut my, &mut their);
    regions
}

fn push_unchanged(
    regions: &mut Vec<Region>,
    base: Range<usize>,
    mine: &mut Side,
    theirs: &mut Side,
) {
    let (mine_from, theirs_from) = (mine.at, theirs.at);
    let mine = mine.advance(base.end, mine_from);
    let theirs = theirs.advance(base.end, theirs_from);
    if !base.is_empty() {
        regions.push(Region {
            origin: Origin::Unchanged,
            base,
            mine,
            theirs,
        });
    }
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
