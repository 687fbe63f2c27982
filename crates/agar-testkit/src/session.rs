//! A program on a terminal, driven as a person would drive it.

use crate::invocation::Invocation;
use crate::wait::{PATIENCE, holds_within};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// A program with a controlling terminal of its own.
#[derive(Debug)]
pub struct Session {
    child: Child,
    /// Gone when the window was closed.
    window: Option<Window>,
    output: Arc<Mutex<Vec<u8>>>,
    /// How much of the output was already matched by [`Self::expect`].
    seen: usize,
}

/// The near end of a terminal.
#[derive(Debug)]
struct Window {
    keyboard: File,
    reader: JoinHandle<()>,
    /// Closing it ends the reader.
    stop: OwnedFd,
}

impl Session {
    /// Starts the program on a new terminal of 24 rows and 80 columns.
    #[track_caller]
    pub fn start(invocation: Invocation) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)
            .expect("a terminal can be opened");
        grantpt(&master).expect("the terminal is granted");
        unlockpt(&master).expect("the terminal is unlocked");
        let slave = ioctl_tiocgptpeer(&master, OpenptFlags::RDWR | OpenptFlags::NOCTTY)
            .expect("the terminal has another end");
        let size = Winsize {
            ws_row: 24,
            ws_col: 80,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&master, size).expect("the terminal takes a size");
        let child = on_terminal(&invocation.into_command(), &slave);
        let output = Arc::new(Mutex::new(Vec::new()));
        let keyboard = File::from(master);
        let reader = keyboard.try_clone().expect("the terminal can be read");
        let sink = Arc::clone(&output);
        let (stopped, stop) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
            .expect("the reader can be stopped");
        let reader = std::thread::spawn(move || copy(reader, &stopped, &sink));
        Self {
            child,
            window: Some(Window {
                keyboard,
                reader,
                stop,
            }),
            output,
            seen: 0,
        }
    }

    /// The process id of the program.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Types the keys.
    #[track_caller]
    pub fn send(&mut self, keys: &str) {
        let window = self.window.as_mut().expect("the window is open");
        window
            .keyboard
            .write_all(keys.as_bytes())
            .expect("the terminal takes keys");
    }

    /// Closes the window, as a person does or a connection that breaks.
    #[track_caller]
    pub fn close_window(&mut self) {
        let window = self.window.take().expect("the window is open");
        drop(window.stop);
        window.reader.join().expect("the reader does not panic");
    }

    /// Changes the size of the window.
    #[track_caller]
    pub fn resize(&self, rows: u16, columns: u16) {
        let size = Winsize {
            ws_row: rows,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        let window = self.window.as_ref().expect("the window is open");
        tcsetwinsize(&window.keyboard, size).expect("the terminal takes a size");
    }

    /// Waits for the text to appear after what was matched before, and goes on from there.
    #[track_caller]
    pub fn expect(&mut self, text: &str) {
        let mut end = None;
        let found = holds_within(PATIENCE, || {
            let shown = self.screen();
            end = shown.get(self.seen..).and_then(|rest| rest.find(text));
            end.is_some()
        });
        assert!(
            found,
            "`{text}` never appeared; the terminal shows:\n{}",
            self.screen()
        );
        self.seen += end.unwrap_or(0) + text.len();
    }

    /// Everything shown so far, without escape sequences and carriage returns.
    pub fn screen(&self) -> String {
        let bytes = self.output.lock().expect("the reader does not panic");
        plain(&String::from_utf8_lossy(&bytes))
    }

    /// Everything shown so far, as it was sent.
    pub fn raw(&self) -> Vec<u8> {
        self.output
            .lock()
            .expect("the reader does not panic")
            .clone()
    }

    /// Whether the program has ended.
    pub fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }

    /// Waits for the program to end: its status as a shell shows it.
    #[track_caller]
    pub fn finish(mut self) -> i32 {
        let ended = holds_within(PATIENCE, || self.has_ended());
        assert!(
            ended,
            "the program did not end; the terminal shows:\n{}",
            self.screen()
        );
        let status = self.child.wait().expect("the child can be waited for");
        status
            .code()
            .or_else(|| status.signal().map(|signal| 128 + signal))
            .unwrap_or(-1)
    }
}

/// A test that fails half way leaves nothing running.
impl Drop for Session {
    fn drop(&mut self) {
        if !self.has_ended() {
            drop(self.child.kill());
            drop(self.child.wait());
        }
    }
}

/// Starts the program with the terminal as its controlling one. `setsid` does what would need
/// unsafe code between fork and exec here. Whoever starts tests in the background has them ignore the
/// keys of a terminal, which `env` undoes.
fn on_terminal(inner: &Command, slave: &OwnedFd) -> Child {
    let copy = || {
        slave
            .try_clone()
            .map(Stdio::from)
            .expect("the terminal can be shared")
    };
    let mut outer = Command::new("env");
    outer
        .args(["--default-signal=INT,QUIT,HUP", "setsid", "--ctty", "--"])
        .arg(inner.get_program())
        .args(inner.get_args())
        .env_clear();
    for (name, value) in inner.get_envs() {
        if let Some(value) = value {
            outer.env(name, value);
        }
    }
    if let Some(directory) = inner.get_current_dir() {
        outer.current_dir(directory);
    }
    outer
        .stdin(copy())
        .stdout(copy())
        .stderr(copy())
        .spawn()
        .expect("setsid of util-linux starts")
}

fn copy(mut from: File, stopped: &OwnedFd, sink: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 4096];
    loop {
        let mut ready = [
            PollFd::new(&from, PollFlags::IN),
            PollFd::new(stopped, PollFlags::IN),
        ];
        if poll(&mut ready, None).is_err() || !ready[1].revents().is_empty() {
            break;
        }
        // A terminal whose other end is closed fails with EIO: the end of the session.
        match from.read(&mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(count) => {
                if let Ok(mut output) = sink.lock() {
                    output.extend_from_slice(&buffer[..count]);
                }
            }
        }
    }
}

/// The text without escape sequences and carriage returns.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' if chars.peek() == Some(&'[') => {
                chars.next();
                while chars.next().is_some_and(|c| !('@'..='~').contains(&c)) {}
            }
            '\u{1b}' if chars.peek() == Some(&']') => {
                while chars.next().is_some_and(|c| c != '\u{7}' && c != '\u{1b}') {}
            }
            '\u{1b}' => drop(chars.next()),
            '\r' => {}
            c => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_has_a_controlling_terminal_and_answers() {
        let mut session = Session::start(
            Invocation::new("/bin/sh")
                .args(["-c", "tty; read line </dev/tty; echo got $line; exit 4"]),
        );
        session.expect("/dev/pts/");
        session.send("hello\n");
        session.expect("got hello");
        assert_eq!(session.finish(), 4);
    }

    #[test]
    fn control_c_interrupts_the_program() {
        let mut session = Session::start(
            Invocation::new("/bin/sh")
                .args(["-c", "trap 'echo caught; exit 9' INT; echo ready; read x"]),
        );
        session.expect("ready");
        session.send("\u{3}");
        session.expect("caught");
        assert_eq!(session.finish(), 9);
    }

    #[test]
    fn escape_sequences_are_not_text() {
        assert_eq!(
            plain("\u{1b}[31mred\u{1b}[0m\r\n\u{1b}]0;title\u{7}x"),
            "red\nx"
        );
    }
}
