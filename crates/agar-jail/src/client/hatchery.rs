//! Keepers by the dozen.
//!
//! To start the keeper's program takes longer than to copy it: the C library asks the processor what
//! it can do, addresses are relocated, pages are fetched. A process that wants many keepers has the
//! program started once, and has that make a copy of itself for each. The copies share every page
//! that none of them has written to, so each also takes less memory.
//!
//! It is no daemon. It belongs to the process that has it, does nothing by itself, and ends with it;
//! its keepers go on.

use super::start::{Ahead, Child, StartError, Waiting};
use super::start::{bury_those_left, failed, pair, prepare};
use crate::keeper::CLIENT_FD;
use crate::{detach, program, protocol};
use rustix::fd::{AsFd as _, OwnedFd};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The word that asks the keeper's program to make keepers.
pub(crate) const HATCH_WORD: &str = "hatch";

/// What comes before the staging directory of [`Ahead::Usual`] in an order.
pub(crate) const USUAL: u8 = b'u';

/// A source of keepers, shared by all threads of a process. Its program is started with the first, in
/// each state directory that keepers are wanted for.
#[derive(Debug, Default)]
pub struct Hatchery(Mutex<Vec<Nest>>);

/// The program at work.
#[derive(Debug)]
struct Nest {
    file: PathBuf,
    socket: OwnedFd,
    _child: Child,
}

impl Nest {
    fn start(file: PathBuf) -> Result<Self, StartError> {
        let (near, far) = pair()?;
        let words = ["agar-keeper".into(), HATCH_WORD.into()];
        let child = detach::spawn(&file, &words, &[(&far, CLIENT_FD)])
            .map_err(failed("start the keeper"))?;
        Ok(Self {
            file,
            socket: near,
            _child: Child::Own(child),
        })
    }
}

impl Hatchery {
    /// Has a keeper made that waits for its plan, as [`prepare`] does.
    pub fn prepare(&self, program: &Path, ahead: Ahead<'_>) -> Result<Waiting, StartError> {
        bury_those_left();
        let file = program::file(program).map_err(failed("write the keeper's program"))?;
        // One that was killed is started again, once: the second time something else is wrong, and a
        // keeper that is started by itself tells what.
        for _ in 0..2 {
            let (near, far) = pair()?;
            match self.order(&file, &far, ahead)? {
                Ok(()) => {
                    return Ok(Waiting {
                        socket: near,
                        child: Child::Unborn,
                    });
                }
                Err(_) => self.abandon(&file),
            }
        }
        prepare(program, ahead)
    }

    /// Hands the program the keeper's end of its client's socket.
    fn order(
        &self,
        file: &Path,
        far: &OwnedFd,
        ahead: Ahead<'_>,
    ) -> Result<io::Result<()>, StartError> {
        let mut nests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !nests.iter().any(|nest| nest.file == file) {
            nests.push(Nest::start(file.to_owned())?);
        }
        let nest = nests.iter().find(|nest| nest.file == file);
        let nest =
            nest.ok_or_else(|| failed("start the keeper")(io::ErrorKind::NotFound.into()))?;
        let order = match ahead {
            Ahead::Nothing => vec![b'n'],
            Ahead::Usual(staging) => [&[USUAL], staging.as_os_str().as_bytes()].concat(),
        };
        Ok(protocol::send_bytes(&nest.socket, &order, &[far.as_fd()]))
    }

    fn abandon(&self, file: &Path) {
        let mut nests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        nests.retain(|nest| nest.file != file);
    }
}
