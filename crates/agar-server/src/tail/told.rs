//! One thing that a stream tells: what it is, and the bytes that say so.

use super::cursor::Cursor;
use crate::stream::message;
use axum::body::Bytes;
use serde_json::json;

/// What an event means for the output of runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// Nothing.
    Other,
    /// A run began.
    Began(u32),
    /// A run ended.
    Ended {
        /// Which.
        run: u32,
        /// How much of its output had been told; nothing if it was not followed.
        until: Option<u64>,
    },
}

/// What is told.
#[derive(Debug, Clone)]
pub(super) enum Piece {
    /// An entry of the journal.
    Event {
        /// Its number.
        number: u64,
        /// What it means.
        turn: Turn,
    },
    /// What a run printed.
    Output {
        /// Which run.
        run: u32,
        /// How much it had printed before.
        from: u64,
        /// What it printed.
        bytes: Vec<u8>,
    },
}

/// Something that is told, to one or to all.
#[derive(Debug, Clone)]
pub(super) struct Told {
    pub(super) piece: Piece,
    /// Where whoever told it was afterwards.
    at: Cursor,
    /// The message, for all who are there too.
    message: Bytes,
    /// Where in the message its id ends.
    data_from: usize,
}

impl Told {
    /// An entry of the journal, told by somebody who is here afterwards.
    pub(super) fn event(number: u64, turn: Turn, data: &str, at: &Cursor) -> Self {
        Self::new(Piece::Event { number, turn }, data, at)
    }

    /// What a run printed, told by somebody who is here afterwards.
    pub(super) fn output(run: u32, from: u64, bytes: Vec<u8>, at: &Cursor) -> Self {
        let data = printed(run, &bytes);
        Self::new(Piece::Output { run, from, bytes }, &data, at)
    }

    fn new(piece: Piece, data: &str, at: &Cursor) -> Self {
        let (message, data_from) = message(&at.to_string(), data);
        Self {
            piece,
            at: at.clone(),
            message,
            data_from,
        }
    }

    /// The message for somebody who is here afterwards. Most are where the teller is, and share its
    /// bytes.
    pub(super) fn message_at(&self, at: &Cursor) -> Bytes {
        if *at == self.at {
            return self.message.clone();
        }
        let mut text = format!("id: {at}\n").into_bytes();
        text.extend_from_slice(&self.message[self.data_from..]);
        text.into()
    }

    /// The message for whom it was made.
    pub(super) fn own(&self) -> Bytes {
        self.message.clone()
    }

    /// The same without the first bytes of the output, which were told before.
    pub(super) fn rest_at(&self, known: usize, at: &Cursor) -> Bytes {
        match &self.piece {
            Piece::Output { run, bytes, .. } => {
                let rest = bytes.get(known..).unwrap_or_default();
                message(&at.to_string(), &printed(*run, rest)).0
            }
            Piece::Event { .. } => self.message_at(at),
        }
    }

    /// How much memory it takes, about.
    pub(super) fn size(&self) -> usize {
        let bytes = match &self.piece {
            Piece::Output { bytes, .. } => bytes.len(),
            Piece::Event { .. } => 0,
        };
        self.message.len() + bytes + size_of::<Self>()
    }
}

fn printed(run: u32, bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    json!({ "type": "output", "run": run, "text": text }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &Bytes) -> &str {
        std::str::from_utf8(bytes).unwrap()
    }

    #[test]
    fn everybody_hears_the_same_words_under_the_id_of_where_they_are() {
        let (here, there): (Cursor, Cursor) = ("7.1.5".parse().unwrap(), "7".parse().unwrap());
        let told = Told::event(7, Turn::Other, r#"{"kind":"x"}"#, &here);
        let same = told.message_at(&here);
        assert_eq!(text(&same), "id: 7.1.5\ndata: {\"kind\":\"x\"}\n\n");
        assert_eq!(same.as_ptr(), told.message.as_ptr(), "not copied");
        let other = told.message_at(&there);
        assert_eq!(text(&other), "id: 7\ndata: {\"kind\":\"x\"}\n\n");
        let printed = Told::output(1, 0, b"hello".to_vec(), &here);
        let rest = printed.rest_at(3, &here);
        assert!(text(&rest).contains(r#""text":"lo""#), "{}", text(&rest));
    }
}
