//! Memory and processes of everything below an init, read from `/proc`.

use agar_core::limits::{Breach, Limits, Resource};
use rustix::fs::{Mode, OFlags};
use std::fmt::Write as _;
use std::io;

/// A jail with more processes than this is over any limit; what lies beyond is not looked at.
const PROCESSES_MAX: usize = 65_536;

/// What all processes below an init use at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sample {
    /// Processes and threads.
    pub processes: u32,
    /// Memory in use. Pages that processes share are counted for each of them, unless the sum is
    /// over the limit: then they are shared out before anybody is blamed.
    pub memory_bytes: u64,
    /// The process that uses most memory, as numbered outside, and how much.
    pub largest: Option<(u32, u64)>,
}

/// Looks at all processes below an init. Keep one per init: its buffers are used again.
#[derive(Debug, Default)]
pub struct Watch {
    pending: Vec<u32>,
    seen: Vec<u32>,
    text: Vec<u8>,
}

impl Watch {
    /// Reads what everything below `init` (numbered outside) uses now; the init itself is not
    /// counted. `limit_bytes` decides how exact the memory has to be. Processes that end meanwhile
    /// are left out. Fails only when the init is gone.
    pub fn sample(&mut self, init: u32, limit_bytes: Option<u64>) -> io::Result<Sample> {
        self.gather(init)?;
        let page = rustix::param::page_size() as u64;
        let mut sample = Sample::default();
        for index in 0..self.seen.len() {
            let pid = self.seen[index];
            let Some(stat) = self.stat(pid) else {
                continue;
            };
            let bytes = stat.resident_pages * page;
            sample.processes = sample.processes.saturating_add(stat.threads);
            sample.memory_bytes = sample.memory_bytes.saturating_add(bytes);
            if sample.largest.is_none_or(|(_, most)| bytes > most) {
                sample.largest = Some((pid, bytes));
            }
        }
        if limit_bytes.is_some_and(|limit| sample.memory_bytes > limit) {
            sample.memory_bytes = self.shared_out(page);
        }
        Ok(sample)
    }

    /// The limit that the sample breaks, if any, with the process to blame.
    pub fn breach(&mut self, sample: &Sample, limits: &Limits) -> Option<Breach> {
        let over = |resource, limit: Option<u64>, seen: u64| {
            limit
                .filter(|limit| seen > *limit)
                .map(|limit| (resource, limit, seen))
        };
        let memory = limits.memory_bytes.map(|bytes| bytes.0);
        let processes = limits.processes.map(u64::from);
        let (resource, limit, seen) = over(Resource::Memory, memory, sample.memory_bytes)
            .or_else(|| over(Resource::Processes, processes, sample.processes.into()))?;
        let culprit = match resource {
            Resource::Memory => sample.largest.and_then(|(pid, _)| self.name(pid)),
            Resource::Processes
            | Resource::Cpu
            | Resource::Disk
            | Resource::Time
            | Resource::Output => None,
        };
        Some(Breach {
            resource,
            limit,
            seen,
            culprit,
        })
    }

    /// What a process is called inside: `cc1plus (pid 231)`. The name is the process's own word,
    /// so only its printable part is kept.
    pub fn name(&mut self, pid: u32) -> Option<String> {
        read(&mut self.text, pid, "status").ok()?;
        let mut name = None;
        let mut inside = pid;
        for line in self.text.split(|byte| *byte == b'\n') {
            if let Some(rest) = line.strip_prefix(b"Name:") {
                name = Some(agar_core::text::printable_bytes(rest.trim_ascii()));
            } else if let Some(rest) = line.strip_prefix(b"NSpid:") {
                inside = numbers(rest).last().and_then(|n| n.try_into().ok())?;
            }
        }
        name.map(|name| format!("{name} (pid {inside})"))
    }

    /// Every process below a process, as numbered here.
    pub fn below(&mut self, top: u32) -> Vec<u32> {
        // One that is gone has nobody below it.
        drop(self.gather(top));
        std::mem::take(&mut self.seen)
    }

    /// The children of a process, as numbered here.
    pub fn children_of(&mut self, parent: u32) -> Vec<u32> {
        self.pending.clear();
        // One that is gone has none.
        drop(self.children(parent));
        std::mem::take(&mut self.pending)
    }

    /// Fills `seen` with every process below the init.
    fn gather(&mut self, init: u32) -> io::Result<()> {
        self.seen.clear();
        self.pending.clear();
        self.children(init)?;
        while let Some(pid) = self.pending.pop() {
            if self.seen.len() >= PROCESSES_MAX {
                break;
            }
            self.seen.push(pid);
            // One that ended meanwhile has no children: they are the init's by now.
            drop(self.children(pid));
        }
        // A process that moved up while we walked can have been met twice.
        self.seen.sort_unstable();
        self.seen.dedup();
        Ok(())
    }

