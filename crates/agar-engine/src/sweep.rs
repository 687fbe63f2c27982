//! Clears away what a crash left behind, at the start of every command.
//!
//! Costs a directory read or two when there is nothing to do. Whatever cannot be cleared now is
//! found again by the next command, so no failure here stands in a person's way.

use crate::alive::{self, Behind, Found, Stay, Vacant};
use crate::failure::EngineError;
use crate::here::Here;
use crate::turn::Turn;
use crate::unpromoted::is_unpromoted;
use crate::view::RunNotes;
use crate::{Engine, attended, layers, promotion, travel};
use agar_core::fault::{Fault as _, Kind};
use agar_core::id::SandboxId;
use agar_core::run::{End, Usage};
use agar_core::state::{Event, State};
use agar_jail::report::RunReport;
use agar_store::{Run, RunEnd, Sandbox, StoreError, Writer};
use rustix::fs::{Mode, OFlags};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::time::Duration;

/// Finishes or reverses what a crash interrupted.
pub(crate) fn sweep(engine: &Engine, here: &Here) -> Result<(), EngineError> {
    promotion::recover(engine, here)?;
    travel::settle_all(engine, here)?;
    // Before the marks: a socket is made after its sandbox's mark, so one that is here now and has no
    // mark then is not that of a sandbox that is being made.
    let sockets = sockets(engine);
    let marks = alive::marks(here.state.path()).map_err(EngineError::io("see what is alive"))?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let sandboxes = rustix::fs::open(here.state.sandboxes(), flags, Mode::empty()).ok();
    let held = alive::Held::read(here.state.path(), &marks);
    let is_well = |mark: &&Found| {
        let sandboxes = sandboxes.as_ref();
        held.minds(mark) || sandboxes.is_some_and(|it| mark.has_keeper(it.as_fd()))
    };
    for mark in marks.iter().filter(|mark| !is_well(mark)) {
        // The next command tries again.
        drop(settle(engine, here, mark));
    }
    attended::conclude_all(engine, here, &marks);
    // They are in the order of their ids.
    let unmarked = |id: &SandboxId| marks.binary_search_by_key(id, |mark| mark.id).is_err();
    clear_sockets(engine, here, sockets.into_iter().filter(unmarked));
    clear_lingering(here);
    Ok(())
}

/// Tries again to remove control groups that could not be removed when their sandbox went.
fn clear_lingering(here: &Here) {
    for (note, groups) in alive::lingering(here.state.path()) {
        if agar_jail::cgroup::remove_recorded(&groups).is_empty() {
            // A note that stays is read again, and names nothing.
            let _ = rustix::fs::unlink(&note);
        }
    }
}

/// The sandboxes that have a socket.
fn sockets(engine: &Engine) -> Vec<SandboxId> {
    // All sockets of a user lie side by side, so where any would be is where they are.
    let anywhere = Here::socket(engine, engine.new_sandbox_id());
    let entries = anywhere.parent().map(Path::read_dir);
    let names = entries.into_iter().flatten().flatten().flatten();
    names
        .filter_map(|entry| {
            let name = entry.file_name();
            name.to_str()?.strip_suffix(".sock")?.parse().ok()
        })
        .collect()
}

/// Removes names of sockets that nobody listens on any more: their keepers were killed, and the
/// sandbox is gone without them.
fn clear_sockets(engine: &Engine, here: &Here, ids: impl Iterator<Item = SandboxId>) {
    for id in ids {
        let gone = here
            .keeper(engine, id)
            .is_err_and(|error| error.kind() == Kind::NotFound);
        if gone {
            clear_outside_if_vacant(engine, here, id);
        }
    }
}

