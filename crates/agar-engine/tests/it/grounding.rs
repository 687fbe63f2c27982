//! What snapshots stand on: a base that was live, and edits on the host meanwhile.

use crate::travelling::Yard;
use agar_engine::SandboxOptions;
use agar_engine::apply::{ApplyRequest, apply};
use agar_engine::list::{ListRequest, list};

#[test]
fn a_live_base_is_frozen_by_its_first_snapshot() {
    let yard = Yard::new();
    fs_err::create_dir_all(yard.desk.project().join("target/debug")).unwrap();
    yard.desk.write(
        "target/CACHEDIR.TAG",
        "Signature: 8a477f597d28d172789f06886806bc55",
    );
    yard.desk.write("target/debug/out", "host\n");
    for number in 0..1100 {
        yard.desk.write(&format!("target/debug/{number}"), "");
    }
    let options = SandboxOptions {
        base: Some(agar_core::walls::BaseKind::Live),
        ..SandboxOptions::default()
    };
    yard.create_with("calm-fern", options);
    yard.say("calm-fern", "echo one > made; echo in > target/debug/in");
    let taken = yard.snapshot("calm-fern", "first");
    assert_eq!(taken.sandbox.base.kind, agar_core::walls::BaseKind::Frozen);
    assert_eq!(taken.sandbox.base.live_below, ["target"]);
    yard.desk.write("file", "edited on the host\n");
    assert_eq!(
        yard.say(
            "calm-fern",
            "cat file made target/debug/in target/debug/out"
        ),
        "base\none\nin\nhost\n"
    );
    yard.say(
        "calm-fern",
        "rm made target/debug/in; echo again > target/debug/out",
    );
    yard.restore("calm-fern@first");
    assert_eq!(
        yard.say(
            "calm-fern",
            "cat file made target/debug/in target/debug/out"
        ),
        "base\none\nin\nhost\n"
    );
}

#[test]
fn an_edit_made_before_a_live_base_was_frozen_is_not_lost() {
    let yard = Yard::new();
    let options = SandboxOptions {
        base: Some(agar_core::walls::BaseKind::Live),
        ..SandboxOptions::default()
    };
    yard.create_with("calm-fern", options);
    yard.say("calm-fern", "echo inside >> file");
    yard.desk.write("file", "edited by a person\n");
    yard.snapshot("calm-fern", "first");
    let request = ApplyRequest {
        sandbox: Some("calm-fern".to_owned()),
        ..ApplyRequest::default()
    };
    yard.fork("calm-fern@first", "dim-reed");
    for alias in ["calm-fern", "dim-reed"] {
        let request = ApplyRequest {
            sandbox: Some(alias.to_owned()),
            ..request.clone()
        };
        drop(apply(&yard.engine, &request));
        assert!(
            yard.desk.read("file").contains("edited by a person"),
            "{alias}"
        );
    }
}

/// What a person may do to a project while a sandbox lives on a picture of it.
const EDITS: &str = "echo more >> file
    echo new > file.tmp; mv file.tmp src/lib.rs
    rm gone; echo fresh > fresh; mkdir new; echo x > new/x
    git checkout -q other; chmod 755 file; rm -r old; ln -sf /etc/passwd link";

#[test]
fn no_edit_on_the_host_ever_appears_in_a_frozen_sandbox() {
    let yard = Yard::new();
    let host = |script: &str| {
        let mut command = std::process::Command::new("sh");
        command
            .args(["-c", script])
            .current_dir(yard.desk.project());
        for (name, value) in [("GIT_AUTHOR_NAME", "a"), ("GIT_AUTHOR_EMAIL", "a@a")] {
            command.env(name, value);
            command.env(name.replace("AUTHOR", "COMMITTER"), value);
        }
        assert!(command.output().unwrap().status.success());
    };
    host(
        "echo g > gone; mkdir old; echo o > old/o; echo l > link; mkdir target; echo t > target/t
        printf 'Signature: 8a477f597d28d172789f06886806bc55' > target/CACHEDIR.TAG
        mkdir target/many; (cd target/many; seq 1100 | xargs touch)
        echo /target > .gitignore; git init -q .; git add -A; git commit -qm one
        git checkout -qb other; echo branch > branch; git add -A; git commit -qm two
        git checkout -q -",
    );
    let list = "find . -path ./target -prune -o -path ./.git -prune -o -printf '%p %m %s %l ' \
        -type f -exec cat {} ';' -o -printf '\n' | sort; git status --short; git log --oneline";
    yard.create("calm-fern");
    let before = yard.say("calm-fern", list);
    yard.snapshot("calm-fern", "first");
    yard.say("calm-fern", "echo mine > mine");
    yard.snapshot("calm-fern", "second");
    yard.say("calm-fern", "rm mine");
    host(EDITS);
    host("echo live > target/t; echo live > target/new");
    assert_eq!(yard.say("calm-fern", list), before);
    yard.restore("calm-fern@first");
    assert_eq!(yard.say("calm-fern", list), before);
    yard.fork("calm-fern@first", "dim-reed");
    assert_eq!(yard.say("dim-reed", list), before);
    // Ignored bulk is the exception, and is named.
    let all = list_views(&yard);
    assert_eq!(all[0].base.live_below, ["target"]);
    assert_eq!(yard.say("dim-reed", "cat target/t"), "live\n");
}

fn list_views(yard: &Yard) -> Vec<agar_engine::SandboxView> {
    let all = list(&yard.engine, &ListRequest::default())
        .unwrap()
        .sandboxes;
    all.into_iter().map(|listed| listed.sandbox).collect()
}
