//! Minding the limits: what the kernel counts for us, and what has to be looked at now and then.

use super::runs::Runs;
use crate::cgroup::{Cgroups, Group, Mode, Refusals};
use crate::client::KeeperConfig;
use crate::limit::{DiskWatch, Sample, Unseen, Watch, unseen};
use crate::mount::{During, Failed};
use crate::plan::{IdMap, Plan};
use crate::policy::OldWay;
use crate::wire::Raw;
use agar_core::limits::{Breach, Limits, Resource};
use agar_core::walls::Tier;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often the watches look while something runs that could outgrow its limit in that time.
const GLANCE: Duration = Duration::from_millis(50);

/// How often they look when all there is to see is whether the kernel had to say no.
const LEISURE: Duration = Duration::from_millis(250);

/// The file in the sandbox's directory that names its control groups.
const NOTED: &str = "cgroups.json";

/// A reason to stop, and what is to be stopped: one run, or everything inside.
pub(super) struct Stop {
    pub(super) run: Option<u32>,
    pub(super) breach: Breach,
}

/// Everything that minds the limits of one sandbox.
pub(super) struct Guard {
    limits: Limits,
    group: Option<Group>,
    /// Each process carries the limit on their number, and the kernel counts them.
    carried: bool,
    watch: Watch,
    disk: Option<DiskWatch>,
    peak: u64,
    looks: u32,
    detached_bytes: u64,
    /// What the kernel had refused when the last command began with nothing else running: it counts
    /// for as long as the group is there.
    forgiven: Refusals,
    behind: Unseen,
    last_look: Option<Instant>,
    /// Something goes on although no run is under way.
    left: bool,
    /// There was a run before.
    used: bool,
    notes: Vec<String>,
    /// What the next report has to say of the time before its run.
    ended_at_rest: Option<String>,
}

impl Guard {
    /// `groups` is where control groups could be made when somebody last looked.
    pub(super) fn new(
        config: &KeeperConfig,
        groups: Option<&Cgroups>,
    ) -> Result<(Self, Vec<String>), Failed> {
        let limits = config.limits;
        let layers: Vec<PathBuf> = config.layers.iter().cloned().map(PathBuf::from).collect();
        let disk = match limits.disk_bytes {
            Some(bytes) => Some(
                DiskWatch::new(layers, bytes.0).during(|| "look at the sandbox's layers".into())?,
            ),
            None => None,
        };
        let group = group(config, groups)?;
        let notes = weaknesses(config, group.as_ref());
        let guard = Self {
            limits,
            group,
            carried: is_carried(&config.plan),
            watch: Watch::default(),
            disk,
            peak: 0,
            looks: 0,
            detached_bytes: 0,
            forgiven: Refusals::default(),
            behind: Unseen::default(),
            last_look: None,
            left: false,
            used: false,
            notes: notes.clone(),
            ended_at_rest: None,
        };
        Ok((guard, notes))
    }

    /// Whether the kernel was given something to count that outlives this process.
    pub(super) fn has_groups(&self) -> bool {
        self.group.is_some()
    }

    /// Puts a process under the limits that has started others before it could be put anywhere:
    /// bubblewrap, and the init in it.
    pub(super) fn take_in_all(&mut self, pid: i32) -> Result<(), Failed> {
        let Some(group) = &self.group else {
            return Ok(());
        };
        for below in self.watch.below(pid.cast_unsigned()) {
            group
                .attach(below)
                .map_err(|error| super::jail::group_failed(&error))?;
        }
        Ok(())
    }

    /// The sandbox is empty: removes what was made for it.
    pub(super) fn let_go(&mut self, sandbox: &Path) {
        if let Some(group) = self.group.take() {
            self.peak = self.peak.max(group.memory_peak_bytes().unwrap_or(0));
            // What could not be removed is swept by the next command.
            if group.remove().is_empty() {
                let _ = rustix::fs::unlink(sandbox.join(NOTED));
            }
        }
    }

    /// The init says how much shared memory nobody has attached.
    pub(super) fn detached(&mut self, bytes: u64) {
        self.detached_bytes = bytes;
    }

    /// The control group, where there is one that can stand still.
    pub(super) fn group(&self) -> Option<&Group> {
        self.group.as_ref()
    }

    /// Other directories hold the changes from now on.
    pub(super) fn watch_layers(&mut self, layers: &[Raw]) {
        if let Some(disk) = &mut self.disk {
            disk.follow(layers.iter().cloned().map(PathBuf::from).collect());
        }
    }

