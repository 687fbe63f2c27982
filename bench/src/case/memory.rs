//! Memory with a thousand, a hundred thousand and a million experiments, beside SQLite's own full
//! text search over the same texts with all terms joined by OR.
//!
//! `AGAR_BENCH_MEMORY` names other sizes, separated by commas.

use crate::measure::{Contestant, Samples, in_turns};
use crate::table::Row;
use agar_core::id::{ExperimentId, ProjectId, SandboxId};
use agar_core::seam::Timestamp;
use agar_memory::replay::Outcome;
use agar_memory::{Beginning, Ending, Memory, Occasion, Operation, Status, Suggestion, Tuning};
use anyhow::{Context as _, Result};
use rusqlite::Connection;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

/// Sizes that are measured.
const SIZES: [usize; 3] = [1_000, 100_000, 1_000_000];

/// Different words in the texts, and words in each.
const VOCABULARY: u64 = 27_000;
const LENGTH: usize = 14;

/// Half a year of experiments.
const START: u64 = 1_750_000_000_000;
const SPAN: u64 = 182 * 86_400_000;

pub(crate) fn run() -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for size in sizes(&SIZES)? {
        rows.extend(at_size(size)?);
    }
    Ok(rows)
}

/// The sizes that the caller names, or else the usual ones.
pub(super) fn sizes(usual: &[usize]) -> Result<Vec<usize>> {
    let named = std::env::var_os("AGAR_BENCH_MEMORY");
    match named.as_ref().and_then(|text| text.to_str()) {
        Some(text) => text
            .split(',')
            .map(str::parse)
            .collect::<Result<_, _>>()
            .context("AGAR_BENCH_MEMORY is a list of numbers"),
        None => Ok(usual.to_vec()),
    }
}

/// So many experiments of the half year that ends now.
#[expect(
    clippy::disallowed_methods,
    reason = "the command that is measured asks the real clock too"
)]
pub(super) fn outcomes(size: usize) -> Result<impl Iterator<Item = Outcome>> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    let start = u64::try_from(now.as_millis())?.saturating_sub(SPAN);
    let mut words = Words(42);
    Ok((0..size).map(move |number| outcome((number, size), start, &words.text())))
}

/// A suggestion in the words of those experiments.
pub(super) fn asked() -> String {
    Words(7).text()
}

fn at_size(size: usize) -> Result<Vec<Row>> {
    let directory = tempfile::tempdir()?;
    let mut words = Words(42);
    let texts: Vec<String> = (0..size).map(|_| words.text()).collect();
    let mut memory = open(directory.path())?;
    let filled = Instant::now();
    memory.load(
        &mut texts
            .iter()
            .enumerate()
            .map(|(n, text)| outcome((n, size), START, text)),
    )?;
    let loaded = filled.elapsed();
    memory.tidy()?;
    let indexed = filled.elapsed().saturating_sub(loaded);
    let peer = full_text(directory.path(), &texts)?;
    let mut rows = vec![
        value(size, "load", per_second(size, loaded), "experiments/s"),
        value(size, "index made in", indexed.as_secs_f64(), "s"),
    ];
    rows.extend(queries(size, directory.path(), &memory, &peer)?);
    rows.extend(writes(size, &mut memory)?);
    let resident = crate::case::kib("/proc/self/status", "VmRSS:")? / 1024.0;
    rows.push(value(
        size,
        "resident memory of this program",
        resident,
        "MiB",
    ));
    Ok(rows)
}

/// Confidence and search, warm and cold, in turns with the peer.
fn queries(size: usize, directory: &Path, memory: &Memory, peer: &Connection) -> Result<Vec<Row>> {
    // Fewer would make the slowest of them the one in a hundred.
    let rounds = if size > 500_000 { 120 } else { 200 };
    let now = Timestamp::from_millis(START + SPAN);
    let (mut a, mut b, mut c, mut d) = (Words(7), Words(7), Words(7), Words(7));
    let contestants = vec![
        Contestant::new(&format!("{size}: FTS5, all terms ORed"), || {
            let text = a.text();
            timed(|| search_peer(peer, &text))
        }),
        Contestant::new(&format!("{size}: confidence, warm"), || {
            // Warm is a process that has just answered others; the peer's turn emptied the caches.
            for _ in 0..3 {
                memory.predict(&Suggestion::new(&b.text()), now)?;
            }
            let suggestion = Suggestion::new(&b.text());
            timed(|| Ok(memory.predict(&suggestion, now)?))
        }),
        Contestant::new(&format!("{size}: search, warm"), || {
            let text = c.text();
            timed(|| Ok(memory.search(&text, 10, now)?))
        }),
        Contestant::new(&format!("{size}: confidence, opened first"), || {
            let suggestion = Suggestion::new(&d.text());
            timed(|| Ok(open(directory)?.predict(&suggestion, now)?))
        }),
    ];
    let measured = in_turns(rounds, contestants)?;
    let mut rows = crate::table::compared("memory", &measured);
    if let Some(warm) = rows.get_mut(1) {
        warm.promise = Some("p99 at most 5 ms".to_owned());
        warm.kept = Some(warm.p99 <= 5.0);
    }
    let cold = if size > 100_000 { 60.0 } else { 20.0 };
    if let Some(row) = rows.pop() {
        rows.push(row.at_most(cold));
    }
    Ok(rows)
}

