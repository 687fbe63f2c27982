//! An attacker: a Python program that runs inside a sandbox, tries things and reports each.
//!
//! Python, because it reaches every system call without a compiler; the programs are in `attacks/`
//! and arrive over standard input, so that nothing of them is on the disk. Each line
//! `attempt <name> <ok|ERRNO>` is one thing tried.

use agar_testkit::invocation::Running;
use agar_testkit::{Invocation, Outcome, World};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

const PRELUDE: &str = include_str!("attacks/prelude.py");

/// An attack about to be made.
pub(crate) struct Attack<'world> {
    world: &'world World,
    verb: Vec<String>,
    facts: Map<String, Value>,
    script: &'static str,
    old_ways: &'static str,
}

/// What became of it.
#[derive(Debug)]
pub(crate) struct Report {
    /// How the command ended.
    pub(crate) outcome: Outcome,
    attempts: BTreeMap<String, String>,
}

impl<'world> Attack<'world> {
    /// The program, run by `agar run`.
    pub(crate) fn new(world: &'world World, script: &'static str) -> Self {
        Self {
            world,
            verb: vec!["run".into()],
            facts: Map::new(),
            script,
            old_ways: "",
        }
    }

    /// Adds a flag of the command.
    pub(crate) fn flag(mut self, flag: &str) -> Self {
        self.verb.push(flag.to_owned());
        self
    }

    /// Forces ways of older kernels.
    pub(crate) fn old_ways(mut self, ways: &'static str) -> Self {
        self.old_ways = ways;
        self
    }

    /// Tells the attacker something about the world outside.
    pub(crate) fn fact(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.facts.insert(name.to_owned(), value.into());
        self
    }

    /// The whole program.
    fn program(&self) -> String {
        let facts = Value::Object(self.facts.clone()).to_string();
        // A JSON string is a Python string.
        let literal = Value::String(facts).to_string();
        format!(
            "FACTS_TEXT = {literal}\n{PRELUDE}\n{}\nprint('attack over')\n",
            self.script
        )
    }

    /// The command that makes it.
    fn invocation(self) -> Invocation {
        let program = self.program();
        self.world
            .command(&self.verb)
            .args(["--", "/usr/bin/python3", "-I", "-"])
            .env("AGAR_OLD_WAYS", self.old_ways)
            .stdin(program)
    }

    /// Begins it, for an attack that stays.
    #[track_caller]
    pub(crate) fn spawn(self) -> Running {
        self.invocation().spawn()
    }

    /// Makes it.
    #[track_caller]
    pub(crate) fn run(self) -> Report {
        let outcome = self.invocation().run();
        let attempts = outcome.stdout.lines().filter_map(attempt).collect();
        Report { outcome, attempts }
    }
}

fn attempt(line: &str) -> Option<(String, String)> {
    let (name, result) = line.strip_prefix("attempt\t")?.split_once('\t')?;
    Some((name.to_owned(), result.to_owned()))
}

impl Report {
    /// Panics unless the attacker came to the end of its program.
    #[track_caller]
    pub(crate) fn complete(self) -> Self {
        assert!(
            self.outcome.stdout.contains("attack over"),
            "the attack broke off: {}",
            self.outcome.stderr
        );
        self
    }

    /// What the attempt gave: `ok`, an error name, or nothing when it was not made.
    pub(crate) fn of(&self, name: &str) -> Option<&str> {
        self.attempts.get(name).map(String::as_str)
    }

    /// Panics unless at least one attempt begins with the prefix and all of them failed.
    #[track_caller]
    pub(crate) fn all_refused(&self, prefix: &str) {
        let made: Vec<_> = self
            .attempts
            .iter()
            .filter(|(name, _)| name.starts_with(prefix))
            .collect();
        assert!(
            !made.is_empty(),
            "nothing called {prefix}* was tried: {}",
            self.outcome.stderr
        );
        let worked: Vec<_> = made
            .iter()
            .filter(|(_, result)| result.starts_with("ok"))
            .collect();
        assert!(
            worked.is_empty(),
            "these worked: {worked:?}\n{}",
            self.outcome.stderr
        );
    }

    /// Panics unless every attempt that begins with the prefix worked, of which there is one.
    #[track_caller]
    pub(crate) fn all_worked(&self, prefix: &str) {
        let made: Vec<_> = self
            .attempts
            .iter()
            .filter(|(name, _)| name.starts_with(prefix))
            .collect();
        assert!(
            !made.is_empty(),
            "nothing called {prefix}* was tried: {}",
            self.outcome.stderr
        );
        let failed: Vec<_> = made
            .iter()
            .filter(|(_, result)| !result.starts_with("ok"))
            .collect();
        assert!(
            failed.is_empty(),
            "these failed: {failed:?}\n{}",
            self.outcome.stderr
        );
    }
}
