//! Giving up the layers of a sandbox that nothing else stands on.

use crate::Engine;
use crate::blueprint::Blueprint;
use crate::failure::EngineError;
use crate::here::Here;
use crate::travel::condense::{parsed, right_to_join};
use crate::travel::note::Note;
use crate::travel::shelves;
use agar_core::id::SandboxId;
use agar_core::state::State;
use agar_store::{Reader, Sandbox, Scope, Snapshot, StoreError};
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Throws away what is left of a collected sandbox, but for layers that forks stand on; and what was
/// left of others for its sake alone.
pub(crate) fn dispose(engine: &Engine, here: &Here, id: SandboxId) -> Result<(), EngineError> {
    let directory = here.sandbox(id);
    let (record, snapshots) = here.read(|store| Ok((store.sandbox(id)?, store.snapshots(id)?)))?;
    let lenders = lenders(here, &record, &snapshots)?;
    // Forks stand on its layers, also when the snapshot is gone that they were made from; and whoever
    // stands on the same parts as it does may stand on what it joined them to.
    let lends = here.read(|store| Ok(store.was_forked(id)? || store.has_joined(id)?))?;
    if !snapshots.is_empty() {
        here.write(|store| {
            // The newest first: what descends from one is given its parent, which must still be there.
            for snapshot in snapshots.iter().rev() {
                store.remove_snapshot(snapshot, "sandbox gone", engine.now())?;
            }
            Ok(())
        })?;
    }
    if !lends {
        here.throw_away(&directory)?;
    }
    let mut used = None;
    for home in lenders.into_iter().chain(lends.then_some(id)) {
        if home == id || here.read(|store| is_deserted(&store, home))? {
            let used = match &mut used {
                Some(used) => used,
                none => none.insert(in_use(here)?),
            };
            clear(here, home, used)?;
        }
    }
    Ok(())
}

/// In whose directories lies, or lay, what a sandbox stands on.
fn lenders(
    here: &Here,
    record: &Sandbox,
    snapshots: &[Snapshot],
) -> Result<BTreeSet<SandboxId>, EngineError> {
    let own = Blueprint::of(record).ok();
    let own = own.iter().flat_map(|blueprint| &blueprint.stacks);
    let mut stood_on: BTreeSet<PathBuf> = own.flat_map(|stack| stack.kept.clone()).collect();
    for snapshot in snapshots {
        let shelves = shelves(&record.alias, snapshot)?;
        stood_on.extend(shelves.into_iter().flat_map(|it| it.kept));
    }
    let mut lenders: BTreeSet<SandboxId> = stood_on
        .iter()
        .filter_map(|path| home(here, path))
        .collect();
    lenders.extend(here.read(|store| ancestors(&store, record))?);
    lenders.remove(&record.id);
    Ok(lenders)
}

/// Those that a sandbox descends from: it may have stood on what is theirs.
fn ancestors(store: &Reader<'_>, record: &Sandbox) -> Result<Vec<SandboxId>, StoreError> {
    let mut found = Vec::new();
    let mut next = record.parent;
    while let Some(id) = next {
        found.push(id);
        next = store.sandbox(id)?.parent;
    }
    Ok(found)
}

/// Whether a sandbox is gone and no fork of it is left. For as long as there is one it is not asked which
/// of the layers that were left are there for whose sake: that takes a look at everybody, and of a
/// hundred forks each would.
fn is_deserted(store: &Reader<'_>, id: SandboxId) -> Result<bool, StoreError> {
    Ok(store.sandbox(id)?.state == State::Collected && !store.has_forks(id)?)
}

/// Forgets a snapshot, and throws away the layers that only it stood on.
pub(crate) fn forget(
    engine: &Engine,
    here: &Here,
    record: &Sandbox,
    (snapshot, reason): (&Snapshot, &str),
) -> Result<(), EngineError> {
    here.write(|store| store.remove_snapshot(snapshot, reason, engine.now()))?;
    clear_layers(here, record.id)
}

