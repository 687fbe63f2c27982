//! C18: a snapshot, a return to one and a fork are whole or absent, also after `kill -9` at any moment.
//!
//! The command, the keeper of the sandbox and process 1 inside are killed at random moments. After
//! the next command the sandbox shows one of the two states it may be in, what is listed can be
//! entered and shows what it should, and a state that was left is kept.

use crate::AGAR;
use crate::kill::{Ordeal, Victim, assert_collected};
use agar_testkit::{World, keepers, wait};
use serde_json::Value;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// How often each victim is killed.
const KILLS: usize = 25;

/// Leaves a process running, once in each jail.
const STAY: &str = "[ -e /tmp/stays ] || { touch /tmp/stays; sleep 1000 >/dev/null 2>&1 & }";

/// A sandbox whose state is one number in a file, with a few more files to go wrong.
struct Counter {
    world: World,
    number: Cell<u32>,
    known: RefCell<BTreeSet<String>>,
    /// Rounds in which the command came to nothing, and in which it did what it was told.
    met: Cell<[u32; 2]>,
    kills: usize,
}

impl Counter {
    fn new() -> Self {
        Self::in_tier("full", KILLS)
    }

    fn in_tier(tier: &str, kills: usize) -> Self {
        let world = World::with_repository(AGAR);
        let tier = format!("--tier={tier}");
        world.agar(["create", "--name", "it", &tier]).success();
        let counter = Self {
            world,
            number: Cell::new(0),
            known: RefCell::default(),
            met: Cell::default(),
            kills,
        };
        counter.enter("rm notes.txt; mkdir many; for n in $(seq 60); do echo $n >many/$n; done");
        counter.write("");
        counter.world.agar(["snapshot", "it", "--name", "mark"]);
        counter.new_snapshots();
        counter
    }

    fn enter(&self, script: &str) {
        let words = ["exec", "it", "--", "/bin/sh", "-ec", script];
        self.world.agar(words).success();
    }

    /// Moves the sandbox to its next state.
    fn write(&self, also: &str) {
        self.number.set(self.number.get() + 1);
        let number = self.number.get();
        self.enter(&format!(
            "echo {number} >counter; mkdir -p d; rm -f d/*; echo x >d/{number}\n{also}"
        ));
    }

    /// The state that a sandbox shows, or what is wrong with it.
    fn state(&self, sandbox: &str) -> Result<u32, String> {
        let script = "ls many | wc -l; ls d; cat counter; ls";
        let words = ["exec", sandbox, "--", "/bin/sh", "-c", script];
        let shown = self.world.agar(words);
        let mut lines = shown.stdout.lines();
        let (many, within) = (lines.next(), lines.next());
        let number = lines.next();
        let rest: Vec<&str> = lines.collect();
        if many != Some("60")
            || within != number
            || rest != ["README.md", "counter", "d", "many", "src"]
        {
            return Err(format!("{sandbox} is in pieces: {shown}"));
        }
        let number = number.and_then(|number| number.parse().ok());
        number.ok_or_else(|| format!("{sandbox} has no state: {shown}"))
    }

    /// The state of a snapshot, seen in a fork of it.
    fn state_of(&self, snapshot: &str) -> Result<u32, String> {
        let source = format!("it@{snapshot}");
        let forked = self.world.agar(["fork", &source, "--name", "look"]);
        if !forked.status.success() {
            return Err(format!("{source} cannot be forked: {forked}"));
        }
        let state = self.state("look");
        // The first puts it into the trash, the second removes it for good.
        drop(self.world.agar(["rm", "--force", "look"]));
        drop(self.world.agar(["prune", "--empty-trash"]));
        state
    }

    fn new_snapshots(&self) -> Vec<String> {
        let listed = self.world.agar(["snapshots", "it", "--json"]).success();
        let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
        let all = listed["snapshots"].as_array().into_iter().flatten();
        let names: BTreeSet<String> = all
            .filter_map(|it| it["name"].as_str().map(str::to_owned))
            .collect();
        let before = self.known.replace(names.clone());
        names.difference(&before).cloned().collect()
    }

    fn meet(&self, done: bool) {
        let mut met = self.met.get();
        met[usize::from(done)] += 1;
        self.met.set(met);
    }

