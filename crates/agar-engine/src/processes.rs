//! What runs inside.

use crate::here::Here;
use crate::{Engine, EngineError};
use crate::{find, view};
use agar_jail::client::Keeper;
use agar_store::{Sandbox, Scope};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Asks what runs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProcessesRequest {
    /// One sandbox; every living one of the project if left out.
    pub sandbox: Option<String>,
    /// Of every project.
    pub everywhere: bool,
}

/// One process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessView {
    /// The alias of its sandbox.
    pub sandbox: String,
    /// Its number inside.
    pub pid: u32,
    /// Its number on the machine.
    pub host_pid: u32,
    /// Its parent's number inside.
    pub parent: u32,
    /// Its command line, made printable.
    pub command: String,
    /// Processor time so far.
    pub cpu_ms: u64,
    /// Resident memory.
    pub memory_bytes: u64,
    /// How long it has run.
    pub age_ms: u64,
}

/// What runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessesAnswer {
    /// By sandbox, then by number.
    pub processes: Vec<ProcessView>,
}

/// Lists the processes inside one sandbox or all.
pub fn processes(
    engine: &Engine,
    request: &ProcessesRequest,
) -> Result<ProcessesAnswer, EngineError> {
    let here = engine.here()?;
    let sandboxes = if let Some(name) = &request.sandbox {
        vec![find::sandbox(here, Some(name))?]
    } else {
        let project = here.project_id().filter(|_| !request.everywhere);
        here.read(|store| store.sandboxes(project, Scope::Alive))?
    };
    let processes = sandboxes
        .iter()
        .filter_map(|sandbox| inside(engine, here, sandbox))
        .flatten()
        .collect();
    Ok(ProcessesAnswer { processes })
}

/// What the processes of a sandbox use together.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Used {
    /// Since they started, in percent of one processor.
    pub(crate) cpu_percent: u32,
    /// Resident.
    pub(crate) memory_bytes: u64,
    /// Processor time.
    pub(crate) cpu_ms: u64,
}

/// Sums up what runs in a sandbox; nothing if its keeper does not answer.
pub(crate) fn used(engine: &Engine, here: &Here, sandbox: &Sandbox) -> Option<Used> {
    let processes = inside(engine, here, sandbox)?;
    let age_ms = processes.iter().map(|it| it.age_ms).max().unwrap_or(0);
    let cpu_ms: u64 = processes.iter().map(|it| it.cpu_ms).sum();
    let percent = (cpu_ms * 100).checked_div(age_ms).unwrap_or(0);
    Some(Used {
        cpu_percent: u32::try_from(percent).unwrap_or(u32::MAX),
        memory_bytes: processes.iter().map(|it| it.memory_bytes).sum(),
        cpu_ms,
    })
}

/// The processes of commands in a sandbox: everything below its init, which is agar's own. Nothing if
/// its keeper does not answer, which is said.
fn inside(engine: &Engine, here: &Here, sandbox: &Sandbox) -> Option<Vec<ProcessView>> {
    let status = here
        .keeper(engine, sandbox.id)
        .and_then(Keeper::status_soon);
    let status = match status {
        Ok(status) => status,
        Err(error) if error.is_silent() => {
            let words = format!("the keeper of {} does not answer", sandbox.alias);
            engine.surroundings().progress.told("silent", &words);
            return None;
        }
        // A jail that ended a moment ago has no processes.
        Err(_) => return Some(Vec::new()),
    };
    let uptime_ms = uptime_ms();
    let mut found = Vec::new();
    let mut ahead = children(status.init);
    while let Some(pid) = ahead.pop() {
        ahead.extend(children(pid));
        found.extend(look(pid, &sandbox.alias, uptime_ms));
    }
    found.sort_by_key(|process| process.pid);
    Some(found)
}

fn children(pid: u32) -> Vec<u32> {
    let Ok(tasks) = Path::new("/proc")
        .join(pid.to_string())
        .join("task")
        .read_dir()
    else {
        return Vec::new();
    };
    tasks
        .flatten()
        .filter_map(|task| fs_err::read_to_string(task.path().join("children")).ok())
        .flat_map(|text| {
            text.split_whitespace()
                .filter_map(|pid| pid.parse().ok())
                .collect::<Vec<u32>>()
        })
        .collect()
}

fn uptime_ms() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    u64::try_from(now.tv_sec).unwrap_or(0) * 1000
        + u64::try_from(now.tv_nsec).unwrap_or(0) / 1_000_000
}

/// One process, unless it ended while we looked.
fn look(host_pid: u32, sandbox: &str, uptime_ms: u64) -> Option<ProcessView> {
    let directory = Path::new("/proc").join(host_pid.to_string());
    let status = fs_err::read_to_string(directory.join("status")).ok()?;
    let stat = fs_err::read_to_string(directory.join("stat")).ok()?;
    let cmdline = fs_err::read(directory.join("cmdline")).ok()?;
    // The name in parentheses may itself hold anything, parentheses too.
    let (before, after) = stat.rsplit_once(')')?;
    let fields: Vec<u64> = after
        .split_whitespace()
        .map(|field| field.parse().unwrap_or(0))
        .collect();
    let field = |number: usize| fields.get(number - 3).copied().unwrap_or(0);
    let tick_ms = 1000 / rustix::param::clock_ticks_per_second().max(1);
    let inside = |key: &str| last_number(&status, key);
    let words: Vec<String> = cmdline
        .split(|&byte| byte == 0)
        .filter(|word| !word.is_empty())
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect();
    let name = before.split_once('(').map_or("", |(_, name)| name);
    Some(ProcessView {
        sandbox: sandbox.to_owned(),
        pid: inside("NSpid:")?,
        host_pid,
        parent: parent_inside(&status)?,
        command: if words.is_empty() {
            format!("[{}]", agar_core::text::printable(name))
        } else {
            view::command_line(&words)
        },
        cpu_ms: (field(14) + field(15)) * tick_ms,
        memory_bytes: field(24) * rustix::param::page_size() as u64,
        age_ms: uptime_ms.saturating_sub(field(22) * tick_ms),
    })
}

/// The last number of a line of `/proc/<pid>/status`: for ids, the one of the innermost namespace.
fn last_number(status: &str, key: &str) -> Option<u32> {
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    line.split_whitespace().last()?.parse().ok()
}

fn parent_inside(status: &str) -> Option<u32> {
    let parent = last_number(status, "PPid:")?;
    let parent = Path::new("/proc").join(parent.to_string()).join("status");
    let parent = fs_err::read_to_string(parent).ok()?;
    last_number(&parent, "NSpid:")
}
