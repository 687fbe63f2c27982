//! What the client, the keeper and the init say to each other.
//!
//! Each message is one packet of JSON with at most a few descriptors attached, over a socket that
//! keeps packets whole. Nothing large travels this way: reports are files, and a command with so many
//! arguments that no packet holds them is a file in memory, which a packet brings ([`send_command`]).

use crate::client::{Remount, RunRequest, Status, WindowSize};
use crate::report::RunReport;
use agar_core::run::Usage;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;

/// No message is longer.
pub(crate) const MESSAGE_MAX: usize = 160 * 1024;

/// No command is longer. The kernel takes six megabytes of arguments and variables at most; a byte of
/// them is six in JSON at worst.
const COMMAND_MAX: u64 = 40 << 20;

/// What a packet says that brings a command in a file. No JSON begins like that.
const IN_FILE: &[u8] = b"@";

/// Tells an init to go to work, in a control group that ends with it.
pub(crate) const TOGETHER: u8 = b'g';
/// Tells it to go to work without one.
pub(crate) const ALONE: u8 = b'a';

/// Descriptors that come with a message: the three streams of a run, or a plan and the doors of its
/// groups.
const DESCRIPTORS_MAX: usize = 7;

/// A client to its keeper.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Request {
    /// Start a command; its streams are attached unless it wants a terminal.
    Run(RunRequest),
    /// Send a signal to the command of a run. One that has not started yet is taken back by the signal
    /// that ends every command.
    Signal { number: u32, signal: i32 },
    /// Look at the sandbox's terminal, on which this command is started if there is none.
    Terminal(RunRequest),
    /// The window of somebody who looks at the terminal has this size.
    Resize(WindowSize),
    /// Look at the terminal no longer, or wait for it no longer.
    Leave,
    /// Say what runs.
    Status,
    /// End if nobody is inside and nobody else asks for anything.
    Retire,
    /// Do not end with the client that started the keeper.
    Stay,
    /// Lay the layers of some trees anew.
    Remount(Remount),
    /// Stop every process inside; they go on when told to, or when the client is gone unless they
    /// are to stay.
    Freeze { stay: bool },
    /// Let them go on.
    Thaw,
    /// End everything.
    Stop,
}

/// A keeper to a client.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reply {
    /// The jail stands; whether control groups were made for it.
    Ready { notes: Vec<String>, groups: bool },
    /// The jail could not be raised.
    Failed { step: String, errno: i32 },
    /// The command runs, or could not be started and is about to be reported so; the near end of
    /// its terminal is attached if it has one, or a stream that leads to the sandbox's terminal.
    Started { number: u32 },
    /// The run ended; its report is on disk, or here, where that took none.
    Ended {
        number: u32,
        report: Option<Box<RunReport>>,
    },
    /// What runs.
    Status(Status),
    /// The keeper stays until it is stopped.
    Stays,
    /// What became of the layers.
    Remounted(Remounted),
    /// Every process stands still, after so many microseconds.
    Frozen { micros: u64 },
    /// They go on, and stood still for so many microseconds in all.
    Thawed { micros: u64 },
    /// Nothing is started: its processes are stopped until somebody lets them go on.
    Paused,
    /// The command was not started: the keeper ends, or it was taken back.
    NotTaken,
    /// The request makes no sense.
    Refused { reason: String },
}

/// The keeper to the init.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order {
    /// Start a command. When the one ends that the jail is for, everyone ends with it.
    Run {
        request: RunRequest,
        is_the_one: bool,
    },
    /// Send a signal to the process group of a run.
    Signal { number: u32, signal: i32 },
    /// End every process of a run.
    EndRun { number: u32 },
    /// End every process but the init.
    EndAll,
    /// Lay the layers of some trees anew.
    Remount(Remount),
}

/// What became of layers that were to be laid anew.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Remounted {
    /// They lie; so many processes were ended for it.
    Laid { ended: u32 },
    /// So many processes are inside, or something of theirs is; nothing was touched.
    Busy { processes: u32 },
    /// A step failed. When the trees are lost the jail is of no more use, and ends.
    Failed {
        step: String,
        errno: i32,
        lost: bool,
    },
}

/// The init to the keeper.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum News {
    /// The jail stands.
    Ready { notes: Vec<String> },
    /// A step failed.
    Failed { step: String, errno: i32 },
    /// A command runs; the near end of its terminal is attached if it has one.
    Started { number: u32, pid: u32 },
    /// A command could not be executed.
    NotStarted { number: u32, errno: i32 },
    /// What became of the layers.
    Remounted(Remounted),
    /// So much shared memory is attached by nobody.
    Detached { bytes: u64 },
    /// A command ended; what was recorded since the last one did is attached as a file.
    Exited {
        number: u32,
        status: i32,
        usage: Usage,
        /// Processes that it left behind.
        left: u32,
    },
}

