//! Which snapshots that nobody asked for stay, and what goes with the others.

use crate::failure::EngineError;
use crate::here::Here;
use crate::travel::dispose;
use crate::turn::Turn;
use crate::wishes::GRACE_MS;
use crate::{Engine, layers};
use agar_core::id::SnapshotId;
use agar_core::seam::Timestamp;
use agar_core::snapshot::SnapshotKind;
use agar_store::{Sandbox, Scope, Snapshot};
use std::collections::BTreeSet;

/// How many snapshots of all sandboxes of the project would go.
pub(crate) fn count_excess(engine: &Engine, here: &Here, keep: u32) -> Result<u64, EngineError> {
    let mut count = 0;
    for record in here.read(|store| store.sandboxes(here.project_id(), Scope::Kept))? {
        count += excess(engine, here, (&record, keep))?.len() as u64;
    }
    Ok(count)
}

/// Forgets the oldest automatic snapshots of all sandboxes of the project, and throws away layers that
/// nothing stands on any more. Answers how many snapshots went.
pub(crate) fn retain_all(engine: &Engine, here: &Here, keep: u32) -> Result<u64, EngineError> {
    let mut gone = 0;
    for record in here.read(|store| store.sandboxes(here.project_id(), Scope::Kept))? {
        let directory = here.sandbox(record.id);
        if !directory.is_dir() || layers::refuse_foreign(&directory).is_err() {
            // Somebody else's now, which `prune` says.
            continue;
        }
        // Whoever works on it is not disturbed; the next clean-up comes.
        let Some(_turn) = Turn::attempt(&directory)? else {
            continue;
        };
        let record = here.read(|store| store.sandbox(record.id))?;
        if record.pending.is_some() || !record.state.has_layers() {
            continue;
        }
        let old = excess(engine, here, (&record, keep))?;
        forget(engine, here, &old)?;
        gone += old.len() as u64;
        dispose::clear_layers(here, record.id)?;
    }
    Ok(gone)
}

fn forget(engine: &Engine, here: &Here, old: &[Snapshot]) -> Result<(), EngineError> {
    if old.is_empty() {
        return Ok(());
    }
    here.write(|store| {
        for snapshot in old {
            store.remove_snapshot(snapshot, "kept long enough", engine.now())?;
        }
        Ok(())
    })
}

fn excess(
    engine: &Engine,
    here: &Here,
    (record, keep): (&Sandbox, u32),
) -> Result<Vec<Snapshot>, EngineError> {
    let snapshots = here.read(|store| store.snapshots(record.id))?;
    let is_head = |snapshot: &Snapshot| record.head == Some(snapshot.id);
    // Who was forked from which takes a look at all of them, for which there is seldom a reason.
    if choose(snapshots.clone(), keep, engine.now(), is_head).is_empty() {
        return Ok(Vec::new());
    }
    let forks = here.read(|store| store.sandboxes(Some(record.project), Scope::Kept))?;
    let origins: BTreeSet<SnapshotId> = forks.iter().filter_map(|fork| fork.origin).collect();
    let is_needed = |snapshot: &Snapshot| is_head(snapshot) || origins.contains(&snapshot.id);
    Ok(choose(snapshots, keep, engine.now(), is_needed))
}

/// Those that go: of the ones before commands all but the newest, of the ones before a return or a
/// fork, which may hold the only trace of somebody's work, those that are also older than the trash
/// is kept.
fn choose(
    snapshots: Vec<Snapshot>,
    keep: u32,
    now: Timestamp,
    is_needed: impl Fn(&Snapshot) -> bool,
) -> Vec<Snapshot> {
    let mut automatic: Vec<Snapshot> = snapshots
        .into_iter()
        .filter(|snapshot| snapshot.kind != SnapshotKind::Asked)
        .collect();
    automatic.sort_by_key(|snapshot| std::cmp::Reverse(snapshot.number));
    let beyond = automatic.into_iter().skip(keep as usize);
    beyond
        .filter(|snapshot| match snapshot.kind {
            SnapshotKind::BeforeRun => true,
            SnapshotKind::BeforeRestore | SnapshotKind::BeforeFork => {
                now.since(snapshot.created) >= GRACE_MS
            }
            SnapshotKind::Asked => false,
        })
        .filter(|snapshot| !is_needed(snapshot))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use agar_core::id::SandboxId;
    use agar_core::snapshot::Taken;
    use agar_core::walls::BaseKind;

    fn snapshot(number: u64, kind: SnapshotKind) -> Snapshot {
        let time = Timestamp::from_millis(number);
        Snapshot {
            id: SnapshotId::new(time, [u8::try_from(number).unwrap(); 10]),
            sandbox: SandboxId::new(time, [0; 10]),
            number,
            name: format!("s{number}"),
            kind,
            note: None,
            parent: None,
            base: BaseKind::Frozen,
            generation: None,
            stacks: String::new(),
            taken: Taken::Idle,
            frozen_us: None,
            created: time,
        }
    }

    fn gone(keep: u32, now: u64, needed: u64) -> Vec<u64> {
        let all = vec![
            snapshot(1, SnapshotKind::BeforeRun),
            snapshot(2, SnapshotKind::Asked),
            snapshot(3, SnapshotKind::BeforeRestore),
            snapshot(4, SnapshotKind::BeforeRun),
            snapshot(5, SnapshotKind::BeforeRun),
        ];
        let is_needed = |it: &Snapshot| it.number == needed;
        let chosen = choose(all, keep, Timestamp::from_millis(now), is_needed);
        let mut numbers: Vec<u64> = chosen.iter().map(|it| it.number).collect();
        numbers.sort_unstable();
        numbers
    }

    #[test]
    fn what_somebody_asked_for_stays_and_so_do_the_newest() {
        assert_eq!(gone(1, 10, 0), [1, 4]);
        assert_eq!(gone(0, 10, 0), [1, 4, 5]);
        assert_eq!(gone(9, 10, 0), [0_u64; 0]);
    }

    #[test]
    fn a_state_that_was_left_stays_as_long_as_the_trash() {
        assert_eq!(gone(1, GRACE_MS + 10, 0), [1, 3, 4]);
    }

    #[test]
    fn what_the_sandbox_or_a_fork_descends_from_stays() {
        assert_eq!(gone(0, 10, 5), [1, 4]);
    }
}
