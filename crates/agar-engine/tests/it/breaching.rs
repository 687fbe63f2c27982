//! What becomes of a sandbox whose command goes too far: every limit, and a call that is denied.

use crate::desk::capture;
use crate::travelling::Yard;
use agar_core::limits::{Limits, Resource};
use agar_core::run::End;
use agar_core::size::Bytes;
use agar_engine::diff::{DiffRequest, diff};
use agar_engine::exec::{ExecRequest, exec};
use agar_engine::run::{Afterwards, RunAnswer, RunRequest, run};
use agar_engine::try_change::{TryRequest, try_change};
use agar_engine::{Command, RunView, SandboxOptions};

/// A way to go too far: the limit, if it is one, with what is allowed, and what to do about it.
struct Way {
    resource: Option<Resource>,
    limits: Limits,
    script: &'static str,
}

const CALL: &str = "exec python3 -c 'import ctypes; ctypes.CDLL(None).mount(b\"x\", b\"/mnt\", b\"tmpfs\", 0, None)'";

fn ways() -> [Way; 6] {
    let none = Limits::default();
    [
        Way {
            resource: Some(Resource::Time),
            limits: Limits {
                timeout_ms: Some(1000),
                ..none
            },
            script: "sleep 1000",
        },
        Way {
            resource: Some(Resource::Memory),
            limits: Limits {
                memory_bytes: Some(Bytes::mib(48)),
                ..none
            },
            script: "tail /dev/zero; sleep 1000",
        },
        Way {
            resource: Some(Resource::Processes),
            limits: Limits {
                processes: Some(16),
                ..none
            },
            script: "for n in $(seq 40); do sleep 1000 & done; wait",
        },
        Way {
            resource: Some(Resource::Disk),
            limits: Limits {
                disk_bytes: Some(Bytes::mib(4)),
                ..none
            },
            script: "head -c 40000000 /dev/zero >large; sleep 1000",
        },
        Way {
            resource: Some(Resource::Output),
            limits: Limits {
                output_bytes: Some(Bytes::mib(1)),
                ..none
            },
            script: "yes",
        },
        Way {
            resource: None,
            limits: none,
            script: CALL,
        },
    ]
}

/// A project whose owner wants commands undone that go too far.
fn yard() -> Yard {
    let yard = Yard::new();
    let config = yard.desk.home().join(".config/agar");
    fs_err::create_dir_all(&config).unwrap();
    fs_err::write(config.join("config.toml"), "on_breach = \"restore\"\n").unwrap();
    yard
}

fn options(way: &Way) -> SandboxOptions {
    SandboxOptions {
        limits: way.limits,
        ..SandboxOptions::default()
    }
}

fn command(way: &Way) -> Command {
    let script = format!("rm file; echo two >other; {}", way.script);
    Command::new(["sh", "-c", &script])
}

/// What a sandbox changed, without running anything in it: it may be over its limit.
fn changed(yard: &Yard, sandbox: &str) -> Vec<String> {
    let request = DiffRequest {
        sandbox: Some(sandbox.to_owned()),
        ..DiffRequest::default()
    };
    let files = diff(&yard.engine, &request).unwrap().changes.files;
    let paths = files.into_iter().map(|file| file.path);
    paths.filter(|path| path != "large").collect()
}

fn assert_went_too_far(way: &Way, run: &RunView) {
    let broken = match &run.end {
        Some(End::Stopped { breach }) => Some(breach.resource),
        Some(_) | None => None,
    };
    assert_eq!(broken, way.resource, "{run:?}");
    let denied: Vec<&str> = run.denied.iter().map(|it| it.call.as_str()).collect();
    let expected: &[&str] = if broken.is_none() { &["mount"] } else { &[] };
    assert_eq!(denied, expected);
}

