//! Plays steps on real sandboxes and on their models.

use super::step::{Step, Verb, Victim};
use super::tree::{Edit, LIST, Tree, sorted};
use crate::world;
use agar_testkit::{Outcome, World, keepers, wait};
use rustix::process::Pid;
use serde_json::Value;
use std::time::{Duration, Instant};

/// No more sandboxes at once.
const SANDBOXES_MAX: usize = 4;

/// So many snapshots of each sandbox are looked at in the end.
const LOOKED_AT: usize = 8;

/// What goes wrong is a text.
type Told<T> = Result<T, String>;

/// The model of a sandbox.
#[derive(Debug, Clone)]
struct Model {
    alias: String,
    tree: Tree,
    /// What it was forked from.
    origin: Option<Tree>,
    /// Newest last.
    snapshots: Vec<(String, Tree)>,
    paused: bool,
}

/// A world with sandboxes, and their models.
pub(crate) struct Play {
    world: World,
    models: Vec<Model>,
    next: usize,
}

impl Play {
    pub(crate) fn begin() -> Self {
        let world = world::plain();
        let (tree, files) = Tree::begin();
        for (path, text) in files {
            world.write(path, format!("{text}\n"));
        }
        world.agar(["create", "--name", "m0"]).success();
        let model = Model {
            alias: "m0".to_owned(),
            tree,
            origin: None,
            snapshots: Vec::new(),
            paused: false,
        };
        Self {
            world,
            models: vec![model],
            next: 1,
        }
    }

    /// Plays all steps, then looks at everything once more.
    pub(crate) fn all(&mut self, steps: &[Step]) -> Told<()> {
        for (number, step) in steps.iter().enumerate() {
            self.step(step)
                .map_err(|why| format!("step {number}, {step:?}: {why}"))?;
        }
        self.look_at_all()
            .map_err(|why| format!("in the end: {why}"))
    }

    fn step(&mut self, step: &Step) -> Told<()> {
        match step {
            Step::Edit { on, edits } => self.edit(self.at(*on), edits),
            Step::Agent { on, edits } => self.agent(self.at(*on), edits),
            Step::Undo { on } => self.undo(self.at(*on)),
            Step::Busy { on } => {
                let on = self.at(*on);
                self.resume(on)?;
                self.exec(on, "sleep 1000 >/dev/null 2>&1 &").map(drop)
            }
            Step::Snapshot { on } => self.snapshot(self.at(*on)),
            Step::Series { on, edits } => edits.iter().try_for_each(|edit| {
                let on = self.at(*on);
                self.edit(on, std::slice::from_ref(edit))?;
                self.snapshot(on)
            }),
            Step::Restore { on, to } => self.restore(self.at(*on), *to),
            Step::Fork { on, from } => self.fork(self.at(*on), *from),
            Step::Pause { on } => self.pause(self.at(*on)),
            Step::Stop { on } => self.stop(self.at(*on)),
            Step::Remove { on } => self.remove(self.at(*on)),
            Step::Upkeep => self.run(&["upkeep"]).map(drop),
            Step::Crash { on } => self.crash(self.at(*on)),
            Step::Cut {
                on,
                verb,
                victim,
                after_us,
            } => {
                let after = Duration::from_micros((*after_us).into());
                self.cut(self.at(*on), *verb, (*victim, after))
            }
        }
    }

    fn at(&self, number: usize) -> usize {
        number % self.models.len()
    }

    fn run(&self, words: &[&str]) -> Told<Outcome> {
        let outcome = self.world.agar(words);
        if outcome.status.success() {
            Ok(outcome)
        } else {
            Err(format!("`agar {}`: {outcome}", words.join(" ")))
        }
    }

    fn exec(&self, on: usize, script: &str) -> Told<String> {
        let alias = &self.models[on].alias;
        let script = format!("umask 022; {script}");
        self.run(&["exec", alias, "--", "/bin/sh", "-c", &script])
            .map(|outcome| outcome.stdout)
    }

    fn json(&self, words: &[&str]) -> Told<Value> {
        let outcome = self.run(words)?;
        serde_json::from_str(&outcome.stdout).map_err(|error| error.to_string())
    }

