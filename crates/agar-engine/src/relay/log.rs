//! The bounded record of what a run printed.
//!
//! The beginning of the output and its end are kept, what lies between is counted. The file is made
//! with the first byte: most short commands print nothing.

use fs_err::os::unix::fs::OpenOptionsExt as _;
use std::collections::VecDeque;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// How much of the beginning is kept.
const HEAD_BYTES: u64 = 8 << 20;
/// How much of the end is kept, beyond that.
const TAIL_BYTES: usize = 1 << 20;
/// The longest line that is looked at as one piece for secrets.
const LINE_BYTES: usize = 16 << 10;

/// The log of one run, being written.
pub(crate) struct OutputLog {
    /// Where it is kept; nowhere if there is none.
    path: Option<PathBuf>,
    file: Option<fs_err::File>,
    redact: fn(&[u8]) -> Vec<u8>,
    line: Vec<u8>,
    head: u64,
    tail: VecDeque<u8>,
    left_out: u64,
    trouble: Option<io::Error>,
}

impl std::fmt::Debug for OutputLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OutputLog")
            .field("path", &self.path)
            .field("head", &self.head)
            .finish_non_exhaustive()
    }
}

/// What became of a log.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// Bytes in the file.
    pub(crate) bytes: u64,
    /// Whether something was left out.
    pub(crate) truncated: bool,
    /// Why the log is incomplete, if the disk said no.
    pub(crate) trouble: Option<io::Error>,
}

impl OutputLog {
    /// A log at this path, whose lines pass through `redact`.
    pub(crate) fn new(path: PathBuf, redact: fn(&[u8]) -> Vec<u8>) -> Self {
        Self {
            path: Some(path),
            file: None,
            redact,
            line: Vec::new(),
            head: 0,
            tail: VecDeque::new(),
            left_out: 0,
            trouble: None,
        }
    }

    /// No log at all.
    pub(crate) fn nowhere() -> Self {
        Self {
            path: None,
            ..Self::new(PathBuf::new(), <[u8]>::to_vec)
        }
    }

    /// Adds what was just read. A line that has not ended waits for its rest.
    ///
    /// A disk that is full does not end the run: the log is incomplete and says so.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        if self.path.is_none() {
            return;
        }
        self.line.extend_from_slice(bytes);
        let whole = match self.line.iter().rposition(|&byte| byte == b'\n') {
            Some(at) => at + 1,
            None if self.line.len() >= LINE_BYTES => self.line.len(),
            None => return,
        };
        let rest = self.line.split_off(whole);
        let lines = std::mem::replace(&mut self.line, rest);
        self.store(&lines);
    }

    fn store(&mut self, lines: &[u8]) {
        let lines = (self.redact)(lines);
        let room = usize::try_from(HEAD_BYTES.saturating_sub(self.head)).unwrap_or(usize::MAX);
        let (head, tail) = lines.split_at(room.min(lines.len()));
        self.write(head);
        self.head += head.len() as u64;
        self.tail.extend(tail);
        let beyond = self.tail.len().saturating_sub(TAIL_BYTES);
        self.tail.drain(..beyond);
        self.left_out += beyond as u64;
    }

    fn write(&mut self, bytes: &[u8]) {
        if bytes.is_empty() || self.trouble.is_some() {
            return;
        }
        if let Err(error) = self.file().and_then(|file| file.write_all(bytes)) {
            self.trouble = Some(error);
        }
    }

    fn file(&mut self) -> io::Result<&mut fs_err::File> {
        match &mut self.file {
            Some(file) => Ok(file),
            none => {
                let path = self.path.as_deref().ok_or(io::ErrorKind::NotFound)?;
                let file = fs_err::OpenOptions::new()
                    .create(true)
                    .append(true)
                    .mode(0o600)
                    .open(path)?;
                Ok(none.insert(file))
            }
        }
    }

    /// Writes what still waits and says what was kept.
    pub(crate) fn finish(mut self) -> Kept {
        let line = std::mem::take(&mut self.line);
        self.store(&line);
        let mut bytes = self.head;
        if !self.tail.is_empty() {
            let mut end = Vec::with_capacity(self.tail.len() + 64);
            if self.left_out > 0 {
                let note = format!("\n[agar: {} bytes left out here]\n", self.left_out);
                end.extend_from_slice(note.as_bytes());
            }
            end.extend(std::mem::take(&mut self.tail));
            self.write(&end);
            bytes += end.len() as u64;
        }
        Kept {
            bytes,
            truncated: self.left_out > 0,
            trouble: self.trouble,
        }
    }
}

/// The longest log there can be.
pub(crate) const LOG_BYTES_MAX: u64 = HEAD_BYTES + TAIL_BYTES as u64 + 128;

/// Reads at most so many bytes of a log from an offset; nothing where the run printed nothing.
pub(crate) fn read(path: &Path, from: u64, most: u64) -> io::Result<Vec<u8>> {
    use std::io::{Read as _, Seek as _};
    let mut file = match fs_err::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    if from > LOG_BYTES_MAX {
        return Ok(Vec::new());
    }
    file.seek(io::SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(bytes: &[u8]) -> Vec<u8> {
        bytes.to_vec()
    }

    #[test]
    fn a_silent_run_leaves_no_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("output");
        let kept = OutputLog::new(path.clone(), plain).finish();
        assert_eq!((kept.bytes, kept.truncated), (0, false));
        assert!(!path.exists());
        assert_eq!(read(&path, 0, LOG_BYTES_MAX).unwrap(), b"");
    }

    #[test]
    fn beginning_and_end_of_a_flood_are_kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("output");
        let mut log = OutputLog::new(path.clone(), plain);
        log.add(b"first line\n");
        let block = vec![b'x'; 1 << 20];
        for _ in 0..32 {
            log.add(&block);
        }
        log.add(b"\nlast line");
        let kept = log.finish();
        assert_eq!(read(&path, 6, 4).unwrap(), b"line");
        assert_eq!(read(&path, u64::MAX, 4).unwrap(), b"", "beyond its end");
        let text = read(&path, 0, LOG_BYTES_MAX).unwrap();
        assert!(kept.truncated);
        assert_eq!(kept.bytes, text.len() as u64);
        assert!(text.len() < 10 << 20, "{}", text.len());
        assert!(text.starts_with(b"first line\n") && text.ends_with(b"\nlast line"));
    }

    #[test]
    fn a_secret_split_between_two_reads_is_still_seen() {
        fn star(bytes: &[u8]) -> Vec<u8> {
            String::from_utf8_lossy(bytes)
                .replace("hunter2", "***")
                .into_bytes()
        }
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("output");
        let mut log = OutputLog::new(path.clone(), star);
        log.add(b"password: hun");
        log.add(b"ter2\nmore");
        log.finish();
        assert_eq!(
            read(&path, 0, LOG_BYTES_MAX).unwrap(),
            b"password: ***\nmore"
        );
    }
}
