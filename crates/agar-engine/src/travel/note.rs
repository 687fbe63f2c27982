//! The note of a change of layers that was begun, and what becomes of one that nobody works on.

use crate::Engine;
use crate::blueprint::Blueprint;
use crate::failure::EngineError;
use crate::here::Here;
use crate::travel::{clones, to_text};
use crate::turn::Turn;
use agar_core::fault::{Fault as _, Kind};
use agar_core::id::SnapshotId;
use agar_core::seam::Timestamp;
use agar_core::snapshot::{SnapshotKind, Taken};
use agar_core::state::{Event, State};
use agar_core::walls::BaseKind;
use agar_jail::client::{Laid, Laying};
use agar_sandbox::snapshot::Shelf;
use agar_sandbox::stack::Stack;
use agar_sandbox::{snapshot, spelling};
use agar_store::{Fact, Sandbox, Snapshot, StoreError, Writer};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A change of a sandbox's layers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Note {
    /// What the sandbox will be made of; nothing if that stays as it is.
    pub(crate) arrival: Option<Arrival>,
    /// The snapshot that will be there.
    pub(crate) snapshot: Option<NewSnapshot>,
    /// Directories that are made for it, and are of no use without it.
    #[serde(with = "spelling::siblings")]
    pub(crate) made: Vec<PathBuf>,
    /// Directories that are of no more use with it.
    #[serde(with = "spelling::siblings")]
    pub(crate) spent: Vec<PathBuf>,
    /// The snapshot that is returned to, and how many processes were ended for it.
    pub(crate) restored: Option<(SnapshotId, u32)>,
    /// What is kept if a command wrote it while the return was under way.
    #[serde(default)]
    pub(crate) late: Option<Late>,
}

/// Uppers that nothing had been written to when a return was planned. A command that came in between, and
/// was ended with all others, may have written to them since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Late {
    /// The snapshot that they will be part of, as it is without them.
    pub(crate) snapshot: NewSnapshot,
    /// Each of them, with the place of its tree among those of the snapshot.
    #[serde(with = "spelling::siblings")]
    pub(crate) uppers: Vec<PathBuf>,
    pub(crate) trees: Vec<usize>,
}

/// What a sandbox will be made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Arrival {
    /// Its copy-on-write trees.
    pub(crate) stacks: Vec<Stack>,
    /// What they lie on.
    pub(crate) base: BaseKind,
    /// The generation they lie on, when frozen.
    pub(crate) generation: Option<u64>,
    /// Whether git inside must not trust the inodes that the index remembers.
    pub(crate) minimal_git_stat: bool,
}

/// A snapshot that is about to be recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NewSnapshot {
    pub(crate) id: SnapshotId,
    /// Its name, if somebody chose one.
    pub(crate) name: Option<String>,
    pub(crate) kind: SnapshotKind,
    pub(crate) note: Option<String>,
    pub(crate) base: BaseKind,
    pub(crate) generation: Option<u64>,
    pub(crate) stacks: String,
    pub(crate) taken: Taken,
    pub(crate) frozen_us: Option<u64>,
}

/// What was recorded of a change while the jail took it.
#[derive(Debug)]
pub(crate) struct Written(Option<Snapshot>);

/// A transaction was given up, by whom does not matter: it is done again later.
struct Withheld;

impl From<StoreError> for Withheld {
    fn from(_: StoreError) -> Self {
        Self
    }
}

/// For how long a jail that takes new layers may keep others from writing to the store: it takes one
/// or two thousandths of a second, unless somebody stopped it.
const STORE_HELD: Duration = Duration::from_millis(20);

impl Note {
    /// Writes the note down, before anything is made.
    pub(crate) fn begin(
        &self,
        engine: &Engine,
        here: &Here,
        record: &Sandbox,
    ) -> Result<(), EngineError> {
        let text = serde_json::to_string(self).map_err(|source| EngineError::Record {
            alias: record.alias.clone(),
            source,
        })?;
        here.write(|store| store.set_pending(record.id, Some(&text), engine.now()))
    }

