//! What may happen to sandboxes, drawn by chance.

use super::tree::{Edit, PATHS};
use proptest::prelude::*;
use proptest::sample::select;

/// One step. Sandboxes and snapshots are named by a number, taken modulo how many there are.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// A command edits files.
    Edit {
        on: usize,
        edits: Vec<Edit>,
    },
    /// A command of an agent does, before which a snapshot is taken.
    Agent {
        on: usize,
        edits: Vec<Edit>,
    },
    /// The last snapshot is returned to, whatever it is.
    Undo {
        on: usize,
    },
    /// A process is left running.
    Busy {
        on: usize,
    },
    Snapshot {
        on: usize,
    },
    /// As many snapshots as are joined, each after an edit.
    Series {
        on: usize,
        edits: Vec<Edit>,
    },
    Restore {
        on: usize,
        to: usize,
    },
    /// Of a snapshot, or of the sandbox as it is.
    Fork {
        on: usize,
        from: Option<usize>,
    },
    Pause {
        on: usize,
    },
    Stop {
        on: usize,
    },
    Remove {
        on: usize,
    },
    /// Layers are joined and what nobody needs is cleared away.
    Upkeep,
    /// The keeper is killed while nobody does anything.
    Crash {
        on: usize,
    },
    /// Somebody is killed so many microseconds after a command began.
    Cut {
        on: usize,
        verb: Verb,
        victim: Victim,
        after_us: u32,
    },
}

/// A command to be cut short.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Verb {
    Snapshot,
    Restore(usize),
    Fork,
    MakeDirectory(&'static str),
    /// The same by an agent.
    AgentsDirectory(&'static str),
    Upkeep,
}

/// Who is killed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Victim {
    Command,
    Keeper,
}

/// A list of steps.
pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 10..40)
}

fn step() -> impl Strategy<Value = Step> {
    let on = 0..4_usize;
    prop_oneof![
        14 => (on.clone(), edits(1..6)).prop_map(|(on, edits)| Step::Edit { on, edits }),
        4 => (on.clone(), edits(1..6)).prop_map(|(on, edits)| Step::Agent { on, edits }),
        2 => on.clone().prop_map(|on| Step::Undo { on }),
        2 => on.clone().prop_map(|on| Step::Busy { on }),
        6 => on.clone().prop_map(|on| Step::Snapshot { on }),
        1 => (on.clone(), edits(17..20)).prop_map(|(on, edits)| Step::Series { on, edits }),
        5 => (on.clone(), any::<usize>()).prop_map(|(on, to)| Step::Restore { on, to }),
        3 => (on.clone(), prop::option::of(any::<usize>()))
            .prop_map(|(on, from)| Step::Fork { on, from }),
        2 => on.clone().prop_map(|on| Step::Pause { on }),
        1 => on.clone().prop_map(|on| Step::Stop { on }),
        1 => on.clone().prop_map(|on| Step::Remove { on }),
        2 => Just(Step::Upkeep),
        2 => on.clone().prop_map(|on| Step::Crash { on }),
        6 => (on, verb(), victim(), 0..60_000_u32).prop_map(|(on, verb, victim, after_us)| {
            Step::Cut { on, verb, victim, after_us }
        }),
    ]
}

fn victim() -> impl Strategy<Value = Victim> {
    prop_oneof![Just(Victim::Command), Just(Victim::Keeper)]
}

fn verb() -> impl Strategy<Value = Verb> {
    prop_oneof![
        4 => Just(Verb::Snapshot),
        4 => any::<usize>().prop_map(Verb::Restore),
        2 => Just(Verb::Fork),
        1 => select(&PATHS[..]).prop_map(Verb::MakeDirectory),
        2 => select(&PATHS[..]).prop_map(Verb::AgentsDirectory),
        1 => Just(Verb::Upkeep),
    ]
}

fn edits(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Edit>> {
    prop::collection::vec(edit(), count)
}

fn edit() -> impl Strategy<Value = Edit> {
    let path = || select(&PATHS[..]);
    prop_oneof![
        4 => (path(), any::<u16>()).prop_map(|(path, text)| Edit::Write(path, text)),
        1 => (path(), any::<u16>()).prop_map(|(path, text)| Edit::Append(path, text)),
        4 => path().prop_map(Edit::Delete),
        4 => (path(), path()).prop_map(|(from, to)| Edit::Rename(from, to)),
        3 => path().prop_map(Edit::MakeDirectory),
        2 => (path(), any::<bool>()).prop_map(|(path, wide)| Edit::Permit(path, wide)),
        1 => (path(), path()).prop_map(|(path, to)| Edit::Link(path, to)),
    ]
}