    fn edit(&mut self, on: usize, edits: &[Edit]) -> Told<()> {
        self.resume(on)?;
        let tree = &mut self.models[on].tree;
        let script: Vec<String> = edits.iter().filter_map(|edit| tree.edit(edit)).collect();
        self.exec(on, &format!("set -e; {}\ntrue", script.join("\n")))?;
        self.look_at(on)
    }

    /// Edits as an agent does: what was before can be returned to.
    fn agent(&mut self, on: usize, edits: &[Edit]) -> Told<()> {
        self.resume(on)?;
        let before = self.models[on].tree.clone();
        let tree = &mut self.models[on].tree;
        let script: Vec<String> = edits.iter().filter_map(|edit| tree.edit(edit)).collect();
        let script = format!("umask 022; set -e; {}\ntrue", script.join("\n"));
        let alias = self.models[on].alias.clone();
        let words = ["exec", "--agent", "claude", "--json", &alias];
        let words = [&words[..], &["--", "/bin/sh", "-c", &script]].concat();
        let answer = self.json(&words)?;
        self.note_new(on, &before)?;
        let name = answer["before"].as_str().and_then(|it| it.split_once('@'));
        let known = self.models[on].snapshots.iter();
        let shows =
            known.filter(|(it, tree)| name == Some((alias.as_str(), it)) && *tree == before);
        if shows.count() != 1 {
            return Err(format!("no snapshot shows what was before: {name:?}"));
        }
        self.look_at(on)
    }

    /// Returns to whatever the last snapshot is.
    fn undo(&mut self, on: usize) -> Told<()> {
        if self.models[on].snapshots.is_empty() && self.models[on].origin.is_none() {
            return Ok(());
        }
        let answer = self.json(&["restore", &self.models[on].alias, "--json"])?;
        let name = answer["snapshot"]["reference"].as_str().unwrap_or_default();
        let model = &self.models[on];
        let tree = match name.split_once('@') {
            Some((alias, name)) if alias == model.alias => {
                let found = model.snapshots.iter().find(|(it, _)| it == name);
                found.map(|(_, tree)| tree)
            }
            Some(_) | None => model.origin.as_ref(),
        };
        let tree = tree
            .ok_or_else(|| format!("nobody knows the snapshot {name}"))?
            .clone();
        let before = std::mem::replace(&mut self.models[on].tree, tree);
        self.models[on].paused = false;
        self.note_new(on, &before)?;
        self.look_at(on)
    }

    fn snapshot(&mut self, on: usize) -> Told<()> {
        self.run(&["snapshot", &self.models[on].alias])?;
        let before = self.models[on].tree.clone();
        self.note_new(on, &before)?;
        self.look_at(on)
    }

    fn restore(&mut self, on: usize, to: usize) -> Told<()> {
        let Some((name, tree)) = self.choose(on, to) else {
            return Ok(());
        };
        self.run(&["restore", &format!("{}@{name}", self.models[on].alias)])?;
        let before = std::mem::replace(&mut self.models[on].tree, tree);
        self.models[on].paused = false;
        self.note_new(on, &before)?;
        self.look_at(on)
    }

    fn fork(&mut self, on: usize, from: Option<usize>) -> Told<()> {
        if self.models.len() == SANDBOXES_MAX {
            return Ok(());
        }
        let chosen = from.and_then(|from| self.choose(on, from));
        let alias = &self.models[on].alias;
        let (source, tree) = match chosen {
            Some((name, tree)) => (format!("{alias}@{name}"), tree),
            None => (alias.clone(), self.models[on].tree.clone()),
        };
        let fork = self.new_name();
        self.run(&["fork", &source, "--name", &fork])?;
        let before = self.models[on].tree.clone();
        self.note_new(on, &before)?;
        self.add(fork, tree);
        self.look_at(self.models.len() - 1)?;
        self.look_at(on)
    }

    fn new_name(&mut self) -> String {
        self.next += 1;
        format!("m{}", self.next)
    }

    fn add(&mut self, alias: String, tree: Tree) {
        self.models.push(Model {
            alias,
            origin: Some(tree.clone()),
            tree,
            snapshots: Vec::new(),
            paused: false,
        });
    }

    fn pause(&mut self, on: usize) -> Told<()> {
        if self.models[on].paused {
            return self.resume(on);
        }
        // A jail that was stopped is put up by the next command.
        self.exec(on, "true")?;
        self.run(&["pause", &self.models[on].alias])?;
        self.models[on].paused = true;
        Ok(())
    }

