//! Fewer layers that show the same.
//!
//! Every snapshot of an idle sandbox adds a layer, and a name that nobody has is looked for in each.
//! Runs of layers are therefore joined in the background. The joined layer is used from the next
//! time on that a sandbox is laid anew; its parts stay for as long as a snapshot between them does.
//!
//! A joined layer is on no record until it is whole. So one process at a time joins in the directory of a
//! sandbox or throws away what was joined there; whoever comes second leaves it to the first.

use crate::blueprint::Blueprint;
use crate::failure::EngineError;
use crate::here::Here;
use crate::travel::{shelves, to_text};
use crate::upkeep::Due;
use crate::{Engine, whereabouts};
use agar_sandbox::snapshot::{self, JoinError};
use agar_sandbox::spelling;
use agar_store::{Joined, Reader, Sandbox, Scope, Snapshot, StoreError};
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// How many layers are joined at a time. Of each level fewer than that are left, so that a hundred
/// snapshots are four layers and five hundred eight.
const RUN: usize = 4;

/// Layers that hold no more than this all together become one, however often each was joined: to link so
/// little again costs less than to look through it in several places ever after.
const LITTLE: usize = 1000;

/// How many layers that were never joined may lie there before someone is sent to join them: he
/// costs more than the joining.
const WAITING_MAX: usize = 8;

/// So many layers are joined at once, whoever waits: far below what the kernel takes, and where a
/// look at a missing name begins to be felt.
pub(crate) const LAYERS_MAX: usize = 48;

/// A run of layers, as it is recorded.
#[derive(Debug, Serialize, Deserialize)]
#[serde(transparent)]
struct Run(#[serde(with = "spelling::siblings")] Vec<PathBuf>);

/// Layers, topmost first, with every run that was joined replaced by the layer that stands for it.
pub(crate) fn condensed(here: &Here, kept: Vec<PathBuf>) -> Result<Vec<PathBuf>, EngineError> {
    // What is not long enough to be a run may still be what was left of one.
    if kept.len() < RUN && kept.iter().all(|layer| level(layer) == 0) {
        return Ok(kept);
    }
    let joined = here.read(|store| store.joined())?;
    Ok(replaced(kept, &parsed(&joined)))
}

pub(super) fn parsed(joined: &[Joined]) -> Vec<(PathBuf, Vec<PathBuf>)> {
    let one = |joined: &Joined| {
        let run: Run = serde_json::from_str(&joined.parts).ok()?;
        Some((joined.layer.clone(), run.0))
    };
    let mut all: Vec<_> = joined.iter().filter_map(one).collect();
    // Parts come before what they were joined to, whosever directory that lies in.
    all.sort_by(|(one, _), (other, _)| (level(one), one).cmp(&(level(other), other)));
    all
}

/// Replaces runs until there is none left to replace.
fn replaced(mut kept: Vec<PathBuf>, joined: &[(PathBuf, Vec<PathBuf>)]) -> Vec<PathBuf> {
    // Told by their first layer, since most runs are nowhere in what is kept.
    let begins: HashMap<&OsStr, Vec<&(PathBuf, Vec<PathBuf>)>> = joined
        .iter()
        .filter_map(|one| Some((one.1.first()?.as_os_str(), one)))
        .fold(HashMap::new(), |mut begins, (first, one)| {
            begins.entry(first).or_default().push(one);
            begins
        });
    let mut at = 0;
    while let Some(layer) = kept.get(at) {
        let runs = begins.get(layer.as_os_str()).into_iter().flatten();
        let found = runs.copied().find(|(_, run)| kept[at..].starts_with(run));
        match found {
            Some((layer, run)) => {
                kept.splice(at..at + run.len(), [layer.clone()]);
                // What it became may be the end of a longer run that begins above it.
                at = 0;
            }
            None => at += 1,
        }
    }
    kept
}

/// Has layers joined: in the background where there are many, at once where there are very many. What
/// becomes of it is no concern of whoever took the snapshot that made them so many.
pub(crate) fn tend(
    engine: &Engine,
    record: &Sandbox,
    blueprint: &Blueprint,
) -> Result<(), EngineError> {
    let single = |layer: &&PathBuf| level(layer) == 0;
    let any = |is_much: &dyn Fn(&[PathBuf]) -> bool| {
        blueprint.stacks.iter().any(|stack| is_much(&stack.kept))
    };
    if any(&|kept| kept.len() > LAYERS_MAX) {
        drop(condense(engine, engine.here()?, record));
    } else if any(&|kept| kept.iter().filter(single).count() > WAITING_MAX) {
        engine.later(Due::Everything);
    }
    Ok(())
}

/// Joins layers wherever there are many, and uses what was joined in the records that nothing is
/// mounted from. Answers how many layers were made. What is wrong with one sandbox keeps neither the
/// others nor the clean-up after this waiting.
pub(crate) fn condense_all(engine: &Engine, here: &Here) -> Result<u64, EngineError> {
    let mut made = 0;
    let records = here.read(|store| store.sandboxes(here.project_id(), Scope::Kept))?;
    for record in &records {
        made += condense(engine, here, record).unwrap_or(0);
        drop(renew(engine, here, record));
    }
    Ok(made)
}

/// The right to join layers in a sandbox's directory and to throw joined ones away, unless somebody has
/// it. Given up when dropped, or when the process dies. It is the directory itself that is locked: a file
/// in it could be thrown away with the rest, and made again by somebody else.
pub(super) fn right_to_join(sandbox: &Path) -> Result<Option<OwnedFd>, EngineError> {
    let doing = "see whether somebody joins the layers of this sandbox";
    let failed = |errno: Errno| EngineError::io(doing)(errno.into());
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let lock = match rustix::fs::open(sandbox, flags, Mode::empty()) {
        Ok(lock) => lock,
        // It was removed, and everything in it.
        Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(failed(errno)),
    };
    match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(lock)),
        Err(Errno::WOULDBLOCK) => Ok(None),
        Err(errno) => Err(failed(errno)),
    }
}

