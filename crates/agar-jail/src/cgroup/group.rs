//! One sandbox's group: its limits, what it uses, freezing, killing, and taking it away.

use super::hierarchy::{Hierarchy, make_directory};
use super::{Controller, GroupError, step, text};
use agar_core::limits::{Limits, Resource};
use rustix::event::{PollFd, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};
use std::path::{Path, PathBuf};

/// The init and its threads are in the group too, and are not the sandbox's.
const PROCESSES_OF_OURS: u64 = 4;
/// Length of a processor quota's period.
const PERIOD_US: u64 = 100_000;
/// How often a group that is still busy is tried again, two milliseconds apart.
const TRIES_MAX: u32 = 500;

/// A group of processes that the kernel counts together.
#[derive(Debug)]
pub struct Group {
    parts: Vec<Part>,
    enforced: Vec<Resource>,
    missing: Vec<(Resource, String)>,
    peak: Peak,
}

/// Since when the most memory in use is counted.
#[derive(Debug)]
enum Peak {
    /// Since the group was made, or since the kernel was told to forget.
    Whole,
    /// Since this was opened and written to, in version 2 from Linux 6.12 on.
    Since(OwnedFd),
    /// Since before what is asked about: the kernel does not forget.
    Unknown,
}

/// The group's directory in one hierarchy, and what it is there for.
#[derive(Debug)]
struct Part {
    directory: PathBuf,
    unified: bool,
    controllers: Vec<Controller>,
    /// Made and entered only when it is to freeze: it counts nothing, and to enter it takes longer
    /// than all else that a sandbox takes to start.
    late: Option<Hierarchy>,
}

/// What the kernel refused the processes of a group, counted for as long as the group is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Refusals {
    /// Processes that it killed because the memory limit was reached.
    pub oom_kills: u64,
    /// Processes that could not be started because of the limit on their number.
    pub processes: u64,
}

impl Group {
    pub(super) fn create(
        places: &[(Controller, Hierarchy)],
        name: &str,
        limits: &Limits,
    ) -> Result<Self, GroupError> {
        let mut group = Self {
            parts: Vec::new(),
            enforced: Vec::new(),
            missing: Vec::new(),
            peak: Peak::Whole,
        };
        let serving = places.iter().filter(|(one, _)| one.serves(limits));
        for (controller, hierarchy) in serving {
            let directory = hierarchy.home().join(name);
            if let Some(part) = group
                .parts
                .iter_mut()
                .find(|part| part.directory == directory)
            {
                part.controllers.push(*controller);
                continue;
            }
            let late = *controller == Controller::Core
                && hierarchy.is_unified()
                && group.parts.iter().any(|part| !part.unified);
            let made = if late {
                Ok(directory.clone())
            } else {
                make(hierarchy, name)
            };
            match made {
                Ok(directory) => group.parts.push(Part {
                    directory,
                    unified: hierarchy.is_unified(),
                    controllers: vec![*controller],
                    late: late.then(|| hierarchy.clone()),
                }),
                // The limit that needs it is reported as missing below.
                Err(_) if !group.parts.is_empty() => {}
                Err(errno) => return Err(step("make the control group", &directory)(errno)),
            }
        }
        group.set_limits(limits);
        Ok(group)
    }

    fn set_limits(&mut self, limits: &Limits) {
        if let Some(bytes) = limits.memory_bytes {
            let outcome = self.set_memory(bytes.0);
            self.note(Resource::Memory, outcome);
        }
        if let Some(percent) = limits.cpu_percent {
            let outcome = self.set_cpu(percent);
            self.note(Resource::Cpu, outcome);
        }
        if let Some(processes) = limits.processes {
            let outcome = self.set_processes(u64::from(processes));
            self.note(Resource::Processes, outcome);
        }
    }

    fn note(&mut self, resource: Resource, outcome: Result<(), String>) {
        match outcome {
            Ok(()) => self.enforced.push(resource),
            Err(reason) => self.missing.push((resource, reason)),
        }
    }