    fn resume(&mut self, on: usize) -> Told<()> {
        if self.models[on].paused {
            self.run(&["resume", &self.models[on].alias])?;
            self.models[on].paused = false;
        }
        Ok(())
    }

    fn stop(&mut self, on: usize) -> Told<()> {
        // One that has no jail is refused, which is right as well.
        drop(self.world.agar(["stop", &self.models[on].alias]));
        self.models[on].paused = false;
        self.look_at(on)
    }

    fn remove(&mut self, on: usize) -> Told<()> {
        if self.models.len() > 1 {
            // Its forks stand on its layers, and it is gone for good.
            let alias = self.models.remove(on).alias;
            self.run(&["rm", "--force", &alias])?;
            self.run(&["prune", "--empty-trash"])?;
            self.models.iter().try_for_each(|model| self.look(model))?;
        }
        Ok(())
    }

    fn crash(&mut self, on: usize) -> Told<()> {
        if let Some(keeper) = self.keeper(on)? {
            keepers::kill(keeper);
        }
        self.models[on].paused = false;
        self.look_at(on)
    }

    fn keeper(&self, on: usize) -> Told<Option<Pid>> {
        let listed = self.json(&["inspect", &self.models[on].alias, "--json"])?;
        let id = listed["sandbox"]["id"].as_str().ok_or("no id")?;
        let state = self.world.state().join("agar");
        Ok(keepers::of_sandbox(
            &state,
            &state.join("sandboxes").join(id),
        ))
    }

    /// Begins a command, kills somebody, and takes over what became of it.
    fn cut(&mut self, on: usize, verb: Verb, (victim, after): (Victim, Duration)) -> Told<()> {
        let alias = self.models[on].alias.clone();
        let before = self.models[on].tree.clone();
        let mut after_all = before.clone();
        let mut forked = None;
        let words: Vec<String> = match verb {
            Verb::Snapshot => vec!["snapshot".to_owned(), alias],
            Verb::Restore(to) => {
                let Some((name, tree)) = self.choose(on, to) else {
                    return Ok(());
                };
                after_all = tree;
                vec!["restore".to_owned(), format!("{alias}@{name}")]
            }
            Verb::Fork if self.models.len() < SANDBOXES_MAX => {
                let fork = self.new_name();
                forked = Some(fork.clone());
                ["fork", &alias, "--name", &fork].map(str::to_owned).into()
            }
            Verb::Fork => return Ok(()),
            Verb::MakeDirectory(path) | Verb::AgentsDirectory(path) => {
                self.resume(on)?;
                let Some(script) = after_all.edit(&Edit::MakeDirectory(path)) else {
                    return Ok(());
                };
                let by: &[&str] = if matches!(verb, Verb::AgentsDirectory(_)) {
                    &["--agent", "claude"]
                } else {
                    &[]
                };
                let script = format!("umask 022; {script}");
                let words = ["--", "/bin/sh", "-c", &script];
                let words = [&["exec"], by, &[alias.as_str()], &words].concat();
                words.into_iter().map(str::to_owned).collect()
            }
            Verb::Upkeep => vec!["upkeep".to_owned()],
        };
        self.kill_during(on, &words, (victim, after))?;
        self.settle(on, (before, after_all), forked)
    }

    fn kill_during(
        &self,
        on: usize,
        words: &[String],
        (victim, after): (Victim, Duration),
    ) -> Told<()> {
        let keeper = match victim {
            Victim::Keeper => self.keeper(on)?,
            Victim::Command => None,
        };
        let mut running = self.world.command(words).spawn();
        let start = Instant::now();
        while start.elapsed() < after && !running.has_ended() {
            std::thread::yield_now();
        }
        match victim {
            Victim::Command => drop(running.kill()),
            Victim::Keeper => {
                if let Some(keeper) = keeper {
                    keepers::kill(keeper);
                }
                let patience = Duration::from_secs(30);
                if !wait::holds_within(patience, || running.has_ended()) {
                    return Err(format!(
                        "`agar {}` hangs: {}",
                        words.join(" "),
                        running.kill()
                    ));
                }
            }
        }
        Ok(())
    }

