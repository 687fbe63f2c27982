//! Both sides of one question, with an end to every wait.

use crate::cell::State;
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Instant;

/// What a program said.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reply {
    Yes(State),
    No(String),
}

/// Why it said nothing that can be used.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Failure {
    Late,
    TooLong,
    Gone,
    Nonsense(&'static str),
}

/// The longest first line of an answer.
const LINE_MAX: usize = 64;

/// Our end of the stream.
#[derive(Debug)]
pub(super) struct Wire {
    stream: UnixStream,
    /// Read, and not yet used.
    ahead: Vec<u8>,
}

impl Wire {
    pub(super) fn new(stream: UnixStream) -> Self {
        let ahead = Vec::new();
        Self { stream, ahead }
    }

    /// Asks, and reads an answer of at most so many bytes.
    pub(super) fn ask(
        &mut self,
        (verb, bytes, schema): (&str, &[u8], Option<u32>),
        most: u32,
        deadline: Instant,
    ) -> Result<Reply, Failure> {
        if !self.ahead.is_empty() {
            return Err(Failure::Nonsense("it speaks without being asked"));
        }
        let schema = schema.map_or_else(String::new, |schema| format!(" {schema}"));
        let line = format!("{verb} {}{schema}\n", bytes.len());
        self.write(line.as_bytes(), deadline)?;
        self.write(bytes, deadline)?;
        let (yes, length, schema) = self.line(deadline)?;
        if length > most as usize {
            return Err(Failure::TooLong);
        }
        while self.ahead.len() < length {
            self.read(deadline)?;
        }
        let rest = self.ahead.split_off(length);
        let bytes = std::mem::replace(&mut self.ahead, rest);
        if yes {
            return Ok(Reply::Yes(State { schema, bytes }));
        }
        let words = String::from_utf8_lossy(&bytes);
        Ok(Reply::No(agar_core::text::printable(&words).into_owned()))
    }

    /// `ok LENGTH [SCHEMA]` or `no LENGTH`.
    fn line(&mut self, deadline: Instant) -> Result<(bool, usize, u32), Failure> {
        let end = loop {
            let found = self.ahead.iter().position(|byte| *byte == b'\n');
            if let Some(end) = found {
                break end;
            }
            if self.ahead.len() > LINE_MAX {
                return Err(Failure::Nonsense("its answer has no first line"));
            }
            self.read(deadline)?;
        };
        let rest = self.ahead.split_off(end + 1);
        let line = std::mem::replace(&mut self.ahead, rest);
        let nonsense =
            Failure::Nonsense("its answer begins with neither `ok` nor `no` and a length");
        let line = String::from_utf8_lossy(&line);
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["ok", length] => length.parse().map(|length| (true, length, 0)).ok(),
            ["ok", length, schema] => {
                let numbers = length.parse().ok().zip(schema.parse().ok());
                numbers.map(|(length, schema)| (true, length, schema))
            }
            ["no", length] => length.parse().map(|length| (false, length, 0)).ok(),
            [..] => None,
        }
        .ok_or(nonsense)
    }

    fn read(&mut self, deadline: Instant) -> Result<(), Failure> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Failure::Late);
        }
        let set = self.stream.set_read_timeout(Some(left));
        set.map_err(|_| Failure::Gone)?;
        let mut some = [0; 8_192];
        match self.stream.read(&mut some) {
            Ok(0) => Err(Failure::Gone),
            Ok(count) => {
                self.ahead
                    .extend_from_slice(some.get(..count).unwrap_or_default());
                Ok(())
            }
            Err(error) => waited(&error),
        }
    }

    fn write(&mut self, mut bytes: &[u8], deadline: Instant) -> Result<(), Failure> {
        while !bytes.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Failure::Late);
            }
            let set = self.stream.set_write_timeout(Some(left));
            set.map_err(|_| Failure::Gone)?;
            match self.stream.write(bytes) {
                Ok(0) => return Err(Failure::Gone),
                Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
                Err(error) => waited(&error)?,
            }
        }
        Ok(())
    }
}

/// An interrupted or timed out wait is begun again or found late by the caller.
fn waited(error: &std::io::Error) -> Result<(), Failure> {
    let again = [
        ErrorKind::Interrupted,
        ErrorKind::WouldBlock,
        ErrorKind::TimedOut,
    ];
    if again.contains(&error.kind()) {
        Ok(())
    } else {
        Err(Failure::Gone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Asks a program that answers with these bytes and closes.
    fn answered(bytes: &[u8]) -> Result<Reply, Failure> {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(bytes).unwrap();
        theirs.shutdown(std::net::Shutdown::Write).unwrap();
        let deadline = Instant::now() + Duration::from_mins(1);
        Wire::new(ours).ask(("evaluate", b"x", None), 10, deadline)
    }

    fn yes(schema: u32, bytes: &[u8]) -> Reply {
        let bytes = bytes.to_vec();
        Reply::Yes(State { schema, bytes })
    }

    #[test]
    fn answers_are_read_by_their_length() {
        assert_eq!(answered(b"ok 3\nabc"), Ok(yes(0, b"abc")));
        assert_eq!(answered(b"ok 4 7\na\nbc"), Ok(yes(7, b"a\nbc")));
        assert_eq!(answered(b"ok 0\n"), Ok(yes(0, b"")));
        assert_eq!(answered(b"no 4\nnope"), Ok(Reply::No("nope".to_owned())));
    }

    #[test]
    fn whatever_else_is_said_has_a_name() {
        assert_eq!(answered(b"ok 11\n12345678901"), Err(Failure::TooLong));
        assert_eq!(answered(b"ok 99999999999\n"), Err(Failure::TooLong));
        assert_eq!(answered(b"ok 3\nab"), Err(Failure::Gone));
        assert_eq!(answered(b""), Err(Failure::Gone));
        for nonsense in [&b"hello\n"[..], b"ok -1\n", b"ok\n", b"\n", &[b'x'; 100]] {
            let said = answered(nonsense);
            assert!(matches!(said, Err(Failure::Nonsense(_))), "{said:?}");
        }
    }

    #[test]
    fn a_silent_program_is_waited_for_until_the_deadline() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let deadline = Instant::now() + Duration::from_millis(5);
        let said = Wire::new(ours).ask(("evaluate", b"x", None), 10, deadline);
        assert_eq!(said, Err(Failure::Late));
        drop(theirs);
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(bytes: Vec<u8>) {
            drop(answered(&bytes));
            drop(answered(&[b"ok 5 ".as_slice(), &bytes].concat()));
        }
    }
}