    /// Makes the change true in one transaction, and clears away what it leaves over.
    pub(crate) fn commit(
        &self,
        engine: &Engine,
        here: &Here,
        record: &Sandbox,
    ) -> Result<Option<Snapshot>, EngineError> {
        let text = self.blueprint(record)?;
        let at = engine.now();
        let ended = self.restored.map_or(0, |(_, ended)| ended);
        let snapshot = here.write(|store| {
            let snapshot = self.record(store, record, text.as_deref(), at)?;
            let late = self.record_return(store, record, ended, at)?;
            Ok(late.or(snapshot))
        })?;
        self.clear_away(here);
        Ok(snapshot)
    }

    /// The same while the jail takes the new layers: what is written becomes true when it has them. It
    /// is not written at all if the jail does not take them, or takes longer than others should be
    /// kept from the store.
    pub(crate) fn commit_when_laid(
        &self,
        (engine, here): (&Engine, &Here),
        record: &Sandbox,
        laying: &Laying,
    ) -> Result<(Laid, Option<Written>), EngineError> {
        let text = self.blueprint(record);
        let at = engine.now();
        let mut heard = None;
        let written = here.write_or(|store| {
            let text = text.as_ref().map_err(|_| Withheld)?;
            let snapshot = self.record(store, record, text.as_deref(), at)?;
            if laying.is_over(STORE_HELD) {
                heard = Some(laying.outcome());
            }
            let Some(Ok(Laid::Done { ended })) = &heard else {
                return Err(Withheld);
            };
            let late = self.record_return(store, record, *ended, at)?;
            Ok(Written(late.or(snapshot)))
        });
        let laid = match heard {
            Some(heard) => heard?,
            None => laying.outcome()?,
        };
        let written = written.ok();
        if written.is_some() {
            self.clear_away(here);
        }
        Ok((laid, written))
    }

    /// The snapshot of a change that is in force; recorded now if that has not been done.
    pub(crate) fn conclude(
        &self,
        (engine, here): (&Engine, &Here),
        record: &Sandbox,
        written: Option<Written>,
    ) -> Result<Option<Snapshot>, EngineError> {
        match written {
            Some(Written(snapshot)) => Ok(snapshot),
            None => self.commit(engine, here, record),
        }
    }

