//! `kill -9` at random moments, and what must hold after the next command.
//!
//! Each ordeal kills one victim many times while one command is at work, every time at another
//! moment drawn from a seed. What the next command leaves is compared with the records, round by
//! round, so that the first leftover is seen where it was made.

use agar_testkit::invocation::Running;
use agar_testkit::random::Random;
use agar_testkit::{World, keepers, leaks, wait};
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::process::{Pid, Signal};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often a victim is killed as a rule.
pub(crate) const KILLS: usize = 100;

/// How many rounds are made for each kill: now and then the command ends before its moment.
const ROUNDS_MAX: usize = 20;

/// Who is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Victim {
    /// The command that a person typed.
    Client,
    /// The keeper of the sandbox.
    Keeper,
    /// Process 1 inside.
    Init,
}

/// One command under fire.
pub(crate) struct Ordeal<'a> {
    pub(crate) world: &'a World,
    pub(crate) victim: Victim,
    /// The command.
    pub(crate) words: &'a [&'a str],
    /// Brings the world to where the command starts, without a kill.
    pub(crate) prepare: &'a dyn Fn(),
    /// Sees whether the project is whole, after the next command.
    pub(crate) judge: &'a dyn Fn() -> Result<(), String>,
    /// Where the moments come from; printed when something is wrong.
    pub(crate) seed: u64,
    /// How often it is killed.
    pub(crate) kills: usize,
}

impl Ordeal<'_> {
    /// Kills the victim as often as asked.
    #[track_caller]
    pub(crate) fn endure(&self) {
        let mut random = Random::new(self.seed);
        let long = self.duration();
        let mut struck = 0;
        for round in 0..self.kills * ROUNDS_MAX {
            if struck == self.kills {
                break;
            }
            (self.prepare)();
            let share = u32::try_from(random.below(1000)).unwrap_or(0);
            let moment = long * share / 1000;
            struck += usize::from(self.strike(moment));
            let listed = listed_at_rest(self.world);
            let wrong = left(self.world, &listed).or_else(|| (self.judge)().err());
            if let Some(wrong) = wrong {
                panic!(
                    "seed {}, round {round}: {:?} of `{}` killed after {moment:?} of {long:?}:\n{wrong}",
                    self.seed,
                    self.victim,
                    self.words.join(" ")
                );
            }
        }
        assert_eq!(
            struck, self.kills,
            "the command is too quick for {:?}",
            self.victim
        );
    }

    /// How long there is a victim when the command is left alone, with room for a busy machine.
    fn duration(&self) -> Duration {
        (self.prepare)();
        let start = Instant::now();
        let mut running = self.world.command(self.words).spawn();
        let mut long = Duration::ZERO;
        while !running.has_ended() {
            if !self.victims(&running).is_empty() {
                long = start.elapsed();
            }
        }
        running.finish().success();
        long * 5 / 4
    }

    /// Starts the command and kills the victim at the moment. Whether there was one to kill.
    fn strike(&self, moment: Duration) -> bool {
        let mut running = self.world.command(self.words).spawn();
        let start = Instant::now();
        // A park would be rounded up to milliseconds, and all moments would be the same few.
        while start.elapsed() < moment && !running.has_ended() {
            std::thread::yield_now();
        }
        let struck = self.kill(&mut running);
        wait::until("the dead to be gone", || {
            struck.iter().all(|victim| !keepers::is_there(*victim))
        });
        if !wait::holds_within(Duration::from_secs(20), || running.has_ended()) {
            let hung = running.kill();
            panic!(
                "seed {}: `{}` hangs after its {:?} was killed at {moment:?}: {hung}",
                self.seed,
                self.words.join(" "),
                self.victim
            );
        }
        !struck.is_empty()
    }

    /// Kills the victim, once it is there. Those who die of it.
    fn kill(&self, client: &mut Running) -> Vec<Pid> {
        while !client.has_ended() {
            let dying = self.victims(client);
            let Some(victim) = dying.first().copied() else {
                continue;
            };
            return match self.victim {
                Victim::Keeper => keepers::kill_with_children(victim),
                // Gone a moment ago is not killed.
                Victim::Client | Victim::Init => {
                    let struck = rustix::process::kill_process(victim, Signal::KILL);
                    struck.map_or_else(|_| Vec::new(), |()| dying)
                }
            };
        }
        Vec::new()
    }

    /// The victim, and the keeper, which goes when its init does.
    fn victims(&self, client: &Running) -> Vec<Pid> {
        let keeper = || keepers::any(&self.world.state().join("agar"));
        match self.victim {
            Victim::Client => Pid::from_raw(client.id().try_into().unwrap_or(0))
                .into_iter()
                .collect(),
            Victim::Keeper => keeper().into_iter().collect(),
            Victim::Init => keeper()
                .and_then(|keeper| Some(vec![keepers::first_child(keeper)?, keeper]))
                .unwrap_or_default(),
        }
    }
}