    fn endure(
        &self,
        (words, victim, seed): (&[&str], Victim, u64),
        prepare: &dyn Fn(),
        judge: &dyn Fn() -> Result<(), String>,
    ) {
        Ordeal {
            world: &self.world,
            victim,
            words,
            prepare,
            judge,
            seed,
            kills: self.kills,
        }
        .endure();
        if victim == Victim::Client && self.kills == KILLS {
            let [nothing, done] = self.met.get();
            assert!(nothing > 0 && done > 0, "{nothing} and {done}: one-sided");
        }
        assert_collected(&self.world);
    }
}

fn expect(what: &str, found: u32, wanted: u32) -> Result<(), String> {
    if found == wanted {
        return Ok(());
    }
    Err(format!("{what} shows {found} and not {wanted}"))
}

fn snapshot(also: &str, victim: Victim, seed: u64) {
    snapshot_of(&Counter::new(), also, (victim, seed));
}

fn snapshot_of(counter: &Counter, also: &str, (victim, seed): (Victim, u64)) {
    let prepare = || {
        counter.write(also);
        counter.new_snapshots();
    };
    let judge = || {
        let now = counter.number.get();
        expect("the sandbox", counter.state("it")?, now)?;
        let new = counter.new_snapshots();
        counter.meet(!new.is_empty());
        new.iter()
            .try_for_each(|name| expect(name, counter.state_of(name)?, now))
    };
    counter.endure((&["snapshot", "it"], victim, seed), &prepare, &judge);
}

fn restore(also: &str, victim: Victim, seed: u64) {
    restore_of(&Counter::new(), also, (victim, seed));
}

fn restore_of(counter: &Counter, also: &str, (victim, seed): (Victim, u64)) {
    let mark = counter.number.get();
    let prepare = || {
        counter.write(also);
        counter.new_snapshots();
    };
    let judge = || {
        let (shown, left) = (counter.state("it")?, counter.number.get());
        let new = counter.new_snapshots();
        counter.meet(shown == mark);
        if shown == mark && new.is_empty() {
            return Err("the state that was left is lost".to_owned());
        }
        if shown != mark {
            expect("the sandbox", shown, left)?;
        }
        new.iter()
            .try_for_each(|name| expect(name, counter.state_of(name)?, left))
    };
    counter.endure((&["restore", "it@mark"], victim, seed), &prepare, &judge);
}

fn fork(victim: Victim, seed: u64) {
    fork_of(&Counter::new(), (victim, seed));
}

fn fork_of(counter: &Counter, (victim, seed): (Victim, u64)) {
    let prepare = || {
        for _ in 0..2 {
            drop(counter.world.agar(["rm", "--force", "copy"]));
        }
        counter.write("");
        counter.new_snapshots();
    };
    let judge = || {
        let now = counter.number.get();
        expect("the sandbox", counter.state("it")?, now)?;
        let listed = counter.world.agar(["ls", "--json"]).success().stdout;
        let is_there = listed.contains("\"copy\"");
        counter.meet(is_there);
        if is_there {
            expect("the fork", counter.state("copy")?, now)?;
        }
        let new = counter.new_snapshots();
        new.iter()
            .try_for_each(|name| expect(name, counter.state_of(name)?, now))
    };
    counter.endure(
        (&["fork", "it", "--name", "copy"], victim, seed),
        &prepare,
        &judge,
    );
}

#[test]
fn an_idle_snapshot_whose_command_is_killed_is_whole_or_absent() {
    snapshot("", Victim::Client, 1801);
}

#[test]
fn an_idle_snapshot_whose_keeper_is_killed_is_whole_or_absent() {
    snapshot("", Victim::Keeper, 1802);
}

#[test]
fn an_idle_snapshot_whose_init_is_killed_is_whole_or_absent() {
    snapshot("", Victim::Init, 1803);
}

#[test]
fn a_running_snapshot_whose_command_is_killed_is_whole_or_absent() {
    snapshot(STAY, Victim::Client, 1804);
}

#[test]
fn a_running_snapshot_whose_keeper_is_killed_is_whole_or_absent() {
    snapshot(STAY, Victim::Keeper, 1805);
}

#[test]
fn a_return_whose_command_is_killed_loses_neither_state() {
    restore("", Victim::Client, 1806);
}

#[test]
fn a_return_whose_keeper_is_killed_loses_neither_state() {
    restore(STAY, Victim::Keeper, 1807);
}