    fn clear_away(&self, here: &Here) {
        let is_upper = |path: &Path| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| name.starts_with("upper-"))
        };
        for path in &self.spent {
            if is_upper(path) && clones::holds_something(path) {
                // Somebody came in between; it is kept by whoever returns from it.
                continue;
            }
            // What cannot go now goes with the sandbox.
            drop(here.throw_away(path));
        }
    }

    fn blueprint(&self, record: &Sandbox) -> Result<Option<String>, EngineError> {
        let Some(arrival) = &self.arrival else {
            return Ok(None);
        };
        let mut blueprint = Blueprint::of(record)?;
        blueprint.stacks.clone_from(&arrival.stacks);
        blueprint.minimal_git_stat = arrival.minimal_git_stat;
        if (record.base, arrival.base) == (BaseKind::Live, BaseKind::Frozen) {
            blueprint.live_since = Some(record.created);
        }
        if let (Some(copy), Some(project)) = (
            &mut blueprint.copy,
            arrival
                .stacks
                .iter()
                .find(|stack| stack.role == agar_sandbox::stack::Role::Project),
        ) {
            copy.project.clone_from(&project.upper);
        }
        blueprint.to_text().map(Some)
    }

    fn record(
        &self,
        store: &Writer<'_>,
        record: &Sandbox,
        blueprint: Option<&str>,
        at: Timestamp,
    ) -> Result<Option<Snapshot>, StoreError> {
        let snapshot = match &self.snapshot {
            Some(new) => Some(new.record(store, record, at)?),
            None => None,
        };
        let head = match (&self.restored, &snapshot) {
            (Some((restored, _)), _) => Some(*restored),
            (None, Some(snapshot)) => Some(snapshot.id),
            (None, None) => record.head,
        };
        let arrival = self.arrival.as_ref().zip(blueprint);
        let arrival = arrival.map(|(arrival, stacks)| agar_store::Arrival {
            stacks,
            base: arrival.base,
            generation: arrival.generation,
        });
        store.arrive(record.id, arrival.as_ref(), head, at)?;
        Ok(snapshot)
    }

    /// Says in the journal what was returned to, and how many processes were ended for it. Nothing writes
    /// to what was left any more: gives the snapshot of what was written late, if anything was.
    fn record_return(
        &self,
        store: &Writer<'_>,
        record: &Sandbox,
        ended: u32,
        at: Timestamp,
    ) -> Result<Option<Snapshot>, StoreError> {
        if let Some((snapshot, _)) = self.restored {
            let fact = Fact::SnapshotRestored { snapshot, ended };
            store.append(record.project, Some(record.id), at, &fact)?;
            if record.state == State::Promoted {
                // What is there now was perhaps never applied.
                store.advance_sandbox(record.id, Event::Return, at)?;
            }
        }
        let late = self.late.as_ref().and_then(Late::written);
        late.map(|late| late.record(store, record, at)).transpose()
    }

    /// Whether nothing is made on disk for it.
    pub(crate) fn is_bare(&self) -> bool {
        self.made.is_empty() && self.arrival.is_none()
    }

    /// Takes everything back that was made.
    pub(crate) fn withdraw(
        &self,
        engine: &Engine,
        here: &Here,
        record: &Sandbox,
    ) -> Result<(), EngineError> {
        for path in &self.made {
            here.throw_away(path)?;
            here.throw_away(&snapshot::unfinished(path))?;
        }
        here.write(|store| store.set_pending(record.id, None, engine.now()))
    }
}

impl Late {
    /// The snapshot with those that were written to; nothing if none was.
    fn written(&self) -> Option<NewSnapshot> {
        let uppers = self.trees.iter().zip(&self.uppers);
        let mut written = uppers
            .filter(|(_, upper)| clones::holds_something(upper))
            .peekable();
        written.peek()?;
        // It was written by this process, or by one of the same program.
        let mut shelves: Vec<Shelf> = serde_json::from_str(&self.snapshot.stacks).ok()?;
        for (tree, upper) in written {
            shelves.get_mut(*tree)?.kept.insert(0, upper.clone());
        }
        Some(NewSnapshot {
            stacks: to_text(&shelves).ok()?,
            ..self.snapshot.clone()
        })
    }
}

impl NewSnapshot {
    pub(crate) fn record(
        &self,
        store: &Writer<'_>,
        record: &Sandbox,
        at: Timestamp,
    ) -> Result<Snapshot, StoreError> {
        let number = store.read().next_snapshot_number(record.id)?;
        let snapshot = Snapshot {
            id: self.id,
            sandbox: record.id,
            number,
            name: match &self.name {
                Some(name) => name.clone(),
                None => free_name(store, record, number)?,
            },
            kind: self.kind,
            note: self.note.clone(),
            parent: record.head,
            base: self.base,
            generation: self.generation,
            stacks: self.stacks.clone(),
            taken: self.taken,
            frozen_us: self.frozen_us,
            created: at,
        };
        store.add_snapshot(&snapshot)?;
        Ok(snapshot)
    }
}

/// A name that nobody chose: `s7`, or the next that is free.
fn free_name(store: &Writer<'_>, record: &Sandbox, number: u64) -> Result<String, StoreError> {
    let mut number = number;
    loop {
        let name = format!("s{number}");
        if store.read().snapshot_named(record.id, &name)?.is_none() {
            return Ok(name);
        }
        number += 1;
    }
}