/// What the next command lists, while nobody clears away in the background: whoever does may take an
/// idle jail down between the list and the look at what is there.
pub(crate) fn listed_at_rest(world: &World) -> String {
    let at_work = || {
        let processes = leaks::processes_in(world.root());
        processes.iter().any(|it| it.words.contains(" upkeep"))
    };
    loop {
        wait::until("nobody to clear away", || !at_work());
        let listed = world.agar(["ls", "--gone", "--json"]).success().stdout;
        if !at_work() {
            return listed;
        }
    }
}

/// What is there and should not be, going by what the command just listed.
fn left(world: &World, listed: &str) -> Option<String> {
    let listed: Value = serde_json::from_str(listed).ok()?;
    let (alive, kept) = (ids(&listed, &ALIVE), ids(&listed, &KEPT));
    let none = BTreeSet::new();
    let state = world.state().join("agar");
    let in_state = |part: &str| names(&state.join(part));
    // The kernel is still at it when the last one that could be asked has answered.
    let gone = || leaks::left_in(world.root()).is_empty();
    let mut running = BTreeSet::new();
    if alive.is_empty() && !wait::holds_within(Duration::from_secs(10), gone) {
        running.insert(leaks::left_in(world.root()));
    }
    // Whoever clears away in the background holds a sandbox's turn for a moment, and is alive.
    let mut locked = BTreeSet::new();
    wait::holds_within(Duration::from_secs(10), || {
        locked = held(&state, &kept);
        locked.is_subset(&alive)
    });
    let sockets = names(&world.runtime().join("agar"));
    let keeper = held(&state, &alive);
    let rules = [
        ("a process or a mount", running, &none),
        (
            "a mark of a sandbox that is not alive",
            in_state("alive"),
            &alive,
        ),
        ("a socket of a sandbox that is not alive", sockets, &alive),
        (
            "a directory of a sandbox that is not kept",
            homes(&state.join("sandboxes")),
            &kept,
        ),
        ("a lock that nobody should hold", locked, &alive),
        (
            "a control group of a sandbox that is not alive",
            groups(&state, &kept),
            &alive,
        ),
        ("a sandbox without a keeper", alive.clone(), &keeper),
        ("a promotion cut short", open_promotions(&state), &none),
        (
            "something that is no part of the state",
            strange(&state),
            &none,
        ),
    ];
    let wrong: Vec<String> = rules
        .iter()
        .filter(|(_, found, allowed)| !found.is_subset(allowed))
        .map(|(what, found, allowed)| format!("{what}: {:?}", found.difference(allowed)))
        .collect();
    // What is alive may say why.
    let around = || {
        let sandboxes = listed["sandboxes"].as_array().into_iter().flatten();
        let there = sandboxes.filter(|sandbox| sandbox["state"] != "collected");
        let there: Vec<String> = there.map(Value::to_string).collect();
        let left = leaks::left_in(world.root());
        format!("{}\n{}\n{left}", wrong.join("\n"), there.join("\n"))
    };
    (!wrong.is_empty()).then(around)
}

/// The states of a sandbox whose jail is up.
const ALIVE: [&str; 3] = ["creating", "running", "paused"];

/// The states of a sandbox whose layers are there.
const KEPT: [&str; 6] = [
    "creating",
    "running",
    "paused",
    "finished",
    "promoted",
    "discarded",
];

/// The listed sandboxes that are in one of the states.
fn ids(listed: &Value, states: &[&str]) -> BTreeSet<String> {
    let sandboxes = listed["sandboxes"].as_array().into_iter().flatten();
    sandboxes
        .filter(|sandbox| states.contains(&sandbox["state"].as_str().unwrap_or_default()))
        .filter_map(|sandbox| Some(sandbox["id"].as_str()?.to_owned()))
        .collect()
}

