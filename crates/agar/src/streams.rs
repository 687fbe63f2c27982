//! The caller's streams, lent to a command inside a sandbox.
//!
//! On a terminal the command gets a terminal of its own and every key goes to it; three Ctrl-C in
//! a row end the run whatever the command makes of them. Without one its streams are pipes: two
//! interrupts are passed on and the third ends the run. Either way the sandbox is kept.

mod keys;

use crate::report::Failure;
use crate::ui::signals::{Held, Signals};
use crate::ui::terminal::{self, Raw};
use crate::ui::{Form, Input, Ui};
use agar_core::fault::Kind;
use agar_engine::{Control, Controls, Sink, Source, Streams, WindowSize};
use keys::Keys;
use rustix::stdio;
use signal_hook::consts::SIGINT;
use std::cell::OnceCell;
use std::collections::VecDeque;
use std::os::fd::{AsFd as _, BorrowedFd};

/// Interrupts that are passed on before one ends the run.
const PATIENCE: u32 = 2;

/// Whether the command gets a terminal of its own.
pub(crate) fn on_terminal(ui: &Ui) -> bool {
    ui.terminals.stdin == Input::Keyboard && ui.terminals.stdout && ui.form == Form::Words
}

/// What becomes of keys on their way to a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Three Ctrl-C in a row end the run.
    CtrlCEnds,
    /// Every key is the command's.
    AllKeys,
    /// Ctrl-b d leaves; every other key is the command's.
    MayLeave,
}

/// The streams of this process, ready to be lent.
#[derive(Debug)]
pub struct Lender<'a> {
    signals: &'a Signals,
    held: Held<'a>,
    window: Option<WindowSize>,
    keys: Option<Keys>,
    raw: OnceCell<Raw>,
    json: bool,
    background: bool,
}

impl<'a> Lender<'a> {
    /// Prepares to lend the streams of this process.
    pub fn new(ui: &Ui, signals: &'a Signals, way: Way) -> Result<Self, Failure> {
        let window = if on_terminal(ui) {
            terminal::window()
        } else {
            None
        };
        let keys = match window {
            Some(_) => Some(Keys::watch(signals, way).map_err(|error| {
                Failure::because(Kind::Internal, "cannot read the terminal", &error)
            })?),
            None => None,
        };
        Ok(Self {
            held: signals.hold(),
            signals,
            window: window.map(|(rows, columns)| WindowSize { rows, columns }),
            keys,
            raw: OnceCell::new(),
            json: ui.form == Form::Json,
            background: ui.terminals.stdin == Input::Elsewhere,
        })
    }

    /// Hands the terminal over; from here on keys are the command's.
    ///
    /// Called when the command is about to start, so that agar's heading is still written in the
    /// terminal's ordinary mode.
    pub fn hand_over(&self) {
        if let Some(keys) = &self.keys {
            // A terminal that refuses raw mode is used as it is.
            if let Ok(raw) = Raw::enter() {
                drop(self.raw.set(raw));
            }
            keys.start();
        }
    }

    /// What the engine is given. `console` carries signals and sizes during the run.
    pub fn streams<'b>(&'b self, console: &'b mut Console<'b>) -> Streams<'b> {
        Streams {
            stdin: match &self.keys {
                Some(keys) => Source::Descriptor(keys.as_fd()),
                // Reading it would stop this program until it is brought to the front.
                None if self.background => Source::Empty,
                None => Source::Descriptor(stdio::stdin()),
            },
            stdout: Sink::Descriptor(if self.json {
                stdio::stderr()
            } else {
                stdio::stdout()
            }),
            stderr: Sink::Descriptor(stdio::stderr()),
            terminal: self.window,
            controls: console,
        }
    }

    /// Signals and sizes, for the time of one run.
    pub fn console(&self) -> Console<'_> {
        Console {
            own_terminal: self.window.is_some(),
            ..Console::apart(self.signals)
        }
    }

    /// Takes the streams back. Whether Ctrl-C was pressed after the command had ended.
    pub fn take_back(self) -> bool {
        self.take_back_held().0
    }

    /// The same, with the signals still held: between letting go and holding again one more Ctrl-C
    /// would end agar before it has said how to look into what was kept.
    pub fn take_back_held(self) -> (bool, Held<'a>) {
        let Self {
            signals,
            held,
            keys,
            raw,
            ..
        } = self;
        drop(raw);
        drop(keys);
        let arrived = signals.take();
        (arrived.interrupt || arrived.terminate, held)
    }
}

/// Signals and window sizes, passed on to the run.
#[derive(Debug)]
pub struct Console<'a> {
    signals: &'a Signals,
    own_terminal: bool,
    interrupts: u32,
    waiting: VecDeque<Control>,
}

impl<'a> Console<'a> {
    /// For a command that has no terminal of its own, whatever this process has.
    pub fn apart(signals: &'a Signals) -> Self {
        Self {
            signals,
            own_terminal: false,
            interrupts: 0,
            waiting: VecDeque::new(),
        }
    }

    fn interrupt(&mut self) -> Control {
        self.interrupts += 1;
        // With a terminal of its own the command gets its Ctrl-C as a key. What arrives here as a
        // signal is somebody who wants agar itself to end.
        if self.own_terminal || self.interrupts > PATIENCE {
            Control::Stop
        } else {
            Control::Signal(SIGINT)
        }
    }
}

impl Controls for Console<'_> {
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.signals.as_fd())
    }

    fn next(&mut self) -> Option<Control> {
        let arrived = self.signals.take();
        if arrived.resize
            && self.own_terminal
            && let Some((rows, columns)) = terminal::window()
        {
            self.waiting
                .push_back(Control::Resize(WindowSize { rows, columns }));
        }
        if arrived.interrupt {
            let control = self.interrupt();
            self.waiting.push_back(control);
        }
        if arrived.terminate {
            self.waiting.push_back(Control::Stop);
        }
        self.waiting.pop_front()
    }
}
