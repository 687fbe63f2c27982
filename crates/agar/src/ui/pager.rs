//! Long answers, one screen at a time.
//!
//! Only on a terminal: a pipe gets the bytes as they are.

use super::Ui;
use crate::report::Failure;
use std::io::{self, Write as _};
use std::process::{Command, Stdio};

/// Shows text through the reader's pager, or directly where there is none.
pub fn show(ui: &Ui, text: &str) -> Result<(), Failure> {
    let Some(pager) = ui.pager.as_deref().filter(|_| ui.terminals.stdout) else {
        return ui.show(text);
    };
    let child = Command::new("sh")
        .args(["-c", pager])
        .stdin(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else {
        return ui.show(text);
    };
    let written = child
        .stdin
        .take()
        .map_or(Ok(()), |mut stdin| stdin.write_all(text.as_bytes()));
    let status = child.wait().map_err(|error| Failure::writing(&error))?;
    match written {
        // 127 is the shell's word for a pager that is not installed.
        Err(_) | Ok(()) if status.code() == Some(127) => ui.show(text),
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::writing(&error)),
        // Leaving the pager before the end is not an error.
        Err(_) | Ok(()) => Ok(()),
    }
}
