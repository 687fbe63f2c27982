//! The terminal as ratatui sees it: a few escape sequences, and nothing left behind.
//!
//! A library for terminals brings forty packages; what `top` needs of one is on this page.

use crate::ui::terminal;
use ratatui_core::backend::{Backend, ClearType, WindowSize};
use ratatui_core::buffer::Cell;
use ratatui_core::layout::{Position, Size};
use ratatui_core::style::{Color, Modifier};
use std::io::{self, Write as _};

/// The other screen of the terminal, until it is dropped.
#[derive(Debug)]
pub(super) struct Screen {
    pending: Vec<u8>,
    cursor: Position,
}

impl Screen {
    /// Goes to the other screen.
    pub(super) fn open() -> io::Result<Self> {
        terminal::on_other_screen();
        let mut screen = Self {
            pending: b"\x1b[?1049h\x1b[?25l\x1b[2J".to_vec(),
            cursor: Position::ORIGIN,
        };
        screen.flush()?;
        Ok(screen)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        terminal::leave_other_screen();
    }
}

impl Backend for Screen {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let mut next = None;
        let mut style = None;
        for (x, y, cell) in content {
            if next != Some((x, y)) {
                write!(self.pending, "\x1b[{};{}H", y + 1, x + 1)?;
            }
            let wanted = (cell.fg, cell.modifier);
            if style.replace(wanted) != Some(wanted) {
                self.pending.extend_from_slice(b"\x1b[0m");
                self.pending.extend_from_slice(sequence(cell).as_bytes());
            }
            self.pending.extend_from_slice(cell.symbol().as_bytes());
            // What is wider than one column is placed anew after it.
            next = cell.symbol().is_ascii().then_some((x + 1, y));
        }
        self.pending.extend_from_slice(b"\x1b[0m");
        Ok(())
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        self.pending.extend_from_slice(b"\x1b[?25l");
        Ok(())
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        self.pending.extend_from_slice(b"\x1b[?25h");
        Ok(())
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(self.cursor)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        self.cursor = position.into();
        write!(
            self.pending,
            "\x1b[{};{}H",
            self.cursor.y + 1,
            self.cursor.x + 1
        )
    }

    fn clear(&mut self) -> io::Result<()> {
        self.pending.extend_from_slice(b"\x1b[2J");
        Ok(())
    }

    fn clear_region(&mut self, clear: ClearType) -> io::Result<()> {
        self.pending.extend_from_slice(match clear {
            ClearType::All => b"\x1b[2J",
            ClearType::AfterCursor => b"\x1b[0J",
            ClearType::BeforeCursor => b"\x1b[1J",
            ClearType::CurrentLine => b"\x1b[2K",
            ClearType::UntilNewLine => b"\x1b[0K",
        });
        Ok(())
    }

    fn size(&self) -> io::Result<Size> {
        let (rows, columns) = terminal::window().unwrap_or((24, 80));
        Ok(Size::new(columns, rows))
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize {
            columns_rows: self.size()?,
            pixels: Size::ZERO,
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(&std::mem::take(&mut self.pending))?;
        out.flush()
    }
}

/// What switches to the look of a cell, from a plain one.
fn sequence(cell: &Cell) -> String {
    let mut sequence = String::new();
    let modifiers = [
        (Modifier::BOLD, "\x1b[1m"),
        (Modifier::DIM, "\x1b[2m"),
        (Modifier::REVERSED, "\x1b[7m"),
    ];
    for (modifier, text) in modifiers {
        if cell.modifier.contains(modifier) {
            sequence.push_str(text);
        }
    }
    if cell.fg == Color::Green {
        sequence.push_str("\x1b[32m");
    } else if cell.fg == Color::Yellow {
        sequence.push_str("\x1b[33m");
    } else if cell.fg == Color::Red {
        sequence.push_str("\x1b[31m");
    }
    sequence
}
