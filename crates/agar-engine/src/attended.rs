//! Runs whose command died before it could write down how they ended.
//!
//! Whoever runs a command in a sandbox that stays holds a lock on the run's directory until the end is
//! on record. A run without an end that nobody holds is written down by the next command, from what
//! the keeper saw; and if it went too far and was to be undone then, it is undone now.

use crate::alive::{Found, Stay};
use crate::failure::EngineError;
use crate::here::Here;
use crate::sweep::{self, run_directory};
use crate::turn::Turn;
use crate::view::RunNotes;
use crate::{Engine, layers, travel};
use agar_core::fault::{Fault as _, Kind};
use agar_core::id::{SandboxId, SnapshotId};
use agar_core::run::End;
use agar_jail::client::Keeper;
use agar_jail::report::RunReport;
use agar_store::Run;
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::Path;

/// The file that names the snapshot to return to if the run goes too far.
const WAY_BACK: &str = "way-back";

/// Somebody minds a run until this is dropped.
#[derive(Debug)]
pub(crate) struct Attended {
    _lock: OwnedFd,
}

impl Attended {
    /// Makes the directory of a run and minds it. To be called before others can see the run.
    pub(crate) fn begin(
        directory: &Path,
        way_back: Option<SnapshotId>,
    ) -> Result<Self, EngineError> {
        let failed = || EngineError::io("make the run's directory");
        layers::make_private(directory).map_err(failed())?;
        let lock = open(directory).map_err(|errno| failed()(errno.into()))?;
        rustix::fs::flock(&lock, FlockOperation::LockExclusive)
            .map_err(|errno| failed()(errno.into()))?;
        let note = directory.join(WAY_BACK);
        match way_back {
            Some(snapshot) => fs_err::write(note, snapshot.to_string()).map_err(failed())?,
            // Whoever had this number before may have died before the run was on record.
            None => match rustix::fs::unlink(&note) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(errno) => return Err(failed()(errno.into())),
            },
        }
        Ok(Self { _lock: lock })
    }
}

fn open(directory: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    rustix::fs::open(directory, flags, Mode::empty())
}

/// Nobody minds a run; for as long as this is kept nobody else concludes it. There is nothing to hold
/// where its directory is gone.
#[derive(Debug)]
struct Left {
    _lock: Option<OwnedFd>,
}

/// Whether nobody minds a run.
fn left(directory: &Path) -> Option<Left> {
    let lock = match open(directory) {
        Ok(lock) => lock,
        Err(Errno::NOENT) => return Some(Left { _lock: None }),
        Err(_) => return None,
    };
    rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).ok()?;
    Some(Left { _lock: Some(lock) })
}

/// Whether somebody minds a run, and writes its end down.
pub(crate) fn is_minded(directory: &Path) -> bool {
    left(directory).is_none()
}

/// What to do while somebody else works on the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    /// Leave it to the next command.
    None,
    /// Wait: what follows relies on it.
    Turn,
}

/// Concludes runs that nobody minds any more, in sandboxes that stay.
pub(crate) fn conclude_all(engine: &Engine, here: &Here, marks: &[Found]) {
    let Ok(open) = here.read(|store| store.unfinished_runs()) else {
        return;
    };
    let stays = |id| match marks.iter().find(|mark| mark.id == id) {
        Some(mark) => mark.stay == Stay::UntilStopped,
        // Whoever minded the run died after the jail had ended.
        None => here
            .read(|store| store.sandbox(id))
            .is_ok_and(|record| !record.state.is_alive()),
    };
    for run in open.iter().filter(|run| stays(run.sandbox)) {
        // The next command tries again.
        drop(conclude(
            engine,
            here,
            (run.sandbox, run.number),
            Patience::None,
        ));
    }
}

/// The same for one sandbox in which something is about to be run.
pub(crate) fn conclude_in(engine: &Engine, here: &Here, id: SandboxId) -> Result<(), EngineError> {
    for number in here.read(|store| store.open_runs(id))? {
        conclude(engine, here, (id, number), Patience::Turn)?;
    }
    Ok(())
}

