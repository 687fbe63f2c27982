//! Swaps, failures, rollbacks, sleep and messages all at once, held against a model.

use crate::kit::{genome, incubator, sum, tight};
use agar_evolve::{Cell, Genome, Limits, RollbackState, Spec, Swap, SwapStep};
use proptest::prelude::*;
use std::collections::VecDeque;

/// A counter that may refuse: to save every third sum, to load every fifth, to migrate every
/// seventh.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Variant {
    schema: u32,
    factor: u64,
    shy: bool,
    picky: bool,
    clumsy: bool,
}

impl Variant {
    fn genome(self) -> Genome {
        let text = crate::kit::counter(self.schema, u32::try_from(self.factor).unwrap());
        let every =
            |of: u32, number: &str| format!("(i64.eqz (i64.rem_u {number} (i64.const {of})))");
        let mut text = text;
        if self.shy {
            let refuse = format!(
                "(if {} (then (return (i64.const 0x8000000000000000))))",
                every(3, "(global.get $sum)")
            );
            text = text.replace(
                "(func (export \"save\") (result i64)",
                &format!("(func (export \"save\") (result i64) {refuse}"),
            );
        }
        if self.picky {
            let refuse = format!(
                "(if {} (then unreachable))",
                every(5, "(i64.load (local.get $at))")
            );
            text = text.replace(
                "(param $schema i32) (result i32)",
                &format!("(param $schema i32) (result i32) {refuse}"),
            );
        }
        if self.clumsy {
            let spin = format!(
                "(if {} (then (loop (br 0))))",
                every(7, "(i64.load (local.get $at))")
            );
            text = text.replace(
                "(param i32 i32) (result i64)\n",
                &format!("(param i32 i32) (result i64) {spin}\n"),
            );
        }
        genome(&text)
    }
}

#[derive(Debug, Clone, Copy)]
enum Act {
    Send(u8),
    Work(usize),
    Swap(Variant),
    Rollback { back: u32, with: RollbackState },
    Sleep,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let variant = (
        1_u32..4,
        1_u64..4,
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(schema, factor, shy, picky, clumsy)| Variant {
            schema,
            factor,
            shy,
            picky,
            clumsy,
        });
    let with = prop_oneof![Just(RollbackState::Snapshot), Just(RollbackState::Current)];
    let act = prop_oneof![
        4 => any::<u8>().prop_map(Act::Send),
        3 => (0_usize..4).prop_map(Act::Work),
        3 => variant.prop_map(Act::Swap),
        2 => (0_u32..13, with).prop_map(|(back, with)| Act::Rollback { back, with }),
        1 => Just(Act::Sleep),
    ];
    proptest::collection::vec(act, 1..60)
}

/// What a version would be in a world without engines.
#[derive(Debug, Clone, Copy)]
struct Kept {
    variant: Variant,
    number: u32,
    snapshot: Option<u64>,
}

#[derive(Debug)]
struct Model {
    sum: u64,
    waiting: VecDeque<(u64, u8)>,
    tickets: u64,
    kept: VecDeque<Kept>,
}

impl Model {
    fn current(&self) -> Kept {
        *self.kept.back().unwrap()
    }

    fn swap(&mut self, new: Variant, carried: Option<(u32, u64)>) -> Result<u32, SwapStep> {
        let current = self.current();
        let leaving = self.leave()?;
        if let Some((schema, sum)) = carried {
            if schema != new.schema && new.clumsy && sum.is_multiple_of(7) {
                return Err(SwapStep::Migrate);
            }
            if new.picky && sum.is_multiple_of(5) {
                return Err(SwapStep::Load);
            }
        }
        self.kept.back_mut().unwrap().snapshot = Some(leaving);
        self.sum = carried.map_or(0, |(_, sum)| sum);
        let number = current.number + 1;
        self.kept.push_back(Kept {
            variant: new,
            number,
            snapshot: None,
        });
        if self.kept.len() > 10 {
            self.kept.pop_front();
        }
        Ok(number)
    }

    fn leave(&self) -> Result<u64, SwapStep> {
        if self.current().variant.shy && self.sum.is_multiple_of(3) {
            return Err(SwapStep::Save);
        }
        Ok(self.sum)
    }

    fn rollback(&mut self, number: u32, with: RollbackState) -> Result<u32, SwapStep> {
        let found = self.kept.iter().find(|kept| kept.number == number).copied();
        let found = found.ok_or(SwapStep::Find)?;
        let leaving = self.leave()?;
        let current = self.current();
        let carried = match with {
            RollbackState::Current => Some((current.variant.schema, leaving)),
            RollbackState::Snapshot if number == current.number => {
                Some((current.variant.schema, leaving))
            }
            RollbackState::Snapshot => found.snapshot.map(|sum| (found.variant.schema, sum)),
        };
        self.swap(found.variant, carried)
    }
}