#[test]
fn a_fork_whose_command_is_killed_is_whole_or_absent() {
    fork(Victim::Client, 1808);
}

/// Where there are no layers the whole copy of the project is cloned; the notes and who finishes what
/// are the same, so fewer kills tell as much.
const FEW_KILLS: usize = 6;

/// The tiers without layers.
const WEAKER: [&str; 3] = ["helper", "landlock", "none"];

#[test]
fn a_snapshot_in_a_weaker_tier_whose_command_or_keeper_is_killed_is_whole_or_absent() {
    for (seed, tier) in (1810..).zip(WEAKER) {
        let counter = Counter::in_tier(tier, FEW_KILLS);
        snapshot_of(&counter, "", (Victim::Client, seed));
        let counter = Counter::in_tier(tier, FEW_KILLS);
        snapshot_of(&counter, "", (Victim::Keeper, seed));
    }
}

#[test]
fn a_return_in_a_weaker_tier_whose_command_is_killed_loses_neither_state() {
    for (seed, tier) in (1820..).zip(WEAKER) {
        let counter = Counter::in_tier(tier, FEW_KILLS);
        restore_of(&counter, "", (Victim::Client, seed));
    }
}

#[test]
fn a_fork_in_a_weaker_tier_whose_command_is_killed_is_whole_or_absent() {
    for (seed, tier) in (1830..).zip(WEAKER) {
        let counter = Counter::in_tier(tier, FEW_KILLS);
        fork_of(&counter, (Victim::Client, seed));
    }
}

/// The directories of a sandbox.
fn directories(world: &World) -> (PathBuf, BTreeSet<String>) {
    let sandboxes = world.state().join("agar/sandboxes");
    let mut found = fs_err::read_dir(sandboxes).unwrap();
    let directory = found.next().unwrap().unwrap().path();
    let names = fs_err::read_dir(&directory).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let names = names.collect();
    (directory, names)
}

#[test]
fn a_clone_that_nobody_finishes_is_taken_back_by_the_next_command() {
    let counter = Counter::new();
    counter.write(STAY);
    counter.enter("mkdir big; for n in $(seq 3000); do echo $n >big/$n; done");
    let before = directories(&counter.world).1;
    let mut running = counter.world.command(["snapshot", "it"]).spawn();
    let is_part = |name: &String| name.contains(".part");
    wait::until("the clone to be begun", || {
        directories(&counter.world).1.iter().any(is_part)
    });
    drop(running.kill());
    // Nobody stands still for a dead command.
    counter.enter("rm -r big");
    assert_eq!(counter.new_snapshots(), Vec::<String>::new());
    assert_eq!(directories(&counter.world).1, before);
    assert_eq!(counter.state("it"), Ok(counter.number.get()));
    counter.world.agar(["snapshot", "it"]).success();
    assert_eq!(counter.new_snapshots().len(), 1);
}

#[test]
fn layers_that_a_dead_command_had_begun_are_finished_or_taken_back_by_the_next_one() {
    let counter = Counter::new();
    let mut settled = 0;
    // The moment is short: now and then the command is done before it is killed.
    for _ in 0..200 {
        counter.write("");
        let before = directories(&counter.world).1;
        let mut running = counter.world.command(["snapshot", "it"]).spawn();
        while directories(&counter.world).1.is_subset(&before) && !running.has_ended() {}
        let done = running.kill().status.success();
        let (directory, begun) = directories(&counter.world);
        if !done && settled % 2 == 0 {
            // Nobody is left to be asked which layer is mounted.
            let state = counter.world.state().join("agar");
            if let Some(keeper) = keepers::of_sandbox(&state, &directory) {
                keepers::kill(keeper);
            }
        }
        assert_eq!(counter.state("it"), Ok(counter.number.get()));
        let new = counter.new_snapshots();
        for name in &new {
            assert_eq!(counter.state_of(name), Ok(counter.number.get()));
        }
        let (directory, after) = directories(&counter.world);
        if new.is_empty() {
            assert!(after.is_subset(&before), "left in {directory:?}: {after:?}");
        }
        settled += u32::from(!done && !begun.is_subset(&before));
        if settled == 10 {
            return;
        }
    }
    panic!("only {settled} commands died in between");
}
