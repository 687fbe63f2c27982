//! What the journal says is read as it was written.

use super::*;
use agar_core::limits::Resource;
use agar_core::seam::Timestamp;
use serde_json::json;

fn of_sandboxes() -> Vec<Fact> {
    let breach = Breach {
        resource: Resource::Time,
        limit: 1,
        seen: 2,
        culprit: Some("cc1".to_owned()),
    };
    vec![
        Fact::SandboxCreated {
            alias: "calm-fern".to_owned(),
            tier: Tier::Full,
            network: Network::Host,
            base: BaseKind::Live,
            generation: Some(3),
            parent: None,
        },
        Fact::SandboxState {
            from: State::Creating,
            to: State::Running,
            event: Event::Start,
        },
        Fact::TerminalOpened {
            session: "sandbox_1".to_owned(),
        },
        Fact::RunStarted {
            run: 1,
            argv: vec!["make".to_owned()],
        },
        Fact::RunEnded {
            run: 1,
            end: End::Stopped {
                breach: breach.clone(),
            },
            usage: Usage::default(),
        },
        Fact::LimitBreached { run: 1, breach },
        Fact::CallDenied {
            run: 1,
            call: "mount".to_owned(),
            count: 2,
        },
        Fact::NetworkHost {
            abstract_sockets_open: true,
        },
        Fact::TierWeaker {
            tier: Tier::Landlock,
        },
        Fact::SandboxNested {},
    ]
}

fn of_experiments() -> Vec<Fact> {
    let experiment = ExperimentId::new(Timestamp::from_millis(1), [1; 10]);
    vec![
        Fact::ExperimentBegan {
            experiment,
            agent: "person".to_owned(),
            change: "fix".to_owned(),
        },
        Fact::ExperimentEnded {
            experiment,
            status: "success".to_owned(),
        },
        Fact::ExperimentDecided {
            experiment,
            accepted: true,
        },
        Fact::MemoryGraduated {
            patterns: 1,
            refused: 2,
        },
        Fact::MemoryForgot {
            experiments: 1,
            notes: 0,
        },
    ]
}

fn of_snapshots() -> Vec<Fact> {
    let snapshot = SnapshotId::new(Timestamp::from_millis(1), [1; 10]);
    vec![
        Fact::SandboxForked { snapshot, depth: 1 },
        Fact::SandboxRenamed {
            from: "calm-fern".to_owned(),
            to: "brave-otter".to_owned(),
        },
        Fact::SnapshotTaken {
            snapshot,
            name: "s1".to_owned(),
            reason: SnapshotKind::BeforeRun,
            frozen_us: Some(7),
        },
        Fact::SnapshotRestored { snapshot, ended: 2 },
        Fact::SnapshotRemoved {
            snapshot,
            name: "s1".to_owned(),
            reason: "old".to_owned(),
        },
    ]
}

fn of_projects() -> Vec<Fact> {
    let promotion = PromotionId::new(Timestamp::from_millis(1), [1; 10]);
    vec![
        Fact::PromotionStarted { promotion },
        Fact::PromotionApplied {
            promotion,
            summary: json!({ "files": 1 }),
        },
        Fact::PromotionUndone {
            promotion,
            by: Some(promotion),
        },
        Fact::PromotionRefused {
            promotion: None,
            reason: "conflict".to_owned(),
        },
        Fact::PromotionRecovered {
            promotion,
            state: PromotionState::Reversed,
        },
        Fact::SettingsApproved {
            hash: "h".to_owned(),
            what: "settings".to_owned(),
        },
        Fact::GenerationMade {
            number: 0,
            kind: GenerationKind::Full,
            files: 1,
            bytes: 2,
        },
        Fact::SuggestionOffered {
            suggestion: SuggestionId::new(Timestamp::from_millis(1), [1; 10]),
            agent: "claude".to_owned(),
        },
        Fact::SuggestionMoved {
            suggestion: SuggestionId::new(Timestamp::from_millis(1), [1; 10]),
            to: SuggestionState::Rejected,
        },
        Fact::Collected {
            what: "sandbox".to_owned(),
            name: "calm-fern".to_owned(),
            reason: "asked".to_owned(),
            bytes: None,
        },
    ]
}

fn of_searches() -> Vec<Fact> {
    let search = || "parabola".to_owned();
    let cell = || "counter".to_owned();
    vec![
        Fact::EvolveBegan {
            search: search(),
            task: "regression".to_owned(),
            outside: Some("python3 mutate.py".to_owned()),
        },
        Fact::EvolveContained {
            search: search(),
            generation: 3,
            limits: 1,
            timeouts: 0,
            cheats: 2,
        },
        Fact::EvolveEnded {
            search: search(),
            ended: "solved".to_owned(),
            generation: 9,
            digest: "5f0c".to_owned(),
        },
        Fact::CellLoaded {
            cell: cell(),
            version: 2,
            genome: "5f0c".to_owned(),
            reason: "reloaded".to_owned(),
        },
        Fact::CellFailed {
            cell: cell(),
            why: "the run took too many instructions".to_owned(),
        },
        Fact::CellRemoved { cell: cell() },
    ]
}

#[test]
fn every_fact_is_read_as_it_was_written() {
    let mut kinds = std::collections::BTreeSet::new();
    let all = [
        of_sandboxes(),
        of_snapshots(),
        of_experiments(),
        of_projects(),
        of_searches(),
    ]
    .concat();
    for fact in all {
        let (kind, payload) = fact.to_parts().unwrap();
        assert_eq!(kind, fact.kind());
        assert_eq!(Fact::from_parts(&kind, &payload).unwrap(), fact);
        assert!(kinds.insert(kind), "{fact:?}");
    }
}

#[test]
fn a_fact_of_a_newer_agar_is_read_all_the_same() {
    let fact = Fact::from_parts("tournament.won", r#"{"by":"calm-fern"}"#).unwrap();
    let Fact::Unknown { kind, payload } = &fact else {
        panic!("{fact:?}");
    };
    assert_eq!(
        (kind.as_str(), payload),
        ("tournament.won", &json!({ "by": "calm-fern" }))
    );
    let again = fact.to_parts().unwrap();
    assert_eq!(
        again,
        (
            "tournament.won".to_owned(),
            r#"{"by":"calm-fern"}"#.to_owned()
        )
    );
}
