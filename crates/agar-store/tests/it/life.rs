//! Any sequence of events, told to the store and to a model: both say the same.

use crate::world::{World, at};
use agar_core::state::{Event, State};
use agar_store::{Fact, Lookup, Scope, StoreError};
use proptest::prelude::*;

const EVENTS: [Event; 9] = [
    Event::Start,
    Event::Pause,
    Event::Resume,
    Event::Finish,
    Event::Promote,
    Event::Undo,
    Event::Return,
    Event::Discard,
    Event::Collect,
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn the_store_and_the_state_machine_agree(steps in prop::collection::vec((0_usize..3, 0_usize..8), 0..40)) {
        let mut world = World::new();
        let project = world.project("/src/shop").id;
        let names = ["calm-fern", "calm-fox", "brave-otter"];
        let ids = names.map(|name| world.sandbox(project, name).id);
        let mut model = [State::Creating; 3];
        let mut changes = Vec::new();
        for (which, event) in steps {
            let event = EVENTS[event];
            let told = world.store.write(|writer| writer.advance_sandbox(ids[which], event, at(9)));
            match model[which].after(event) {
                Ok(to) => {
                    prop_assert_eq!(told.unwrap(), to);
                    if to != model[which] {
                        changes.push((ids[which], model[which], to));
                    }
                    model[which] = to;
                }
                Err(expected) => {
                    let refused = matches!(told, Err(StoreError::OutOfTurn(met)) if met == expected);
                    prop_assert!(refused);
                }
            }
        }
        let read = world.store.read();
        for (id, state) in ids.iter().zip(model) {
            prop_assert_eq!(read.sandbox(*id).unwrap().state, state);
        }
        let told: Vec<_> = read.journal_since(project, 3, 1000).unwrap().into_iter()
            .map(|entry| {
                let Fact::SandboxState { from, to, .. } = entry.fact else {
                    panic!("{:?}", entry.fact);
                };
                (entry.sandbox.unwrap(), from, to)
            })
            .collect();
        prop_assert_eq!(told, changes);
        let alive = read.sandboxes(Some(project), Scope::Alive).unwrap().len();
        prop_assert_eq!(alive, model.iter().filter(|state| state.is_alive()).count());
        for (name, state) in names.iter().zip(model) {
            let found = matches!(read.find_sandbox(name, None).unwrap(), Lookup::Found(_));
            prop_assert_eq!(found, state.has_layers());
        }
    }

    #[test]
    fn a_prefix_finds_one_or_names_all_that_fit(typed in "(c|ca|calm|calm-|calm-f|calm-fe|b|x|-|%|_|\\*|[0-9a-f]{1,3}){1,2}") {
        let mut world = World::new();
        let project = world.project("/src/shop").id;
        let all: Vec<_> = ["calm-fern", "calm-fox", "brave-otter"]
            .map(|name| world.sandbox(project, name)).into_iter().collect();
        let fits: Vec<_> = all.iter()
            .filter(|sandbox| sandbox.alias.starts_with(&typed) || sandbox.id.to_string().starts_with(&typed))
            .collect();
        match world.store.read().find_sandbox(&typed, Some(project)).unwrap() {
            Lookup::Found(found) => prop_assert_eq!(vec![&*found], fits),
            Lookup::Missing { .. } => prop_assert!(fits.is_empty()),
            Lookup::Ambiguous(found) => prop_assert_eq!(found.len(), fits.len()),
        }
    }
}

/// A source of randomness that always says the same: every alias after the first is taken.
struct Same;

impl agar_core::seam::Entropy for Same {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(7);
    }
}

#[test]
fn aliases_are_drawn_until_one_is_free() {
    let mut world = World::new();
    let project = world.project("/src/shop").id;
    let (first, second) = (world.new_sandbox(project), world.new_sandbox(project));
    let made = world.store.write::<_, StoreError>(|writer| {
        let first = writer.create_sandbox(&first, &Same, at(2))?;
        let second = writer.create_sandbox(&second, &Same, at(2))?;
        Ok((first.alias, second.alias))
    });
    let (first, second) = made.unwrap();
    assert!(
        second.starts_with(&first) && second != first,
        "{first} {second}"
    );
}
