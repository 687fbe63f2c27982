//! Where a reader of a stream is.

use super::told::{Piece, Told, Turn};
use crate::refusal::Refusal;
use axum::http::HeaderMap;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// More runs than this at once are not told apart: the oldest are no longer followed.
const RUNS_MAX: usize = 32;

/// Where a reader is: the last journal entry it was told, and how much of the output of each run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Cursor {
    pub(super) number: u64,
    /// How much of each run that has not ended was told.
    pub(super) runs: BTreeMap<u32, u64>,
}

/// What something that was told to all is to one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heard {
    /// It was told before.
    Known,
    /// It is new.
    New,
    /// It is output of which so many bytes were told before.
    Partly(usize),
    /// Something before it is missing.
    Gap,
}

impl Cursor {
    /// Where a client says it is: in the header that browsers send when they come back, else as
    /// `after` in the address.
    pub(crate) fn of(headers: &HeaderMap, after: Option<&str>) -> Result<Self, Refusal> {
        let last = headers.get("last-event-id");
        let last = last
            .and_then(|id| id.to_str().ok())
            .filter(|id| !id.is_empty());
        match last.or(after) {
            Some(text) => text
                .parse()
                .map_err(|_| Refusal::invalid("that is not the id of a message of this stream")),
            None => Ok(Self::default()),
        }
    }

    /// Moves past what was told to all, if it comes next for this reader.
    pub(super) fn hear(&mut self, told: &Told) -> Heard {
        match &told.piece {
            Piece::Event { number, turn } => self.hear_event(*number, *turn),
            Piece::Output { run, from, bytes } => {
                let until = from + bytes.len() as u64;
                match self.runs.get(run) {
                    // It ended already, or is not followed.
                    None => Heard::Known,
                    Some(&at) if at >= until => Heard::Known,
                    Some(&at) if at < *from => Heard::Gap,
                    Some(&at) => {
                        self.runs.insert(*run, until);
                        match usize::try_from(at - from) {
                            Ok(0) | Err(_) => Heard::New,
                            Ok(known) => Heard::Partly(known),
                        }
                    }
                }
            }
        }
    }

    fn hear_event(&mut self, number: u64, turn: Turn) -> Heard {
        if number <= self.number {
            return Heard::Known;
        }
        match turn {
            Turn::Began(run) => self.begin(run),
            Turn::Ended { run, until } => {
                let known = self.runs.get(&run).copied();
                if known.is_some() && known != until {
                    return Heard::Gap;
                }
                self.runs.remove(&run);
            }
            Turn::Other => {}
        }
        self.number = number;
        Heard::New
    }

    /// A run started: it is followed from its beginning.
    pub(super) fn begin(&mut self, run: u32) {
        self.runs.entry(run).or_insert(0);
        while self.runs.len() > RUNS_MAX {
            self.runs.pop_first();
        }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.number)?;
        for (run, offset) in &self.runs {
            write!(f, ".{run}.{offset}")?;
        }
        Ok(())
    }
}

/// What is not the id of a message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NotAnId;

impl FromStr for Cursor {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let number = |part: &str| part.parse::<u64>().map_err(|_| NotAnId);
        let mut parts = text.split('.');
        let mut cursor = Self {
            number: number(parts.next().unwrap_or_default())?,
            runs: BTreeMap::new(),
        };
        while let Some(run) = parts.next() {
            let run = u32::try_from(number(run)?).map_err(|_| NotAnId)?;
            let offset = number(parts.next().ok_or(NotAnId)?)?;
            cursor.runs.insert(run, offset);
        }
        if cursor.runs.len() > RUNS_MAX {
            return Err(NotAnId);
        }
        Ok(cursor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Cursor {
        text.parse().unwrap()
    }

    fn output(run: u32, from: u64, text: &'static str) -> Told {
        Told::output(run, from, text.as_bytes().to_vec(), &Cursor::default())
    }

    #[test]
    fn an_id_says_where_its_reader_is() {
        for text in ["0", "12", "12.3.4096", "12.3.4096.5.0"] {
            assert_eq!(at(text).to_string(), text);
        }
        for junk in ["", "x", "1.x", "1.2.x", "-1", "1.2", "1.2.3.4"] {
            assert!(junk.parse::<Cursor>().is_err(), "{junk}");
        }
    }

    #[test]
    fn output_is_heard_once_whoever_was_ahead() {
        for (before, heard, after) in [
            ("5.2.0", Heard::Gap, "5.2.0"),
            ("5.2.10", Heard::New, "5.2.15"),
            ("5.2.12", Heard::Partly(2), "5.2.15"),
            ("5.2.15", Heard::Known, "5.2.15"),
            ("5.2.99", Heard::Known, "5.2.99"),
            // Ended, or never followed.
            ("5", Heard::Known, "5"),
        ] {
            let mut cursor = at(before);
            assert_eq!(cursor.hear(&output(2, 10, "hello")), heard, "{before}");
            assert_eq!(cursor, at(after), "{before}");
        }
    }

    #[test]
    fn the_end_of_a_run_is_not_heard_before_its_output() {
        let ended = |until| {
            let turn = Turn::Ended { run: 2, until };
            Told::event(8, turn, "{}", &Cursor::default())
        };
        for (before, until, heard, after) in [
            ("7.2.5", Some(5), Heard::New, "8"),
            ("7.2.5", Some(9), Heard::Gap, "7.2.5"),
            ("7.2.5", None, Heard::Gap, "7.2.5"),
            ("7", Some(9), Heard::New, "8"),
            ("8.2.5", Some(9), Heard::Known, "8.2.5"),
        ] {
            let mut cursor = at(before);
            assert_eq!(cursor.hear(&ended(until)), heard, "{before} {until:?}");
            assert_eq!(cursor, at(after), "{before} {until:?}");
        }
    }

    #[test]
    fn a_run_that_begins_is_followed_from_its_beginning() {
        let mut cursor = at("3.1.7");
        let began = Told::event(4, Turn::Began(2), "{}", &Cursor::default());
        assert_eq!(cursor.hear(&began), Heard::New);
        assert_eq!(cursor, at("4.1.7.2.0"));
        for run in 3..60 {
            cursor.begin(run);
        }
        assert_eq!(cursor.runs.len(), RUNS_MAX, "an id does not grow for ever");
    }
}