    /// Adds the children of every thread of the process to `pending`.
    fn children(&mut self, pid: u32) -> io::Result<()> {
        let directory = open(pid, "task", OFlags::DIRECTORY)?;
        let mut buffer = [std::mem::MaybeUninit::uninit(); 1024];
        let mut threads = rustix::fs::RawDir::new(directory, &mut buffer);
        while let Some(entry) = threads.next() {
            let Some(thread) = number(entry?.file_name().to_bytes()) else {
                continue;
            };
            let mut name = Text::new();
            // The buffer holds any two numbers.
            let _ = write!(name, "task/{thread}/children");
            if read(&mut self.text, pid, name.as_str()).is_ok() {
                let children = numbers(&self.text).filter_map(|n| u32::try_from(n).ok());
                self.pending.extend(children);
            }
        }
        Ok(())
    }

    fn stat(&mut self, pid: u32) -> Option<Stat> {
        read(&mut self.text, pid, "stat").ok()?;
        Stat::parse(&self.text)
    }

    /// The memory of all seen processes with shared pages divided among those who share them.
    fn shared_out(&mut self, page: u64) -> u64 {
        let mut total = 0_u64;
        for index in 0..self.seen.len() {
            let pid = self.seen[index];
            let exact = read(&mut self.text, pid, "smaps_rollup")
                .ok()
                .and_then(|()| kibibytes(&self.text, b"Pss:"));
            let bytes = exact.or_else(|| self.stat(pid).map(|stat| stat.resident_pages * page));
            total = total.saturating_add(bytes.unwrap_or(0));
        }
        total
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Stat {
    threads: u32,
    resident_pages: u64,
}

impl Stat {
    /// Reads a `/proc/PID/stat` line. The name is in parentheses and may hold any character, so
    /// fields are counted from the last one that closes.
    fn parse(line: &[u8]) -> Option<Self> {
        let close = line.iter().rposition(|byte| *byte == b')')?;
        let mut fields = line[close + 1..].split(u8::is_ascii_whitespace).skip(1);
        // From the third field of the manual on: the 20th is threads, the 24th resident pages.
        let threads = number(fields.nth(17)?)?;
        let resident_pages = number(fields.nth(3)?)?;
        Some(Self {
            threads: threads.try_into().ok()?,
            resident_pages,
        })
    }
}

fn number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn numbers(text: &[u8]) -> impl Iterator<Item = u64> {
    text.split(u8::is_ascii_whitespace).filter_map(number)
}

fn kibibytes(text: &[u8], key: &[u8]) -> Option<u64> {
    let line = text
        .split(|byte| *byte == b'\n')
        .find_map(|line| line.strip_prefix(key))?;
    numbers(line).next().map(|count| count << 10)
}

/// A path below `/proc`, without an allocation.
struct Text {
    bytes: [u8; 64],
    length: usize,
}

impl Text {
    fn new() -> Self {
        Self {
            bytes: [0; 64],
            length: 0,
        }
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }
}

impl std::fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = self.length + text.len();
        self.bytes
            .get_mut(self.length..end)
            .ok_or(std::fmt::Error)?
            .copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

fn open(pid: u32, name: &str, flags: OFlags) -> io::Result<std::os::fd::OwnedFd> {
    let mut path = Text::new();
    write!(path, "/proc/{pid}/{name}").map_err(io::Error::other)?;
    let flags = flags | OFlags::RDONLY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path.as_str(), flags, Mode::empty())?)
}

fn read(text: &mut Vec<u8>, pid: u32, name: &str) -> io::Result<()> {
    let file = open(pid, name, OFlags::empty())?;
    text.clear();
    loop {
        text.reserve(512);
        let got = rustix::io::read(&file, rustix::buffer::spare_capacity(text))?;
        if got == 0 {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_name_does_not_shift_the_fields() {
        let plain = b"7 (a) S 1 7 7 0 -1 4194304 9 0 0 0 1 2 0 0 20 0 3 0 55 9999 42 1 0";
        let hostile =
            b"7 (x) R 9 9 (9) S 1 7 7 0 -1 4194304 9 0 0 0 1 2 0 0 20 0 3 0 55 9999 42 1 0";
        let expected = Stat {
            threads: 3,
            resident_pages: 42,
        };
        assert_eq!(Stat::parse(plain).as_ref(), Some(&expected));
        assert_eq!(Stat::parse(hostile).as_ref(), Some(&expected));
        assert_eq!(Stat::parse(b"7 (cut"), None);
    }

    #[test]
    fn memory_comes_before_processes_when_both_are_over() {
        let limits = Limits {
            memory_bytes: Some(agar_core::size::Bytes(10)),
            processes: Some(1),
            ..Limits::default()
        };
        let sample = Sample {
            processes: 2,
            memory_bytes: 11,
            largest: None,
        };
        let breach = Watch::default().breach(&sample, &limits).unwrap();
        assert_eq!(breach.resource, Resource::Memory);
        assert_eq!((breach.limit, breach.seen), (10, 11));
    }

    #[test]
    fn what_equals_the_limit_is_within_it() {
        let limits = Limits {
            processes: Some(2),
            ..Limits::default()
        };
        let sample = Sample {
            processes: 2,
            ..Sample::default()
        };
        assert_eq!(Watch::default().breach(&sample, &limits), None);
    }
}