    /// A command begins; whether others are at it.
    pub(super) fn run_begins(&mut self, alone: bool) {
        self.last_look = None;
        // Whoever held what only descriptors lead to may be gone: the next look is for that, too.
        self.looks = 1;
        if !alone {
            return;
        }
        let used = std::mem::replace(&mut self.used, true);
        self.peak = 0;
        if let Some(group) = &mut self.group {
            self.forgiven = group.refusals();
            if used {
                group.forget_memory_peak();
            }
        }
    }

    /// How long the loop may sleep.
    pub(super) fn patience(&self, runs: &Runs) -> Option<Duration> {
        [self.pace(runs), runs.patience()]
            .into_iter()
            .flatten()
            .min()
    }

    /// How often to look, if at all.
    fn pace(&self, runs: &Runs) -> Option<Duration> {
        if runs.is_empty() {
            return (self.left && (self.disk.is_some() || self.is_watched())).then_some(LEISURE);
        }
        let memory = self.limits.memory_bytes.is_some();
        if memory || self.disk.is_some() {
            return Some(GLANCE);
        }
        self.limits.processes.is_some().then_some(LEISURE)
    }

    fn kernel_keeps(&self, resource: Resource) -> bool {
        self.group
            .as_ref()
            .is_some_and(|group| group.enforced().contains(&resource))
    }

    /// Whether the kernel leaves a limit on memory or processes to us.
    fn is_watched(&self) -> bool {
        let (memory, processes) = (self.limits.memory_bytes, self.limits.processes);
        let counted = self.carried || self.kernel_keeps(Resource::Processes);
        memory.is_some() && !self.kernel_keeps(Resource::Memory) || processes.is_some() && !counted
    }

    /// Looks whether a limit is reached.
    pub(super) fn check(&mut self, init: u32, runs: &Runs) -> Option<Stop> {
        if let Some((number, limit, passed)) = runs.overdue() {
            let breach = Breach {
                resource: Resource::Time,
                limit: millis(limit),
                seen: millis(passed),
                culprit: None,
            };
            return Some(Stop {
                run: Some(number),
                breach,
            });
        }
        let pace = self.pace(runs)?;
        if self.last_look.is_some_and(|last| last.elapsed() < pace) {
            return None;
        }
        self.last_look = Some(Instant::now());
        let breach = if runs.is_empty() {
            self.look_at_rest(init)
        } else {
            self.refused_by_kernel(init).or_else(|| self.look(init))
        };
        breach.map(|breach| Stop { run: None, breach })
    }

    /// Looks at what commands left running. Where the kernel refuses, it has done all there is to do.
    fn look_at_rest(&mut self, init: u32) -> Option<Breach> {
        let sample = self.sample(init);
        self.left = sample.is_some_and(|sample| sample.processes > 0);
        let sample = sample.filter(|_| self.left)?;
        let breach = self.judge(init, Some(sample).filter(|_| self.is_watched()))?;
        let what = breach.resource.key();
        self.ended_at_rest = Some(format!(
            "what earlier commands had left running was ended: the {what} limit was reached"
        ));
        Some(breach)
    }

    /// Why a run that ended by itself may have done so: the death of its largest process, or that it
    /// could not start another one.
    pub(super) fn last_words(&mut self, init: u32, left: u32) -> Option<Breach> {
        self.left = left > 0;
        let crowded = self
            .limits
            .processes
            .filter(|limit| left > *limit)
            .map(|limit| Breach {
                resource: Resource::Processes,
                limit: limit.into(),
                seen: left.into(),
                culprit: None,
            });
        let limit = self.limits.memory_bytes.map(|bytes| bytes.0);
        let hoarded = limit
            .filter(|limit| self.detached_bytes > *limit)
            .map(|limit| Breach {
                resource: Resource::Memory,
                limit,
                seen: self.detached_bytes,
                culprit: None,
            });
        let full = || {
            self.disk
                .as_mut()
                .and_then(|disk| disk.settle().ok().flatten())
        };
        let full = crowded.or(hoarded).or_else(full);
        self.refused_by_kernel(init).or(full)
    }

    /// What the kernel refused or killed for.
    fn refused_by_kernel(&mut self, init: u32) -> Option<Breach> {
        let group = self.group.as_ref()?;
        let now = group.refusals();
        let killed = now.oom_kills > self.forgiven.oom_kills;
        if let (Some(limit), true) = (self.limits.memory_bytes, killed) {
            let seen = group.memory_peak_bytes().unwrap_or(limit.0);
            let culprit = self
                .watch
                .sample(init, None)
                .ok()
                .and_then(|sample| sample.largest);
            let culprit = culprit.and_then(|(pid, _)| self.watch.name(pid));
            return Some(Breach {
                resource: Resource::Memory,
                limit: limit.0,
                seen,
                culprit,
            });
        }
        let limit = u64::from(self.limits.processes?);
        let full = now.processes > self.forgiven.processes;
        full.then_some(Breach {
            resource: Resource::Processes,
            limit,
            seen: limit,
            culprit: None,
        })
    }

