//! What this machine can do, found out by trying.

use crate::here;
use crate::relay::{NoControls, Streams};
use crate::run::{Afterwards, RunRequest, run};
use crate::{Command, Engine, EngineError, SandboxOptions, Surroundings};
use agar_core::walls::Tier;
use agar_jail::cgroup::{Cgroups, Mode};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

mod mechanisms;

/// Asks what this machine can do.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DoctorRequest {
    /// How many sandboxes to time; five if left out, none if zero.
    pub tries: Option<u32>,
}

/// How one mechanism fares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// It works.
    Ok,
    /// It works; there is something to know.
    Note,
    /// It works less well than it could.
    Weaker,
    /// It does not work.
    Missing,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What was tried: `overlayfs`.
    pub name: String,
    /// What was seen.
    pub detail: String,
    /// How it fares.
    pub health: Health,
    /// Exactly what to type to mend it.
    pub fix: Option<String>,
}

/// What this machine can do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DoctorAnswer {
    /// What was tried.
    pub findings: Vec<Finding>,
    /// The strongest tier that works here.
    pub tier: Option<Tier>,
    /// The median time until a sandbox was ready, in microseconds.
    pub ready_us: Option<u64>,
    /// How many sandboxes that was measured on.
    pub tries: u32,
}

/// Tries every mechanism for real.
pub fn doctor(engine: &Engine, request: &DoctorRequest) -> Result<DoctorAnswer, EngineError> {
    let tried = try_jails(engine, request.tries.unwrap_or(TRIES))?;
    let mut findings = mechanisms::findings(engine)?;
    findings.push(landlock());
    findings.push(cgroups());
    findings.push(jail(&tried));
    findings.push(program(
        "git",
        "commits and branches are not carried",
        "git",
    ));
    findings.push(program(
        "tmux",
        "`agar attach` will be a plain terminal",
        "tmux",
    ));
    findings.push(memory(engine)?);
    Ok(DoctorAnswer {
        findings,
        tier: tried.tier(),
        ready_us: tried.median_us(),
        tries: u32::try_from(tried.times_us.len()).unwrap_or(u32::MAX),
    })
}

/// Sandboxes that are timed unless somebody says how many.
const TRIES: u32 = 5;

/// What came of trying.
struct Tried {
    times_us: Vec<u64>,
    failure: Option<(String, Option<String>)>,
    weaker: Option<Tier>,
}

impl Tried {
    fn tier(&self) -> Option<Tier> {
        match self.failure {
            None => Some(Tier::Full),
            Some(_) => self.weaker,
        }
    }

    fn median_us(&self) -> Option<u64> {
        let mut times = self.times_us.clone();
        times.sort_unstable();
        times.get(times.len() / 2).copied()
    }
}

/// Raises real jails around a command that does nothing: in the caller's project, or in an empty
/// one where the caller stands in none.
fn try_jails(engine: &Engine, count: u32) -> Result<Tried, EngineError> {
    let mut inner = engine.surroundings().clone();
    inner.background = None;
    if engine.here()?.known().is_none() {
        inner.cwd =
            empty_place(inner.uid).map_err(EngineError::io("make a place to try sandboxes in"))?;
    }
    let mut tried = Tried {
        times_us: Vec::new(),
        failure: None,
        weaker: None,
    };
    for _ in 0..count.max(1) {
        match try_once(inner.clone(), Tier::Full) {
            Ok(elapsed) => tried.times_us.push(elapsed),
            Err(error) => {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                tried.failure = Some((error.to_string(), cause));
                break;
            }
        }
    }
    if tried.failure.is_some() {
        let weaker = [Tier::Helper, Tier::Landlock];
        tried.weaker = weaker
            .into_iter()
            .find(|&tier| try_once(inner.clone(), tier).is_ok());
    }
    Ok(tried)
}

/// An empty project, beside the sockets of those whose session gives them no place for any.
fn empty_place(uid: u32) -> io::Result<PathBuf> {
    let runtime = here::fallback_runtime(uid);
    here::make_private(&runtime, uid)?;
    let place = runtime.join("doctor");
    here::make_private(&place, uid)?;
    Ok(place)
}