fn conclude(
    engine: &Engine,
    here: &Here,
    (id, number): (SandboxId, u32),
    patience: Patience,
) -> Result<(), EngineError> {
    let sandbox = here.sandbox(id);
    let Some(_left) = left(&run_directory(&sandbox, number)) else {
        return Ok(());
    };
    let run = here.read(|store| store.run(id, number))?;
    if run.ended.is_some() || !is_over(engine, here, &run) {
        return Ok(());
    }
    let report = sweep::read_report(&sandbox, number);
    let mut notes = report.as_ref().map(RunNotes::of).unwrap_or_default();
    if let Some(target) = way_back(&run_directory(&sandbox, number))
        && report.as_ref().is_some_and(went_too_far)
    {
        let turn = match patience {
            Patience::None => Turn::attempt(&sandbox)?,
            Patience::Turn => Turn::take_if_there(&sandbox)?,
        };
        let Some(_turn) = turn else {
            return Ok(());
        };
        notes.notes.push(take_back(engine, here, &run, target)?);
    }
    here.write(|store| sweep::write_end(engine, store, &run, (&sandbox, report.as_ref(), &notes)))
}

/// Runs of a sandbox without a keeper that went too far and are still to be undone, each with the way
/// back. To be asked before their ends are written down.
pub(crate) fn debts(here: &Here, id: SandboxId) -> Result<Vec<(Run, SnapshotId)>, EngineError> {
    let sandbox = here.sandbox(id);
    let mut debts = Vec::new();
    for number in here.read(|store| store.open_runs(id))? {
        let directory = run_directory(&sandbox, number);
        let report = sweep::read_report(&sandbox, number);
        if let Some(target) = way_back(&directory)
            && report.as_ref().is_some_and(went_too_far)
            && !is_minded(&directory)
        {
            debts.push((here.read(|store| store.run(id, number))?, target));
        }
    }
    Ok(debts)
}

/// Undoes them, for whoever has the turn.
pub(crate) fn settle(
    engine: &Engine,
    here: &Here,
    debts: &[(Run, SnapshotId)],
) -> Result<(), EngineError> {
    for (run, target) in debts.iter().rev() {
        take_back(engine, here, run, *target)?;
    }
    Ok(())
}

/// Whether a run has ended: its keeper says so, or there is none. One that does not answer is asked
/// again later.
fn is_over(engine: &Engine, here: &Here, run: &Run) -> bool {
    let is_reported = sweep::read_report(&here.sandbox(run.sandbox), run.number).is_some();
    is_reported || {
        let keeper = here.keeper(engine, run.sandbox);
        match keeper.and_then(Keeper::status_soon) {
            Ok(status) => !status.runs.contains(&run.number),
            Err(error) => error.kind() == Kind::NotFound,
        }
    }
}

fn went_too_far(report: &RunReport) -> bool {
    matches!(report.end, End::Stopped { .. }) || !report.denied.is_empty()
}

fn way_back(directory: &Path) -> Option<SnapshotId> {
    let text = fs_err::read_to_string(directory.join(WAY_BACK)).ok()?;
    text.parse().ok()
}

/// Returns the sandbox to what it was before a run, for whoever has the turn, and says what was done.
fn take_back(
    engine: &Engine,
    here: &Here,
    run: &Run,
    target: SnapshotId,
) -> Result<String, EngineError> {
    let record = here.read(|store| store.sandbox(run.sandbox))?;
    let (alias, number) = (&record.alias, run.number);
    let returned = here
        .read(|store| store.snapshot(target))
        .and_then(|target| {
            let left = travel::take_back_in_turn(engine, here, &record, &target)?;
            Ok((target, left))
        });
    let said = match returned {
        Ok((target, left)) => {
            let left = left.map_or_else(String::new, |left| {
                format!("; what it left is {}", travel::reference(&record, &left))
            });
            let back = travel::reference(&record, &target);
            format!("{alias} was returned to {back}: run {number} went too far{left}")
        }
        Err(error) => format!("{alias} could not be undone after run {number}: {error}"),
    };
    engine.surroundings().progress.told("undone", &said);
    Ok(said)
}
