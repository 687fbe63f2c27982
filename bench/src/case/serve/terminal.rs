//! Somebody who types into a terminal over a `WebSocket` and waits for each answer.

use crate::measure::Samples;
use agar_testkit::http::Client;
use agar_testkit::websocket::Message;
use anyhow::{Result, ensure};
use std::time::{Duration, Instant};

/// Lines that are typed.
pub(super) const LINES: usize = 40;
/// How long somebody thinks before the next line.
const THINKS: Duration = Duration::from_millis(100);

/// Types one line after the other; how long each answer took. One that never comes is an error.
pub(super) fn use_one(client: &Client, id: &str) -> Result<Samples> {
    let mut socket = client.socket(&format!("/v1/sandboxes/{id}/terminal"));
    let hello = socket.next_message();
    ensure!(matches!(hello, Some(Message::Text(_))), "{hello:?}");
    // A terminal that is still being set up swallows keys.
    let shown = socket.next_message();
    ensure!(matches!(shown, Some(Message::Binary(_))), "{shown:?}");
    let mut samples = Samples::default();
    for line in 0..LINES {
        std::thread::park_timeout(THINKS);
        socket.seen.clear();
        let begun = Instant::now();
        // What is shown while it is typed is not the answer.
        socket.send(format!("echo \"said-$(({line}+1000))\"\r").as_bytes());
        socket.until(&format!("said-{}", line + 1000));
        samples.push(begun.elapsed());
    }
    Ok(samples)
}
