//! The caller's terminal, lent to a command and always given back.
//!
//! While a command has the terminal, every key belongs to it: Ctrl-C too. Whatever way agar ends,
//! by an error, a panic or a signal it can see, the terminal is as it was before.

use rustix::stdio;
use rustix::termios::{self, OptionalActions, QueueSelector, Termios};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};

/// How the terminal was before it was lent.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// Whether the other screen is shown.
static OTHER_SCREEN: AtomicBool = AtomicBool::new(false);

/// The terminal in raw mode, until this value is dropped.
#[derive(Debug)]
pub struct Raw {
    _private: (),
}

impl Raw {
    /// Lends the terminal on stdin.
    pub fn enter() -> io::Result<Self> {
        static HOOK: Once = Once::new();
        // The release build aborts on a panic: no destructor runs, but the hook does.
        HOOK.call_once(|| {
            let report = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                restore();
                report(panic);
            }));
        });
        let before = termios::tcgetattr(stdio::stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
        termios::tcsetattr(stdio::stdin(), OptionalActions::Now, &raw)?;
        Ok(Self { _private: () })
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        restore();
    }
}

/// Notes that the other screen is shown, so that whatever way agar ends it is left.
pub fn on_other_screen() {
    OTHER_SCREEN.store(true, Ordering::SeqCst);
}

/// Leaves the other screen, if it is shown.
pub fn leave_other_screen() {
    if OTHER_SCREEN.swap(false, Ordering::SeqCst) {
        // A terminal that is gone needs nothing.
        let _ = rustix::io::write(stdio::stdout(), b"\x1b[0m\x1b[?25h\x1b[?1049l");
    }
}

/// Gives the terminal back, if it is lent.
fn restore() {
    leave_other_screen();
    let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(before) = before {
        // Drained, so that the command's last words are not reshaped on their way out.
        let _ = termios::tcsetattr(stdio::stdin(), OptionalActions::Drain, &before);
    }
}

/// Whether keys typed at the terminal on stdin come to this program, and not to another one while
/// this runs in the background.
pub fn is_ours() -> bool {
    // A terminal that does not control this session is nobody else's.
    termios::tcgetpgrp(stdio::stdin()).map_or(true, |front| front == rustix::process::getpgrp())
}

/// The rows and columns of the terminal on stdout. One that does not know them, as on a serial line,
/// has the usual ones.
pub fn window() -> Option<(u16, u16)> {
    let size = termios::tcgetwinsize(stdio::stdout()).ok()?;
    let or = |told: u16, usual| if told > 0 { told } else { usual };
    Some((or(size.ws_row, 24), or(size.ws_col, 80)))
}

/// Forgets what was typed so far, so that keys meant for a command do not answer a question.
pub fn forget_typed() {
    let _ = termios::tcflush(stdio::stdin(), QueueSelector::IFlush);
}

/// Brings a terminal back to plain text, whatever a command left on: out of the other screen, the
/// whole window scrolling, cursor keys and keypad as usual, cursor shown, letters, colours, mouse and
/// pasting plain.
///
/// The place of the cursor is noted before the other screen is left: where that is not shown, leaving
/// it would bring back a place that was noted long ago. Having the whole window scroll moves it, too.
pub const PLAIN_AGAIN: &str = concat!(
    "\u{1b}7\u{1b}[?1049l\u{1b}7\u{1b}[r\u{1b}8",
    "\u{1b}[?1l\u{1b}>\u{1b}[4l\u{1b}(B",
    "\u{1b}[?1000l\u{1b}[?1002l\u{1b}[?1003l\u{1b}[?1004l\u{1b}[?1005l\u{1b}[?1006l",
    "\u{1b}[?2004l\u{1b}[?25h\u{1b}[0m",
);
