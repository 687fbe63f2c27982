//! The terminal that the keeper holds itself, and those who look at it.

use super::Keeper;
use super::terminal::{Terminal, Viewer};
use crate::client::{RunRequest, WindowSize};
use crate::protocol::{self, Order, Reply};
use rustix::event::{PollFd, PollFlags};
use rustix::fd::OwnedFd;
use std::io;
use std::os::fd::AsFd as _;

impl Keeper<'_> {
    pub(super) fn is_terminal(&self, number: u32) -> bool {
        self.terminal
            .as_ref()
            .is_some_and(|terminal| terminal.number == number)
    }

    pub(super) fn watch_terminal<'f>(&'f self, terminal: &'f Terminal, fds: &mut Vec<PollFd<'f>>) {
        let viewers = || self.clients.iter().filter_map(|it| it.viewer.as_ref());
        if let Some(near) = terminal.near() {
            let mut events = PollFlags::IN;
            if terminal.has_keys() || viewers().any(Viewer::has_keys) {
                events |= PollFlags::OUT;
            }
            fds.push(PollFd::from_borrowed_fd(near, events));
        }
        let interests = viewers().map(|viewer| viewer.interest(terminal));
        // A viewer that went away while the command does not take its keys would wake us for ever.
        let interests = interests.filter(|(_, events)| !events.is_empty());
        fds.extend(interests.map(|(fd, events)| PollFd::from_borrowed_fd(fd, events)));
    }

    /// How many look at it.
    pub(super) fn viewers(&self) -> u32 {
        let viewers = self.clients.iter().filter(|it| it.viewer.is_some());
        u32::try_from(viewers.count()).unwrap_or(u32::MAX)
    }

    /// Lets a client look at the terminal, which is made if there is none.
    pub(super) fn look(&mut self, client: usize, request: &RunRequest) -> io::Result<()> {
        let size = request.terminal.unwrap_or(WindowSize {
            rows: 24,
            columns: 80,
        });
        if self.terminal.is_none() {
            if self.runs.contains(request.number) {
                let reason = format!("run {} is under way", request.number);
                self.answer(client, &Reply::Refused { reason });
                return Ok(());
            }
            self.jail.guard.run_begins(self.runs.is_empty());
            self.runs.begin(request, None);
            self.terminal = Some(Terminal::new(request.number, size));
            let order = Order::Run {
                request: request.clone(),
                is_the_one: false,
            };
            protocol::send_command(&self.jail.socket, &order, &[])?;
        }
        if let (Some(terminal), Some(client)) = (&self.terminal, self.clients.get_mut(client)) {
            let (viewer, theirs) = terminal.welcome(size)?;
            client.viewer = Some(viewer);
            let number = terminal.number;
            // A client that went away is noticed when its socket is polled.
            drop(protocol::send(
                &client.socket,
                &Reply::Started { number },
                &[theirs.as_fd()],
            ));
        }
        self.fit();
        Ok(())
    }

    /// The window of a viewer has another size now.
    pub(super) fn resize_viewer(&mut self, client: usize, size: WindowSize) {
        let viewer = self.clients.get_mut(client);
        if let Some(viewer) = viewer.and_then(|client| client.viewer.as_mut()) {
            viewer.window = size;
            self.fit();
        }
    }

    /// The smallest window of those who look: what fits there, all of them see whole.
    fn smallest_window(&self) -> Option<WindowSize> {
        let viewers = self.clients.iter().filter_map(|it| it.viewer.as_ref());
        let windows = viewers.map(|viewer| viewer.window);
        windows.reduce(|one, other| WindowSize {
            rows: one.rows.min(other.rows),
            columns: one.columns.min(other.columns),
        })
    }

    /// Fits the terminal to those who look, and has it drawn again for whoever came.
    fn fit(&mut self) {
        let smallest = self.smallest_window();
        if let (Some(terminal), Some(size)) = (&mut self.terminal, smallest) {
            terminal.resize(size);
        }
    }

    /// Fits the terminal to those who still look. With nobody left it stays as it is.
    pub(super) fn fit_rest(&mut self) {
        let size = self.terminal.as_ref().map(Terminal::size);
        if self.smallest_window() != size {
            self.fit();
        }
    }

    pub(super) fn terminal_stands(&mut self, descriptors: Vec<OwnedFd>) -> io::Result<()> {
        match (&mut self.terminal, descriptors.into_iter().next()) {
            (Some(terminal), Some(near)) => terminal.stands(near),
            (Some(_) | None, _) => Ok(()),
        }
    }

    /// Carries what can be carried between the terminal and those who look at it.
    pub(super) fn carry(&mut self) {
        let Some(terminal) = &mut self.terminal else {
            return;
        };
        terminal.read();
        terminal.press();
        let mut left = false;
        for client in &mut self.clients {
            if let Some(viewer) = &mut client.viewer
                && !viewer.carry(terminal)
            {
                client.viewer = None;
                left = true;
            }
        }
        if left {
            self.fit_rest();
        }
    }

    /// A viewer leaves, and is told when it has left.
    pub(super) fn farewell(&mut self, client: usize) {
        if self.take_back(client) {
            return;
        }
        let Some(terminal) = &mut self.terminal else {
            return;
        };
        let number = terminal.number;
        let viewer = self.clients.get_mut(client);
        if let Some(viewer) = viewer.and_then(|client| client.viewer.take()) {
            viewer.leave(terminal);
        }
        self.fit_rest();
        let report = None;
        self.answer(client, &Reply::Ended { number, report });
    }

    /// The run on the terminal is over: everybody sees its last words and that it is.
    pub(super) fn end_terminal(&mut self) {
        let Some(mut terminal) = self.terminal.take() else {
            return;
        };
        while terminal.read() {}
        let number = terminal.number;
        for client in &mut self.clients {
            if let Some(mut viewer) = client.viewer.take() {
                viewer.show(&terminal);
                let report = None;
                let over = Reply::Ended { number, report };
                drop(protocol::send(&client.socket, &over, &[]));
            }
        }
    }
}
