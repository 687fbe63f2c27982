//! Which sandboxes go, and why: rules over plain data.
//!
//! Nothing is decided here that cannot be taken back for a while: what holds changes that were never
//! applied goes to the trash first, and only what lay there for the grace period goes for good. A
//! sandbox in which something runs is never touched.

use agar_core::id::{ProjectId, SandboxId};
use agar_core::seam::Timestamp;
use agar_core::state::State;
use std::collections::BTreeMap;

/// What has to be known of a sandbox to decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) id: SandboxId,
    pub(super) project: ProjectId,
    pub(super) state: State,
    pub(super) created: Timestamp,
    /// When something last happened to it.
    pub(super) active: Timestamp,
    /// How long it was meant to live.
    pub(super) ttl_ms: Option<u64>,
    /// Whether something runs in it.
    pub(super) busy: bool,
    /// Its size on disk.
    pub(super) bytes: u64,
}

/// What the settings and the caller say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rules {
    pub(super) idle_ms: u64,
    pub(super) keep_last: usize,
    pub(super) disk_budget: Option<u64>,
    pub(super) grace_ms: u64,
}

/// Why a sandbox goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    TimeToLive,
    Idle,
    DiskBudget,
    GraceOver,
}

impl Why {
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::TimeToLive => "time to live over",
            Self::Idle => "idle",
            Self::DiskBudget => "over the disk budget",
            Self::GraceOver => "grace period over",
        }
    }
}

/// What becomes of a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// Its jail is taken down, nothing else: nobody is in it.
    Stop(Why),
    /// It is given up: to the trash if it holds changes that were never applied.
    GiveUp(Why),
}

/// Decides about the sandboxes of any number of projects, oldest first. Who is not named stays.
pub(super) fn choose(
    candidates: &[Candidate],
    rules: &dyn Fn(ProjectId) -> Rules,
    now: Timestamp,
) -> Vec<(SandboxId, Fate)> {
    let mut projects: BTreeMap<ProjectId, Vec<&Candidate>> = BTreeMap::new();
    for candidate in candidates {
        projects
            .entry(candidate.project)
            .or_default()
            .push(candidate);
    }
    projects
        .into_iter()
        .flat_map(|(project, candidates)| of_project(candidates, rules(project), now))
        .collect()
}

fn of_project(
    mut candidates: Vec<&Candidate>,
    rules: Rules,
    now: Timestamp,
) -> Vec<(SandboxId, Fate)> {
    candidates.sort_by_key(|candidate| (candidate.active, candidate.id));
    let mut chosen = Vec::new();
    let mut settled = Vec::new();
    for candidate in candidates {
        match candidate.state {
            State::Discarded if now.since(candidate.active) >= rules.grace_ms => {
                chosen.push((candidate.id, Fate::GiveUp(Why::GraceOver)));
            }
            State::Running if !candidate.busy => {
                let why = is_over(candidate, rules, now);
                chosen.extend(why.map(|why| (candidate.id, Fate::Stop(why))));
            }
            State::Finished | State::Promoted => settled.push(candidate),
            State::Creating
            | State::Running
            | State::Paused
            | State::Discarded
            | State::Collected => {}
        }
    }
    let first_spared = settled.len().saturating_sub(rules.keep_last);
    let mut left = Vec::new();
    for (index, candidate) in settled.into_iter().enumerate() {
        match is_over(candidate, rules, now) {
            Some(Why::Idle) if index >= first_spared => left.push(candidate),
            Some(why) => chosen.push((candidate.id, Fate::GiveUp(why))),
            None => left.push(candidate),
        }
    }
    let over = over_budget(&left, rules.disk_budget);
    chosen.extend(over.map(|id| (id, Fate::GiveUp(Why::DiskBudget))));
    chosen
}

fn is_over(candidate: &Candidate, rules: Rules, now: Timestamp) -> Option<Why> {
    if candidate
        .ttl_ms
        .is_some_and(|ttl| now.since(candidate.created) >= ttl)
    {
        return Some(Why::TimeToLive);
    }
    (now.since(candidate.active) >= rules.idle_ms).then_some(Why::Idle)
}

