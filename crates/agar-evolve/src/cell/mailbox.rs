//! Messages that wait for a cell.
//!
//! The mailbox is apart from the instance: it takes messages while the code behind it is being
//! replaced, put to sleep or restarted, and gives them out in order, each once.

use crate::failure::CellError;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// A message and the number it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Counts up from one for each cell.
    pub ticket: u64,
    /// What it says.
    pub bytes: Vec<u8>,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Message>,
    last: u64,
}

/// A bounded queue that several threads may fill.
#[derive(Debug)]
pub struct Mailbox {
    queue: Mutex<Queue>,
    limit: u32,
}

impl Mailbox {
    pub(crate) fn new(limit: u32) -> Self {
        Self {
            queue: Mutex::default(),
            limit,
        }
    }

    /// A mailbox in which these wait already.
    pub(crate) fn holding(limit: u32, waiting: Vec<Message>, last: u64) -> Self {
        let waiting = waiting.into();
        Self {
            queue: Mutex::new(Queue { waiting, last }),
            limit,
        }
    }

    /// What waits, and the number that was given out last.
    pub(crate) fn contents(&self) -> (Vec<Message>, u64) {
        self.with(|queue| (queue.waiting.iter().cloned().collect(), queue.last))
    }

    fn with<T>(&self, act: impl FnOnce(&mut Queue) -> T) -> T {
        // A thread that panicked here left a queue that is whole: each change is one step.
        act(&mut self.queue.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts a message at the end and answers its number.
    pub fn send(&self, bytes: Vec<u8>) -> Result<u64, CellError> {
        self.with(|queue| {
            if queue.waiting.len() >= self.limit as usize {
                return Err(CellError::MailboxFull { limit: self.limit });
            }
            queue.last += 1;
            let ticket = queue.last;
            queue.waiting.push_back(Message { ticket, bytes });
            Ok(ticket)
        })
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.with(|queue| queue.waiting.len())
    }

    pub(crate) fn take(&self) -> Option<Message> {
        self.with(|queue| queue.waiting.pop_front())
    }

    /// Gives back a message that was not handled, to the front; the limit is for senders.
    pub(crate) fn give_back(&self, message: Message) {
        self.with(|queue| queue.waiting.push_front(message));
    }
}