/// Beginning, ending and graduating experiments, each with its sandbox's memory.
fn writes(size: usize, memory: &mut Memory) -> Result<Vec<Row>> {
    let (mut begun, mut recorded) = (Samples::default(), Samples::default());
    let (mut graduated, mut copied) = (Samples::default(), Samples::default());
    let mut words = Words(99);
    for round in 0..60_u64 {
        let at = Timestamp::from_millis(START + SPAN + round * 60_000);
        let mut random = [7; 10];
        random[3..].copy_from_slice(&(round + 1).to_be_bytes()[1..]);
        let (id, sandbox) = (ExperimentId::new(at, random), SandboxId::new(at, random));
        let command = vec!["cargo".to_owned(), "update".to_owned()];
        let suggestion = Suggestion {
            commands: vec![command.clone()],
            ..Suggestion::new(&words.text())
        };
        copied.push(timed(|| Ok(memory.create_sandbox_memory(sandbox)?))?);
        let beginning = Beginning {
            id,
            sandbox,
            user: String::new(),
            suggestion,
            limits: serde_json::Value::Null,
            at,
        };
        begun.push(timed(|| Ok(memory.begin(&beginning)?))?);
        let mut ending = Ending::new(id, Status::Success, at);
        ending.operations = vec![Operation {
            command,
            exit: Some(0),
            started: at,
            millis: 900,
        }];
        ending.changed = vec!["Cargo.lock".to_owned(), "src/lib.rs".to_owned()];
        recorded.push(timed(|| Ok(memory.record(&ending)?))?);
        graduated.push(timed(|| {
            Ok(memory.graduate(sandbox, Occasion::Asked, at)?)
        })?);
    }
    let row =
        |what: &str, samples: &Samples| Row::times("memory", &format!("{size}: {what}"), samples);
    Ok(vec![
        row("a sandbox's memory made", &copied).at_most(1.0),
        row("begin (prediction stored)", &begun),
        row("record with pattern detection", &recorded).at_most(10.0),
        row("graduation", &graduated).at_most(10.0),
    ])
}

fn open(directory: &Path) -> Result<Memory> {
    let project = ProjectId::new(Timestamp::from_millis(1), [1; 10]);
    let memory = directory.join("memory");
    Ok(Memory::open(&memory, project, Tuning::default())?)
}

fn outcome((number, size): (usize, usize), start: u64, text: &str) -> Outcome {
    let at = start + SPAN / size as u64 * number as u64;
    let agents = ["claude", "codex", "person"];
    let suggestion = Suggestion {
        agent: agents[number % agents.len()].to_owned(),
        ..Suggestion::new(text)
    };
    Outcome {
        opened: Timestamp::from_millis(at),
        closed: Timestamp::from_millis(at + 60_000),
        suggestion,
        project: String::new(),
        success: !number.is_multiple_of(5),
    }
}

/// The peer: the same texts in FTS5.
fn full_text(directory: &Path, texts: &[String]) -> Result<Connection> {
    let mut connection = Connection::open(directory.join("peer.db"))?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
         CREATE VIRTUAL TABLE experiment USING fts5 (text)",
    )?;
    let transaction = connection.transaction()?;
    for text in texts {
        transaction
            .prepare_cached("INSERT INTO experiment (text) VALUES (?1)")?
            .execute([text])?;
    }
    transaction.commit()?;
    Ok(connection)
}

fn search_peer(peer: &Connection, text: &str) -> Result<()> {
    let terms: Vec<String> = text.split(' ').map(|word| format!("\"{word}\"")).collect();
    let mut statement = peer.prepare_cached(
        "SELECT rowid FROM experiment WHERE experiment MATCH ?1 ORDER BY bm25(experiment) LIMIT 50",
    )?;
    let found = statement.query_map([terms.join(" OR ")], |row| row.get::<_, i64>(0))?;
    for row in found {
        row?;
    }
    Ok(())
}

fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<Duration> {
    let start = Instant::now();
    let answer = work()?;
    let took = start.elapsed();
    drop(answer);
    Ok(took)
}

fn value(size: usize, what: &str, value: f64, unit: &'static str) -> Row {
    Row::value("memory", &format!("{size}: {what}"), value, unit)
}

#[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
fn per_second(count: usize, took: Duration) -> f64 {
    count as f64 / took.as_secs_f64()
}

/// Texts whose words are as uneven as in natural language.
struct Words(u64);

impl Words {
    fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn text(&mut self) -> String {
        let words: Vec<String> = (0..LENGTH).map(|_| self.word()).collect();
        words.join(" ")
    }

    /// Word number n comes about 1/n as often as the first.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rank within the vocabulary"
    )]
    fn word(&mut self) -> String {
        let share = self.next() as f64 / (1_u64 << 31) as f64;
        let rank = (VOCABULARY as f64).powf(share) as u64;
        // Letters, so that a word does not look like a number.
        let mut rank = rank + 26 * 26;
        let mut word = String::new();
        while rank > 0 {
            word.push(char::from(b'a' + (rank % 26) as u8));
            rank /= 26;
        }
        word
    }
}