/// Joins the layers of one sandbox until few are left, unless somebody else does.
fn condense(engine: &Engine, here: &Here, record: &Sandbox) -> Result<u64, EngineError> {
    let Some(_right) = right_to_join(&here.sandbox(record.id))? else {
        return Ok(0);
    };
    // Whoever had the right before may have changed what there is to join.
    let record = &here.read(|store| store.sandbox(record.id))?;
    let blueprint = Blueprint::of(record)?;
    // What lies below tells what a whiteout hides. Of a project that is nowhere to be found nobody knows.
    let Ok(laid) = whereabouts::stacks(here, &blueprint) else {
        return Ok(0);
    };
    let mut made = 0;
    let mut apart = BTreeSet::new();
    for stack in laid.iter() {
        let mut kept = condensed(here, stack.kept.clone())?;
        let next = |kept: &[PathBuf], apart: &BTreeSet<PathBuf>| {
            let run = next_run(kept, apart).or_else(|| rest(kept, apart));
            run.map(<[PathBuf]>::to_vec)
        };
        while let Some(run) = next(&kept, &apart) {
            let at = kept.windows(run.len()).position(|part| part == run);
            let below = kept.iter().skip(at.unwrap_or(0) + run.len());
            let below: Vec<PathBuf> = below.chain(&stack.lowers).cloned().collect();
            match join(engine, here, record, (&run, &below)) {
                Ok(Some(layer)) => {
                    made += 1;
                    kept = replaced(kept, &[(layer, run)]);
                }
                Ok(None) => return Ok(made),
                // It stays as it is: what is in it cannot be entered, or not be linked.
                Err(error) => match error.unjoinable() {
                    Some(layer) => drop(apart.insert(layer.to_owned())),
                    None => return Err(error.into()),
                },
            }
        }
    }
    Ok(made)
}

/// The oldest run of layers of the same level that is long enough to be joined.
///
/// A layer that stands for four is joined with three others like it, and so on: no file is linked
/// more often than there are levels, and there are few.
fn next_run<'k>(kept: &'k [PathBuf], apart: &BTreeSet<PathBuf>) -> Option<&'k [PathBuf]> {
    let mut end = kept.len();
    while end >= RUN {
        let run = &kept[end - RUN..end];
        let first = level(&run[RUN - 1]);
        let other = |layer: &PathBuf| level(layer) != first || apart.contains(layer);
        match run.iter().rposition(other) {
            None => return Some(run),
            // The next run ends with it, or above it if it is in no run at all.
            Some(other) => {
                let at = end - RUN + other;
                end = at + usize::from(!apart.contains(&kept[at]));
            }
        }
    }
    None
}

/// All layers, where runs were joined and what is left is several that hold little.
///
/// A run that was joined is the sign of a sandbox that is often pictured; the few layers of any other
/// are not worth it.
fn rest<'k>(kept: &'k [PathBuf], apart: &BTreeSet<PathBuf>) -> Option<&'k [PathBuf]> {
    let several = kept.len() > 1 && kept.iter().any(|layer| level(layer) > 0);
    let joinable = !kept.iter().any(|layer| apart.contains(layer));
    (several && joinable && holds_at_most(kept, LITTLE)).then_some(kept)
}