/// Sends one message.
pub(crate) fn send<T: Serialize>(
    socket: impl AsFd,
    message: &T,
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let bytes = serde_json::to_vec(message)?;
    send_bytes(socket, &bytes, descriptors)
}

/// Sends one message that is already encoded.
pub(crate) fn send_bytes(
    socket: impl AsFd,
    bytes: &[u8],
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<()> {
    if bytes.len() > MESSAGE_MAX {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "the request is too long",
        ));
    }
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(Errno::INVAL.into());
    }
    let parts = [IoSlice::new(bytes)];
    retry(|| rustix::net::sendmsg(socket.as_fd(), &parts, &mut control, SendFlags::NOSIGNAL))?;
    Ok(())
}

/// Sends a message that may hold a command, of whatever length the kernel would take.
pub(crate) fn send_command<T: Serialize>(
    socket: impl AsFd,
    message: &T,
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let bytes = serde_json::to_vec(message)?;
    if bytes.len() <= MESSAGE_MAX {
        return send_bytes(socket, &bytes, descriptors);
    }
    let memory = rustix::fs::memfd_create(c"agar-command", rustix::fs::MemfdFlags::CLOEXEC)?;
    let mut file = std::fs::File::from(memory);
    io::Write::write_all(&mut file, &bytes)?;
    let given: Vec<BorrowedFd<'_>> = std::iter::once(file.as_fd())
        .chain(descriptors.iter().copied())
        .collect();
    send_bytes(socket, IN_FILE, &given)
}

/// Receives a message that may hold a command. Only for those who trust whoever sends it: how long
/// reading a file takes is up to the one who made it.
pub(crate) fn receive_command<T: DeserializeOwned>(
    socket: impl AsFd,
    buffer: &mut Vec<u8>,
) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let Some(mut descriptors) = receive_bytes(socket, buffer)? else {
        return Ok(None);
    };
    if buffer == IN_FILE {
        if descriptors.is_empty() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        *buffer = read_whole(&descriptors.remove(0), COMMAND_MAX)?;
    }
    let message = serde_json::from_slice(buffer)?;
    Ok(Some((message, descriptors)))
}

/// Reads a file from its beginning, whoever else reads the same file.
pub(crate) fn read_whole(file: &OwnedFd, bytes_max: u64) -> io::Result<Vec<u8>> {
    let length = u64::try_from(rustix::fs::fstat(file)?.st_size).unwrap_or(0);
    if length > bytes_max {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
    let mut filled = 0;
    while filled < bytes.len() {
        let offset = u64::try_from(filled).unwrap_or(u64::MAX);
        match rustix::io::pread(file, &mut bytes[filled..], offset)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => filled += read,
        }
    }
    Ok(bytes)
}

/// Receives one message, or `None` when the other end is gone.
pub(crate) fn receive<T: DeserializeOwned>(
    socket: impl AsFd,
    buffer: &mut Vec<u8>,
) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let Some(descriptors) = receive_bytes(socket, buffer)? else {
        return Ok(None);
    };
    let message = serde_json::from_slice(buffer)?;
    Ok(Some((message, descriptors)))
}

/// Receives the bytes of one message into the buffer.
pub(crate) fn receive_bytes(
    socket: impl AsFd,
    buffer: &mut Vec<u8>,
) -> io::Result<Option<Vec<OwnedFd>>> {
    // Asking for the length first keeps an idle keeper from holding a buffer for the longest message.
    let flags = RecvFlags::PEEK | RecvFlags::TRUNC;
    let peek = || retry(|| rustix::net::recv(socket.as_fd(), &mut [0_u8][..], flags));
    let (_, length) = match peek() {
        // The other end left without having read all that it was sent. What it said before is there.
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => peek()?,
        other => other?,
    };
    buffer.clear();
    buffer.resize(length.min(MESSAGE_MAX), 0);
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut parts = [IoSliceMut::new(buffer)];
    let flags = RecvFlags::CMSG_CLOEXEC;
    let received = retry(|| rustix::net::recvmsg(socket.as_fd(), &mut parts, &mut control, flags))?;
    let mut descriptors = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            descriptors.extend(received);
        }
    }
    buffer.truncate(received.bytes);
    if received.bytes == 0 {
        return Ok(None);
    }
    if received
        .flags
        .intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC)
    {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "a message was cut off",
        ));
    }
    Ok(Some(descriptors))
}

fn retry<T>(mut call: impl FnMut() -> Result<T, Errno>) -> io::Result<T> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            other => return other.map_err(io::Error::from),
        }
    }
}
