//! Giving up the layers of a sandbox that nothing else stands on.

use crate::Engine;
use crate::blueprint::Blueprint;
use crate::failure::EngineError;
use crate::here::Here;
use crate::travel::condense::parsed;
use crate::travel::note::Note;
use crate::travel::shelves;
use agar_core::id::SandboxId;
use agar_core::state::State;
use agar_store::{Reader, Sandbox, Scope, Snapshot};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Throws away what is left of a collected sandbox, but for layers that forks stand on; and what was
/// left of others for its sake alone.
pub(crate) fn dispose(engine: &Engine, here: &Here, id: SandboxId) -> Result<(), EngineError> {
    let directory = here.sandbox(id);
    let (record, snapshots) = here.read(|store| Ok((store.sandbox(id)?, store.snapshots(id)?)))?;
    let own = Blueprint::of(&record).ok();
    let own = own.iter().flat_map(|blueprint| &blueprint.stacks);
    let mut stood_on: BTreeSet<PathBuf> = own.flat_map(|stack| stack.kept.clone()).collect();
    for snapshot in &snapshots {
        stood_on.extend(
            shelves(&record.alias, snapshot)?
                .into_iter()
                .flat_map(|it| it.kept),
        );
    }
    let borrowed: BTreeSet<PathBuf> = stood_on
        .into_iter()
        .filter(|layer| !layer.starts_with(&directory))
        .collect();
    let is_plain = snapshots.is_empty() && borrowed.is_empty();
    if !is_plain {
        here.write(|store| {
            for snapshot in &snapshots {
                store.remove_snapshot(snapshot, "sandbox gone", engine.now())?;
            }
            Ok(())
        })?;
    }
    let mut homes: BTreeSet<SandboxId> = borrowed
        .iter()
        .filter_map(|path| home(here, path))
        .collect();
    homes.insert(id);
    if is_plain {
        return here.throw_away(&directory);
    }
    let used = in_use(here)?;
    for home in homes {
        let is_gone = here
            .read(|store| store.sandbox(home))
            .is_ok_and(|it| it.state == State::Collected);
        if is_gone {
            clear(here, home, &used)?;
        }
    }
    Ok(())
}

/// Forgets a snapshot, and throws away the layers that only it stood on. What descends from it
/// descends from its parent from then on.
pub(crate) fn forget(
    engine: &Engine,
    here: &Here,
    record: &Sandbox,
    (snapshot, reason): (&Snapshot, &str),
) -> Result<(), EngineError> {
    here.write(|store| {
        store.remove_snapshot(snapshot, reason, engine.now())?;
        if record.head == Some(snapshot.id) {
            store.set_head(record.id, snapshot.parent, engine.now())?;
        }
        Ok(())
    })?;
    clear_layers(here, record.id)
}

/// Throws away the layers in a sandbox's directory that nothing stands on. The caller has the turn, and
/// nothing is under way.
pub(crate) fn clear_layers(here: &Here, id: SandboxId) -> Result<(), EngineError> {
    let directory = here.sandbox(id);
    let is_layer = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        let starts = ["upper-", "kept-", "joined-"];
        name.is_some_and(|name| starts.iter().any(|start| name.starts_with(start)))
    };
    let entries = directory.read_dir().into_iter().flatten().flatten();
    let layers: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_layer).collect();
    // Looked at after the list: a layer that is made meanwhile is not on it.
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
    let entries = directory
        .read_dir()
        .map_err(EngineError::io("see what is left of a sandbox"))?;
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
        for stack in &Blueprint::of(&record)?.stacks {
            used.extend(stack.written().map(Path::to_owned));
        }
        let note = record.pending.as_deref();
        if let Some(note) = note.and_then(|text| serde_json::from_str::<Note>(text).ok()) {
            used.extend(note.made.iter().cloned());
            let arrival = note.arrival.iter().flat_map(|arrival| &arrival.stacks);
            used.extend(arrival.flat_map(|stack| stack.written().map(Path::to_owned)));
        }
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