    fn look(&mut self, init: u32) -> Option<Breach> {
        let watched = [Resource::Memory, Resource::Processes]
            .into_iter()
            .any(|resource| !self.kernel_keeps(resource));
        let sample = watched.then(|| self.sample(init)).flatten();
        self.judge(init, sample)
    }

    /// What everything inside uses. That the init is gone is noticed elsewhere.
    fn sample(&mut self, init: u32) -> Option<Sample> {
        let memory = self.limits.memory_bytes.map(|bytes| bytes.0);
        self.watch.sample(init, memory).ok()
    }

    /// The limit that this, or what hides from it, or the disk goes beyond.
    fn judge(&mut self, init: u32, sample: Option<Sample>) -> Option<Breach> {
        let unseen = self.unseen(init);
        if let Some(mut sample) = sample {
            sample.memory_bytes = sample
                .memory_bytes
                .saturating_add(unseen.memory_bytes)
                .saturating_add(self.detached_bytes);
            self.peak = self.peak.max(sample.memory_bytes);
            let breach = self.watch.breach(&sample, &self.limits);
            if breach.is_some() {
                return breach;
            }
        }
        let disk = self.disk.as_mut()?;
        disk.sample(unseen.disk_bytes).ok().flatten()
    }

    /// What hides behind descriptors; looked for at every second look, since it costs more.
    fn unseen(&mut self, init: u32) -> Unseen {
        self.looks = self.looks.wrapping_add(1);
        let needed = self.disk.is_some()
            || self.limits.memory_bytes.is_some() && !self.kernel_keeps(Resource::Memory);
        if needed && self.looks.is_multiple_of(2) {
            self.behind = unseen(&self.watch.below(init));
        }
        self.behind
    }

    /// The most memory that was seen in use at once.
    pub(super) fn memory_peak(&self) -> Option<u64> {
        let group = self.group.as_ref().and_then(Group::memory_peak_bytes);
        group.or_else(|| (self.peak > 0).then_some(self.peak))
    }

    /// What is enforced how, for the record.
    pub(super) fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    /// The same, and what became of what was running before, which is told once.
    pub(super) fn notes_of_run(&mut self) -> Vec<String> {
        let notes = self.notes.iter().cloned();
        notes.chain(self.ended_at_rest.take()).collect()
    }

    /// Processes alive inside, and the memory they hold.
    pub(super) fn census(&mut self, init: u32) -> (u32, u64) {
        self.watch
            .sample(init, None)
            .map_or((0, 0), |sample| (sample.processes, sample.memory_bytes))
    }
}

/// The control group of the sandbox, where one is needed and can be had.
fn group(config: &KeeperConfig, groups: Option<&Cgroups>) -> Result<Option<Group>, Failed> {
    let limits = &config.limits;
    let forbidden = config.plan.policy.old_ways.contains(&OldWay::NoCgroups);
    // For an ordinary user the kernel counts processes by itself.
    let counts = limits.processes.is_some() && config.plan.ids.uid == 0;
    let needed = limits.memory_bytes.is_some() || limits.cpu_percent.is_some() || counts;
    if forbidden || !needed {
        return Ok(None);
    }
    if let Some(groups) = groups
        && let Some(group) = group_in(groups, config)?
    {
        return Ok(Some(group));
    }
    match Cgroups::detect(Path::new("/")) {
        Ok(groups) => group_in(&groups, config),
        Err(_) => Ok(None),
    }
}

fn group_in(groups: &Cgroups, config: &KeeperConfig) -> Result<Option<Group>, Failed> {
    if groups.mode() == Mode::None {
        return Ok(None);
    }
    // First, so that a keeper that is killed in between leaves no group that nobody knows of.
    note_down(config.directory.as_path(), groups.directories(&config.name))?;
    Ok(groups.create(&config.name, &config.limits).ok())
}

/// Writes down where the group will be, for whoever cleans up after a keeper that was killed.
fn note_down(sandbox: &Path, directories: Vec<PathBuf>) -> Result<(), Failed> {
    let step = || "note the sandbox's control groups".to_owned();
    let directories: Vec<Raw> = directories.into_iter().map(Raw::from).collect();
    let text = serde_json::to_vec(&directories)
        .map_err(std::io::Error::from)
        .during(step)?;
    super::runs::write_file(&sandbox.join(NOTED), &text).during(step)
}