/// Whether all directories together have no more names in them than this. What cannot be read may
/// hold anything.
fn holds_at_most(directories: &[PathBuf], most: usize) -> bool {
    let mut left = most;
    let mut waiting = directories.to_vec();
    while let Some(directory) = waiting.pop() {
        let Ok(entries) = directory.read_dir() else {
            return false;
        };
        for entry in entries {
            let known = entry.and_then(|entry| Ok((entry.file_type()?.is_dir(), entry.path())));
            let (Ok((is_directory, path)), Some(one_less)) = (known, left.checked_sub(1)) else {
                return false;
            };
            left = one_less;
            if is_directory {
                waiting.push(path);
            }
        }
    }
    true
}

/// How often a layer was joined, which its name tells.
fn level(layer: &Path) -> u32 {
    let name = layer.file_name().and_then(|name| name.to_str());
    name.and_then(|name| {
        name.strip_prefix("joined-")?
            .split('-')
            .next()?
            .parse()
            .ok()
    })
    .unwrap_or(0)
}

/// A run could not be joined.
#[derive(Debug)]
enum Failed {
    Join(JoinError),
    Other(EngineError),
}

impl Failed {
    fn unjoinable(&self) -> Option<&Path> {
        match self {
            Self::Join(error) => error.unjoinable(),
            Self::Other(_) => None,
        }
    }
}

impl From<EngineError> for Failed {
    fn from(error: EngineError) -> Self {
        Self::Other(error)
    }
}

impl From<Failed> for EngineError {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Join(error) => error.into(),
            Failed::Other(error) => error,
        }
    }
}

/// Joins one run, for whoever has the right. Nothing is made of what is being given up meanwhile.
fn join(
    engine: &Engine,
    here: &Here,
    record: &Sandbox,
    (run, below): (&[PathBuf], &[PathBuf]),
) -> Result<Option<PathBuf>, Failed> {
    let level = run.iter().map(|layer| level(layer)).max().unwrap_or(0) + 1;
    // Nobody had this name before: what a layer stands for never changes, also when it is long gone.
    let name = format!("joined-{level}-{}", engine.new_mark());
    let layer = here.sandbox(record.id).join(name);
    let part = snapshot::unfinished(&layer);
    if let Err(error) = snapshot::join(run, below, &part) {
        // What it could not begin is not its own.
        if !matches!(error, JoinError::Target { .. }) {
            here.throw_away(&part)?;
        }
        return Err(Failed::Join(error));
    }
    fs_err::rename(&part, &layer).map_err(EngineError::io("finish a joined layer"))?;
    let parts =
        serde_json::to_string(&Run(run.to_vec())).map_err(|source| EngineError::Record {
            alias: record.alias.clone(),
            source,
        })?;
    let joined = Joined {
        layer: layer.clone(),
        sandbox: record.id,
        parts,
    };
    let stands = here.write(|store| {
        // A part that was given up may have lost files while it was read. A sandbox that was removed
        // clears its directory of all that is on no record.
        let stands = store.read().sandbox(record.id)?.state.has_layers()
            && run.iter().all(|part| part.is_dir());
        if stands {
            store.add_joined(&joined)?;
        }
        Ok(stands)
    })?;
    if !stands {
        here.throw_away(&layer)?;
    }
    Ok(stands.then_some(layer))
}

/// Uses joined layers in the snapshots of a sandbox, and in the sandbox itself while it has no jail.
fn renew(engine: &Engine, here: &Here, record: &Sandbox) -> Result<(), EngineError> {
    let mut recorded = here.read(|store| store.joined())?;
    recorded.retain(|joined| joined.layer.is_dir());
    let joined = parsed(&recorded);
    if joined.is_empty() {
        return Ok(());
    }
    let snapshots = here.read(|store| store.snapshots(record.id))?;
    let renewed: Vec<(Snapshot, String)> = snapshots
        .into_iter()
        .filter_map(|snapshot| renewed(record, snapshot, &joined).transpose())
        .collect::<Result<_, _>>()?;
    if !renewed.is_empty() {
        here.write(|store| {
            if !are_there(&store.read(), &recorded)? {
                return Ok(());
            }
            let now = store.read().snapshots(record.id)?;
            let is_same = |old: &Snapshot| {
                now.iter()
                    .any(|now| now.id == old.id && now.stacks == old.stacks)
            };
            for (snapshot, stacks) in renewed.iter().filter(|(old, _)| is_same(old)) {
                store.set_snapshot_stacks(snapshot.id, stacks)?;
            }
            Ok(())
        })?;
    }
    let Some(_turn) = crate::turn::Turn::attempt(&here.sandbox(record.id))? else {
        return Ok(());
    };
    let record = here.read(|store| store.sandbox(record.id))?;
    if record.state.is_alive() || !record.state.has_layers() || record.pending.is_some() {
        return Ok(());
    }
    let mut blueprint = Blueprint::of(&record)?;
    for stack in &mut blueprint.stacks {
        stack.kept = replaced(std::mem::take(&mut stack.kept), &joined);
    }
    let text = blueprint.to_text()?;
    if text == record.stacks {
        return Ok(());
    }
    here.write(|store| {
        let is_same = store.read().sandbox(record.id)?.stacks == record.stacks;
        if is_same && are_there(&store.read(), &recorded)? {
            store.set_stacks(record.id, &text, engine.now())?;
        }
        Ok(())
    })
}

