//! The declared checks of a project, run on what a sandbox changed and on its untouched base.
//!
//! Neither run may leave anything behind: what a check builds, caches or reports is not part of the
//! change that it judges. So each works in a throwaway sandbox of its own, whose layers lie over
//! those of the sandbox, or over the base alone; and since the code under test wrote whatever the
//! check says, it is read as hostile (see [`agar_review`]). A project's commands run inside the
//! walls and nowhere else.

mod known;
mod place;
mod report_file;
mod trial;

use crate::blueprint::Blueprint;
use crate::experiment::{self, ExperimentView};
use crate::failure::EngineError;
use crate::here::Here;
use crate::relay::Controls;
use crate::surroundings::Step;
use crate::{Caller, Engine, SandboxView, changes, find, view, whereabouts, wishes};
use agar_core::settings::{Check, Who};
use agar_core::state::State;
use agar_core::text::printable;
use agar_core::walls::Tier;
pub use agar_review::{Comparison, Counts, Verdict};
use agar_review::{Judgement, Trial, judge, lines};
use agar_store::Sandbox;
use place::Place;
use serde::{Deserialize, Serialize};
use std::sync::mpsc;
use std::time::Duration;

/// Asks for the declared checks of a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CheckRequest {
    /// Its alias, id or a unique beginning; may be left out when there is only one.
    pub sandbox: Option<String>,
    /// Only these checks; all if there are none.
    pub only: Vec<String>,
    /// Who asks.
    pub caller: Caller,
}

/// What the checks say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckAnswer {
    /// The sandbox.
    pub sandbox: SandboxView,
    /// Each check, in the order of the settings.
    pub checks: Vec<CheckView>,
    /// The verdict on those that must pass.
    pub verdict: Verdict,
    /// Whether the caller stopped them.
    pub interrupted: bool,
    /// The experiment that waited for them, where one did.
    pub experiment: Option<ExperimentView>,
}

/// One check as the faces show it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckView {
    /// What it is called.
    pub name: String,
    /// Its command.
    pub run: String,
    /// Whether a change that does not pass it is refused.
    pub must_pass: bool,
    /// What it says.
    pub verdict: Verdict,
    /// Why, where it is not a plain pass.
    pub reason: Option<String>,
    /// How long it took.
    pub wall_ms: u64,
    /// How long it took on the base.
    pub base_wall_ms: Option<u64>,
    /// Its tests, where it reports them.
    pub tests: Option<Counts>,
    /// What changed against the base, where both report tests.
    pub comparison: Option<Comparison>,
    /// What the base was: `compared`, or why it was not.
    pub base: String,
    /// Lines of its output that are errors and were not there on the base.
    pub new_errors: Vec<String>,
    /// The same for warnings; nothing where there is no base to compare with.
    pub new_warnings: Option<Vec<String>>,
    /// What a benchmark measured.
    pub measured: Option<Measured>,
}

/// What a benchmark measured, here and on the base.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// With the change.
    pub now: f64,
    /// Without it.
    pub before: Option<f64>,
    /// How much more with the change than without: 1.15 is 15 % more.
    pub ratio: Option<f64>,
}

/// The word for a base that a check was compared with.
pub const COMPARED: &str = "compared";

/// Runs the declared checks on what the sandbox changed.
///
/// `told` hears each answer as it comes.
pub fn check(
    engine: &Engine,
    request: &CheckRequest,
    controls: &mut dyn Controls,
    told: &mut dyn FnMut(&CheckView),
) -> Result<CheckAnswer, EngineError> {
    let here = engine.here()?;
    let record = find::sandbox(here, request.sandbox.as_deref())?;
    let blueprint = whereabouts::to_build_on(here, changes::kept(&record, "check")?)?;
    if record.state.is_alive() {
        return Err(EngineError::WrongState {
            doing: "check",
            alias: record.alias,
            state: State::Running,
        });
    }
    let declared = declared(engine, here, &request.caller)?;
    let wanted = chosen(declared, &request.only)?;
    let (checks, interrupted) = all(
        engine,
        here,
        (&record, &blueprint),
        &wanted,
        &mut Said { controls, told },
    )?;
    let sandbox = (&record, &blueprint);
    let experiment = experiment::conclude_checked(engine, here, sandbox, &checks, interrupted)?;
    let runs = here.read(|store| store.run_count(record.id))?;
    Ok(CheckAnswer {
        experiment,
        sandbox: view::sandbox_with(&record, &blueprint, runs),
        verdict: together(&checks),
        checks,
        interrupted,
    })
}

