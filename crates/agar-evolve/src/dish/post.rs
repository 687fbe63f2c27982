//! Messages between individuals.
//!
//! Nobody calls anybody: a genome puts out an artifact whose key is `to/NAME`, and after its run the
//! dish leaves it in that individual's mailbox, in the order in which it was put out. A mailbox that
//! is full refuses, and the sender's host hears of it.

use super::{Dish, DishError};
use crate::cell::Answer;
use crate::engine::host::Artifact;

/// What a message's key begins with.
const ADDRESS: &str = "to/";

/// What became of messages.
#[derive(Debug, Default)]
pub struct Delivered {
    /// What the individual answered to its own messages.
    pub answers: Vec<Answer>,
    /// How many messages it sent on.
    pub sent: usize,
    /// To whom it could not send, and why.
    pub undelivered: Vec<(String, DishError)>,
}

impl Dish {
    /// Leaves a message for an individual; its number there.
    pub fn send(&self, id: &str, message: Vec<u8>) -> Result<u64, DishError> {
        // The mailbox has a lock of its own, and whoever is running holds the member's: where that
        // is so, it is waited for.
        let mailbox = self.with(id, |member| member.cell.mailbox())?;
        Ok(mailbox.send(message)?)
    }

    /// Has an individual answer up to so many of its messages, and delivers what it sends.
    pub fn deliver(&self, id: &str, most: usize) -> Result<Delivered, DishError> {
        let mut delivered = Delivered::default();
        for _ in 0..most {
            let (answers, letters) = self.with(id, |member| {
                let answers = member.cell.work(1);
                (answers, letters(member.cell.artifacts()))
            })?;
            if answers.is_empty() {
                break;
            }
            for error in answers.iter().filter_map(|it| it.result.as_ref().err()) {
                self.killed(error);
            }
            delivered.answers.extend(answers);
            for (to, message) in letters {
                match self.send(&to, message) {
                    Ok(_) => delivered.sent += 1,
                    Err(error) => delivered.undelivered.push((to, error)),
                }
            }
        }
        Ok(delivered)
    }
}

/// What a run put out for others.
fn letters(artifacts: &[Artifact]) -> Vec<(String, Vec<u8>)> {
    let addressed = artifacts.iter().filter_map(|artifact| {
        let to = artifact.key.strip_prefix(ADDRESS)?;
        Some((to.to_owned(), artifact.value.clone()))
    });
    addressed.collect()
}
