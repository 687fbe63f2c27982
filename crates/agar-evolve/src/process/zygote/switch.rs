//! Carries pieces between a zygote's one stream and the streams of its individuals.
//!
//! Nothing here waits for one of them: what cannot be written yet is kept, and an individual for which
//! too much is kept is ended, so that a flood stops its sender and nobody else.

use rustix::event::{PollFd, PollFlags, poll};
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender};

/// Whose, and how long.
const HEADER: usize = 8;
const PIECE: usize = 64 << 10;
/// What may wait for a cell that does not read.
const WAITING_MAX: usize = 8 << 20;

/// What the switch is told.
pub(super) enum Order {
    /// An individual of this number talks through this stream.
    Begin(u32, UnixStream),
    /// End it, and drop this when it is gone.
    End(u32, Sender<()>),
    /// End with everybody.
    Close,
}

#[derive(Default)]
struct Member {
    stream: Option<UnixStream>,
    waiting: Vec<u8>,
    /// Those who want to know when it is gone: these are dropped with it.
    mourners: Vec<Sender<()>>,
}

/// What a stream gave.
enum Given {
    Bytes(usize),
    Nothing,
    End,
}

pub(super) struct Switch {
    zygote: UnixStream,
    bell: UnixStream,
    orders: Receiver<Order>,
    members: BTreeMap<u32, Member>,
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
    closed: bool,
}

impl Switch {
    pub(super) fn new(
        zygote: UnixStream,
        bell: UnixStream,
        orders: Receiver<Order>,
    ) -> std::io::Result<Self> {
        zygote.set_nonblocking(true)?;
        bell.set_nonblocking(true)?;
        Ok(Self {
            zygote,
            bell,
            orders,
            members: BTreeMap::new(),
            incoming: Vec::new(),
            outgoing: Vec::new(),
            closed: false,
        })
    }

    /// Until the zygote is gone, or it is told to close.
    pub(super) fn run(&mut self) {
        let mut buffer = vec![0; PIECE];
        while !self.closed {
            if self.wait().is_err() {
                return;
            }
            self.take_orders(&mut buffer);
            self.hear_zygote(&mut buffer);
            self.hear_members(&mut buffer);
            self.pour();
        }
    }