#[test]
fn a_kept_sandbox_returns_to_what_it_was_whatever_its_command_broke() {
    for way in ways() {
        let yard = yard();
        yard.create_with("calm-fern", options(&way));
        yard.say("calm-fern", "echo one >made");
        let request = ExecRequest {
            sandbox: Some("calm-fern".to_owned()),
            command: command(&way),
            ..ExecRequest::default()
        };
        let answer = exec(&yard.engine, &request, capture(&mut Vec::new())).unwrap();
        assert_went_too_far(&way, &answer.run);
        // The next command is not blamed for it.
        let shown = yard.say("calm-fern", "ls");
        assert_eq!(shown, "file\nmade\nsrc\n", "{:?}", way.resource);
        // What it left can be looked at.
        yard.restore(&answer.taken_back.unwrap());
        assert_eq!(changed(&yard, "calm-fern"), ["file", "made", "other"]);
    }
}

fn run_alone(yard: &Yard, way: &Way, afterwards: Afterwards) -> RunAnswer {
    let request = RunRequest {
        options: options(way),
        command: command(way),
        afterwards,
        ..RunRequest::default()
    };
    run(&yard.engine, &request, capture(&mut Vec::new())).unwrap()
}

#[test]
fn a_sandbox_of_one_command_returns_to_its_base_whatever_that_broke() {
    for way in ways() {
        let yard = yard();
        let answer = run_alone(&yard, &way, Afterwards::KeepChanges);
        assert_went_too_far(&way, &answer.run);
        let alias = answer.sandbox.alias;
        assert_eq!(answer.before, Some(format!("{alias}@s1")));
        assert_eq!(answer.taken_back, Some(format!("{alias}@s2")));
        assert!(answer.kept);
        assert_eq!(yard.say(&alias, "cat file; ls"), "base\nfile\nsrc\n");
        yard.restore(&answer.taken_back.unwrap());
        assert_eq!(changed(&yard, &alias), ["file", "other"]);
    }
}

#[test]
fn a_change_that_was_tried_is_undone_whatever_it_broke_and_can_still_be_looked_at() {
    for way in ways() {
        let yard = yard();
        let request = TryRequest {
            options: options(&way),
            command: command(&way),
            ..TryRequest::default()
        };
        let (mut output, mut begun) = (Vec::new(), 0);
        let answer = try_change(&yard.engine, &request, capture(&mut output), &mut |_| {
            begun += 1;
        });
        let answer = answer.unwrap();
        assert_eq!(begun, 1);
        assert_went_too_far(&way, &answer.run);
        // What it did is shown, and nothing of it is left to be applied.
        let shown = answer.changes.unwrap().files;
        assert!(shown.iter().any(|file| file.path == "other"), "{shown:?}");
        assert!(!answer.checks_due);
        let alias = answer.sandbox.alias;
        assert_eq!(answer.before, Some(format!("{alias}@s1")));
        assert_eq!(changed(&yard, &alias), [""; 0], "{:?}", way.resource);
        assert_eq!(yard.say(&alias, "cat file; ls"), "base\nfile\nsrc\n");
        yard.restore(&answer.taken_back.unwrap());
        assert_eq!(changed(&yard, &alias), ["file", "other"]);
    }
}

#[test]
fn what_goes_well_is_not_undone_and_what_is_not_kept_is_gone() {
    let yard = yard();
    let fine = Way {
        resource: None,
        limits: Limits::default(),
        script: "true",
    };
    let answer = run_alone(&yard, &fine, Afterwards::KeepChanges);
    assert_eq!((answer.before, answer.taken_back), (None, None));
    assert_eq!(yard.say(&answer.sandbox.alias, "ls"), "other\nsrc\n");
    let [.., denied] = ways();
    let answer = run_alone(&yard, &denied, Afterwards::Remove);
    assert_eq!((answer.kept, answer.taken_back), (false, None));
}

#[test]
fn where_there_is_no_way_back_the_run_says_so() {
    let yard = yard();
    let [.., denied] = ways();
    let request = RunRequest {
        options: SandboxOptions {
            base: Some(agar_core::walls::BaseKind::Live),
            ..options(&denied)
        },
        command: command(&denied),
        ..RunRequest::default()
    };
    let answer = run(&yard.engine, &request, capture(&mut Vec::new())).unwrap();
    assert_eq!(answer.taken_back, None);
    let why = "it was not returned to what it was before: its base is live";
    assert!(answer.run.notes.contains(&why.to_owned()), "{answer:?}");
    assert_eq!(yard.say(&answer.sandbox.alias, "ls"), "other\nsrc\n");
}
