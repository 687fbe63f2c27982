//! The next program is started before it is asked for.
//!
//! For languages whose interpreter takes long to start and cannot fork: while one individual works,
//! the next one's process comes up, in a sandbox of its own like every other.

use super::{Launcher, Life, Unlaunched};
use std::fmt;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};

type Ready = (UnixStream, Box<dyn Life>);

/// A launcher that is one program ahead.
pub struct Ahead {
    launcher: Arc<dyn Launcher>,
    ready: Mutex<Option<Ready>>,
}

impl Ahead {
    /// Starts the first one.
    pub fn new(launcher: Arc<dyn Launcher>) -> Self {
        let ready = launcher.launch().ok();
        Self {
            launcher,
            ready: Mutex::new(ready),
        }
    }
}

impl Launcher for Ahead {
    fn launch(&self) -> Result<Ready, Unlaunched> {
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = match ready.take() {
            Some(taken) => taken,
            None => self.launcher.launch()?,
        };
        // Without one that is ready the next is started when it is asked for.
        *ready = self.launcher.launch().ok();
        Ok(taken)
    }
}

impl fmt::Debug for Ahead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ahead").finish_non_exhaustive()
    }
}