/// The checks that the settings declare.
pub(crate) fn declared(
    engine: &Engine,
    here: &Here,
    caller: &Caller,
) -> Result<Vec<Check>, EngineError> {
    let who = match caller {
        Caller::Person => Who::Person,
        Caller::Agent { .. } => Who::Agent,
    };
    Ok(wishes::load(engine, here, who)?.resolved.settings.checks)
}

fn chosen(declared: Vec<Check>, only: &[String]) -> Result<Vec<Check>, EngineError> {
    if let Some(name) = only
        .iter()
        .find(|name| declared.iter().all(|check| check.name != **name))
    {
        return Err(EngineError::Missing {
            doing: "run the checks",
            what: format!("check called `{name}`"),
        });
    }
    let wanted = |check: &Check| only.is_empty() || only.contains(&check.name);
    Ok(declared.into_iter().filter(wanted).collect())
}

/// The verdict on the checks that must pass: the worst of them.
pub(crate) fn together(checks: &[CheckView]) -> Verdict {
    let must: Vec<Verdict> = checks
        .iter()
        .filter(|check| check.must_pass)
        .map(|check| check.verdict)
        .collect();
    if must.is_empty() && !checks.is_empty() {
        // Nothing was asked of it that it could fail.
        return Verdict::Pass;
    }
    Verdict::of_all(must)
}

/// The face, while checks run.
pub(crate) struct Said<'a> {
    pub(crate) controls: &'a mut dyn Controls,
    pub(crate) told: &'a mut dyn FnMut(&CheckView),
}

/// Runs every check here and, where that is not known yet, on the base.
pub(crate) fn all(
    engine: &Engine,
    here: &Here,
    (record, blueprint): (&Sandbox, &Blueprint),
    checks: &[Check],
    said: &mut Said<'_>,
) -> Result<(Vec<CheckView>, bool), EngineError> {
    let mut views = Vec::new();
    if checks.is_empty() {
        return Ok((views, false));
    }
    let changed = Place::over(engine, here, (record, blueprint))?;
    let mut base: Option<Place<'_>> = None;
    let mut interrupted = false;
    for (done, check) in checks.iter().enumerate() {
        if interrupted {
            views.push(not_run(check));
            continue;
        }
        let place = (done + 1, checks.len());
        let (now, stopped) = alive(engine, (check, place, "checking"), || {
            changed.try_check(check, said.controls)
        })?;
        interrupted |= stopped;
        let before = if interrupted {
            Err("the checks were interrupted".to_owned())
        } else {
            let doing = "checking the base,";
            let (before, stopped) = alive(engine, (check, place, doing), || {
                known::before(
                    engine,
                    here,
                    (record, blueprint),
                    check,
                    (&mut base, said.controls),
                )
            })?;
            interrupted |= stopped;
            before
        };
        let view = judged(check, &now, &before, interrupted);
        engine.surroundings().progress.end();
        (said.told)(&view);
        views.push(view);
    }
    engine.surroundings().progress.end();
    Ok((views, interrupted))
}

/// How often a check that runs shows that it does.
const SIGN_OF_LIFE: Duration = Duration::from_millis(250);

