//! The loop that carries bytes between a caller and a run.

use super::log::OutputLog;
use super::{Control, Controls, Meanwhile, Sink, Source, Streams, WindowSize};
use agar_core::limits::{Breach, Resource};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, OFlags};
use rustix::io::Errno;
use rustix::termios::Winsize;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

/// What is read at once.
const READ_BYTES: usize = 64 << 10;
/// The most that a pipe holds, unless its user is root.
const PIPE_BYTES_MAX: u64 = 1 << 20;
/// What a pipe that is ready takes without blocking.
const PIPE_BYTES: usize = 4 << 10;

const SIGINT: i32 = 2;
const SIGKILL: i32 = 9;
const SIGTERM: i32 = 15;
const SIGHUP: i32 = 1;
/// The character that ends the input of a terminal.
const END_OF_INPUT: u8 = 4;

/// The run's side: our ends of its pipes or terminal, and how to signal it.
pub(crate) struct Ends<'a> {
    pub(crate) stdin: Option<OwnedFd>,
    pub(crate) stdout: Option<OwnedFd>,
    pub(crate) stderr: Option<OwnedFd>,
    pub(crate) terminal: Option<OwnedFd>,
    /// Readable when the run has ended.
    pub(crate) done: BorrowedFd<'a>,
    pub(crate) signal: &'a dyn Fn(i32),
    /// How to resize a terminal that is not at hand.
    pub(crate) resize: Option<&'a dyn Fn(WindowSize)>,
    /// What the caller said since the run was asked for.
    pub(crate) meanwhile: Meanwhile,
}

/// What the relay saw.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Relayed {
    /// Bytes of output.
    pub(crate) output_bytes: u64,
    /// The caller's signal that ended it, as far as the caller knows.
    pub(crate) interrupted: bool,
    /// The output limit, if it was reached.
    pub(crate) breach: Option<Breach>,
}

/// Carries bytes until the run has ended and its output is passed on.
pub(crate) fn relay(
    ends: Ends<'_>,
    streams: Streams<'_>,
    log: &mut OutputLog,
    limit: Option<u64>,
) -> io::Result<Relayed> {
    let mut pump = Pump::new(ends, streams, limit)?;
    while !pump.is_finished() {
        for (what, events) in pump.wait()? {
            pump.handle(what, events, log)?;
        }
    }
    Ok(pump.relayed)
}

/// Something the loop waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Source,
    Input,
    Output(usize),
    Sink(usize),
    Controls,
    Done,
}

/// Output on its way: from the run, to the caller.
struct Lane<'a> {
    from: Option<OwnedFd>,
    to: Sink<'a>,
    pending: Vec<u8>,
    at_once: usize,
}

impl<'a> Lane<'a> {
    fn new(from: Option<OwnedFd>, to: Sink<'a>) -> io::Result<Self> {
        if let Some(from) = &from {
            unblock(from.as_fd())?;
        }
        let at_once = match &to {
            Sink::Descriptor(to) => at_once(*to)?,
            Sink::Discard | Sink::Buffer(_) => READ_BYTES,
        };
        Ok(Self {
            from,
            to,
            pending: Vec::new(),
            at_once,
        })
    }

    fn is_finished(&self) -> bool {
        self.from.is_none() && self.pending.is_empty()
    }

    /// Hands bytes to the caller, or keeps them until the caller can take them.
    fn deliver(&mut self, bytes: &[u8]) {
        match &mut self.to {
            Sink::Discard => {}
            Sink::Buffer(buffer) => buffer.extend_from_slice(bytes),
            Sink::Descriptor(_) => self.pending.extend_from_slice(bytes),
        }
    }