/// Throws away the layers in a sandbox's directory that nothing stands on. The caller has the turn, and
/// nothing is under way.
pub(crate) fn clear_layers(here: &Here, id: SandboxId) -> Result<(), EngineError> {
    let directory = here.sandbox(id);
    // Held until all is cleared: what somebody else is joining is on no record yet. Without it joined
    // layers are left to the next clean-up, and so is what a dead process made of one.
    let right = right_to_join(&directory)?;
    let starts: &[&str] = match &right {
        Some(_) => &["upper-", "kept-", "joined-"],
        None => &["upper-", "kept-"],
    };
    let is_layer = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| starts.iter().any(|start| name.starts_with(start)))
    };
    let entries = directory.read_dir().into_iter().flatten().flatten();
    let mut layers: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_layer).collect();
    // Both are looked at after the list: a layer that is made meanwhile is not on it. What all others
    // stand on takes the longer the more there are, and is asked only where it matters.
    let own = here.reading(|store| own_layers(&store, id))?;
    layers.retain(|layer| !is_used(layer, &own));
    if layers.is_empty() {
        return Ok(());
    }
    let used = in_use(here)?;
    for layer in layers.iter().filter(|layer| !is_used(layer, &used)) {
        here.write(|store| store.remove_joined(layer))?;
        here.throw_away(layer)?;
    }
    Ok(())
}

/// The sandbox in whose directory a layer lies.
fn home(here: &Here, layer: &Path) -> Option<SandboxId> {
    let within = layer.strip_prefix(here.state.sandboxes()).ok()?;
    within.iter().next()?.to_str()?.parse().ok()
}

/// Throws away what no layer in use lies in.
fn clear(here: &Here, id: SandboxId, used: &BTreeSet<PathBuf>) -> Result<(), EngineError> {
    let directory = here.sandbox(id);
    if !is_used(&directory, used) {
        here.write(|store| store.remove_joined_of(id))?;
        return here.throw_away(&directory);
    }
    let entries = match directory.read_dir() {
        Ok(entries) => entries,
        // Nothing is: whoever stands on it is not helped by an error here.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(EngineError::io("see what is left of a sandbox")(error)),
    };
    for entry in entries.flatten() {
        if !is_used(&entry.path(), used) {
            here.write(|store| store.remove_joined(&entry.path()))?;
            here.throw_away(&entry.path())?;
        }
    }
    Ok(())
}

/// Whether a layer in use is this directory or lies in it.
fn is_used(directory: &Path, used: &BTreeSet<PathBuf>) -> bool {
    // Sorted by component, so what lies in a directory follows it.
    used.range(directory.to_owned()..)
        .next()
        .is_some_and(|layer| layer.starts_with(directory))
}

/// Every layer that a kept sandbox, a snapshot or a change under way stands on.
pub(crate) fn in_use(here: &Here) -> Result<BTreeSet<PathBuf>, EngineError> {
    here.reading(|store| layers_in_use(&store))
}

fn layers_in_use(store: &Reader<'_>) -> Result<BTreeSet<PathBuf>, EngineError> {
    let mut used = BTreeSet::new();
    for record in store.sandboxes(None, Scope::Kept)? {
        used.extend(layers_of(&record)?);
    }
    for snapshot in store.snapshots_of(None)? {
        for keep in shelves("a sandbox", &snapshot)? {
            used.extend(keep.kept);
        }
    }
    // Whoever stands on the parts may be about to stand on what they were joined to.
    for (layer, parts) in parsed(&store.joined()?) {
        if parts.iter().all(|part| used.contains(part)) {
            used.insert(layer);
        }
    }
    Ok(used)
}

/// The layers that a sandbox and its own snapshots stand on.
fn own_layers(store: &Reader<'_>, id: SandboxId) -> Result<BTreeSet<PathBuf>, EngineError> {
    let mut own: BTreeSet<PathBuf> = layers_of(&store.sandbox(id)?)?.into_iter().collect();
    for snapshot in store.snapshots(id)? {
        for keep in shelves("a sandbox", &snapshot)? {
            own.extend(keep.kept);
        }
    }
    Ok(own)
}

/// The layers that a sandbox stands on, or is about to.
fn layers_of(record: &Sandbox) -> Result<Vec<PathBuf>, EngineError> {
    let mut layers = Vec::new();
    for stack in &Blueprint::of(record)?.stacks {
        layers.extend(stack.written().map(Path::to_owned));
    }
    let note = record.pending.as_deref();
    if let Some(note) = note.and_then(|text| serde_json::from_str::<Note>(text).ok()) {
        layers.extend(note.made.iter().cloned());
        let arrival = note.arrival.iter().flat_map(|arrival| &arrival.stacks);
        layers.extend(arrival.flat_map(|stack| stack.written().map(Path::to_owned)));
    }
    Ok(layers)
}
