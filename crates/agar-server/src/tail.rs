//! Following what happens: the journal and the output of runs, from any point on.
//!
//! A message's id says where its reader is: the number of the last journal entry, and of the output
//! which runs and how many bytes of each: several may run at once. Both are read from disk, so a client that comes back with the
//! last id it has misses nothing: not what happened meanwhile, not across a restart of the server,
//! and not what another process did.

use crate::app::{App, Place};
use crate::refusal::Refusal;
use crate::stream::{self, SIGN_OF_LIFE, Sender};
use agar_core::fault::{Fault as _, Kind};
use agar_core::state::State;
use agar_engine::events::{EventsRequest, JournalEvent, events};
use agar_engine::inspect::summary;
use agar_engine::logs::{LogsRequest, logs};
use agar_engine::{Engine, EngineError};
use axum::http::HeaderMap;
use axum::response::Response;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

/// How soon to look again where something happens.
const SOON: Duration = Duration::from_millis(40);
/// How soon to look again where nothing does.
const LATER: Duration = Duration::from_millis(250);
/// Entries of the journal that are sent at once.
const PAGE: u32 = 200;
/// Output in one message.
const CHUNK_BYTES: usize = 32 << 10;

/// More runs than this at once are not told apart: the oldest are no longer followed.
const RUNS_MAX: usize = 32;

/// Where a reader is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Cursor {
    number: u64,
    /// How much of each run that has not ended was told.
    runs: BTreeMap<u32, u64>,
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

/// What is followed.
#[derive(Debug, Clone)]
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

/// Answers with a stream of what happens from there on.
pub(crate) fn follow(
    app: &App,
    place: Place,
    what: What,
    cursor: Cursor,
) -> Result<Response, Refusal> {
    let (sender, response) = stream::open(app)?;
    let app = app.clone();
    tokio::spawn(async move {
        let opened = tokio::task::spawn_blocking({
            let app = app.clone();
            move || app.engine(place)
        });
        if let Ok(Ok(engine)) = opened.await {
            let follower = Follower {
                engine,
                what,
                looked_at: cursor.number,
                cursor,
            };
            run(&app, follower, sender).await;
        }
    });
    Ok(response)
}

async fn run(app: &App, mut follower: Follower, sender: Sender) {
    let mut pause = SOON;
    let mut quiet_since = Instant::now();
    // At once, so that whoever waits for the answer knows that it began.
    if sender.comment("agar").await.is_err() {
        return;
    }
    loop {
        let stepped = tokio::task::spawn_blocking(move || {
            let seen = follower.step();
            (follower, seen)
        });
        let Ok((back, seen)) = stepped.await else {
            return;
        };
        follower = back;
        let seen = match seen {
            Ok(seen) => seen,
            Err(error) => {
                (app.log)(&format!("a stream ended: {error}"));
                return;
            }
        };
        pause = if seen.messages.is_empty() {
            (pause * 3 / 2).min(LATER)
        } else {
            SOON
        };
        for (id, data) in seen.messages {
            quiet_since = Instant::now();
            if sender.message(&id, &data).await.is_err() {
                return;
            }
        }
        if seen.over || !sender.wait(pause).await {
            return;
        }
        if quiet_since.elapsed() >= SIGN_OF_LIFE {
            quiet_since = Instant::now();
            if sender.comment("quiet").await.is_err() {
                return;
            }
        }
    }
}

/// What one look found.
struct Seen {
    /// Ids and texts.
    messages: Vec<(String, String)>,
    /// Whether nothing more can come.
    over: bool,
}

/// Somebody who follows.
struct Follower {
    engine: Engine,
    what: What,
    cursor: Cursor,
    /// The last journal entry that was looked at, told or not. Not part of an id, so that the same
    /// message has the same id whoever hears it, and when.
    looked_at: u64,
}

impl Follower {
    /// Looks once.
    fn step(&mut self) -> Result<Seen, EngineError> {
        let mut messages = Vec::new();
        let request = EventsRequest {
            after: self.looked_at,
            limit: PAGE,
            sandbox: self.what.sandbox().map(str::to_owned),
        };
        // Before the journal is read: what is over then stays so.
        let over = self.is_over()?;
        let page = events(&self.engine, &request)?;
        for event in &page.events {
            self.tell(event, &mut messages)?;
        }
        self.looked_at = page.after;
        let is_last = page.events.is_empty();
        if is_last {
            self.print(&mut messages)?;
        }
        Ok(Seen {
            over: over && is_last && messages.is_empty(),
            messages,
        })
    }

