//! One look at the disk: what there is to tell to somebody who is at some point.
//!
//! A look is bounded, in entries and in bytes, so that neither a long past nor a loud run is in
//! memory at once.

use super::cursor::Cursor;
use super::told::{Told, Turn};
use agar_core::fault::{Fault as _, Kind};
use agar_core::state::State;
use agar_engine::events::{EventsRequest, JournalEvent, events, standing, version};
use agar_engine::inspect::summary;
use agar_engine::logs::{LogsRequest, logs};
use agar_engine::{Engine, EngineError};
use serde_json::{Value, json};

/// Entries of the journal in one look.
const PAGE: u32 = 200;
/// Output in one look.
const LOOK_BYTES: u64 = 256 << 10;
/// Output in one message.
const CHUNK_BYTES: usize = 32 << 10;

/// What is followed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum What {
    /// The journal of the project.
    Project,
    /// The journal of a sandbox.
    Journal(String),
    /// The journal of a sandbox, and what its commands print.
    Everything(String),
}

impl What {
    fn sandbox(&self) -> Option<&str> {
        match self {
            Self::Project => None,
            Self::Journal(name) | Self::Everything(name) => Some(name),
        }
    }
}

/// Somebody who looks, and where.
#[derive(Debug, Clone)]
pub(super) struct Looker {
    what: What,
    pub(super) cursor: Cursor,
    /// The last journal entry that was looked at, told or not. Not part of an id, so that the same
    /// message has the same id whoever hears it, and when.
    looked_at: u64,
    /// What the store's version was when there was nothing more to tell.
    quiet_at: Option<i64>,
}

/// What one look found.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// In order.
    pub(super) told: Vec<Told>,
    /// Whether there is more to see at once.
    pub(super) more: bool,
    /// Whether nothing more can come.
    pub(super) over: bool,
    /// How much more output may be read.
    left: u64,
}

impl Looker {
    /// Somebody who was told everything up to there.
    pub(super) fn at(what: What, cursor: Cursor) -> Self {
        Self {
            looked_at: cursor.number,
            what,
            cursor,
            quiet_at: None,
        }
    }

    /// Somebody to whom everything is told from now on.
    pub(super) fn now(engine: &Engine, what: What) -> Result<Self, EngineError> {
        let standing = standing(engine, what.sandbox())?;
        let mut cursor = Cursor {
            number: standing.number,
            ..Cursor::default()
        };
        if matches!(what, What::Everything(_)) {
            for run in standing.runs {
                cursor.begin(run);
            }
        }
        Ok(Self::at(what, cursor))
    }

    /// Looks once.
    pub(super) fn look(&mut self, engine: &Engine) -> Result<Seen, EngineError> {
        // Before anything is read: what is recorded meanwhile is seen by the next look.
        let version = version(engine)?;
        if self.quiet_at == Some(version) && self.cursor.runs.is_empty() {
            return Ok(Seen::default());
        }
        self.quiet_at = None;
        // Before the journal is read: what is over then stays so.
        let over = self.is_over(engine)?;
        let mut seen = Seen {
            left: LOOK_BYTES,
            ..Seen::default()
        };
        let request = EventsRequest {
            after: self.looked_at.max(self.cursor.number),
            limit: PAGE,
            sandbox: self.what.sandbox().map(str::to_owned),
        };
        let page = events(engine, &request)?;
        for event in &page.events {
            if !self.tell(engine, event, &mut seen)? {
                seen.more = true;
                return Ok(seen);
            }
            self.looked_at = event.number;
        }
        self.looked_at = page.after;
        if page.events.is_empty() {
            self.print(engine, &mut seen)?;
        } else {
            seen.more = true;
        }
        if !seen.more {
            self.quiet_at = Some(version);
        }
        seen.over = over && !seen.more && seen.told.is_empty();
        Ok(seen)
    }

    /// Whether a sandbox has come to its end.
    fn is_over(&self, engine: &Engine) -> Result<bool, EngineError> {
        let Some(name) = self.what.sandbox() else {
            return Ok(false);
        };
        let state = summary(engine, name)?.state;
        Ok(matches!(
            state,
            State::Promoted | State::Discarded | State::Collected
        ))
    }

    /// Tells an event; not yet, where what comes before it is too much for one look.
    fn tell(
        &mut self,
        engine: &Engine,
        event: &JournalEvent,
        seen: &mut Seen,
    ) -> Result<bool, EngineError> {
        let run = event.data.get("run").and_then(Value::as_u64);
        let run = run.and_then(|run| u32::try_from(run).ok());
        let with_output = matches!(self.what, What::Everything(_));
        let turn = match (event.kind.as_str(), run.filter(|_| with_output)) {
            ("run.started", Some(run)) => {
                self.cursor.begin(run);
                Turn::Began(run)
            }
            ("run.ended", Some(run)) => {
                // What it printed comes before its end.
                if !self.print_run(engine, (run, true), seen)? {
                    return Ok(false);
                }
                let until = self.cursor.runs.remove(&run);
                Turn::Ended { run, until }
            }
            _ => Turn::Other,
        };
        self.cursor.number = event.number;
        let data = if with_output {
            in_seeds_words(event)
        } else {
            serde_json::to_value(event).unwrap_or_default()
        };
        let told = Told::event(event.number, turn, &data.to_string(), &self.cursor);
        seen.told.push(told);
        Ok(true)
    }

