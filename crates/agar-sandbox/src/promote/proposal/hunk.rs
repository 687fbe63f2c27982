//! The parts of a change that a person can take or leave one by one.

use super::{Planned, PrepareError, read_error};
use crate::merge::{Entry, Origin, Region, TextMerge};
use crate::promote::ground::Ground;
use serde::Serialize;

/// Unchanged lines shown around a change.
const CONTEXT: usize = 3;

/// One part of a path's change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hunk {
    /// Its number within the path, from 1.
    pub number: usize,
    /// Where it stands, for text; nothing for what can only be taken whole.
    pub region: Option<Region>,
    /// Whether the person changed the same lines.
    pub conflict: bool,
    /// What it does to the person's lines, as in a unified diff.
    #[serde(skip)]
    pub text: Vec<u8>,
}

/// The hunks of a path.
pub(super) fn hunks(ground: &Ground, file: &Planned) -> Result<Vec<Hunk>, PrepareError> {
    let path = &file.item.path;
    let is_text = |entry: &Entry| match entry {
        Entry::File(file) => file.text,
        Entry::Absent => true,
        Entry::Symlink(_)
        | Entry::Directory(_)
        | Entry::Special(_)
        | Entry::Blocked
        | Entry::Unknown => false,
    };
    if !is_text(&file.seen.entry) || !is_text(&file.theirs) {
        let conflict = matches!(file.outcome, super::Outcome::Conflict(_));
        return Ok(vec![Hunk {
            number: 1,
            region: None,
            conflict,
            text: Vec::new(),
        }]);
    }
    let base = file.item.base.read();
    let base = base.map_err(|source| read_error("the base's", path, source))?;
    let theirs = file.item.theirs.read();
    let theirs = theirs.map_err(|source| read_error("the sandbox's", path, source))?;
    let mine = match file.seen.entry {
        Entry::File(_) => ground
            .read(path)
            .map_err(|source| read_error("your", path, source))?,
        Entry::Absent
        | Entry::Symlink(_)
        | Entry::Directory(_)
        | Entry::Special(_)
        | Entry::Blocked
        | Entry::Unknown => Vec::new(),
    };
    let merge = TextMerge::new(&base, &mine, &theirs);
    let hunks = merge.hunks().enumerate().map(|(index, region)| Hunk {
        number: index + 1,
        region: Some(region.clone()),
        conflict: region.origin == Origin::Conflict,
        text: unified(&merge, region),
    });
    Ok(hunks.collect())
}

/// The hunk against the person's text, with a few lines around it.
fn unified(merge: &TextMerge<'_>, region: &Region) -> Vec<u8> {
    let (mine, theirs) = (merge.mine(), merge.theirs());
    let first = region.mine.start.saturating_sub(CONTEXT);
    let last = (region.mine.end + CONTEXT).min(mine.len());
    let around = (region.mine.start - first) + (last - region.mine.end);
    let mut text = format!(
        "@@ -{},{} +{},{} @@\n",
        first + usize::from(last > first),
        last - first,
        first + 1,
        around + region.theirs.len()
    )
    .into_bytes();
    let mut put = |sign: u8, lines: &[&[u8]]| {
        for line in lines {
            text.push(sign);
            text.extend_from_slice(line);
            if !line.ends_with(b"\n") {
                text.extend_from_slice(b"\n\\ No newline at end of file\n");
            }
        }
    };
    put(b' ', &mine[first..region.mine.start]);
    put(b'-', &mine[region.mine.clone()]);
    put(b'+', &theirs[region.theirs.clone()]);
    put(b' ', &mine[region.mine.end..last]);
    text
}
