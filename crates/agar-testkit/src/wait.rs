//! Waiting on conditions, never on time.

use std::thread;
use std::time::{Duration, Instant};

/// How long a test waits for something that should happen soon. Generous: it is reached only by a
/// failure, and the machine may be busy with everything else.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// Waits until the condition holds, and panics with what was awaited if it never does.
pub fn until(what: &str, condition: impl FnMut() -> bool) {
    assert!(
        holds_within(PATIENCE, condition),
        "still waiting for: {what}"
    );
}

/// Waits until the condition holds; false when it did not within the time given.
pub fn holds_within(patience: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + patience;
    loop {
        if condition() {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        // A park is a wait that a spurious wake-up may shorten, which a poll does not mind.
        thread::park_timeout(Duration::from_millis(5));
    }
}