/// The oldest that have to go so that the rest fits.
fn over_budget<'c>(
    left: &'c [&Candidate],
    budget: Option<u64>,
) -> impl Iterator<Item = SandboxId> + use<'c> {
    let mut total: u64 = left.iter().map(|candidate| candidate.bytes).sum();
    left.iter()
        .take_while(move |candidate| {
            let over = budget.is_some_and(|budget| total > budget);
            total = total.saturating_sub(candidate.bytes);
            over
        })
        .map(|candidate| candidate.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: u64 = 3_600_000;
    const NOW: Timestamp = Timestamp::from_millis(1_000 * HOUR);

    const RULES: Rules = Rules {
        idle_ms: HOUR,
        keep_last: 0,
        disk_budget: None,
        grace_ms: 24 * HOUR,
    };

    fn project(number: u8) -> ProjectId {
        ProjectId::new(Timestamp::from_millis(1), [number; 10])
    }

    /// A sandbox to which nothing happened for so many hours.
    fn since(hours: u64, state: State) -> Candidate {
        let at = Timestamp::from_millis(NOW.millis() - hours * HOUR);
        Candidate {
            id: SandboxId::new(at, [u8::try_from(hours).unwrap_or(255); 10]),
            project: project(1),
            state,
            created: at,
            active: at,
            ttl_ms: None,
            busy: false,
            bytes: 10,
        }
    }

    fn chosen(candidates: &[Candidate], rules: Rules) -> Vec<(SandboxId, Fate)> {
        choose(candidates, &|_| rules, NOW)
    }

    #[test]
    fn what_is_alive_or_in_the_grace_period_stays() {
        let mut busy = since(50, State::Running);
        busy.busy = true;
        busy.ttl_ms = Some(1);
        let living = [
            busy,
            since(50, State::Paused),
            since(50, State::Creating),
            since(23, State::Discarded),
            since(0, State::Finished),
            since(0, State::Running),
        ];
        let hard = Rules {
            disk_budget: Some(1_000),
            ..RULES
        };
        assert_eq!(chosen(&living, hard), []);
    }

    #[test]
    fn an_idle_jail_is_taken_down_and_only_that() {
        let idle = since(2, State::Running);
        let fate = Fate::Stop(Why::Idle);
        assert_eq!(
            chosen(std::slice::from_ref(&idle), RULES),
            [(idle.id, fate)]
        );
    }

    #[test]
    fn the_newest_are_kept_although_idle_but_not_beyond_their_time() {
        let mut candidates: Vec<_> = (2..6).map(|hours| since(hours, State::Finished)).collect();
        candidates[0].ttl_ms = Some(HOUR);
        let rules = Rules {
            keep_last: 2,
            ..RULES
        };
        let gone = chosen(&candidates, rules);
        let expected = [
            (candidates[3].id, Fate::GiveUp(Why::Idle)),
            (candidates[2].id, Fate::GiveUp(Why::Idle)),
            (candidates[0].id, Fate::GiveUp(Why::TimeToLive)),
        ];
        assert_eq!(gone, expected);
    }

    #[test]
    fn each_project_keeps_its_own_newest() {
        let mut other = since(9, State::Finished);
        other.project = project(2);
        let rules = Rules {
            keep_last: 1,
            ..RULES
        };
        assert_eq!(chosen(&[since(3, State::Finished), other], rules), []);
    }

    #[test]
    fn the_oldest_go_until_the_rest_fits() {
        let candidates: Vec<_> = (1..=3).map(|hours| since(hours, State::Finished)).collect();
        let rules = |budget| Rules {
            idle_ms: u64::MAX,
            disk_budget: Some(budget),
            ..RULES
        };
        assert_eq!(chosen(&candidates, rules(30)), []);
        let fate = Fate::GiveUp(Why::DiskBudget);
        assert_eq!(chosen(&candidates, rules(25)), [(candidates[2].id, fate)]);
        assert_eq!(chosen(&candidates, rules(0)).len(), 3);
    }

    #[test]
    fn what_lay_in_the_trash_for_the_grace_period_goes_for_good() {
        let old = since(25, State::Discarded);
        let fate = Fate::GiveUp(Why::GraceOver);
        assert_eq!(chosen(std::slice::from_ref(&old), RULES), [(old.id, fate)]);
    }
}