/// Whether layers that were read are still there: whoever clears the directory that they lie in takes them
/// off the record first.
fn are_there(store: &Reader<'_>, joined: &[Joined]) -> Result<bool, StoreError> {
    let recorded = store.joined()?;
    let recorded: HashMap<&Path, &Joined> = recorded
        .iter()
        .map(|joined| (joined.layer.as_path(), joined))
        .collect();
    Ok(joined.iter().all(|joined| {
        let found = recorded.get(joined.layer.as_path());
        found.is_some_and(|found| *found == joined) && joined.layer.is_dir()
    }))
}

fn renewed(
    record: &Sandbox,
    snapshot: Snapshot,
    joined: &[(PathBuf, Vec<PathBuf>)],
) -> Result<Option<(Snapshot, String)>, EngineError> {
    let mut trees = shelves(&record.alias, &snapshot)?;
    for tree in &mut trees {
        tree.kept = replaced(std::mem::take(&mut tree.kept), joined);
    }
    let text = to_text(&trees)?;
    Ok((text != snapshot.stacks).then_some((snapshot, text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layers(names: impl IntoIterator<Item = String>) -> Vec<PathBuf> {
        names
            .into_iter()
            .map(|name| Path::new("/s").join(name))
            .collect()
    }

    #[test]
    fn layers_stay_few_however_many_snapshots_there_are() {
        let mut kept: Vec<PathBuf> = Vec::new();
        let mut joined = Vec::new();
        let (mut most, mut linked) = (0, 0);
        for number in 0..5000 {
            kept.insert(0, Path::new("/s").join(format!("upper-0-{number}")));
            while let Some(run) = next_run(&kept, &BTreeSet::new()).map(<[PathBuf]>::to_vec) {
                let name = format!("joined-{}-{}", level(&run[0]) + 1, joined.len());
                joined.push((Path::new("/s").join(name), run));
                linked += 1;
                kept = replaced(kept, &joined[joined.len() - 1..]);
            }
            most = most.max(kept.len());
        }
        // Below RUN of each level, and one run more before it is joined.
        assert!(most <= 6 * RUN, "{most} layers");
        assert!(linked <= 5000 / (RUN - 1), "{linked} joins");
    }

    #[test]
    fn layers_beside_one_that_cannot_be_read_are_joined_all_the_same() {
        let kept = layers((0..10).rev().map(|number| format!("upper-0-{number}")));
        let locked = BTreeSet::from([kept[7].clone()]);
        let run = next_run(&kept, &locked).unwrap();
        assert_eq!(run, &kept[7 - RUN..7]);
        assert_eq!(next_run(&kept[7 - RUN + 1..], &locked), None);
    }

    #[test]
    fn what_is_left_becomes_one_where_it_is_little_and_something_was_joined() {
        let place = tempfile::tempdir().unwrap();
        let layer = |name: &str, files: usize| {
            let layer = place.path().join(name);
            fs_err::create_dir_all(layer.join("src")).unwrap();
            for number in 0..files {
                fs_err::write(layer.join(format!("src/{number}")), b"").unwrap();
            }
            layer
        };
        let none = BTreeSet::new();
        let kept = [layer("upper-0-9", 1), layer("joined-2-7", 3)];
        assert_eq!(rest(&kept, &none), Some(&kept[..]));
        assert_eq!(rest(&kept[1..], &none), None, "it is one already");
        let single = [layer("upper-0-8", 1), layer("upper-0-9", 1)];
        assert_eq!(rest(&single, &none), None, "nothing was joined");
        let locked = BTreeSet::from([kept[0].clone()]);
        assert_eq!(rest(&kept, &locked), None, "one cannot be read");
        let much = [layer("upper-0-9", 1), layer("joined-1-8", LITTLE)];
        assert_eq!(rest(&much, &none), None, "it is too much");
        let gone = [place.path().join("joined-1-1"), kept[1].clone()];
        assert_eq!(rest(&gone, &none), None, "who knows what it holds");
    }

    #[test]
    fn a_run_is_replaced_only_where_it_is_whole() {
        let all = layers(["d", "c", "b", "a"].map(str::to_owned));
        let joined = vec![(PathBuf::from("/s/j"), layers(["c", "b"].map(str::to_owned)))];
        let want = layers(["d", "j", "a"].map(str::to_owned));
        assert_eq!(replaced(all, &joined), want);
        let broken = layers(["d", "c", "a"].map(str::to_owned));
        assert_eq!(replaced(broken.clone(), &joined), broken);
    }
}