    /// Takes over what a command did before it was cut short.
    fn settle(
        &mut self,
        on: usize,
        (before, after): (Tree, Tree),
        forked: Option<String>,
    ) -> Told<()> {
        let listed = self.json(&["ls", "--json"])?;
        let find = |alias: &str| {
            let all = listed["sandboxes"].as_array().into_iter().flatten();
            all.into_iter().find(|it| it["alias"] == alias).cloned()
        };
        let ours = find(&self.models[on].alias).ok_or("the sandbox is gone")?;
        self.models[on].paused = ours["state"] == "paused";
        if let Some(fork) = forked
            && find(&fork).is_some()
        {
            self.add(fork, before.clone());
            self.look_at(self.models.len() - 1)?;
        }
        self.note_new(on, &before)?;
        self.resume(on)?;
        let shown = self.shown(&self.models[on])?;
        if shown == before.listed() {
            return Ok(());
        }
        if shown != after.listed() {
            return Err(difference(&shown, &before));
        }
        let is_known = |(_, tree): &(String, Tree)| *tree == before;
        // Only a restore leaves a state, and it keeps it.
        let by_hand =
            after != before && !self.models[on].snapshots.iter().any(|(_, it)| *it == after);
        if !by_hand && !self.models[on].snapshots.iter().any(is_known) {
            return Err("the state before is lost".to_owned());
        }
        self.models[on].tree = after;
        Ok(())
    }

    /// A snapshot by number.
    fn choose(&self, on: usize, number: usize) -> Option<(String, Tree)> {
        let all = &self.models[on].snapshots;
        (!all.is_empty()).then(|| all[number % all.len()].clone())
    }

    /// Snapshots that the model does not know yet: all show the sandbox as it was.
    fn note_new(&mut self, on: usize, tree: &Tree) -> Told<()> {
        let listed = self.json(&["snapshots", &self.models[on].alias, "--json"])?;
        let names: Vec<String> = listed["snapshots"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|it| Some(it["name"].as_str()?.to_owned()))
            .collect();
        let known = &mut self.models[on].snapshots;
        if let Some((lost, _)) = known.iter().find(|(name, _)| !names.contains(name)) {
            return Err(format!("the snapshot {lost} is gone"));
        }
        let new: Vec<String> = names
            .into_iter()
            .filter(|name| known.iter().all(|(it, _)| it != name))
            .collect();
        if new.len() > 1 {
            return Err(format!("several snapshots at once: {new:?}"));
        }
        known.extend(new.into_iter().map(|name| (name, tree.clone())));
        Ok(())
    }

    fn shown(&self, model: &Model) -> Told<String> {
        let words = ["exec", &model.alias, "--", "/bin/sh", "-c", LIST];
        let outcome = self.run(&words)?;
        Ok(sorted(outcome.stdout.lines().map(str::to_owned).collect()))
    }

    fn look_at(&self, on: usize) -> Told<()> {
        self.look(&self.models[on])
    }

    /// Compares a sandbox with its model. One that is paused is looked at when it goes on.
    fn look(&self, model: &Model) -> Told<()> {
        if model.paused {
            return Ok(());
        }
        let shown = self.shown(model)?;
        if shown == model.tree.listed() {
            return Ok(());
        }
        Err(format!(
            "{}: {}",
            model.alias,
            difference(&shown, &model.tree)
        ))
    }

    fn look_at_all(&mut self) -> Told<()> {
        for on in 0..self.models.len() {
            self.resume(on)?;
            self.look_at(on)?;
            let all = self.models[on].snapshots.len();
            let every = all.div_ceil(LOOKED_AT).max(1);
            for number in (0..all).step_by(every) {
                self.restore(on, number)?;
            }
        }
        self.run(&["rm", "--all", "--force"])?;
        self.run(&["prune", "--empty-trash"])?;
        let left = fs_err::read_dir(self.world.state().join("agar/sandboxes"));
        let left = left.map_err(|error| error.to_string())?.count();
        if left == 0 {
            Ok(())
        } else {
            Err(format!("{left} directories of sandboxes that are gone"))
        }
    }
}

fn difference(shown: &str, model: &Tree) -> String {
    let want = model.listed();
    let only = |these: &str, those: &str| -> Vec<String> {
        let those: Vec<&str> = those.lines().collect();
        let mine = these.lines().filter(|line| !those.contains(line));
        mine.map(str::to_owned).collect()
    };
    format!(
        "it shows {:?}, and lacks {:?}",
        only(shown, &want),
        only(&want, shown)
    )
}