    fn set_memory(&self, bytes: u64) -> Result<(), String> {
        let part = self.part(Controller::Memory)?;
        let value = bytes.to_string();
        let swap = if part.unified {
            part.write("memory.max", &value)?;
            // Where the kernel lacks it, the keeper ends the rest when it sees the first one killed.
            drop(part.write("memory.oom.group", "1"));
            part.write("memory.swap.max", "0")
        } else {
            part.write("memory.limit_in_bytes", &value)?;
            part.write("memory.memsw.limit_in_bytes", &value)
        };
        swap.or_else(|reason| {
            if machine_swaps() {
                Err(format!("swap is not limited: {reason}"))
            } else {
                Ok(())
            }
        })
    }

    fn set_cpu(&self, percent: u32) -> Result<(), String> {
        let part = self.part(Controller::Cpu)?;
        let quota = (u64::from(percent) * PERIOD_US / 100).max(1000);
        // What has a limit also yields to what has none; where that cannot be said, the limit holds.
        drop(if part.unified {
            part.write("cpu.weight", "50")
        } else {
            part.write("cpu.shares", "512")
        });
        if part.unified {
            part.write("cpu.max", &format!("{quota} {PERIOD_US}"))
        } else {
            part.write("cpu.cfs_period_us", &PERIOD_US.to_string())?;
            part.write("cpu.cfs_quota_us", &quota.to_string())
        }
    }

    fn set_processes(&self, processes: u64) -> Result<(), String> {
        let limit = processes.saturating_add(PROCESSES_OF_OURS).to_string();
        self.part(Controller::Pids)?.write("pids.max", &limit)
    }

    fn part(&self, controller: Controller) -> Result<&Part, String> {
        self.parts
            .iter()
            .find(|part| part.controllers.contains(&controller))
            .ok_or_else(|| format!("no {} controller here", controller.legacy_name()))
    }

    /// The limits that the kernel keeps.
    pub fn enforced(&self) -> &[Resource] {
        &self.enforced
    }

    /// The limits that were asked for and are not kept by this group, each with the reason.
    pub fn missing(&self) -> &[(Resource, String)] {
        &self.missing
    }

    /// The group's directories, to be written down: [`remove_recorded`] takes them away after a
    /// keeper that could not.
    pub fn directories(&self) -> impl Iterator<Item = &Path> {
        self.parts.iter().map(|part| part.directory.as_path())
    }

    /// The files by which a process with one thread puts itself into the parts of version 1.
    ///
    /// The kernel stops all forking on the machine to move another process or more than one thread,
    /// and waits for its readers first, which is milliseconds. A thread that moves itself waits for
    /// nobody.
    pub fn doors(&self) -> Result<Vec<OwnedFd>, GroupError> {
        let doors = self.parts.iter().filter(|part| !part.unified).map(|part| {
            let door = part.directory.join("tasks");
            let flags = OFlags::WRONLY | OFlags::CLOEXEC;
            rustix::fs::open(&door, flags, Mode::empty()).map_err(step("open", &door))
        });
        doors.collect()
    }

    /// The directory in version 2, for a process to be born into.
    pub fn cradle(&self) -> Option<OwnedFd> {
        let is_cradle = |part: &&Part| part.unified && part.late.is_none();
        let part = self.parts.iter().find(is_cradle)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::open(&part.directory, flags, Mode::empty()).ok()
    }

    /// Moves a process in. What it starts from then on is in the group too.
    pub fn attach(&self, pid: u32) -> Result<(), GroupError> {
        let early = self.parts.iter().filter(|part| part.late.is_none());
        early.into_iter().try_for_each(|part| {
            let procs = part.directory.join("cgroup.procs");
            text::write(&procs, &pid.to_string())
                .map_err(step("put a process into the control group", &procs))
        })
    }

    /// The most memory that it used at once, where it is limited and the kernel keeps it; what counts
    /// as memory includes files in memory and the page cache that the group filled.
    pub fn memory_peak_bytes(&self) -> Option<u64> {
        match &self.peak {
            Peak::Whole => text::number(&self.part(Controller::Memory).ok()?.peak()),
            Peak::Since(file) => {
                let mut digits = [0; 32];
                let count = rustix::io::pread(file, &mut digits, 0).ok()?;
                let digits = std::str::from_utf8(digits.get(..count)?).ok()?;
                digits.trim().parse().ok()
            }
            Peak::Unknown => None,
        }
    }

