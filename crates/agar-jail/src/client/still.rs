//! Asking a keeper for what happens between runs: new layers, and standing still.

use super::{Keeper, Laid, Remount, StartError, TalkError, unexpected};
use crate::protocol::{Remounted, Reply, Request};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::time::Duration;

/// What was being done when layers could not be laid.
const LAY: &str = "lay its layers anew";

/// A jail that is taking new layers.
#[derive(Debug)]
pub struct Laying {
    keeper: Keeper,
}

/// Processes that stand still until this is dropped or the asking process is gone.
#[derive(Debug)]
pub struct Stillness<'k> {
    keeper: &'k Keeper,
    /// How long it took until the last one stood still.
    pub took: Duration,
}

impl Keeper {
    /// Lays the layers of some trees anew.
    pub fn remount(&self, remount: &Remount) -> Result<Laid, TalkError> {
        self.ask_for_layers(remount)?;
        self.laid()
    }

    /// The same without waiting for it, for whoever has something else to do meanwhile.
    pub fn begin_remount(self, remount: &Remount) -> Result<Laying, TalkError> {
        self.ask_for_layers(remount)?;
        Ok(Laying { keeper: self })
    }

    fn ask_for_layers(&self, remount: &Remount) -> Result<(), TalkError> {
        self.say(&Request::Remount(remount.clone()), &[], LAY)
    }

    fn laid(&self) -> Result<Laid, TalkError> {
        let outcome = match self.hear(LAY)? {
            (Reply::Remounted(outcome), _) => outcome,
            (reply, _) => return Err(unexpected(LAY, &reply)),
        };
        Ok(match outcome {
            Remounted::Laid { ended } => Laid::Done { ended },
            Remounted::Busy { .. } => Laid::Busy,
            Remounted::Failed { step, errno, lost } => {
                let source = io::Error::from_raw_os_error(errno);
                let error = StartError { step, source };
                if lost {
                    Laid::Lost(error)
                } else {
                    Laid::Unable(error)
                }
            }
        })
    }

    /// Stops every process inside, and waits until the last one stands still.
    pub fn freeze(&self) -> Result<Stillness<'_>, TalkError> {
        let took = self.stop_all(false)?;
        Ok(Stillness { keeper: self, took })
    }

    /// Stops every process inside until [`Keeper::resume`].
    pub fn pause(&self) -> Result<Duration, TalkError> {
        self.stop_all(true)
    }

    fn stop_all(&self, stay: bool) -> Result<Duration, TalkError> {
        const DOING: &str = "stop its processes";
        self.say(&Request::Freeze { stay }, &[], DOING)?;
        match self.hear(DOING)? {
            (Reply::Frozen { micros }, _) => Ok(Duration::from_micros(micros)),
            (reply, _) => Err(unexpected(DOING, &reply)),
        }
    }

    /// Lets every process inside go on.
    /// Says for how long they stood still, as the keeper saw it.
    pub fn resume(&self) -> Result<Duration, TalkError> {
        const DOING: &str = "let its processes go on";
        self.say(&Request::Thaw, &[], DOING)?;
        match self.hear(DOING)? {
            (Reply::Thawed { micros }, _) => Ok(Duration::from_micros(micros)),
            (reply, _) => Err(unexpected(DOING, &reply)),
        }
    }

    /// Has a keeper that would end with this process stay until it is stopped.
    pub fn stay(&self) -> Result<(), TalkError> {
        const DOING: &str = "have it stay";
        self.say(&Request::Stay, &[], DOING)?;
        match self.hear(DOING)? {
            (Reply::Stays, _) => Ok(()),
            (reply, _) => Err(unexpected(DOING, &reply)),
        }
    }

    /// Waits until a keeper that has ended by itself is gone.
    pub fn wait_gone(self) {
        let mut buffer = Vec::new();
        while let Ok(Some(_)) = crate::protocol::receive::<Reply>(&self.socket, &mut buffer) {}
        if let Some(child) = self.child {
            child.bury();
        }
    }
}

impl Laying {
    /// Waits for what became of it, but no longer than this. Whether it can be told.
    pub fn is_over(&self, patience: Duration) -> bool {
        let mut fds = [PollFd::new(&self.keeper.socket, PollFlags::IN)];
        let patience = Timespec {
            tv_sec: i64::try_from(patience.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(patience.subsec_nanos()),
        };
        poll(&mut fds, Some(&patience)).is_ok_and(|ready| ready > 0)
    }

    /// Waits for what became of it, which is told once.
    pub fn outcome(&self) -> Result<Laid, TalkError> {
        self.keeper.laid()
    }
}

impl Stillness<'_> {
    /// Lets the processes go on, and says for how long they stood still.
    pub fn end(self) -> Result<Duration, TalkError> {
        self.keeper.resume()
    }
}
