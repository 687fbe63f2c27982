//! `run`: one command, its end, and nothing left.

use crate::desk::{Desk, capture};
use agar_core::limits::{Limits, Resource};
use agar_core::run::End;
use agar_core::size::Bytes;
use agar_core::state::State;
use agar_engine::list::{ListRequest, list};
use agar_engine::logs::{LogsRequest, logs};
use agar_engine::run::{Afterwards, RunRequest, run};
use agar_engine::{Command, SandboxOptions};

#[test]
fn a_command_runs_inside_and_its_output_comes_out() {
    let desk = Desk::new();
    desk.write("a.txt", "from the host\n");
    let (answer, output) = desk.run("cat a.txt; echo changed > a.txt; pwd");
    assert_eq!(answer.run.end, Some(End::Exited { code: 0 }), "{answer:#?}");
    let project = desk.project().canonicalize().unwrap();
    assert_eq!(output, format!("from the host\n{}\n", project.display()));
    assert_eq!(desk.read("a.txt"), "from the host\n");
    assert!(answer.kept);
    assert_eq!(answer.sandbox.state, State::Finished);
}

#[test]
fn a_sandbox_in_which_nothing_changed_is_not_kept() {
    let desk = Desk::new();
    let (answer, _) = desk.run("true");
    assert!(!answer.kept);
    let listed = list(&desk.engine(), &ListRequest::default()).unwrap();
    assert_eq!(listed.sandboxes, []);
    assert_eq!(desk.left_in_state("sandboxes"), 0);
    assert_eq!(desk.left_in_state("alive"), 0);
}

#[test]
fn the_commands_own_status_comes_out() {
    let desk = Desk::new();
    for (script, end) in [
        ("exit 42", End::Exited { code: 42 }),
        ("kill -9 $$", End::Signaled { signal: 9 }),
    ] {
        assert_eq!(desk.run(script).0.run.end, Some(end), "{script}");
    }
    let request = RunRequest {
        command: Command::new(["no-such-program-anywhere"]),
        ..RunRequest::default()
    };
    let answer = run(&desk.engine(), &request, capture(&mut Vec::new())).unwrap();
    assert_eq!(answer.run.end, Some(End::NotFound));
}

#[test]
fn what_was_printed_can_be_read_later_without_its_secrets() {
    let desk = Desk::new();
    let secret = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let (_, output) = desk.run(&format!("touch x; echo one; echo token={secret}; echo two"));
    assert!(
        output.contains(&secret),
        "the person sees what the command said"
    );
    let kept = logs(&desk.engine(), &LogsRequest::default()).unwrap();
    let text = String::from_utf8(kept.output).unwrap();
    assert!(
        text.starts_with("one\n") && text.ends_with("two\n"),
        "{text}"
    );
    assert!(!text.contains(&secret), "{text}");
}

#[test]
fn output_beyond_the_limit_ends_the_run_with_a_named_reason() {
    let desk = Desk::new();
    let request = RunRequest {
        command: Command::new(["sh", "-c", "exec yes"]),
        options: SandboxOptions {
            limits: Limits {
                output_bytes: Some(Bytes(100_000)),
                ..Limits::default()
            },
            ..SandboxOptions::default()
        },
        afterwards: Afterwards::Remove,
        proposal: None,
    };
    let mut output = Vec::new();
    let answer = run(&desk.engine(), &request, capture(&mut output)).unwrap();
    let Some(End::Stopped { breach }) = answer.run.end else {
        panic!("{:?}", answer.run.end)
    };
    assert_eq!((breach.resource, breach.limit), (Resource::Output, 100_000));
    assert_eq!(output.len(), 100_000);
}

#[test]
fn a_sandbox_is_told_its_name_and_not_the_callers_secrets() {
    let desk = Desk::new();
    let (answer, output) = desk.run("touch x; env");
    let has = |line: &str| output.lines().any(|seen| seen == line);
    assert!(
        has(&format!("AGAR_SANDBOX={}", answer.sandbox.alias)),
        "{output}"
    );
    assert!(has("TMPDIR=/tmp") && has(&format!("HOME={}", desk.home().display())));
    assert!(!output.contains("API_TOKEN"), "{output}");
}

#[test]
fn a_masked_file_is_not_there() {
    let desk = Desk::new();
    fs_err::create_dir_all(desk.home().join(".ssh")).unwrap();
    fs_err::write(desk.home().join(".ssh/id_ed25519"), "private").unwrap();
    let (_, output) = desk.run("cat ~/.ssh/id_ed25519 2>&1; ls -a ~");
    assert!(!output.contains("private"), "{output}");
    assert!(!output.lines().any(|line| line == ".ssh"), "{output}");
}

#[test]
fn a_tier_without_layers_works_on_a_copy_and_its_changes_are_told_alike() {
    let desk = Desk::new();
    desk.write("a.txt", "one\n");
    desk.write("gone.txt", "x\n");
    let request = RunRequest {
        command: Command::new([
            "sh",
            "-c",
            "cat a.txt; echo two > a.txt; rm gone.txt; echo n > n",
        ]),
        options: SandboxOptions {
            tier: Some(agar_core::walls::Tier::Landlock),
            ..SandboxOptions::default()
        },
        ..RunRequest::default()
    };
    let mut output = Vec::new();
    let answer = run(&desk.engine(), &request, capture(&mut output)).unwrap();
    assert_eq!(output, b"one\n", "{answer:#?}");
    assert_eq!(desk.read("a.txt"), "one\n");
    let request = agar_engine::diff::DiffRequest::default();
    let shown = agar_engine::diff::diff(&desk.engine(), &request).unwrap();
    let paths: Vec<&str> = shown
        .changes
        .files
        .iter()
        .map(|it| it.path.as_str())
        .collect();
    assert_eq!(paths, ["a.txt", "gone.txt", "n"]);
    assert!(
        answer
            .sandbox
            .warnings
            .iter()
            .any(|it| it.contains("landlock"))
    );
}