    /// Counts the most memory in use anew. Where the kernel cannot, nothing is said of it any more.
    pub fn forget_memory_peak(&mut self) {
        let Ok(part) = self.part(Controller::Memory) else {
            return;
        };
        self.peak =
            match rustix::fs::open(part.peak(), OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()) {
                Ok(file) if rustix::io::write(&file, b"0").is_err() => Peak::Unknown,
                Ok(file) if part.unified => Peak::Since(file),
                Ok(_) => Peak::Whole,
                Err(_) => Peak::Unknown,
            };
    }

    /// What the kernel refused since the group was made.
    pub fn refusals(&self) -> Refusals {
        let count = |controller, unified, split, key| {
            let part = self.part(controller).ok()?;
            let file = if part.unified { unified } else { split };
            text::keyed(&part.directory.join(file), key)
        };
        let (memory, pids) = (Controller::Memory, Controller::Pids);
        Refusals {
            oom_kills: count(memory, "memory.events", "memory.oom_control", "oom_kill")
                .unwrap_or(0),
            processes: count(pids, "pids.events", "pids.events", "max").unwrap_or(0),
        }
    }

    /// Asks the kernel to stop every process of the group; [`Self::is_frozen`] says when it has.
    pub fn freeze(&self) -> Result<(), GroupError> {
        self.gather()?;
        self.set_frozen("1", "FROZEN")
    }

    /// Puts everyone in the group also into the part that freezes, where that was left for later.
    /// The first time takes milliseconds, in which they go on; then [`Self::freeze`] finds it done.
    pub fn gather(&self) -> Result<(), GroupError> {
        let is_late = |part: &&Part| part.late.is_some();
        let Some(part) = self.parts.iter().find(is_late) else {
            return Ok(());
        };
        let (Some(hierarchy), Some(name)) = (&part.late, part.directory.file_name()) else {
            return Ok(());
        };
        let failed = |errno| step("make the control group", &part.directory)(errno);
        make(hierarchy, &name.to_string_lossy()).map_err(failed)?;
        let (others, procs) = (self.others(part), part.directory.join("cgroup.procs"));
        let within = |path: &Path| text::read(path).map_err(step("read", path));
        // Whoever is started meanwhile by someone who is not in yet is found by the next look.
        for _ in 0..TRIES_MAX {
            let (all, inside) = (within(&others)?, within(&procs)?);
            let inside: Vec<&str> = inside.lines().collect();
            let missing: Vec<&str> = all.lines().filter(|pid| !inside.contains(pid)).collect();
            if missing.is_empty() {
                return Ok(());
            }
            for process in missing {
                move_in(&procs, process).map_err(step("put a process into", &procs))?;
            }
        }
        Err(failed(Errno::AGAIN))
    }

    /// The list of processes of a part other than this one.
    fn others(&self, part: &Part) -> PathBuf {
        let other = self.parts.iter().find(|one| one.late.is_none());
        other.unwrap_or(part).directory.join("cgroup.procs")
    }

    /// Lets the processes of the group go on.
    pub fn thaw(&self) -> Result<(), GroupError> {
        self.set_frozen("0", "THAWED")
    }

    fn set_frozen(&self, modern: &str, legacy: &str) -> Result<(), GroupError> {
        let part = self
            .part(Controller::Core)
            .map_err(|_| GroupError::NoPlace)?;
        let (file, value) = if part.unified {
            (part.directory.join("cgroup.freeze"), modern)
        } else {
            (part.directory.join("freezer.state"), legacy)
        };
        text::write(&file, value).map_err(step("freeze or thaw the control group", &file))
    }

    /// Whether every process of the group stands still.
    pub fn is_frozen(&self) -> bool {
        let Ok(part) = self.part(Controller::Core) else {
            return false;
        };
        if part.unified {
            text::keyed(&part.directory.join("cgroup.events"), "frozen") == Some(1)
        } else {
            text::read(&part.directory.join("freezer.state"))
                .is_ok_and(|state| state.trim() == "FROZEN")
        }
    }

