//! Forgetting, for good.
//!
//! The words of an experiment are in more places than memory: in the log of its run, in the command
//! on record and in the journal, in the layers of its sandbox. All of them go, and what was freed is
//! overwritten. Pictures of the project itself are not agar's to change: a text that is in the
//! project's own files stays in its generations, and in what `agar undo` needs.

use super::{Forgotten, open};
use crate::here::Here;
use crate::{Engine, EngineError, layers, raise};
use agar_core::id::SandboxId;
use agar_core::state::State;
use agar_memory::Target;
use agar_sandbox::trash::Trash;
use agar_store::Fact;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Asks for something to be forgotten.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "what", content = "of")]
pub enum ForgetRequest {
    /// One experiment, pattern, lesson or note, by its name or the beginning of it.
    Name(String),
    /// Everything of the project that holds this text.
    Text(String),
    /// Everything of the project.
    Everything,
}

/// What is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForgetAnswer {
    /// Of memory.
    #[serde(flatten)]
    pub forgotten: Forgotten,
    /// Where the text still is, relative to agar's state: in pictures of the project itself.
    pub left: Vec<String>,
}

/// Forgets, and removes the sandboxes, logs and records with the same words.
pub fn forget(engine: &Engine, request: &ForgetRequest) -> Result<ForgetAnswer, EngineError> {
    let (here, mut memory) = open(engine)?;
    let (target, text) = match request {
        ForgetRequest::Name(name) => (Target::Name(name.clone()), None),
        ForgetRequest::Text(text) if text.trim().is_empty() => {
            return Err(EngineError::Invalid(
                "there is nothing to forget".to_owned(),
            ));
        }
        ForgetRequest::Text(text) => (Target::Text(text.clone()), Some(text.as_str())),
        ForgetRequest::Everything => (Target::Everything, None),
    };
    let project = memory.project();
    let mut forgotten = memory.forget(&target)?;
    if let Some(text) = text {
        let more = here.sandboxes_saying(project, text)?;
        forgotten.sandboxes.extend(more);
        forgotten.sandboxes.sort();
        forgotten.sandboxes.dedup();
    }
    for &id in &forgotten.sandboxes {
        collect(engine, here, id)?;
    }
    empty_trash(here)?;
    let emptied = here.scrub(project, &forgotten.sandboxes, text)?;
    here.write(|store| {
        let fact = Fact::MemoryForgot {
            experiments: forgotten.experiments.len() as u64,
            notes: forgotten.notes,
        };
        store.append(project, None, engine.now(), &fact)?;
        Ok(())
    })?;
    let state = here.state.path();
    let mut left = Vec::new();
    if !emptied {
        left.push("store.db-wal (another agar command holds it; forget again later)".to_owned());
    }
    if let Some(text) = text {
        let needle = text.to_lowercase().into_bytes();
        look(state, state, &needle, &mut left);
    }
    Ok(ForgetAnswer { forgotten, left })
}

/// Ends a sandbox and removes its layers and logs, whatever is in them.
fn collect(engine: &Engine, here: &Here, id: SandboxId) -> Result<(), EngineError> {
    let Ok(record) = here.read(|store| store.sandbox(id)) else {
        // It is known to memory alone: imported, or from another state directory.
        return Ok(());
    };
    let record = raise::down(engine, here, &record)?;
    if record.state == State::Collected {
        return here.throw_away(&here.sandbox(id));
    }
    layers::collect(engine, here, id)
}

fn empty_trash(here: &Here) -> Result<(), EngineError> {
    let trash = Trash::new(&here.state);
    while !trash.is_empty() {
        if trash.empty(u64::MAX)?.removed == 0 {
            break;
        }
    }
    Ok(())
}

/// How much of a file is looked at in one piece.
const PIECE: usize = 1 << 20;

/// Names the files below a directory that hold a text, in whatever case of plain letters.
fn look(state: &Path, directory: &Path, needle: &[u8], left: &mut Vec<String>) {
    let Ok(entries) = directory.read_dir() else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        // agar's own program, kept beside the state: what is in it nobody remembered.
        let is_program = directory == state && entry.file_name().as_bytes().starts_with(b"keeper-");
        if is_program {
            continue;
        }
        if kind.is_dir() {
            look(state, &path, needle, left);
        } else if kind.is_file() && holds(&path, needle).unwrap_or(false) {
            let within = path.strip_prefix(state).unwrap_or(&path);
            left.push(crate::view::shown(within));
        }
    }
}

fn holds(path: &Path, needle: &[u8]) -> std::io::Result<bool> {
    let mut file = File::open(path)?;
    let mut window: Vec<u8> = Vec::new();
    loop {
        let keep = window.len().min(needle.len().saturating_sub(1));
        window.drain(..window.len() - keep);
        let start = window.len();
        window.resize(start + PIECE, 0);
        let read = file.read(&mut window[start..])?;
        window.truncate(start + read);
        window[start..].make_ascii_lowercase();
        if window.windows(needle.len()).any(|piece| piece == needle) {
            return Ok(true);
        }
        if read == 0 {
            return Ok(false);
        }
    }
}
