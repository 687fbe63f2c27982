//! A question with a few answers, one key each.

use super::palette::Tone;
use super::signals::Signals;
use super::{Ui, terminal};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::stdio;
use std::io;

/// An answer on offer: its word begins with its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice<T> {
    /// What it means.
    pub value: T,
    /// How it is shown; the first letter is the key.
    pub word: &'static str,
}

/// What came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply<T> {
    /// One of the answers.
    Chose(T),
    /// The terminal was closed, or Ctrl-D.
    Closed,
    /// Ctrl-C.
    Interrupted,
}

/// Asks until one of the answers is given.
pub fn ask<T: Copy>(
    ui: &Ui,
    signals: &Signals,
    question: &str,
    choices: &[Choice<T>],
) -> io::Result<Reply<T>> {
    terminal::forget_typed();
    loop {
        ui.say(&line(ui, question, choices));
        match read_line(signals)? {
            Line::Closed => {
                ui.say("\n");
                return Ok(Reply::Closed);
            }
            Line::Interrupted => {
                ui.say("\n");
                return Ok(Reply::Interrupted);
            }
            Line::Typed(typed) => {
                if let Some(choice) = pick(&typed, choices) {
                    return Ok(Reply::Chose(choice.value));
                }
            }
        }
    }
}

/// The question as it is shown: `Apply? [y]es  [n]o ▸ `.
fn line<T>(ui: &Ui, question: &str, choices: &[Choice<T>]) -> String {
    let mut line = question.to_owned();
    for choice in choices {
        let (key, rest) = choice.word.split_at(1);
        line.push_str("  [");
        line.push_str(&ui.err.paint(Tone::Strong, key));
        line.push(']');
        line.push_str(rest);
    }
    line.push_str("  ▸ ");
    line
}

/// The answer that was typed: its key, its word, or a beginning of it.
fn pick<'a, T>(typed: &str, choices: &'a [Choice<T>]) -> Option<&'a Choice<T>> {
    let typed = typed.trim().to_ascii_lowercase();
    choices
        .iter()
        .find(|choice| !typed.is_empty() && choice.word.starts_with(&typed))
}

enum Line {
    Typed(String),
    Closed,
    Interrupted,
}

/// Reads a line, byte by byte: what follows belongs to the next question or the next program.
fn read_line(signals: &Signals) -> io::Result<Line> {
    let mut typed = Vec::new();
    loop {
        let arrived = signals.take();
        if arrived.interrupt {
            return Ok(Line::Interrupted);
        }
        if arrived.terminate {
            return Ok(Line::Closed);
        }
        let mut ready = [
            PollFd::from_borrowed_fd(stdio::stdin(), PollFlags::IN),
            PollFd::new(signals, PollFlags::IN),
        ];
        match rustix::event::poll(&mut ready, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if !ready[0].revents().is_empty() {
            let mut byte = [0];
            match rustix::io::read(stdio::stdin(), &mut byte)? {
                0 => return Ok(Line::Closed),
                _ if byte[0] == b'\n' => break,
                _ => typed.push(byte[0]),
            }
        }
    }
    Ok(Line::Typed(String::from_utf8_lossy(&typed).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHOICES: [Choice<u8>; 2] = [
        Choice {
            value: 1,
            word: "yes",
        },
        Choice {
            value: 2,
            word: "no",
        },
    ];

    #[test]
    fn an_answer_is_a_key_or_a_word_and_never_silence() {
        for (typed, expected) in [
            ("y", Some(1)),
            ("YES\r", Some(1)),
            ("n", Some(2)),
            ("", None),
            ("x", None),
            ("yes please", None),
        ] {
            assert_eq!(
                pick(typed, &CHOICES).map(|c| c.value),
                expected,
                "{typed:?}"
            );
        }
    }
}
