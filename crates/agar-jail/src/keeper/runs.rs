//! The runs of a sandbox as its keeper knows them.

use crate::client::RunRequest;
use crate::notify::Recorded;
use crate::report::{End, RunReport, Usage};
use agar_core::limits::Breach;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// One run, under way or ended and not yet reported.
pub(super) struct Run {
    report: RunReport,
    began: Instant,
    timeout: Option<Duration>,
    breach: Option<Breach>,
    ended: bool,
    client: Option<usize>,
}

/// All runs that are not reported yet.
#[derive(Default)]
pub(super) struct Runs(Vec<Run>);

impl Runs {
    /// Begins a run, for a client or for nobody in particular.
    pub(super) fn begin(&mut self, request: &RunRequest, client: Option<usize>) {
        let report = RunReport {
            number: request.number,
            end: End::Lost,
            usage: Usage::default(),
            executions: Vec::new(),
            executions_dropped: 0,
            denied: Vec::new(),
            files: Vec::new(),
            files_dropped: 0,
            notes: Vec::new(),
        };
        self.0.push(Run {
            report,
            began: now(),
            timeout: request.timeout_ms.map(Duration::from_millis),
            breach: None,
            ended: false,
            client,
        });
    }

    fn get(&mut self, number: u32) -> Option<&mut Run> {
        self.0.iter_mut().find(|run| run.report.number == number)
    }

    pub(super) fn contains(&self, number: u32) -> bool {
        self.0.iter().any(|run| run.report.number == number)
    }

    pub(super) fn numbers(&self) -> Vec<u32> {
        self.0.iter().map(|run| run.report.number).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn client_of(&self, number: u32) -> Option<usize> {
        self.0
            .iter()
            .find(|run| run.report.number == number)
            .and_then(|run| run.client)
    }

    /// A client's place in the list was given up; those behind it moved up.
    pub(super) fn forget_client(&mut self, index: usize) {
        for run in &mut self.0 {
            run.client = match run.client {
                Some(client) if client == index => None,
                Some(client) if client > index => Some(client - 1),
                other => other,
            };
        }
    }

    pub(super) fn not_started(&mut self, number: u32, errno: i32) {
        if let Some(run) = self.get(number) {
            let end = match errno {
                libc::ENOENT | libc::ENOTDIR => End::NotFound,
                _ => End::NotExecutable { errno },
            };
            run.report
                .notes
                .push(io::Error::from_raw_os_error(errno).to_string());
            run.finish(end, Usage::default());
        }
    }

    pub(super) fn exited(&mut self, number: u32, status: i32, usage: Usage, recorded: Recorded) {
        let end = if libc::WIFEXITED(status) {
            End::Exited {
                code: libc::WEXITSTATUS(status),
            }
        } else {
            End::Signaled {
                signal: libc::WTERMSIG(status),
            }
        };
        if let Some(run) = self.get(number) {
            run.report.executions = recorded.executions;
            run.report.executions_dropped = recorded.executions_dropped;
            run.report.denied = recorded.denied;
            run.report.files = recorded.files;
            run.report.files_dropped = recorded.files_dropped;
            run.finish(end, usage);
        }
    }

    /// The jail is gone: nobody saw how the rest ended, except that a limit may have ended them.
    pub(super) fn lose_all(&mut self) {
        for run in self.0.iter_mut().filter(|run| !run.ended) {
            run.finish(End::Lost, Usage::default());
        }
    }

    /// Time that processes were kept from using does not count against them.
    pub(super) fn stood_still(&mut self, passed: Duration) {
        for run in self.0.iter_mut().filter(|run| !run.ended) {
            run.timeout = run.timeout.map(|timeout| timeout + passed);
        }
    }

    pub(super) fn breached(&mut self, number: Option<u32>, breach: &Breach) {
        for run in &mut self.0 {
            if number.is_none_or(|number| number == run.report.number) && run.breach.is_none() {
                run.breach = Some(breach.clone());
            }
        }
    }

    /// The run that is out of time, with its limit and what passed.
    pub(super) fn overdue(&self) -> Option<(u32, Duration, Duration)> {
        self.0
            .iter()
            .filter(|run| !run.ended && run.breach.is_none())
            .find_map(|run| {
                let (timeout, passed) = (run.timeout?, run.began.elapsed());
                (passed >= timeout).then_some((run.report.number, timeout, passed))
            })
    }

    /// How long until a run is out of time.
    pub(super) fn patience(&self) -> Option<Duration> {
        let running = self
            .0
            .iter()
            .filter(|run| !run.ended && run.breach.is_none());
        running
            .filter_map(|run| Some(run.timeout?.saturating_sub(run.began.elapsed())))
            .min()
    }

    pub(super) fn take_ended(&mut self) -> Vec<Run> {
        let (ended, running) = std::mem::take(&mut self.0)
            .into_iter()
            .partition(|run| run.ended);
        self.0 = running;
        ended
    }
}

impl Run {
    fn finish(&mut self, end: End, usage: Usage) {
        self.report.end = match self.breach.take() {
            Some(breach) => End::Stopped { breach },
            None => end,
        };
        self.report.usage = Usage {
            wall_ms: millis(self.began.elapsed()),
            ..usage
        };
        self.ended = true;
    }

    pub(super) fn number(&self) -> u32 {
        self.report.number
    }

    pub(super) fn client(&self) -> Option<usize> {
        self.client
    }

    /// What is written down of it.
    pub(super) fn report(&self, notes: Vec<String>, peak: Option<u64>) -> RunReport {
        let mut report = self.report.clone();
        report.notes.extend(notes);
        report.usage.memory_peak_bytes = peak.unwrap_or(0).max(report.usage.memory_peak_bytes);
        report
    }
}

/// Writes a report beside the run's output, whole or not at all.
pub(super) fn write(report: &RunReport, sandbox: &Path) -> io::Result<()> {
    let directory = sandbox.join("runs").join(report.number.to_string());
    make_directory(&directory)?;
    let draft = directory.join("report.json.new");
    write_file(&draft, &serde_json::to_vec(report)?)?;
    rustix::fs::rename(&draft, directory.join("report.json"))?;
    Ok(())
}

fn make_directory(path: &Path) -> io::Result<()> {
    let mode = rustix::fs::Mode::from_raw_mode(0o700);
    for directory in [path.parent(), Some(path)].into_iter().flatten() {
        match rustix::fs::mkdir(directory, mode) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

pub(super) fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let flags = rustix::fs::OFlags::CREATE
        | rustix::fs::OFlags::WRONLY
        | rustix::fs::OFlags::TRUNC
        | rustix::fs::OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, rustix::fs::Mode::from_raw_mode(0o600))?;
    io::Write::write_all(&mut std::fs::File::from(file), bytes)
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The keeper times real processes on a real kernel; there is nothing to simulate.
fn now() -> Instant {
    Instant::now()
}
