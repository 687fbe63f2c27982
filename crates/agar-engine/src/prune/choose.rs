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
    /// How many of the newest are kept although there is no room for them.
    pub(super) keep_last_over_budget: usize,
    pub(super) grace_ms: u64,
    /// Whether what is in the trash goes however short it lay there.
    pub(super) empty_trash: bool,
}

/// Why a sandbox goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    TimeToLive,
    Idle,
    DiskBudget,
    GraceOver,
    TrashEmptied,
}

impl Why {
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::TimeToLive => "time to live over",
            Self::Idle => "idle",
            Self::DiskBudget => "over the disk budget",
            Self::GraceOver => "grace period over",
            Self::TrashEmptied => "trash emptied",
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
///
/// Each project has a disk budget of its own, unless there is one `over_all` of them.
pub(super) fn choose(
    candidates: &[Candidate],
    rules: &dyn Fn(ProjectId) -> Rules,
    over_all: Option<u64>,
    now: Timestamp,
) -> Vec<(SandboxId, Fate)> {
    let mut projects: BTreeMap<ProjectId, Vec<&Candidate>> = BTreeMap::new();
    for candidate in candidates {
        projects
            .entry(candidate.project)
            .or_default()
            .push(candidate);
    }
    let mut chosen = Vec::new();
    let mut all = Vec::new();
    for (project, candidates) in projects {
        let rules = rules(project);
        let mut left = of_project(candidates, rules, now, &mut chosen);
        if over_all.is_none() {
            give_up_until(&mut left, rules.disk_budget, &mut chosen);
        }
        all.append(&mut left);
    }
    give_up_until(&mut all, over_all, &mut chosen);
    chosen
}

/// A sandbox that stays unless there is no room for it.
struct Left<'c> {
    candidate: &'c Candidate,
    /// Whether it is one of the newest, which are kept in any case.
    spared: bool,
}

/// Decides by time. Gives those that stay.
fn of_project<'c>(
    mut candidates: Vec<&'c Candidate>,
    rules: Rules,
    now: Timestamp,
    chosen: &mut Vec<(SandboxId, Fate)>,
) -> Vec<Left<'c>> {
    candidates.sort_by_key(|candidate| (candidate.active, candidate.id));
    let mut settled = Vec::new();
    for candidate in candidates {
        match candidate.state {
            State::Discarded => {
                let why = is_gone_for_good(candidate, rules, now);
                chosen.extend(why.map(|why| (candidate.id, Fate::GiveUp(why))));
            }
            State::Running if !candidate.busy => {
                let why = is_over(candidate, rules, now);
                chosen.extend(why.map(|why| (candidate.id, Fate::Stop(why))));
            }
            State::Finished | State::Promoted => settled.push(candidate),
            State::Creating | State::Running | State::Paused | State::Collected => {}
        }
    }
    let count = settled.len();
    let mut left = Vec::new();
    for (index, candidate) in settled.into_iter().enumerate() {
        let newer = count - index - 1;
        match is_over(candidate, rules, now) {
            Some(why) if why != Why::Idle || newer >= rules.keep_last => {
                chosen.push((candidate.id, Fate::GiveUp(why)));
            }
            Some(_) | None => left.push(Left {
                candidate,
                spared: newer < rules.keep_last_over_budget,
            }),
        }
    }
    left
}

fn is_gone_for_good(candidate: &Candidate, rules: Rules, now: Timestamp) -> Option<Why> {
    if now.since(candidate.active) >= rules.grace_ms {
        return Some(Why::GraceOver);
    }
    rules.empty_trash.then_some(Why::TrashEmptied)
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

/// Gives up the oldest until the rest fits, or only those are left that are kept in any case.
fn give_up_until(left: &mut [Left<'_>], budget: Option<u64>, chosen: &mut Vec<(SandboxId, Fate)>) {
    let Some(budget) = budget else {
        return;
    };
    left.sort_by_key(|it| (it.candidate.active, it.candidate.id));
    let mut total: u64 = left.iter().map(|it| it.candidate.bytes).sum();
    for Left { candidate, .. } in left.iter().filter(|it| !it.spared) {
        if total <= budget {
            return;
        }
        total = total.saturating_sub(candidate.bytes);
        chosen.push((candidate.id, Fate::GiveUp(Why::DiskBudget)));
    }
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
        keep_last_over_budget: 0,
        grace_ms: 24 * HOUR,
        empty_trash: false,
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
        choose(candidates, &|_| rules, None, NOW)
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
    fn the_newest_are_kept_although_there_is_no_room_for_them() {
        let candidates: Vec<_> = (1..=3).map(|hours| since(hours, State::Finished)).collect();
        let rules = |keep_last_over_budget| Rules {
            idle_ms: u64::MAX,
            disk_budget: Some(0),
            keep_last_over_budget,
            ..RULES
        };
        assert_eq!(chosen(&candidates, rules(3)), []);
        let fate = Fate::GiveUp(Why::DiskBudget);
        assert_eq!(chosen(&candidates, rules(2)), [(candidates[2].id, fate)]);
    }

    #[test]
    fn a_budget_over_all_projects_counts_them_together() {
        let mut candidates: Vec<_> = (1..=4).map(|hours| since(hours, State::Finished)).collect();
        candidates[1].project = project(2);
        candidates[2].project = project(2);
        let rules = |_| Rules {
            idle_ms: u64::MAX,
            disk_budget: Some(0),
            keep_last_over_budget: 1,
            ..RULES
        };
        let chosen = |budget| choose(&candidates, &rules, Some(budget), NOW);
        let fate = Fate::GiveUp(Why::DiskBudget);
        assert_eq!(chosen(40), []);
        assert_eq!(chosen(35), [(candidates[3].id, fate)]);
        let both = [(candidates[3].id, fate), (candidates[2].id, fate)];
        assert_eq!(chosen(0), both, "each project keeps its newest");
    }

    #[test]
    fn what_is_emptied_before_its_time_is_said_to_be() {
        let young = since(1, State::Discarded);
        let old = since(25, State::Discarded);
        let rules = Rules {
            empty_trash: true,
            ..RULES
        };
        let fates = [
            (old.id, Fate::GiveUp(Why::GraceOver)),
            (young.id, Fate::GiveUp(Why::TrashEmptied)),
        ];
        assert_eq!(chosen(&[young, old], rules), fates);
    }

    #[test]
    fn what_lay_in_the_trash_for_the_grace_period_goes_for_good() {
        let old = since(25, State::Discarded);
        let fate = Fate::GiveUp(Why::GraceOver);
        assert_eq!(chosen(std::slice::from_ref(&old), RULES), [(old.id, fate)]);
    }
}