/// Finishes or reverses every change of layers that a crash cut short.
pub(crate) fn settle_all(engine: &Engine, here: &Here) -> Result<(), EngineError> {
    for record in here.read(|store| store.sandboxes_pending())? {
        // Whoever works on it has the turn; whoever died does not.
        if let Ok(Some(turn)) = Turn::attempt(&here.sandbox(record.id)) {
            let record = here.read(|store| store.sandbox(record.id))?;
            // What cannot be settled now is found again by the next command.
            drop(settle(engine, here, &record));
            drop(turn);
        }
    }
    Ok(())
}

/// The same for one sandbox. The caller has the turn.
pub(crate) fn settle(engine: &Engine, here: &Here, record: &Sandbox) -> Result<(), EngineError> {
    let Some(text) = &record.pending else {
        return Ok(());
    };
    let note: Note = serde_json::from_str(text).map_err(|source| EngineError::Record {
        alias: record.alias.clone(),
        source,
    })?;
    if !is_in_force(engine, here, record, &note)? {
        return note.withdraw(engine, here, record);
    }
    let mut note = note;
    if let Some(new) = &mut note.snapshot
        && let Some(name) = &new.name
        && here
            .read(|store| store.snapshot_named(record.id, name))?
            .is_some()
    {
        // Somebody else took the name since.
        new.name = None;
    }
    note.commit(engine, here, record).map(drop)
}

/// Whether commands already write where the note says. Without a jail nobody writes anywhere, and
/// going on loses nothing, if everything that it takes is there.
fn is_in_force(
    engine: &Engine,
    here: &Here,
    record: &Sandbox,
    note: &Note,
) -> Result<bool, EngineError> {
    if note.arrival.is_none() {
        // Clones, of which nobody knows whether they are whole.
        return Ok(false);
    }
    let is_new = |path: &Path| note.made.iter().any(|made| made == path);
    let status = here
        .keeper(engine, record.id)
        .and_then(|keeper| keeper.status());
    match status {
        Ok(status) => Ok(status.uppers.iter().any(|upper| is_new(upper.as_path()))),
        Err(error) if error.kind() == Kind::NotFound => {
            Ok(note.made.iter().all(|path| path.is_dir()))
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agar_sandbox::stack::Role;
    use std::error::Error;

    #[test]
    fn what_was_written_late_is_kept_and_an_upper_that_was_not_is_no_layer()
    -> Result<(), Box<dyn Error>> {
        let place = tempfile::tempdir()?;
        let uppers = ["upper-0", "upper-1"].map(|name| place.path().join(name));
        for upper in &uppers {
            fs_err::create_dir(upper)?;
        }
        let shelf = |role| Shelf {
            role,
            target: PathBuf::from("/home/shop"),
            kept: vec![PathBuf::from("/layers/kept-0")],
            lowers: Vec::new(),
        };
        let shelves = [shelf(Role::Home), shelf(Role::Project)];
        let late = Late {
            snapshot: NewSnapshot {
                id: SnapshotId::new(Timestamp::from_millis(1), [0; 10]),
                name: None,
                kind: SnapshotKind::BeforeRestore,
                note: None,
                base: BaseKind::Frozen,
                generation: None,
                stacks: to_text(&shelves)?,
                taken: Taken::Stopped,
                frozen_us: None,
            },
            uppers: uppers.to_vec(),
            trees: vec![0, 1],
        };
        assert_eq!(late.written(), None);
        fs_err::write(uppers[1].join("late.txt"), "late\n")?;
        let written = late.written().ok_or("nothing was found")?;
        let found: Vec<Shelf> = serde_json::from_str(&written.stacks)?;
        assert_eq!(found[0].kept, shelves[0].kept);
        assert_eq!(
            found[1].kept,
            [uppers[1].clone(), shelves[1].kept[0].clone()]
        );
        Ok(())
    }
}
