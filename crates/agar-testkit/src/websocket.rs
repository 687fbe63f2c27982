//! The client's half of a WebSocket, as small as RFC 6455 lets it be.

use crate::http::{Answer, Client};
use crate::wait::PATIENCE;
use std::io::{self, Read, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// What a server said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// Words.
    Text(String),
    /// Bytes.
    Binary(Vec<u8>),
    /// The end, with its code and reason.
    Close(u16, String),
}

/// A connection.
#[derive(Debug)]
pub struct Socket {
    stream: TcpStream,
    /// Whether pings are answered.
    pub polite: bool,
    /// All output so far.
    pub seen: Vec<u8>,
}

const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

impl Client {
    /// Asks for a WebSocket; the answer, if it is another.
    #[track_caller]
    pub fn upgrade(&self, path: &str) -> Result<Socket, Answer> {
        let client = self
            .clone()
            .with("connection", "Upgrade")
            .with("upgrade", "websocket")
            .with("sec-websocket-version", "13")
            .with("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
        let (answer, stream) = client.switch(path);
        if answer.status != 101 {
            return Err(answer);
        }
        // The one of the standard's own example.
        let accepted = answer.header("sec-websocket-accept");
        assert_eq!(accepted, Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
        Ok(Socket {
            stream,
            polite: true,
            seen: Vec::new(),
        })
    }

    /// The same, where it must work.
    #[track_caller]
    pub fn socket(&self, path: &str) -> Socket {
        match self.upgrade(path) {
            Ok(socket) => socket,
            Err(answer) => panic!("{}: {}", answer.status, answer.text()),
        }
    }
}

impl Socket {
    /// Sends bytes.
    pub fn send(&mut self, bytes: &[u8]) {
        self.frame(BINARY, bytes).expect("the server reads");
    }

    /// Sends words.
    pub fn say(&mut self, words: &str) {
        self.frame(TEXT, words.as_bytes())
            .expect("the server reads");
    }

    /// Sends a frame of any kind.
    pub fn frame(&mut self, kind: u8, bytes: &[u8]) -> io::Result<()> {
        const MASK: [u8; 4] = [1, 2, 3, 4];
        let mut frame = vec![0x80 | kind];
        match bytes.len() {
            short @ 0..=125 => frame.push(0x80 | u8::try_from(short).unwrap_or(125)),
            long @ 126..=0xffff => {
                frame.push(0x80 | 0x7e);
                frame.extend(u16::try_from(long).unwrap_or(u16::MAX).to_be_bytes());
            }
            longer => {
                frame.push(0x80 | 0x7f);
                frame.extend((longer as u64).to_be_bytes());
            }
        }
        frame.extend(MASK);
        frame.extend(bytes.iter().zip(MASK.iter().cycle()).map(|(a, b)| a ^ b));
        self.stream.write_all(&frame)
    }

    /// The next message; nothing once the connection is over.
    pub fn next_message(&mut self) -> Option<Message> {
        loop {
            let (kind, bytes) = self.read_frame().ok()?;
            match kind {
                TEXT => return Some(Message::Text(String::from_utf8(bytes).expect("UTF-8"))),
                BINARY => {
                    self.seen.extend_from_slice(&bytes);
                    return Some(Message::Binary(bytes));
                }
                CLOSE => {
                    let code = match bytes.as_slice() {
                        [high, low, ..] => u16::from_be_bytes([*high, *low]),
                        [] | [_] => 1005,
                    };
                    let reason = String::from_utf8_lossy(bytes.get(2..).unwrap_or_default());
                    let reason = reason.into_owned();
                    // Whoever hears the end says so.
                    drop(self.frame(CLOSE, &bytes));
                    return Some(Message::Close(code, reason));
                }
                PING if self.polite => self.frame(PONG, &bytes).ok()?,
                _ => {}
            }
        }
    }

    /// Reads until what was shown holds these words.
    #[track_caller]
    pub fn until(&mut self, words: &str) {
        let begun = Instant::now();
        let shown = |seen: &[u8]| String::from_utf8_lossy(seen).into_owned();
        while !shown(&self.seen).contains(words) {
            let next = self.next_message();
            let late = begun.elapsed() > PATIENCE + Duration::from_secs(30);
            assert!(
                !late && !matches!(next, None | Some(Message::Close(..))),
                "`{words}` was never shown; then {next:?} after:\n{}",
                shown(&self.seen)
            );
        }
    }

    /// Reads until the end, which it answers with.
    pub fn end(&mut self) -> Option<(u16, String)> {
        while let Some(message) = self.next_message() {
            if let Message::Close(code, reason) = message {
                return Some((code, reason));
            }
        }
        None
    }

    fn read_frame(&mut self) -> io::Result<(u8, Vec<u8>)> {
        let mut head = [0; 2];
        self.stream.read_exact(&mut head)?;
        assert_eq!(head[1] & 0x80, 0, "a server does not mask");
        let length = match head[1] {
            126 => u64::from(u16::from_be_bytes(self.bytes()?)),
            127 => u64::from_be_bytes(self.bytes()?),
            short => u64::from(short),
        };
        let length = usize::try_from(length).map_err(io::Error::other)?;
        let mut bytes = vec![0; length];
        self.stream.read_exact(&mut bytes)?;
        Ok((head[0] & 0x0f, bytes))
    }

    fn bytes<const COUNT: usize>(&mut self) -> io::Result<[u8; COUNT]> {
        let mut bytes = [0; COUNT];
        self.stream.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}
