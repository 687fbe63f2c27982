//! The ends of runs: told to whoever asked for them, and what they mean for the keeper.

use super::{Keeper, runs};
use crate::client::VIEWERS;
use crate::protocol::Reply;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// How long a keeper waits for its client to leave.
const DEPARTURE_SECONDS: i64 = 10;

impl Keeper<'_> {
    /// Whether it is the client that the keeper was started by.
    pub(super) fn is_first(&self, client: usize) -> bool {
        self.clients.get(client).is_some_and(|client| client.first)
    }

    /// Writes and announces the reports of runs that ended. Whether the client that the keeper was
    /// started by asked for one of them: others run something in the same sandbox, too.
    pub(super) fn report_ended(&mut self) -> bool {
        let ended = self.runs.take_ended();
        let mut is_its_own = false;
        for run in &ended {
            let number = run.number();
            let mut unwritten = None;
            if number < VIEWERS {
                // Not for those of whom nothing is kept: what is told once would be lost on them.
                let notes = self.jail.guard.notes_of_run();
                let report = run.report(notes, self.jail.guard.memory_peak());
                let written = runs::write(&report, self.config.directory.as_path());
                // Everything else in the sandbox goes on: its client gets it by hand.
                unwritten = written.err().map(|error| Box::new(report.in_short(&error)));
            }
            if self.is_terminal(number) {
                self.end_terminal();
            }
            if let Some(client) = run.client() {
                let report = unwritten;
                is_its_own |= self.is_first(client);
                self.answer(client, &Reply::Ended { number, report });
            }
        }
        is_its_own
    }

    /// Waits until whoever started the one run has left. Nothing is alive inside but the init; taking
    /// the jail down now would only keep the kernel busy while somebody waits for the command to end.
    pub(super) fn await_departure(&self) {
        let Some(client) = self.clients.iter().find(|client| client.first) else {
            return;
        };
        let mut fds = [PollFd::new(&client.socket, PollFlags::RDHUP)];
        let patience = Timespec {
            tv_sec: DEPARTURE_SECONDS,
            tv_nsec: 0,
        };
        // Left or not, the run is over.
        let _ = poll(&mut fds, Some(&patience));
    }
}
