//! The unified diff of a change, in git's format.

use super::lines::{self, Text};
use super::quote::quote_bytes;
use super::{Action, Change, Side};
use crate::layer::Kind;
use agar_core::text::printable_bytes;
use similar::udiff::UnifiedHunkHeader;
use similar::{DiffOp, group_diff_ops};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// The diff of one change.
///
/// The bytes are exactly what `git apply` and `patch` take, and may hold anything the files hold:
/// a front end that shows them to a person neutralises control characters first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unified {
    /// The diff.
    pub bytes: Vec<u8>,
    /// What the diff cannot say, in words: `binary`, `too large`, a FIFO.
    pub notice: Option<Notice>,
}

/// Why a diff shows no lines although the content differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// A side is not text.
    Binary,
    /// A side is longer than the limit.
    TooLarge,
    /// A side is a FIFO, a socket or a device, which git does not know.
    Special,
    /// Permission bits differ that git does not record: it knows only whether a file may be
    /// executed, and `git apply` refuses a diff that says more.
    Permissions,
}

/// The diff of a change with so many lines of context; files longer than `bytes_max` are not read.
pub fn unified(change: &Change, context: usize, bytes_max: u64) -> io::Result<Unified> {
    let mut out = Unified {
        bytes: Vec::new(),
        notice: None,
    };
    let (before, after) = (
        tracked(change.before.as_ref()),
        tracked(change.after.as_ref()),
    );
    match (before, after) {
        (None, None) => {
            let special = |side: &Option<Side>| {
                side.as_ref()
                    .is_some_and(|side| side.kind != Kind::Directory)
            };
            if special(&change.before) || special(&change.after) {
                out.notice = Some(Notice::Special);
            }
        }
        // git tells a change of type as a deletion and an addition.
        (Some(before), Some(after)) if before.kind != after.kind => {
            out.file(change, Some(before), None, (context, bytes_max))?;
            out.file(change, None, Some(after), (context, bytes_max))?;
        }
        (before, after) => out.file(change, before, after, (context, bytes_max))?,
    }
    Ok(out)
}

/// Files and links are all that a diff can carry.
fn tracked(side: Option<&Side>) -> Option<&Side> {
    side.filter(|side| matches!(side.kind, Kind::File | Kind::Symlink))
}

impl Unified {
    /// The diff for a terminal: every control character but the newline and the tab spelled out.
    pub fn printable(&self) -> String {
        let line = |line: &[u8]| -> Vec<String> {
            line.split(|byte| *byte == b'\t')
                .map(printable_bytes)
                .collect()
        };
        let lines = self.bytes.split(|byte| *byte == b'\n');
        let lines: Vec<String> = lines.map(|bytes| line(bytes).join("\t")).collect();
        lines.join("\n")
    }

    fn file(
        &mut self,
        change: &Change,
        before: Option<&Side>,
        after: Option<&Side>,
        (context, bytes_max): (usize, u64),
    ) -> io::Result<()> {
        let new_name = change.path.as_path();
        let old_name = match (&change.action, before) {
            (Action::Renamed { from, .. }, Some(_)) => from.as_path(),
            _ => new_name,
        };
        let (a, b) = (prefixed(b"a/", old_name), prefixed(b"b/", new_name));
        let start = self.bytes.len();
        self.line(&[b"diff --git ", &a, b" ", &b]);
        let empty = self.bytes.len();
        self.header(change, before, after);
        self.body((&a, &b), before, after, (context, bytes_max))?;
        // A header that announces nothing is garbage to `git apply`.
        if self.bytes.len() == empty {
            self.bytes.truncate(start);
        }
        Ok(())
    }

    fn body(
        &mut self,
        (a, b): (&[u8], &[u8]),
        before: Option<&Side>,
        after: Option<&Side>,
        (context, bytes_max): (usize, u64),
    ) -> io::Result<()> {
        let (old, new) = match (Text::of(before, bytes_max)?, Text::of(after, bytes_max)?) {
            (Text::Lines(old), Text::Lines(new)) => (old, new),
            (Text::Binary, _) | (_, Text::Binary) => {
                return self.opaque(Notice::Binary, a, b, (before, after));
            }
            (Text::TooLarge, _) | (_, Text::TooLarge) => {
                return self.opaque(Notice::TooLarge, a, b, (before, after));
            }
            (Text::Special, _) | (_, Text::Special) => return Ok(()),
        };
        if old == new {
            return Ok(());
        }
        let name = |side: Option<&Side>, name: &[u8]| match side {
            // A tab after a name with a space, as git writes it, or `patch` cuts the name short.
            Some(_) if name.contains(&b' ') && !name.starts_with(b"\"") => [name, b"\t"].concat(),
            Some(_) => name.to_vec(),
            None => b"/dev/null".to_vec(),
        };
        self.line(&[b"--- ", &name(before, a)]);
        self.line(&[b"+++ ", &name(after, b)]);
        self.hunks(&lines::split(&old), &lines::split(&new), context);
        Ok(())
    }