/// Where the control groups of a sandbox are, or were.
pub(super) fn noted(sandbox: &Path) -> Vec<PathBuf> {
    let text = crate::machine::fs_err_read(&sandbox.join(NOTED)).unwrap_or_default();
    let directories: Vec<Raw> = serde_json::from_slice(&text).unwrap_or_default();
    directories.into_iter().map(PathBuf::from).collect()
}

/// Removes the control groups of a sandbox whose keeper is gone. Gives those that would not go.
pub(super) fn remove_noted(sandbox: &Path) -> Vec<PathBuf> {
    let directories = noted(sandbox);
    if directories.is_empty() {
        return Vec::new();
    }
    let noted = sandbox.join(NOTED);
    let left = crate::cgroup::remove_recorded(&directories);
    if left.is_empty() {
        // Gone or not, nothing is to be done about it any more.
        let _ = rustix::fs::unlink(&noted);
    }
    left
}

/// Whether the processes of a jail carry the limit on their number (`limit::carry`), so that the kernel
/// counts them: in a user namespace of its own, but for those whom it calls root.
fn is_carried(plan: &Plan) -> bool {
    plan.policy.tier == Tier::Full && plan.ids.map == IdMap::Same
}

/// What of the limits is kept less well than it could be, said out loud.
fn weaknesses(config: &KeeperConfig, group: Option<&Group>) -> Vec<String> {
    let limits = &config.limits;
    let kept = |resource| group.is_some_and(|group| group.enforced().contains(&resource));
    let mut notes = Vec::new();
    if limits.memory_bytes.is_some() && !kept(Resource::Memory) {
        notes.push("memory is watched every 50 ms: no control group here".into());
    }
    if limits.cpu_percent.is_some() && !kept(Resource::Cpu) {
        notes.push("the cpu limit is not enforced: no control group here".into());
    }
    let carried = is_carried(&config.plan);
    if limits.processes.is_some() && !kept(Resource::Processes) && !carried {
        notes.push("processes are watched every 250 ms: no control group here".into());
    }
    if limits.disk_bytes.is_some() {
        notes.push(
            "disk use is watched every 50 ms and can overshoot by what is written meanwhile".into(),
        );
    }
    notes
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Lifetime;
    use crate::machine::Machine;
    use crate::plan;

    /// The guard of a jail without control groups, made for this user.
    fn guard(uid: u32, change: impl FnOnce(&mut KeeperConfig)) -> Guard {
        let machine = Machine {
            uid,
            gid: uid,
            kernel: (6, 18),
            mounts: Vec::new(),
            covers: Vec::new(),
            loose: Vec::new(),
            resolver: None,
            memory_bytes: 1 << 30,
        };
        let mut plan = plan::ahead(&machine, Path::new("/state/root")).unwrap();
        plan.policy.old_ways = vec![OldWay::NoCgroups];
        let mut config = KeeperConfig {
            plan,
            limits: Limits::person(),
            directory: "/state/sandbox".into(),
            socket: "/state/socket".into(),
            layers: Vec::new(),
            name: "it".into(),
            lifetime: Lifetime::UntilStopped,
            mark: None,
        };
        change(&mut config);
        Guard::new(&config, None).unwrap().0
    }

    /// How often what a command left running is looked at.
    fn pace_at_rest(mut guard: Guard) -> Option<Duration> {
        guard.last_words(std::process::id(), 1);
        guard.patience(&Runs::default())
    }

    #[test]
    fn what_is_left_running_is_looked_at_only_for_what_the_kernel_does_not_count() {
        assert_eq!(pace_at_rest(guard(1000, |_| {})), None);
        let root = guard(0, |_| {});
        assert_eq!(pace_at_rest(root), Some(LEISURE), "it is not counted");
        let called_root = guard(1000, |config| config.plan.ids.map = IdMap::Root);
        assert_eq!(pace_at_rest(called_root), Some(LEISURE), "nor is this");
        let tier = guard(1000, |config| config.plan.policy.tier = Tier::Landlock);
        assert_eq!(pace_at_rest(tier), Some(LEISURE), "nor what others share");
        let memory = guard(1000, |config| {
            config.limits.memory_bytes = Some(agar_core::size::Bytes::mib(64));
        });
        assert_eq!(pace_at_rest(memory), Some(LEISURE));
    }
}