/// Clears away what is behind a mark, unless somebody works on the sandbox.
fn settle(engine: &Engine, here: &Here, mark: &Found) -> Result<(), EngineError> {
    let directory = here.sandbox(mark.id);
    if let Behind::Alive = look(mark, &directory)? {
        return Ok(());
    }
    // Whoever is ending its jail, or putting up another, has the turn and sees to the mark. Clearing
    // away beside them would take the next jail for the one that died: its record would say that it
    // ended, and nobody would end it.
    match Turn::attempt(&directory) {
        Ok(Some(_turn)) => settle_in_turn(engine, here, mark),
        Ok(None) => Ok(()),
        // Without a directory there is nobody to wait for: it was not made yet, or thrown away.
        Err(_) if !directory.exists() => settle_in_turn(engine, here, mark),
        Err(error) => Err(error),
    }
}

fn look(mark: &Found, directory: &Path) -> Result<Behind, EngineError> {
    mark.look_behind(directory)
        .map_err(EngineError::io("see whether a sandbox is alive"))
}

/// The same for whoever has the turn.
fn settle_in_turn(engine: &Engine, here: &Here, mark: &Found) -> Result<(), EngineError> {
    let directory = here.sandbox(mark.id);
    let look = || look(mark, &directory);
    match look()? {
        Behind::Alive => Ok(()),
        Behind::Nobody(vacant) => clear(engine, here, mark, vacant),
        Behind::Orphaned => {
            // Its keeper is about to notice that the command is gone; this waits until it has. It may
            // not listen yet, or not any more.
            for _ in 0..TRIES_MAX {
                if let Ok(keeper) = here.keeper(engine, mark.id) {
                    // One that is ending already does not answer.
                    drop(keeper.stop());
                }
                match look()? {
                    Behind::Nobody(vacant) => return clear(engine, here, mark, vacant),
                    Behind::Alive => return Ok(()),
                    Behind::Orphaned => std::thread::park_timeout(Duration::from_millis(1)),
                }
            }
            Ok(())
        }
    }
}

/// Waits until nothing is left of a jail whose keeper is gone, and says so in the sandbox's record.
/// Nothing if somebody is there after all. The caller has the turn.
pub(crate) fn bury(
    engine: &Engine,
    here: &Here,
    record: &Sandbox,
) -> Result<Option<Sandbox>, EngineError> {
    for _ in 0..TRIES_MAX {
        let marks =
            alive::marks(here.state.path()).map_err(EngineError::io("see what is alive"))?;
        for mark in marks.iter().filter(|mark| mark.id == record.id) {
            settle_in_turn(engine, here, mark)?;
        }
        let record = here.read(|store| store.sandbox(record.id))?;
        if !record.state.is_alive() {
            return Ok(Some(record));
        }
        std::thread::park_timeout(Duration::from_millis(1));
    }
    Ok(None)
}

/// How often a command looks, a millisecond apart, whether a keeper without a command has ended.
const TRIES_MAX: u32 = 5000;

/// Nobody minds this sandbox any more: says so in its record and removes what its jail used.
fn clear(engine: &Engine, here: &Here, mark: &Found, vacant: Vacant) -> Result<(), EngineError> {
    let id = mark.id;
    clear_outside(engine, here, id);
    let directory = here.sandbox(id);
    match here.read(|store| store.sandbox(id)) {
        Ok(record) if record.state == State::Creating => {
            // It never ran, so there is nothing in it that anybody made.
            here.write(|store| {
                for event in [Event::Finish, Event::Discard, Event::Collect] {
                    store.advance_sandbox(id, event, engine.now())?;
                }
                Ok(())
            })?;
            here.throw_away(&directory)?;
        }
        Ok(record) if record.state.is_alive() => {
            // What cannot be told is kept.
            let removable =
                mark.stay == Stay::OneRun && !is_unpromoted(here, &record).unwrap_or(true);
            end_of_jail(engine, here, id)?;
            if removable {
                layers::collect(engine, here, id)?;
            }
        }
        Ok(record) if record.state == State::Collected => travel::dispose(engine, here, id)?,
        Ok(_) => {}
        // Not on record: the command died before it wrote one.
        Err(_) => here.throw_away(&directory)?,
    }
    vacant.remove();
    Ok(())
}