/// Does the work, and shows all the while that it goes on: a check says nothing by itself.
fn alive<T>(
    engine: &Engine,
    (check, (at, of), doing): (&Check, (usize, usize), &str),
    work: impl FnOnce() -> T,
) -> T {
    let progress = &engine.surroundings().progress;
    let doing = format!("{doing} {} ({at} of {of})", printable(&check.name));
    std::thread::scope(|scope| {
        let (ended, wait) = mpsc::channel::<()>();
        scope.spawn(move || {
            let mut waited = Err(mpsc::RecvTimeoutError::Timeout);
            while waited == Err(mpsc::RecvTimeoutError::Timeout) {
                progress.step(Step {
                    doing: &doing,
                    done: 0,
                    total: None,
                });
                waited = wait.recv_timeout(SIGN_OF_LIFE);
            }
        });
        let done = work();
        drop(ended);
        done
    })
}

/// A check that nobody got to.
fn not_run(check: &Check) -> CheckView {
    let why = "interrupted".to_owned();
    let trial = Trial::broken(why.clone(), 0);
    judged(check, &trial, &Err(why), true)
}

fn judged(
    check: &Check,
    now: &Trial,
    before: &Result<Trial, String>,
    interrupted: bool,
) -> CheckView {
    let base = before.as_ref().ok();
    let Judgement {
        verdict,
        reason,
        counts,
        comparison,
    } = judge(now, base);
    let (verdict, reason) = if interrupted && verdict == Verdict::Fail {
        // Whoever stopped it made it fail, not the change.
        (Verdict::Undecided, Some("interrupted".to_owned()))
    } else {
        (verdict, reason)
    };
    let new = |now: &[String], before: &[String]| lines::new_ones(before, now, &alike);
    CheckView {
        name: check.name.clone(),
        run: check.run.clone(),
        must_pass: check.must_pass,
        verdict,
        reason,
        wall_ms: now.wall_ms,
        base_wall_ms: base.map(|base| base.wall_ms),
        tests: counts,
        comparison,
        base: match before {
            Ok(_) => COMPARED.to_owned(),
            Err(why) => why.clone(),
        },
        new_errors: new(&now.errors, base.map_or(&[], |base| &base.errors)),
        new_warnings: base.map(|base| new(&now.warnings, &base.warnings)),
        measured: measured(now, base),
    }
}

/// What makes two lines of output the same complaint: everything but numbers.
fn alike(line: &str) -> String {
    let mut key = String::with_capacity(line.len());
    for letter in line.chars() {
        match (letter.is_ascii_digit(), key.ends_with('0')) {
            (true, true) => {}
            (true, false) => key.push('0'),
            (false, _) => key.push(letter),
        }
    }
    key
}

#[expect(
    clippy::cast_precision_loss,
    reason = "thousandths of what a benchmark prints are far below the limit"
)]
fn measured(now: &Trial, before: Option<&Trial>) -> Option<Measured> {
    let plain = |milli: u64| milli as f64 / 1000.0;
    let now = plain(now.measured_milli?);
    let before = before.and_then(|before| before.measured_milli).map(plain);
    Some(Measured {
        now,
        before,
        ratio: before
            .filter(|before| *before > 0.0)
            .map(|before| now / before),
    })
}

/// Whether a sandbox of this tier has a base to compare with that stays the same.
const fn has_layers(tier: Tier) -> bool {
    match tier {
        Tier::Full => true,
        Tier::Helper | Tier::Landlock | Tier::None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_complaint_at_another_line_is_not_new() {
        assert_eq!(
            alike("a.rs:12:5: warning: x9"),
            alike("a.rs:7:81: warning: x10")
        );
        assert_ne!(alike("error: disk full"), alike("error: no memory"));
    }

    #[test]
    fn a_check_that_need_not_pass_does_not_decide() {
        let view = |must_pass, verdict| {
            let check = Check {
                must_pass,
                ..Check::new("a", "true")
            };
            let mut view = not_run(&check);
            view.verdict = verdict;
            view
        };
        let checks = [view(true, Verdict::Pass), view(false, Verdict::Fail)];
        assert_eq!(together(&checks), Verdict::Pass);
        let checks = [view(true, Verdict::Undecided), view(false, Verdict::Pass)];
        assert_eq!(together(&checks), Verdict::Undecided);
        assert_eq!(together(&checks[..0]), Verdict::Undecided);
    }
}
