//! Asking a keeper for what happens between runs: new layers, and standing still.

use super::{Keeper, Laid, Remount, StartError, TalkError, unexpected};
use crate::protocol::{Remounted, Reply, Request};
use std::io;
use std::time::Duration;

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
        const DOING: &str = "lay its layers anew";
        self.say(&Request::Remount(remount.clone()), &[], DOING)?;
        let outcome = match self.hear(DOING)? {
            (Reply::Remounted(outcome), _) => outcome,
            (reply, _) => return Err(unexpected(DOING, &reply)),
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
    pub fn resume(&self) -> Result<(), TalkError> {
        const DOING: &str = "let its processes go on";
        self.say(&Request::Thaw, &[], DOING)?;
        match self.hear(DOING)? {
            (Reply::Thawed, _) => Ok(()),
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

impl Stillness<'_> {
    /// Lets the processes go on.
    pub fn end(self) -> Result<(), TalkError> {
        self.keeper.resume()
    }
}
