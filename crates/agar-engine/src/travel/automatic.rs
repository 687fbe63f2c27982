//! Snapshots that nobody asks for: before a command, so that it can be undone.
//!
//! They must not be felt. One of a sandbox in which nothing runs costs the same whatever was written;
//! where layers have to be cloned for one, small layers are, and large ones are not: the command is
//! told that it cannot be undone.

use crate::blueprint::Blueprint;
use crate::failure::EngineError;
use crate::here::Here;
use crate::snapshot::settled;
use crate::travel::{self, NewSnapshot, Note, Wish, shown_by};
use crate::turn::Turn;
use crate::{Engine, restore};
use agar_core::fault::{Fault as _, Kind};
use agar_core::snapshot::{SnapshotKind, Taken};
use agar_core::state::State;
use agar_core::walls::BaseKind;
use agar_sandbox::snapshot::Shelf;
use agar_store::{Sandbox, Snapshot};

/// More than this is not cloned before a command.
const CLONE_BYTES_MAX: u64 = 64 << 20;

/// Words of a command that are kept in the note of a snapshot.
const NOTE_CHARS_MAX: usize = 60;

/// The way back from a command that is about to run.
#[derive(Debug)]
pub(crate) enum WayBack {
    /// Nobody wants one.
    Unwanted,
    /// This snapshot shows the sandbox as it was.
    To(Snapshot),
    /// There is none, for this reason.
    None(String),
}

impl WayBack {
    /// The snapshot, if there is one.
    pub(crate) fn snapshot(&self) -> Option<&Snapshot> {
        match self {
            Self::To(snapshot) => Some(snapshot),
            Self::Unwanted | Self::None(_) => None,
        }
    }
}

/// Takes a snapshot before a command, unless the last one still shows the sandbox as it is.
pub(crate) fn before_run(
    engine: &Engine,
    here: &Here,
    record: &Sandbox,
    words: &[String],
) -> Result<WayBack, EngineError> {
    let _turn = Turn::take(&here.sandbox(record.id))?;
    let record = settled(engine, here, record)?;
    if !matches!(
        record.state,
        State::Running | State::Finished | State::Promoted
    ) {
        // Whoever puts the jail up says what is wrong.
        return Ok(WayBack::Unwanted);
    }
    let blueprint = Blueprint::of(&record)?;
    if record.base == BaseKind::Live && blueprint.copy.is_none() {
        return Ok(WayBack::None("its base is live".to_owned()));
    }
    if let Some(snapshot) = shown_by(here, &record, &blueprint)?
        // That of another sandbox can go with that one; a further one costs nothing here.
        && snapshot.sandbox == record.id
    {
        return Ok(WayBack::To(snapshot));
    }
    let note = note(words);
    let wish = Wish {
        name: None,
        note: Some(&note),
        kind: SnapshotKind::BeforeRun,
    };
    match travel::take_within(engine, here, (&record, &wish), CLONE_BYTES_MAX) {
        Ok(None) => {
            let why = "too much would have to be copied for it";
            Ok(WayBack::None(why.to_owned()))
        }
        // What the command's own doing keeps from being copied must not keep out the next command.
        Err(EngineError::Clone(error)) if error.kind() == Kind::Refused => {
            Ok(WayBack::None(error.to_string()))
        }
        Err(error) => Err(error),
        Ok(Some(took)) => {
            let record = here.read(|store| store.sandbox(record.id))?;
            travel::tend(engine, &record, &Blueprint::of(&record)?)?;
            Ok(WayBack::To(took.snapshot))
        }
    }
}

/// Returns a sandbox to what it was before a command that went too far. Answers the snapshot of what
/// the command left.
pub(crate) fn take_back(
    engine: &Engine,
    here: &Here,
    record: &Sandbox,
    target: &Snapshot,
) -> Result<Option<Snapshot>, EngineError> {
    let _turn = Turn::take(&here.sandbox(record.id))?;
    take_back_in_turn(engine, here, record, target)
}

/// The same for whoever has the turn.
pub(crate) fn take_back_in_turn(
    engine: &Engine,
    here: &Here,
    record: &Sandbox,
    target: &Snapshot,
) -> Result<Option<Snapshot>, EngineError> {
    let record = settled(engine, here, record)?;
    Ok(restore::return_to(engine, here, &record, target)?.left)
}

/// Returns a sandbox to what it was made of, when the command that it was made for went too far.
/// Answers the snapshots of both; or why there is no way back.
///
/// The first of them costs nothing, and is taken only now: nothing was written before the command.
pub(crate) fn undo_first(
    engine: &Engine,
    here: &Here,
    record: &Sandbox,
    words: &[String],
) -> Result<Result<[Snapshot; 2], &'static str>, EngineError> {
    let _turn = Turn::take(&here.sandbox(record.id))?;
    let record = settled(engine, here, record)?;
    let blueprint = Blueprint::of(&record)?;
    if blueprint.copy.is_some() {
        return Ok(Err("its tier has no layers"));
    }
    if record.base == BaseKind::Live {
        return Ok(Err("its base is live"));
    }
    if record.head.is_some() || blueprint.stacks.iter().any(|stack| !stack.kept.is_empty()) {
        return Ok(Err("it has snapshots already"));
    }
    let shelves: Vec<Shelf> = blueprint.stacks.iter().map(Shelf::from).collect();
    let beginning = Note {
        snapshot: Some(NewSnapshot {
            id: engine.new_snapshot_id(),
            name: None,
            kind: SnapshotKind::BeforeRun,
            note: Some(note(words)),
            base: record.base,
            generation: record.generation,
            stacks: travel::to_text(&shelves)?,
            taken: Taken::Stopped,
            frozen_us: None,
        }),
        arrival: None,
        made: Vec::new(),
        spent: Vec::new(),
        restored: None,
        late: None,
    };
    let Some(beginning) = beginning.commit(engine, here, &record)? else {
        return Ok(Err("its beginning was not recorded"));
    };
    let record = here.read(|store| store.sandbox(record.id))?;
    let left = restore::return_to(engine, here, &record, &beginning)?.left;
    Ok(match left {
        Some(left) => Ok([beginning, left]),
        None => Err("it left nothing"),
    })
}

/// `before npm install`, short enough for a list.
fn note(words: &[String]) -> String {
    let line = words.join(" ");
    let line = agar_core::secret::redact(&line);
    let mut short: String = line.chars().take(NOTE_CHARS_MAX).collect();
    if short.len() < line.len() {
        short.push('…');
    }
    format!("before {short}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_short_and_holds_no_secret() {
        let words = |text: &str| vec![text.to_owned()];
        assert_eq!(note(&words("npm install")), "before npm install");
        assert_eq!(note(&words(&"x".repeat(500))).chars().count(), 68);
        let secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
        assert!(!note(&words(secret)).contains(secret));
    }
}