    /// Waits until somebody has something to say, or to hear.
    fn wait(&self) -> Result<(), rustix::io::Errno> {
        let flags = |waiting: bool| {
            if waiting {
                PollFlags::IN | PollFlags::OUT
            } else {
                PollFlags::IN
            }
        };
        let mut wanted = vec![
            PollFd::new(&self.bell, PollFlags::IN),
            PollFd::new(&self.zygote, flags(!self.outgoing.is_empty())),
        ];
        // While the zygote does not read, nobody is heard.
        let full = self.outgoing.len() > WAITING_MAX;
        for member in self.members.values() {
            if let Some(stream) = &member.stream {
                let mut flags = flags(!member.waiting.is_empty());
                flags.set(PollFlags::IN, !full);
                wanted.push(PollFd::new(stream, flags));
            }
        }
        match poll(&mut wanted, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn take_orders(&mut self, buffer: &mut [u8]) {
        while matches!(take(&mut self.bell, buffer), Given::Bytes(_)) {}
        while let Ok(order) = self.orders.try_recv() {
            match order {
                Order::Begin(number, stream) => {
                    let stream = Some(stream).filter(|it| it.set_nonblocking(true).is_ok());
                    let member = Member {
                        stream,
                        ..Member::default()
                    };
                    self.members.insert(number, member);
                }
                Order::End(number, mourner) => self.mourn(number, mourner),
                Order::Close => self.closed = true,
            }
        }
    }

    /// Ends it; whoever waits for one that is gone already is told at once.
    fn mourn(&mut self, number: u32, mourner: Sender<()>) {
        if let Some(member) = self.members.get_mut(&number) {
            member.mourners.push(mourner);
            self.send_off(number);
        }
    }

    /// Asks the zygote to end it.
    fn send_off(&mut self, number: u32) {
        if let Some(member) = self.members.get_mut(&number) {
            member.stream = None;
            member.waiting.clear();
        }
        self.say(number, &[]);
    }

    fn say(&mut self, number: u32, bytes: &[u8]) {
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        self.outgoing.extend_from_slice(&number.to_le_bytes());
        self.outgoing.extend_from_slice(&length.to_le_bytes());
        self.outgoing.extend_from_slice(bytes);
    }

    fn hear_zygote(&mut self, buffer: &mut [u8]) {
        match take(&mut self.zygote, buffer) {
            Given::Bytes(count) => {
                let bytes = buffer.get(..count).unwrap_or_default();
                self.incoming.extend_from_slice(bytes);
            }
            Given::Nothing => return,
            Given::End => self.closed = true,
        }
        let incoming = std::mem::take(&mut self.incoming);
        let mut rest = incoming.as_slice();
        while let Some((number, piece, behind)) = piece(rest) {
            rest = behind;
            self.deliver(number, piece);
        }
        self.incoming = rest.to_vec();
        // Nobody sends pieces of this size: whoever speaks is not our zygote.
        self.closed |= self.incoming.len() > 2 * PIECE + HEADER;
    }

    fn deliver(&mut self, number: u32, bytes: &[u8]) {
        if bytes.is_empty() {
            // With its last words.
            let gone = self.members.remove(&number).unwrap_or_default();
            if let (Some(mut stream), mut words) = (gone.stream, gone.waiting) {
                pour(&mut stream, &mut words);
            }
            return;
        }
        let Some(member) = self.members.get_mut(&number) else {
            return;
        };
        if member.stream.is_none() {
            return;
        }
        member.waiting.extend_from_slice(bytes);
        if member.waiting.len() > WAITING_MAX {
            self.send_off(number);
        }
    }

    fn hear_members(&mut self, buffer: &mut [u8]) {
        if self.outgoing.len() > WAITING_MAX {
            return;
        }
        let mut left = Vec::new();
        let mut said = Vec::new();
        for (number, member) in &mut self.members {
            let Some(stream) = &mut member.stream else {
                continue;
            };
            match take(stream, buffer) {
                Given::Bytes(count) => {
                    let bytes = buffer.get(..count).unwrap_or_default();
                    said.push((*number, bytes.to_vec()));
                }
                Given::Nothing => {}
                Given::End => left.push(*number),
            }
        }
        for (number, bytes) in said {
            self.say(number, &bytes);
        }
        for number in left {
            self.send_off(number);
        }
    }

    /// Writes as much as is taken.
    fn pour(&mut self) {
        self.closed |= !pour(&mut self.zygote, &mut self.outgoing);
        let mut deaf = Vec::new();
        for (number, member) in &mut self.members {
            if let Some(stream) = &mut member.stream
                && !pour(stream, &mut member.waiting)
            {
                deaf.push(*number);
            }
        }
        for number in deaf {
            self.send_off(number);
        }
    }
}

/// The first whole piece, and what comes after it.
fn piece(bytes: &[u8]) -> Option<(u32, &[u8], &[u8])> {
    let (number, rest) = bytes.split_first_chunk::<4>()?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let length = u32::from_le_bytes(*length) as usize;
    let (piece, rest) = rest.split_at_checked(length)?;
    Some((u32::from_le_bytes(*number), piece, rest))
}

/// Whether it means only that nothing can be done now.
fn is_passing(error: &std::io::Error) -> bool {
    [ErrorKind::WouldBlock, ErrorKind::Interrupted].contains(&error.kind())
}

fn take(stream: &mut UnixStream, buffer: &mut [u8]) -> Given {
    match stream.read(buffer) {
        Ok(0) => Given::End,
        Ok(count) => Given::Bytes(count),
        Err(error) if is_passing(&error) => Given::Nothing,
        Err(_) => Given::End,
    }
}

/// Writes what is taken without waiting; false if nothing ever will be.
fn pour(stream: &mut UnixStream, waiting: &mut Vec<u8>) -> bool {
    while !waiting.is_empty() {
        match stream.write(waiting) {
            Ok(0) => return false,
            Ok(count) => drop(waiting.drain(..count)),
            Err(error) => return is_passing(&error),
        }
    }
    true
}