    /// Writes one portion. A caller that went away gets nothing more, and neither does the command
    /// write any longer: it sees what it would see without agar.
    fn flush(&mut self) -> io::Result<()> {
        let Sink::Descriptor(to) = &self.to else {
            return Ok(());
        };
        let portion = self.pending.len().min(self.at_once);
        match rustix::io::write(to, &self.pending[..portion]) {
            Ok(written) => {
                self.pending.drain(..written);
                Ok(())
            }
            Err(Errno::INTR | Errno::AGAIN) => Ok(()),
            Err(Errno::PIPE | Errno::IO | Errno::CONNRESET) => {
                self.abandon();
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    fn abandon(&mut self) {
        self.pending.clear();
        self.from = None;
        self.to = Sink::Discard;
    }
}

struct Pump<'a, 'e> {
    source: Source<'a>,
    input: Option<OwnedFd>,
    on_terminal: bool,
    waiting: Vec<u8>,
    lanes: [Lane<'a>; 2],
    controls: &'a mut dyn Controls,
    heard_out: bool,
    done: BorrowedFd<'e>,
    is_done: bool,
    signal: &'e dyn Fn(i32),
    resize: Option<&'e dyn Fn(WindowSize)>,
    interrupts: u32,
    limit: Option<u64>,
    relayed: Relayed,
}

impl<'a, 'e> Pump<'a, 'e> {
    fn new(ends: Ends<'e>, streams: Streams<'a>, limit: Option<u64>) -> io::Result<Self> {
        let on_terminal = ends.terminal.is_some();
        let (input, output) = match ends.terminal {
            Some(terminal) => (Some(terminal.try_clone()?), Some(terminal)),
            None => (ends.stdin, ends.stdout),
        };
        if let Some(input) = &input {
            unblock(input.as_fd())?;
        }
        let mut pump = Self {
            source: Source::Empty,
            input,
            on_terminal,
            waiting: Vec::new(),
            lanes: [
                Lane::new(output, streams.stdout)?,
                Lane::new(ends.stderr, streams.stderr)?,
            ],
            controls: streams.controls,
            heard_out: false,
            done: ends.done,
            is_done: false,
            signal: ends.signal,
            resize: ends.resize,
            interrupts: 0,
            limit,
            relayed: Relayed::default(),
        };
        if let Some(size) = ends.meanwhile.window {
            pump.resize(size);
        }
        match streams.stdin {
            Source::Empty => pump.end_input(),
            Source::Bytes(bytes) => {
                pump.waiting.extend_from_slice(bytes);
                pump.end_input();
            }
            Source::Descriptor(from) => pump.source = Source::Descriptor(from),
        }
        if ends.meanwhile.is_leaving {
            pump.stop();
        }
        Ok(pump)
    }

    fn is_finished(&self) -> bool {
        self.is_done && self.lanes.iter().all(Lane::is_finished)
    }

    /// Waits until something can be done, and says what.
    fn wait(&self) -> io::Result<Vec<(What, PollFlags)>> {
        let mut whats = Vec::with_capacity(8);
        let mut fds = Vec::with_capacity(8);
        let mut watch = |what, fd, events| {
            whats.push(what);
            fds.push(PollFd::from_borrowed_fd(fd, events));
        };
        if !self.is_done {
            watch(What::Done, self.done, PollFlags::IN);
            if let (Source::Descriptor(from), true) = (&self.source, self.waiting.is_empty()) {
                watch(What::Source, *from, PollFlags::IN);
            }
            if let Some(input) = &self.input {
                // A reader that went away is an error event, reported without being asked for.
                watch(What::Input, input.as_fd(), self.input_events());
            }
        }
        if let Some(controls) = self.controls.descriptor().filter(|_| !self.heard_out) {
            watch(What::Controls, controls, PollFlags::IN);
        }
        for (index, lane) in self.lanes.iter().enumerate() {
            match (&lane.from, &lane.to) {
                (_, Sink::Descriptor(to)) if !lane.pending.is_empty() => {
                    watch(What::Sink(index), *to, PollFlags::OUT);
                }
                (Some(from), _) => watch(What::Output(index), from.as_fd(), PollFlags::IN),
                (None, _) => {}
            }
        }
        match poll(&mut fds, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(whats
            .into_iter()
            .zip(&fds)
            .map(|(what, fd)| (what, fd.revents()))
            .filter(|(_, events)| !events.is_empty())
            .collect())
    }

    fn input_events(&self) -> PollFlags {
        if self.waiting.is_empty() {
            PollFlags::empty()
        } else {
            PollFlags::OUT
        }
    }

    fn handle(&mut self, what: What, events: PollFlags, log: &mut OutputLog) -> io::Result<()> {
        match what {
            What::Source => self.read_source(),
            What::Input => {
                self.write_input(events);
                Ok(())
            }
            What::Output(index) => self.read_output(index, log).map(|_| ()),
            What::Sink(index) => self.lanes[index].flush(),
            What::Controls => {
                self.obey(events);
                Ok(())
            }
            What::Done => self.finish(log),
        }
    }

    fn read_source(&mut self) -> io::Result<()> {
        let Source::Descriptor(from) = &self.source else {
            return Ok(());
        };
        let mut buffer = vec![0; READ_BYTES];
        match rustix::io::read(from, &mut buffer) {
            Ok(0) | Err(Errno::IO) => {
                self.source = Source::Empty;
                self.end_input();
            }
            Ok(count) => self.waiting.extend_from_slice(&buffer[..count]),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// No more input will come: the command shall see the end once it has read the rest.
    fn end_input(&mut self) {
        if self.on_terminal {
            self.waiting.push(END_OF_INPUT);
        } else if self.waiting.is_empty() {
            self.input = None;
        }
    }

    fn write_input(&mut self, events: PollFlags) {
        let Some(input) = &self.input else { return };
        let gone = events.intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL);
        if gone && !events.contains(PollFlags::OUT) {
            self.drop_input();
            return;
        }
        if self.waiting.is_empty() {
            return;
        }
        match rustix::io::write(input, &self.waiting) {
            Ok(written) => {
                self.waiting.drain(..written);
                let ended = matches!(self.source, Source::Empty);
                if ended && self.waiting.is_empty() && !self.on_terminal {
                    self.input = None;
                }
            }
            Err(Errno::INTR | Errno::AGAIN) => {}
            // The command does not read any more; that is its right.
            Err(_) => self.drop_input(),
        }
    }

    fn drop_input(&mut self) {
        self.input = None;
        self.source = Source::Empty;
        self.waiting.clear();
    }

    /// Reads one portion of output. Says whether there may be more at once.
    fn read_output(&mut self, index: usize, log: &mut OutputLog) -> io::Result<bool> {
        let lane = &mut self.lanes[index];
        let Some(from) = &lane.from else {
            return Ok(false);
        };
        let mut buffer = vec![0; READ_BYTES];
        let count = match rustix::io::read(from, &mut buffer) {
            // A terminal whose last user went away says so with an I/O error.
            Ok(0) | Err(Errno::IO) => {
                lane.from = None;
                return Ok(false);
            }
            Ok(count) => count,
            Err(Errno::AGAIN) => return Ok(false),
            Err(Errno::INTR) => return Ok(true),
            Err(error) => return Err(error.into()),
        };
        let seen = self.relayed.output_bytes + count as u64;
        let allowed = match self.limit {
            Some(limit) if seen > limit => {
                let left = limit.saturating_sub(self.relayed.output_bytes);
                self.relayed.breach.get_or_insert(Breach {
                    resource: Resource::Output,
                    limit,
                    seen,
                    culprit: None,
                });
                // One that has ended, or stands still, has been told.
                if !self.is_done {
                    (self.signal)(SIGKILL);
                }
                usize::try_from(left).unwrap_or(count).min(count)
            }
            Some(_) | None => count,
        };
        self.relayed.output_bytes = seen;
        log.add(&buffer[..allowed]);
        self.lanes[index].deliver(&buffer[..allowed]);
        Ok(true)
    }

    fn obey(&mut self, events: PollFlags) {
        let mut heard = false;
        while let Some(control) = self.controls.next() {
            heard = true;
            match control {
                Control::Signal(signal) => self.pass_signal(signal),
                Control::Resize(size) => self.resize(size),
                Control::Stop => self.stop(),
            }
        }
        // A descriptor that is ready for ever and has nothing to say would spin the loop.
        let closed = events.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL);
        self.heard_out |= closed && !heard;
    }

    fn stop(&mut self) {
        self.catch_up();
        self.relayed.interrupted = true;
        (self.signal)(SIGKILL);
        self.lanes.iter_mut().for_each(Lane::abandon);
    }

    /// Passes on what was typed before the end, as far as that goes without waiting: whoever leaves a
    /// terminal may have pressed the keys for it right after others.
    fn catch_up(&mut self) {
        self.write_input(PollFlags::OUT);
        let Source::Descriptor(from) = &self.source else {
            return;
        };
        let mut ready = [PollFd::from_borrowed_fd(*from, PollFlags::IN)];
        let is_ready = poll(&mut ready, Some(&Timespec::default())).is_ok_and(|count| count > 0);
        // What cannot be read is told when its turn comes.
        if is_ready && self.waiting.is_empty() && self.read_source().is_ok() {
            self.write_input(PollFlags::OUT);
        }
    }

    /// Passes a signal on. Somebody who presses the key again means it: the second interrupt
    /// becomes a request to end, the third an order.
    fn pass_signal(&mut self, signal: i32) {
        let asks_for_the_end = matches!(signal, SIGINT | SIGTERM | SIGHUP);
        self.relayed.interrupted |= asks_for_the_end;
        self.interrupts += u32::from(asks_for_the_end);
        let signal = match (asks_for_the_end, self.interrupts) {
            (true, 2) => SIGTERM,
            (true, 3..) => SIGKILL,
            (true | false, _) => signal,
        };
        (self.signal)(signal);
    }

    fn resize(&self, size: WindowSize) {
        if let Some(resize) = self.resize {
            return resize(size);
        }
        if let (true, Some(terminal)) = (self.on_terminal, &self.lanes[0].from) {
            let size = Winsize {
                ws_row: size.rows,
                ws_col: size.columns,
                ws_xpixel: 0,
                ws_ypixel: 0,
            };
            // A terminal that is gone needs no size.
            let _ = rustix::termios::tcsetwinsize(terminal, size);
        }
    }

    /// The run ended: takes what it still printed and closes its side. What a process left behind
    /// prints later is not this run's.
    fn finish(&mut self, log: &mut OutputLog) -> io::Result<()> {
        self.is_done = true;
        self.drop_input();
        for index in 0..self.lanes.len() {
            let until = self.relayed.output_bytes.saturating_add(PIPE_BYTES_MAX);
            while self.relayed.output_bytes < until && self.read_output(index, log)? {}
            self.lanes[index].from = None;
        }
        Ok(())
    }
}

fn unblock(fd: BorrowedFd<'_>) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(fd)?;
    Ok(rustix::fs::fcntl_setfl(fd, flags | OFlags::NONBLOCK)?)
}

/// How much a descriptor takes without blocking once it is ready.
fn at_once(fd: BorrowedFd<'_>) -> io::Result<usize> {
    let kind = FileType::from_raw_mode(rustix::fs::fstat(fd)?.st_mode);
    Ok(match kind {
        FileType::Fifo | FileType::Socket | FileType::CharacterDevice => PIPE_BYTES,
        FileType::RegularFile
        | FileType::Directory
        | FileType::Symlink
        | FileType::BlockDevice
        | FileType::Unknown => READ_BYTES,
    })
}

#[cfg(test)]
mod tests;