/// What a directory holds, without endings.
fn names(directory: &Path) -> BTreeSet<String> {
    let list = fs_err::read_dir(directory).into_iter().flatten();
    list.filter_map(Result::ok)
        .filter_map(|entry| {
            let path = PathBuf::from(entry.file_name());
            Some(path.file_stem()?.to_str()?.to_owned())
        })
        .collect()
}

/// Directories of sandboxes that hold more than layers. Layers stay for as long as something stands on
/// them, also when the sandbox that they were made for is gone.
fn homes(sandboxes: &Path) -> BTreeSet<String> {
    let is_layer = |name: &String| {
        let starts = ["upper-", "kept-", "joined-"];
        starts.iter().any(|start| name.starts_with(start))
    };
    let mut found = names(sandboxes);
    found.retain(|id| !names(&sandboxes.join(id)).iter().all(is_layer));
    found
}

/// Those of the sandboxes whose lock or turn somebody holds.
fn held(state: &Path, ids: &BTreeSet<String>) -> BTreeSet<String> {
    let is_held = |path: PathBuf| {
        let Ok(lock) = rustix::fs::open(&path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
        else {
            return false;
        };
        rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err()
    };
    let directory = state.join("sandboxes");
    let some_lock = |id: &&String| {
        let locks = ["lock", "turn"];
        locks
            .iter()
            .any(|lock| is_held(directory.join(id).join(lock)))
    };
    ids.iter().filter(some_lock).cloned().collect()
}

/// Control groups of this world: those of its sandboxes, and those that a directory of a sandbox
/// says are still to be removed, in the trash as well.
fn groups(state: &Path, ids: &BTreeSet<String>) -> BTreeSet<String> {
    let mut found: BTreeSet<String> = leaks::cgroups()
        .iter()
        .filter_map(|group| Some(group.file_name()?.to_str()?.to_owned()))
        .filter(|name| ids.contains(name))
        .collect();
    for noted in ["trash", "sandboxes"].map(|part| state.join(part)) {
        for entry in fs_err::read_dir(noted).into_iter().flatten().flatten() {
            let text =
                fs_err::read_to_string(entry.path().join("cgroups.json")).unwrap_or_default();
            let groups: Vec<PathBuf> = serde_json::from_str(&text).unwrap_or_default();
            let there = groups.iter().filter(|group| group.is_dir());
            found.extend(there.filter_map(|group| Some(group.file_name()?.to_str()?.to_owned())));
        }
    }
    found
}

fn open_promotions(state: &Path) -> BTreeSet<String> {
    let projects = fs_err::read_dir(state.join("projects"))
        .into_iter()
        .flatten();
    let promotions = projects.filter_map(Result::ok).flat_map(|project| {
        fs_err::read_dir(project.path().join("promotions"))
            .into_iter()
            .flatten()
    });
    promotions
        .filter_map(Result::ok)
        .filter(|entry| entry.path().extension().is_some_and(|end| end == "open"))
        .filter_map(|entry| entry.file_name().to_str().map(str::to_owned))
        .collect()
}

/// Names in the state directory that docs/ARCHITECTURE.md does not know.
fn strange(state: &Path) -> BTreeSet<String> {
    let known = [
        "staging",
        "alive",
        "projects",
        "reserve",
        "sandboxes",
        "trash",
        "upkeep",
    ];
    let list = fs_err::read_dir(state).into_iter().flatten();
    list.filter_map(Result::ok)
        .filter_map(|entry| entry.file_name().to_str().map(str::to_owned))
        .filter(|name| !known.contains(&name.as_str()))
        .filter(|name| {
            !["store.db", "keeper-", "keys", "."]
                .iter()
                .any(|start| name.starts_with(start))
        })
        .collect()
}

/// Panics unless everything that the ordeals left is on record or in the trash, and goes when a
/// person clears away.
#[track_caller]
pub(crate) fn assert_collected(world: &World) {
    world.agar(["rm", "--all", "--force"]);
    leaks::assert_gone(world.root());
    world.agar(["prune", "--empty-trash"]).success();
    let state = world.state().join("agar");
    for part in ["sandboxes", "alive", "trash"] {
        assert_eq!(names(&state.join(part)), BTreeSet::new(), "in {part}/");
    }
    assert_eq!(names(&world.runtime().join("agar")), BTreeSet::new());
}