fn try_once(surroundings: Surroundings, tier: Tier) -> Result<u64, EngineError> {
    let engine = Engine::open(surroundings)?;
    let request = RunRequest {
        options: SandboxOptions {
            tier: Some(tier),
            ..SandboxOptions::default()
        },
        command: Command::new(["/bin/true"]),
        afterwards: Afterwards::Remove,
        proposal: None,
    };
    let mut controls = NoControls;
    let streams = Streams::unheard(&mut controls);
    let began = std::time::Instant::now();
    let answer = run(&engine, &request, streams)?;
    let elapsed = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
    match answer.run.end {
        Some(end) if end.is_success() => Ok(elapsed),
        other => Err(EngineError::Invalid(format!(
            "the command inside ended otherwise than expected: {other:?}"
        ))),
    }
}

fn finding(name: &str, detail: impl Into<String>, health: Health) -> Finding {
    Finding {
        name: name.to_owned(),
        detail: detail.into(),
        health,
        fix: None,
    }
}

/// The whole jail, around a command: what its parts promise, tried together.
fn jail(tried: &Tried) -> Finding {
    let Some((failure, cause)) = &tried.failure else {
        let detail = "a command ran in a whole one";
        return finding("jail", detail, Health::Ok);
    };
    let detail = match cause {
        Some(cause) => format!("{failure}: {cause}"),
        None => failure.clone(),
    };
    Finding {
        fix: mechanisms::namespaces_fix(),
        ..finding("jail", detail, Health::Missing)
    }
}

fn landlock() -> Finding {
    match agar_jail::landlock::version() {
        version @ 6.. => finding("landlock", format!("ABI {version}"), Health::Ok),
        version @ 2..=5 => finding(
            "landlock",
            format!("ABI {version}: abstract sockets are open to `--net host`"),
            Health::Note,
        ),
        _ => finding(
            "landlock",
            "not in this kernel: one wall less",
            Health::Weaker,
        ),
    }
}

fn cgroups() -> Finding {
    match Cgroups::detect(Path::new("/")).map(|groups| groups.mode()) {
        Ok(Mode::None) | Err(_) => Finding {
            fix: Some("log in through systemd, which delegates control groups".to_owned()),
            ..finding(
                "cgroups",
                "none to use: limits are watched by agar instead",
                Health::Weaker,
            )
        },
        Ok(mode) => finding("cgroups", format!("{mode:?}").to_lowercase(), Health::Ok),
    }
}

fn program(name: &str, without: &str, package: &str) -> Finding {
    let said = std::process::Command::new(name)
        .arg(if name == "tmux" { "-V" } else { "--version" })
        .stdin(std::process::Stdio::null())
        .output();
    match said {
        Ok(said) if said.status.success() => {
            let text = String::from_utf8_lossy(&said.stdout);
            let version = text.split_whitespace().last().unwrap_or_default();
            finding(name, agar_core::text::printable(version), Health::Ok)
        }
        Ok(_) | Err(_) => Finding {
            fix: Some(format!("sudo apt install {package}")),
            ..finding(name, format!("not there: {without}"), Health::Note)
        },
    }
}

/// Reads the whole memory, for it is the one thing that grows with every experiment.
fn memory(engine: &Engine) -> Result<Finding, EngineError> {
    let directory = crate::experiment::directory(engine.here()?.state.path());
    let (detail, health, fix) = match agar_memory::check(&directory) {
        Ok(agar_memory::Health::Absent) => ("empty".to_owned(), Health::Ok, None),
        Ok(agar_memory::Health::Sound) => ("whole".to_owned(), Health::Ok, None),
        Ok(agar_memory::Health::Damaged(what)) => {
            let first = what.first().cloned().unwrap_or_default();
            let fix = format!("mv {} /somewhere/else", crate::view::shown(&directory));
            (format!("damaged: {first}"), Health::Missing, Some(fix))
        }
        Err(error) => (crate::experiment::told(&error), Health::Missing, None),
    };
    Ok(Finding {
        name: "memory".to_owned(),
        detail,
        health,
        fix,
    })
}