    /// Whether a sandbox has come to its end.
    fn is_over(&self) -> Result<bool, EngineError> {
        let Some(name) = self.what.sandbox() else {
            return Ok(false);
        };
        let state = summary(&self.engine, name)?.state;
        Ok(matches!(
            state,
            State::Promoted | State::Discarded | State::Collected
        ))
    }

    fn tell(
        &mut self,
        event: &JournalEvent,
        messages: &mut Vec<(String, String)>,
    ) -> Result<(), EngineError> {
        let run = event.data.get("run").and_then(Value::as_u64);
        let run = run.and_then(|run| u32::try_from(run).ok());
        let with_output = matches!(self.what, What::Everything(_));
        match (event.kind.as_str(), run.filter(|_| with_output)) {
            ("run.started", Some(run)) => self.begin(run),
            ("run.ended", Some(run)) => {
                // What it printed comes before its end.
                self.print_run(run, messages)?;
                self.cursor.runs.remove(&run);
            }
            _ => {}
        }
        self.cursor.number = event.number;
        let data = if with_output {
            told(event)
        } else {
            serde_json::to_value(event).unwrap_or_default()
        };
        messages.push((self.cursor.to_string(), data.to_string()));
        Ok(())
    }

    /// A run started: it is followed from its beginning.
    fn begin(&mut self, run: u32) {
        self.cursor.runs.insert(run, 0);
        while self.cursor.runs.len() > RUNS_MAX {
            self.cursor.runs.pop_first();
        }
    }

    /// What the runs printed since.
    fn print(&mut self, messages: &mut Vec<(String, String)>) -> Result<(), EngineError> {
        let runs: Vec<u32> = self.cursor.runs.keys().copied().collect();
        for run in runs {
            self.print_run(run, messages)?;
        }
        Ok(())
    }

    /// What one run printed since.
    fn print_run(
        &mut self,
        run: u32,
        messages: &mut Vec<(String, String)>,
    ) -> Result<(), EngineError> {
        let (What::Everything(name), Some(&from)) = (&self.what, self.cursor.runs.get(&run)) else {
            return Ok(());
        };
        let request = LogsRequest {
            sandbox: Some(name.clone()),
            run: Some(run),
            tail: None,
            from,
        };
        let printed = match logs(&self.engine, &request) {
            Ok(printed) => printed.output,
            // Its layers were collected, and its output with them.
            Err(error) if error.kind() == Kind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        let mut told = from;
        let mut rest = printed.as_slice();
        while !rest.is_empty() {
            let (chunk, after) = rest.split_at(boundary(rest));
            told += chunk.len() as u64;
            self.cursor.runs.insert(run, told);
            let data = json!({
                "type": "output",
                "run": run,
                "text": String::from_utf8_lossy(chunk),
            });
            messages.push((self.cursor.to_string(), data.to_string()));
            rest = after;
        }
        Ok(())
    }
}

/// Where to cut, so that no character is torn apart.
fn boundary(bytes: &[u8]) -> usize {
    if bytes.len() <= CHUNK_BYTES {
        return bytes.len();
    }
    let is_start = |byte: u8| byte & 0b1100_0000 != 0b1000_0000;
    (CHUNK_BYTES - 3..=CHUNK_BYTES)
        .rev()
        .find(|&at| is_start(bytes[at]))
        .unwrap_or(CHUNK_BYTES)
}

/// An event in the words of the first seed's page.
fn told(event: &JournalEvent) -> Value {
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
    fn an_id_says_where_its_reader_is() {
        for text in ["0", "12", "12.3.4096", "12.3.4096.5.0"] {
            let cursor: Cursor = text.parse().unwrap();
            assert_eq!(cursor.to_string(), text);
        }
        for junk in ["", "x", "1.x", "1.2.x", "-1", "1.2", "1.2.3.4"] {
            assert!(junk.parse::<Cursor>().is_err(), "{junk}");
        }
    }

    #[test]
    fn output_is_cut_between_characters() {
        let mut text = "a".repeat(CHUNK_BYTES - 1);
        text.push_str("äöü");
        let at = boundary(text.as_bytes());
        assert!(text.is_char_boundary(at) && at <= CHUNK_BYTES, "{at}");
    }
}