    /// Kills every process of the group, also while new ones are being started.
    pub fn kill_all(&self) {
        for part in &self.parts {
            kill(&part.directory);
        }
    }

    /// Takes the group away once its processes are gone; kills what is left. Gives the directories
    /// that could not be removed.
    pub fn remove(self) -> Vec<PathBuf> {
        let directories: Vec<PathBuf> = self.directories().map(Path::to_owned).collect();
        remove_recorded(&directories)
    }
}

/// By itself a thread enters whatever group's door it writes nought to.
pub(crate) fn enter(door: &OwnedFd) -> Result<(), Errno> {
    rustix::io::write(door, b"0").map(drop)
}

/// Moves a process, unless it ended meanwhile.
fn move_in(procs: &Path, process: &str) -> Result<(), Errno> {
    match text::write(procs, process) {
        Ok(()) | Err(Errno::SRCH) => Ok(()),
        Err(errno) => Err(errno),
    }
}

impl Part {
    /// Where the kernel says how much memory was in use at most.
    fn peak(&self) -> PathBuf {
        self.directory.join(if self.unified {
            "memory.peak"
        } else {
            "memory.max_usage_in_bytes"
        })
    }

    fn write(&self, file: &str, value: &str) -> Result<(), String> {
        text::write(&self.directory.join(file), value).map_err(|errno| format!("{file}: {errno}"))
    }
}

/// Whether there is swap to spill into: below the heading, one line for each.
fn machine_swaps() -> bool {
    text::read(Path::new("/proc/swaps")).is_ok_and(|swaps| swaps.lines().count() > 1)
}

/// Makes the directory; another command may take away the empty one around it meanwhile.
fn make(hierarchy: &Hierarchy, name: &str) -> Result<PathBuf, Errno> {
    let mut last = Errno::NOENT;
    for _ in 0..8 {
        let directory = hierarchy.open()?.join(name);
        match make_directory(&directory) {
            Ok(()) => return Ok(directory),
            Err(Errno::NOENT) => last = Errno::NOENT,
            Err(errno) => return Err(errno),
        }
    }
    Err(last)
}

/// Ends what is left in these groups and removes them, together with the directory around them if
/// that is empty then. Gives those that could not be removed.
pub fn remove_recorded(directories: &[PathBuf]) -> Vec<PathBuf> {
    let busy = directories
        .iter()
        .filter(|path| try_to_remove(path).is_err());
    let mut left: Vec<PathBuf> = busy.cloned().collect();
    // All of them before any is waited for: in version 1 the frozen die when their freezer lets go,
    // and that is a part of its own.
    for directory in &left {
        kill(directory);
    }
    left.retain(|directory| !remove_one(directory));
    left
}

/// Removes a group that nothing is in, or was not there.
fn try_to_remove(directory: &Path) -> Result<(), Errno> {
    match rustix::fs::rmdir(directory) {
        Ok(()) | Err(Errno::NOENT) => {
            if let Some(home) = directory.parent() {
                // Not empty while other sandboxes live.
                let _ = rustix::fs::rmdir(home);
            }
            Ok(())
        }
        Err(errno) => Err(errno),
    }
}

fn remove_one(directory: &Path) -> bool {
    for _ in 0..TRIES_MAX {
        match try_to_remove(directory) {
            Ok(()) => return true,
            Err(Errno::BUSY) => {
                kill(directory);
                pause();
            }
            Err(_) => return false,
        }
    }
    false
}

/// A process that is killed leaves its group a moment later.
fn pause() {
    let none: &mut [PollFd<'_>] = &mut [];
    let moment = Timespec {
        tv_sec: 0,
        tv_nsec: 2_000_000,
    };
    let _ = poll(none, Some(&moment));
}

fn kill(directory: &Path) {
    if text::write(&directory.join("cgroup.kill"), "1").is_ok() {
        return;
    }
    // One by one; a process that forks faster than this is stopped by the limit on processes.
    let processes = text::read(&directory.join("cgroup.procs")).unwrap_or_default();
    for process in processes.lines().filter_map(|line| line.parse().ok()) {
        if let Some(pid) = Pid::from_raw(process) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
    // The frozen do not die.
    let _ = text::write(&directory.join("freezer.state"), "THAWED");
}