    /// The extended header: modes and names.
    fn header(&mut self, change: &Change, before: Option<&Side>, after: Option<&Side>) {
        match (before, after) {
            (None, Some(after)) => self.line(&[b"new file mode ", &git_mode(after)]),
            (Some(before), None) => self.line(&[b"deleted file mode ", &git_mode(before)]),
            (Some(before), Some(after)) => {
                let (old, new) = (git_mode(before), git_mode(after));
                if old != new {
                    self.line(&[b"old mode ", &old]);
                    self.line(&[b"new mode ", &new]);
                } else if change.mode_differs() {
                    self.notice = Some(Notice::Permissions);
                }
                if let Action::Renamed {
                    from, similarity, ..
                } = &change.action
                {
                    let similarity = format!("similarity index {similarity}%");
                    self.line(&[similarity.as_bytes()]);
                    self.line(&[b"rename from ", &quote_bytes(from.as_os_str().as_bytes())]);
                    self.line(&[
                        b"rename to ",
                        &quote_bytes(change.path.as_os_str().as_bytes()),
                    ]);
                }
            }
            (None, None) => {}
        }
    }

    /// What is said instead of lines.
    fn opaque(
        &mut self,
        notice: Notice,
        a: &[u8],
        b: &[u8],
        sides: (Option<&Side>, Option<&Side>),
    ) -> io::Result<()> {
        if let (Some(before), Some(after)) = sides
            && before.size == after.size
            && super::content::same(&before.place, &after.place)?
        {
            return Ok(());
        }
        self.notice = Some(notice);
        let name = |side: Option<&Side>, name: &[u8]| {
            side.map_or(b"/dev/null".to_vec(), |_| name.to_vec())
        };
        let (a, b) = (name(sides.0, a), name(sides.1, b));
        self.line(&[b"Binary files ", &a, b" and ", &b, b" differ"]);
        Ok(())
    }

    fn hunks(&mut self, old: &[&[u8]], new: &[&[u8]], context: usize) {
        for group in group_diff_ops(lines::diff(old, new), context) {
            if group.is_empty() {
                continue;
            }
            self.line(&[UnifiedHunkHeader::new(&group).to_string().as_bytes()]);
            for op in group {
                self.edit(op, old, new);
            }
        }
    }

    fn edit(&mut self, op: DiffOp, old: &[&[u8]], new: &[&[u8]]) {
        match op {
            DiffOp::Equal { .. } => self.lines(b' ', old, op.old_range()),
            DiffOp::Delete { .. } | DiffOp::Insert { .. } | DiffOp::Replace { .. } => {
                self.lines(b'-', old, op.old_range());
                self.lines(b'+', new, op.new_range());
            }
        }
    }

    fn lines(&mut self, sign: u8, lines: &[&[u8]], range: std::ops::Range<usize>) {
        for line in lines.get(range).unwrap_or_default() {
            self.bytes.push(sign);
            self.bytes.extend_from_slice(line);
            if !line.ends_with(b"\n") {
                self.bytes
                    .extend_from_slice(b"\n\\ No newline at end of file\n");
            }
        }
    }

    fn line(&mut self, pieces: &[&[u8]]) {
        for piece in pieces {
            self.bytes.extend_from_slice(piece);
        }
        self.bytes.push(b'\n');
    }
}

/// A name with git's prefix, quoted as a whole.
fn prefixed(prefix: &[u8], name: &Path) -> Vec<u8> {
    let name = name.as_os_str().as_bytes();
    let name = name.strip_prefix(b"/").unwrap_or(name);
    quote_bytes(&[prefix, name].concat())
}

/// The mode as git knows it: a link, an executable or a plain file.
fn git_mode(side: &Side) -> Vec<u8> {
    let mode: &[u8] = if side.kind == Kind::Symlink {
        b"120000"
    } else if side.mode & 0o100 != 0 {
        b"100755"
    } else {
        b"100644"
    };
    mode.to_vec()
}
