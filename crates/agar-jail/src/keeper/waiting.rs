//! What is asked for while everything inside stands still.
//!
//! A snapshot is over in a moment, so a command that comes meanwhile waits for it. One that is paused
//! until somebody says otherwise may stay so for ever: whoever asks is told.

use super::Keeper;
use crate::client::RunRequest;
use crate::protocol::Reply;
use rustix::fd::OwnedFd;
use std::io;

/// A command that somebody wants started, with its streams where it has no terminal.
pub(super) enum Asked {
    Run(RunRequest, Vec<OwnedFd>),
    /// On the terminal that the keeper holds.
    Terminal(RunRequest),
}

impl Keeper<'_> {
    /// Starts what a client asks for, as soon as something can be started.
    pub(super) fn begin(&mut self, client: usize, asked: Asked) -> io::Result<()> {
        // Who looks at a terminal that is there starts nothing.
        let looks = matches!(asked, Asked::Terminal(_)) && self.terminal.is_some();
        match (&self.still, asked) {
            (Some(still), _) if !looks && still.stays() => {
                self.answer(client, &Reply::Paused);
                Ok(())
            }
            (Some(_), asked) if !looks => {
                if let Some(client) = self.clients.get_mut(client) {
                    client.waiting = Some(asked);
                }
                Ok(())
            }
            (_, Asked::Run(request, streams)) => self.start(client, &request, &streams),
            (_, Asked::Terminal(request)) => self.look(client, &request),
        }
    }

    /// Starts what waited for a snapshot, once that is over.
    pub(super) fn start_waiting(&mut self) -> io::Result<()> {
        if self.still.as_ref().is_some_and(|still| !still.stays()) {
            return Ok(());
        }
        for index in 0..self.clients.len() {
            let client = self.clients.get_mut(index);
            if let Some(asked) = client.and_then(|client| client.waiting.take()) {
                self.begin(index, asked)?;
            }
        }
        Ok(())
    }

    /// Forgets what a client asked for and does not want any more. Whether it had not started yet.
    pub(super) fn take_back(&mut self, client: usize) -> bool {
        let waiting = self.clients.get_mut(client);
        let waited = waiting.is_some_and(|client| client.waiting.take().is_some());
        if waited {
            self.answer(client, &Reply::NotTaken);
        }
        waited
    }

    /// Tells those who wait that what they asked for was not started, and never will be here.
    pub(super) fn turn_away(&mut self) {
        for index in 0..self.clients.len() {
            let client = self.clients.get_mut(index);
            if client.is_some_and(|client| client.waiting.take().is_some()) {
                self.answer(index, &Reply::NotTaken);
            }
        }
    }
}