const FIRST: Variant = Variant {
    schema: 1,
    factor: 1,
    shy: false,
    picky: false,
    clumsy: false,
};

fn begin() -> (Cell, Model) {
    let spec = Spec {
        limits: Limits {
            mailbox: 1_000,
            instructions: 20_000,
            ..tight().limits
        },
        ..tight()
    };
    let cell = incubator().create(&FIRST.genome(), spec).unwrap();
    let first = Kept {
        variant: FIRST,
        number: 1,
        snapshot: None,
    };
    let model = Model {
        sum: 0,
        waiting: VecDeque::new(),
        tickets: 0,
        kept: VecDeque::from([first]),
    };
    (cell, model)
}

fn work(cell: &mut Cell, model: &mut Model, most: usize) -> Result<(), TestCaseError> {
    for answer in cell.work(most) {
        let (ticket, byte) = model.waiting.pop_front().unwrap();
        model.sum += model.current().variant.factor * u64::from(byte);
        prop_assert_eq!(answer.ticket, ticket);
        let said = answer.result.map(|bytes| sum(&bytes));
        prop_assert_eq!(said, Ok(model.sum));
    }
    Ok(())
}

fn act(cell: &mut Cell, model: &mut Model, act: Act) -> Result<(), TestCaseError> {
    match act {
        Act::Send(byte) => {
            model.tickets += 1;
            model.waiting.push_back((model.tickets, byte));
            prop_assert_eq!(cell.send(vec![byte]), Ok(model.tickets));
        }
        Act::Work(most) => work(cell, model, most)?,
        Act::Swap(variant) => {
            let state = (model.current().variant.schema, model.sum);
            let expected = model.swap(variant, Some(state));
            let done = cell.swap(Swap::to(variant.genome(), "fire"));
            prop_assert_eq!(done.map_err(|error| error.step), expected);
        }
        Act::Rollback { back, with } => {
            let number = model.current().number.saturating_sub(back);
            let expected = model.rollback(number, with);
            let done = cell.rollback(number, with);
            prop_assert_eq!(done.map_err(|error| error.step), expected);
        }
        Act::Sleep => cell.hibernate().unwrap(),
    }
    prop_assert_eq!(cell.mailbox().waiting(), model.waiting.len());
    prop_assert_eq!(cell.history().current_version, model.current().number);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn no_message_is_lost_and_no_state_differs_from_the_model(plan in acts()) {
        let (mut cell, mut model) = begin();
        for step in plan {
            act(&mut cell, &mut model, step)?;
        }
        let left = model.waiting.len();
        work(&mut cell, &mut model, left)?;
        prop_assert!(model.waiting.is_empty());
    }
}

/// Sends as soon as there is room.
fn send_one(mailbox: &agar_evolve::Mailbox) {
    while mailbox.send(vec![1]).is_err() {
        std::thread::yield_now();
    }
}

#[test]
fn messages_that_arrive_during_swaps_are_answered_once_and_in_order() {
    const SENDERS: u64 = 3;
    const EACH: u64 = 2_000;
    let spec = Spec {
        limits: Limits {
            mailbox: 64,
            instructions: 20_000,
            ..Limits::default()
        },
        ..Spec::default()
    };
    let mut cell = incubator().create(&FIRST.genome(), spec).unwrap();
    let variants: Vec<Genome> = [(1, false), (2, true), (3, false), (1, true)]
        .map(|(schema, broken)| {
            Variant {
                schema,
                factor: 1,
                shy: false,
                picky: broken,
                clumsy: broken,
            }
            .genome()
        })
        .to_vec();
    let mut answered = Vec::new();
    let mut failed = 0;
    std::thread::scope(|scope| {
        for _ in 0..SENDERS {
            let mailbox = cell.mailbox();
            scope.spawn(move || (0..EACH).for_each(|_| send_one(&mailbox)));
        }
        let mut round = 0;
        while answered.len() < usize::try_from(SENDERS * EACH).unwrap() {
            for answer in cell.work(7) {
                answered.push((answer.ticket, sum(&answer.result.unwrap())));
            }
            let next = variants[round % variants.len()].clone();
            failed += usize::from(cell.swap(Swap::to(next, "")).is_err());
            round += 1;
        }
    });
    let expected: Vec<(u64, u64)> = (1..=SENDERS * EACH)
        .map(|number| (number, number))
        .collect();
    assert_eq!(answered, expected);
    assert!(
        failed > 0,
        "some swaps must have failed, or this shows half"
    );
    assert!(cell.metrics().swaps > 100);
}
