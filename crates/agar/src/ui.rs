//! What a person sees.
//!
//! Three rules hold for every command: stdout carries the answer and nothing else, stderr carries
//! what agar has to say about it, and either reads the same without colour. Commands hand text to
//! [`Ui`]; nothing else in this crate writes to a stream.

pub mod block;
pub mod changes;
pub mod checks;
pub mod ending;
pub mod human;
pub mod learning;
pub mod merging;
pub mod pager;
pub mod palette;
pub mod patch;
pub mod progress;
pub mod prompt;
pub mod signals;
pub mod table;
pub mod terminal;

use crate::report::Failure;
use block::Block;
use palette::Palette;
use serde::Serialize;
use std::io::{self, Write as _};

/// In which form the answer is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Words for a person.
    Words,
    /// One JSON document.
    Json,
}

/// What stdin is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Input {
    /// A terminal: somebody can type.
    Keyboard,
    /// A terminal on which somebody types to another program: agar runs in the background.
    Elsewhere,
    /// A file or a pipe.
    #[default]
    Stream,
}

/// Which of the three standard streams are terminals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Terminals {
    /// Where input comes from.
    pub stdin: Input,
    /// Somebody reads the answer.
    pub stdout: bool,
    /// Somebody reads the messages.
    pub stderr: bool,
}

/// The two streams and how to write to them.
#[derive(Debug, Clone)]
pub struct Ui {
    /// In which form the answer is wanted.
    pub form: Form,
    /// Whether the causes of an error are shown.
    pub verbose: bool,
    /// Which streams are terminals.
    pub terminals: Terminals,
    /// Colours of stdout.
    pub out: Palette,
    /// Colours of stderr.
    pub err: Palette,
    /// The program that shows long answers on a terminal.
    pub pager: Option<String>,
}

impl Ui {
    /// Whether a question can be asked and answered.
    pub const fn can_ask(&self) -> bool {
        matches!(self.terminals.stdin, Input::Keyboard)
            && self.terminals.stderr
            && matches!(self.form, Form::Words)
    }

    /// Writes a part of the answer.
    pub fn show(&self, text: &str) -> Result<(), Failure> {
        self.show_bytes(text.as_bytes())
    }

    /// Writes one of many answers, as one line of JSON.
    pub fn show_line(&self, answer: &impl Serialize) -> Result<(), Failure> {
        let mut text = serde_json::to_string(answer).map_err(|error| Failure::encoding(&error))?;
        text.push('\n');
        self.show(&text)
    }

    /// Writes a part of the answer that may not be text.
    pub fn show_bytes(&self, bytes: &[u8]) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        out.write_all(bytes)
            .and_then(|()| out.flush())
            .map_err(|error| Failure::writing(&error))
    }

    /// Writes the whole answer as JSON.
    pub fn show_json(&self, answer: &impl Serialize) -> Result<(), Failure> {
        let mut text =
            serde_json::to_string_pretty(answer).map_err(|error| Failure::encoding(&error))?;
        text.push('\n');
        self.show(&text)
    }

    /// Writes the answer in the form that was asked for.
    pub fn answer<T: Serialize>(
        &self,
        answer: &T,
        words: impl FnOnce(&T, Palette) -> String,
    ) -> Result<(), Failure> {
        match self.form {
            Form::Json => self.show_json(answer),
            Form::Words => self.show(&words(answer, self.out)),
        }
    }

    /// Says something on stderr. A reader that went away is not agar's trouble.
    pub fn say(&self, text: &str) {
        drop(io::stderr().lock().write_all(text.as_bytes()));
    }

    /// Says labelled lines on stderr.
    pub fn say_block(&self, block: &Block) {
        self.say(&block.render(self.err));
    }
}