    /// What the runs printed since.
    fn print(&mut self, engine: &Engine, seen: &mut Seen) -> Result<(), EngineError> {
        let runs: Vec<u32> = self.cursor.runs.keys().copied().collect();
        for run in runs {
            if !self.print_run(engine, (run, false), seen)? {
                seen.more = true;
            }
        }
        Ok(())
    }

    /// What one run printed since; whether that was all. One that has ended prints nothing more.
    fn print_run(
        &mut self,
        engine: &Engine,
        (run, has_ended): (u32, bool),
        seen: &mut Seen,
    ) -> Result<bool, EngineError> {
        let (What::Everything(name), Some(&from)) = (&self.what, self.cursor.runs.get(&run)) else {
            return Ok(true);
        };
        let request = LogsRequest {
            sandbox: Some(name.clone()),
            run: Some(run),
            from,
            most: Some(seen.left),
            ..LogsRequest::default()
        };
        let printed = match logs(engine, &request) {
            Ok(printed) => printed.output,
            // Its layers were collected, and its output with them.
            Err(error) if error.kind() == Kind::NotFound => return Ok(true),
            Err(error) => return Err(error),
        };
        let is_all = (printed.len() as u64) < seen.left;
        let mut rest = printed.as_slice();
        if !(is_all && has_ended) {
            rest = &rest[..whole(rest)];
        }
        seen.left -= printed.len() as u64;
        let mut told = from;
        while !rest.is_empty() {
            let (chunk, after) = rest.split_at(boundary(rest));
            let before = told;
            told += chunk.len() as u64;
            self.cursor.runs.insert(run, told);
            let chunk = Told::output(run, before, chunk.to_vec(), &self.cursor);
            seen.told.push(chunk);
            rest = after;
        }
        Ok(is_all)
    }
}

fn is_start(byte: u8) -> bool {
    byte & 0b1100_0000 != 0b1000_0000
}

/// Where to cut, so that no character is torn apart.
fn boundary(bytes: &[u8]) -> usize {
    if bytes.len() <= CHUNK_BYTES {
        return bytes.len();
    }
    (CHUNK_BYTES - 3..=CHUNK_BYTES)
        .rev()
        .find(|&at| is_start(bytes[at]))
        .unwrap_or(CHUNK_BYTES)
}

/// How much there is without a last character whose rest is still to come.
fn whole(bytes: &[u8]) -> usize {
    let last = bytes.iter().rev().take(3).position(|&byte| is_start(byte));
    let Some(at) = last.map(|back| bytes.len() - 1 - back) else {
        return bytes.len();
    };
    match std::str::from_utf8(&bytes[at..]) {
        Err(error) if error.error_len().is_none() => at,
        Ok(_) | Err(_) => bytes.len(),
    }
}

/// An event in the words of the first seed's page.
fn in_seeds_words(event: &JournalEvent) -> Value {
    let word = |key: &str| event.data.get(key).and_then(Value::as_str);
    let status = match event.kind.as_str() {
        "sandbox.created" => Some("creating"),
        "sandbox.state" => word("to"),
        "experiment.began" => Some("running"),
        "experiment.ended" => word("status").map(crate::seed::outcome_word),
        _ => None,
    };
    json!({
        "type": "event",
        "kind": event.kind,
        "number": event.number,
        "at": event.at,
        "sandboxId": event.sandbox,
        "status": status,
        "data": event.data,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_cut_between_characters() {
        let mut text = "a".repeat(CHUNK_BYTES - 1);
        text.push_str("äöü");
        let at = boundary(text.as_bytes());
        assert!(text.is_char_boundary(at) && at <= CHUNK_BYTES, "{at}");
    }

    #[test]
    fn a_character_waits_for_its_rest_and_junk_does_not() {
        for (bytes, expected) in [
            (&b"ab"[..], 2),
            (b"", 0),
            ("aä".as_bytes(), 3),
            (b"a\xc3", 1),
            (b"a\xe2\x82", 1),
            (b"a\xf0\x9f\x98", 1),
            ("a\u{1f600}".as_bytes(), 5),
            (b"a\xff", 2),
            (b"a\x80\x80\x80", 4),
        ] {
            assert_eq!(whole(bytes), expected, "{bytes:?}");
        }
    }
}