/// Removes what a keeper that was killed leaves outside the sandbox's directory: its socket and its
/// control groups. A group that will not go yet is written down, and tried again by the next command.
pub(crate) fn clear_outside(engine: &Engine, here: &Here, id: SandboxId) {
    // Absence is what is wanted.
    let _ = rustix::fs::unlink(Here::socket(engine, id));
    let left = agar_jail::keeper::sweep(&here.sandbox(id));
    if !left.is_empty() {
        // On a full disk it stays where it is: an empty group, which holds nothing.
        drop(alive::note_lingering(here.state.path(), id, &left));
    }
}

/// The same, unless the sandbox has a keeper: what is there then is not what was left behind.
pub(crate) fn clear_outside_if_vacant(engine: &Engine, here: &Here, id: SandboxId) {
    if let Ok(Some(_lock)) = alive::without_keeper(&here.sandbox(id)) {
        clear_outside(engine, here, id);
    }
}

/// A keeper is left to take its empty jail down by itself. Should it be killed before it has, the
/// next command knows of the control groups.
pub(crate) fn leave_outside(here: &Here, id: SandboxId) {
    let groups = agar_jail::keeper::groups_of(&here.sandbox(id));
    if !groups.is_empty() {
        // On a full disk they are left to the keeper alone.
        drop(alive::note_lingering(here.state.path(), id, &groups));
    }
}

/// Says that a sandbox has no jail any more, and how its runs ended. One that went too far is undone
/// before its end is on record: until then the next command sees to it. The caller has the turn.
pub(crate) fn end_of_jail(engine: &Engine, here: &Here, id: SandboxId) -> Result<(), EngineError> {
    let debts = attended::debts(here, id)?;
    here.write(|store| store.advance_sandbox(id, Event::Finish, engine.now()))?;
    attended::settle(engine, here, &debts)?;
    end_lost_runs(engine, here, id)
}

/// Gives every run without an end the one that its keeper saw, or says that nobody saw it. Whoever still
/// minds a run does so themselves: they may have it started again in the next jail.
fn end_lost_runs(engine: &Engine, here: &Here, id: SandboxId) -> Result<(), EngineError> {
    let directory = here.sandbox(id);
    let runs = here.read(|store| store.runs(id))?;
    let lost: Vec<Run> = runs
        .into_iter()
        .filter(|run| run.end.is_none())
        .filter(|run| !attended::is_minded(&run_directory(&directory, run.number)))
        .collect();
    if lost.is_empty() {
        return Ok(());
    }
    here.write(|store| {
        for run in &lost {
            let report = read_report(&directory, run.number);
            let notes = report.as_ref().map(RunNotes::of).unwrap_or_default();
            write_end(engine, store, run, (&directory, report.as_ref(), &notes))?;
        }
        Ok(())
    })
}

/// Writes down the end of a run for whoever had asked for it.
pub(crate) fn write_end(
    engine: &Engine,
    store: &Writer<'_>,
    run: &Run,
    (sandbox, report, notes): (&Path, Option<&RunReport>, &RunNotes),
) -> Result<(), StoreError> {
    let notes = serde_json::to_string(notes).ok();
    let end = report.map_or(End::Lost, |report| report.end.clone());
    let output = run_directory(sandbox, run.number).join("output");
    let ended = RunEnd {
        end: &end,
        usage: report.map_or_else(Usage::default, |report| report.usage),
        report: notes.as_deref(),
        log_bytes: output.metadata().map_or(0, |metadata| metadata.len()),
    };
    match store.end_run(run.sandbox, run.number, &ended, engine.now()) {
        // They heard of its end, too, and wrote it down first.
        Ok(()) | Err(StoreError::RunEnded { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Where the record of a run lies.
pub(crate) fn run_directory(sandbox: &Path, number: u32) -> std::path::PathBuf {
    sandbox.join("runs").join(number.to_string())
}

/// The report that the keeper wrote, if it got that far.
pub(crate) fn read_report(sandbox: &Path, number: u32) -> Option<RunReport> {
    let text = fs_err::read(run_directory(sandbox, number).join("report.json")).ok()?;
    serde_json::from_slice(&text).ok()
}
