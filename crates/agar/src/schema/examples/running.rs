//! Commands that ran.

use super::{
    BORN, applications, changes, checks_failed, checks_passed, learning, sandbox, sandboxes,
};
use crate::commands::try_change::{Decision, TryAnswer};
use agar_core::limits::{Breach, Resource};
use agar_core::run::{End, Usage};
use agar_engine::ChangeView;
use agar_engine::RunView;
use agar_engine::answer::DeniedView;
use agar_engine::exec::ExecAnswer;
use agar_engine::run::RunAnswer;

/// A run that went well.
pub fn run() -> RunView {
    RunView {
        number: 1,
        command: "cargo update".to_owned(),
        argv: vec!["cargo".to_owned(), "update".to_owned()],
        cwd: "/home/ana/src/shop".to_owned(),
        started_at: BORN,
        end: Some(End::Exited { code: 0 }),
        interrupted: false,
        usage: Usage {
            wall_ms: 14_250,
            user_ms: 9_000,
            system_ms: 1_000,
            memory_peak_bytes: 212 << 20,
        },
        output_bytes: 4096,
        output_truncated: false,
        executions: Some(4),
        denied: vec![DeniedView {
            call: "mount".to_owned(),
            count: 2,
        }],
        left_running: 0,
        notes: vec!["memory is watched, not enforced".to_owned()],
    }
}

pub(super) fn runs() -> impl Iterator<Item = RunView> {
    let breach = |culprit: Option<&str>| Breach {
        resource: Resource::Memory,
        limit: 512 << 20,
        seen: 513 << 20,
        culprit: culprit.map(ToOwned::to_owned),
    };
    let ends = [
        Some(End::Exited { code: 0 }),
        Some(End::Signaled { signal: 9 }),
        Some(End::Stopped {
            breach: breach(None),
        }),
        Some(End::Stopped {
            breach: breach(Some("cc1plus (pid 231)")),
        }),
        Some(End::NotFound),
        None,
    ];
    ends.into_iter().map(|end| RunView {
        executions: end.is_some().then_some(4),
        end,
        ..run()
    })
}

/// A run with its changes.
pub fn run_answer() -> RunAnswer {
    RunAnswer {
        sandbox: sandbox(),
        run: run(),
        kept: true,
        changes: Some(changes()),
        checks_due: false,
        experiment: None,
        before: None,
        taken_back: None,
    }
}

pub(super) fn run_answers() -> impl Iterator<Item = RunAnswer> {
    let changes = [Some(changes()), Some(ChangeView::default()), None];
    runs()
        .zip(changes.into_iter().cycle())
        .zip(sandboxes().collect::<Vec<_>>().into_iter().cycle())
        .map(|((run, changes), sandbox)| RunAnswer {
            sandbox,
            run,
            kept: true,
            changes,
            checks_due: false,
            experiment: None,
            before: Some("calm-fern@s1".to_owned()),
            taken_back: Some("calm-fern@s2".to_owned()),
        })
        .zip(learning::experiments().into_iter().cycle())
        .map(|(answer, experiment)| RunAnswer {
            experiment,
            ..answer
        })
        .chain([run_answer()])
}

pub(super) fn tries() -> impl Iterator<Item = TryAnswer> {
    run_answers()
        .zip(applications().map(Some).chain(std::iter::repeat(None)))
        .map(|(run, application)| TryAnswer {
            run,
            checks: [checks_passed(), checks_failed()].concat(),
            decision: Decision::Kept,
            application,
        })
}

/// A run in a kept sandbox, undone and not to be undone.
pub(super) fn exec_answers(answer: RunAnswer) -> [ExecAnswer; 2] {
    let exec = ExecAnswer {
        sandbox: answer.sandbox,
        started: true,
        run: answer.run,
        experiment: answer.experiment,
        before: None,
        taken_back: None,
    };
    let undone = ExecAnswer {
        before: Some("calm-fern@s1".to_owned()),
        taken_back: Some("calm-fern@s2".to_owned()),
        ..exec.clone()
    };
    [exec, undone]
}
