//! `agar attach` and `agar shell` on real terminals: with tmux, and without.

use crate::answers::checked;
use crate::world::repository;
use agar_testkit::{Session, World, wait};
use std::time::Duration;

const CTRL_C: &str = "\x03";
const LEAVE: &str = "\x02d";

/// Leaves. tmux takes keys that arrive too quickly for pasted text, in which its own keys mean
/// nothing: then they are pressed again.
fn leave(session: &mut Session) {
    for _ in 0..20 {
        session.send(LEAVE);
        if wait::holds_within(Duration::from_secs(3), || session.has_ended()) {
            return;
        }
    }
}

/// The two ways a terminal is made.
const WAYS: [&[&str]; 2] = [&[], &["--plain"]];

fn attach(world: &World, name: &str, flags: &[&str]) -> Session {
    let words = [&["attach", name], flags].concat();
    Session::start(
        world
            .command(words)
            .env("TERM", "xterm-256color")
            .env("SHELL", "/bin/sh"),
    )
}

fn sandbox() -> World {
    let world = repository();
    world.agar(["create", "--name", "calm-fern"]).success();
    world
}

/// How many look at the terminal.
fn viewers(world: &World) -> u64 {
    let told = checked("attach", &world.agar(["attach", "--json"]));
    told["viewers"].as_u64().unwrap_or(u64::MAX)
}

#[test]
fn what_was_started_goes_on_when_its_viewer_leaves() {
    for flags in WAYS {
        let world = sandbox();
        let mut first = attach(&world, "calm", flags);
        first.send("kept=4; echo ready-$((kept + 1))\n");
        first.expect("ready-5");
        leave(&mut first);
        first.expect("goes on");
        assert_eq!(first.finish(), 0);
        let mut second = attach(&world, "calm", flags);
        // What was on the screen is there again, and so is the shell.
        second.expect("ready-5");
        second.send("echo still-$((kept + 2))\n");
        second.expect("still-6");
        second.send("exit\n");
        second.expect("the terminal is over");
        assert_eq!(second.finish(), 0);
        world.agar(["rm", "--force"]).success();
    }
}

#[test]
fn a_snapshot_is_taken_under_a_terminal_that_goes_on() {
    for flags in WAYS {
        let world = sandbox();
        let mut session = attach(&world, "calm", flags);
        session.send("kept=4; echo first >made; echo ready-$((kept + 1))\n");
        session.expect("ready-5");
        let taken = world.agar(["snapshot", "calm-fern", "--json"]).success();
        let taken: serde_json::Value = serde_json::from_str(&taken.stdout).unwrap();
        assert_eq!(taken["snapshot"]["taken"], "running");
        // The shell stood still and knows what it knew.
        session.send("echo second >made; echo still-$((kept + 2))\n");
        session.expect("still-6");
        world
            .agar(["fork", "calm-fern@s1", "--name", "copy"])
            .success();
        let shown = world.agar(["exec", "copy", "--", "cat", "made"]).success();
        assert_eq!(shown.stdout, "first\n");
        // A return ends what runs, and the terminal with it.
        let back = world.agar(["restore", "calm-fern@s1"]).success();
        assert!(back.stdout.contains("ended"), "{back}");
        session.finish();
        let shown = world
            .agar(["exec", "calm-fern", "--", "cat", "made"])
            .success();
        assert_eq!(shown.stdout, "first\n");
        world.agar(["rm", "--all", "--force"]).success();
    }
}

#[test]
fn two_viewers_see_and_type_the_same() {
    for flags in WAYS {
        let world = sandbox();
        let mut first = attach(&world, "calm", flags);
        first.send("echo one-$((40 + 1))\n");
        first.expect("one-41");
        let mut second = attach(&world, "calm", flags);
        second.expect("one-41");
        second.send("echo two-$((40 + 2))\n");
        second.expect("two-42");
        first.expect("two-42");
        first.send("echo three-$((40 + 3))\n");
        second.expect("three-43");
        assert_eq!(viewers(&world), 2);
        leave(&mut second);
        second.expect("goes on");
        assert_eq!(second.finish(), 0);
        first.send("echo alone-$((40 + 4))\n");
        first.expect("alone-44");
        leave(&mut first);
        assert_eq!(first.finish(), 0);
        world.agar(["rm", "--force"]).success();
    }
}

#[test]
fn a_viewer_that_is_killed_takes_nothing_with_it() {
    for flags in WAYS {
        let world = sandbox();
        let mut first = attach(&world, "calm", flags);
        first.send("echo ready-$((2 + 3)); n=0; while :; do n=$((n+1)); read -r line && echo got-$n-$line; done\n");
        first.expect("ready-5");
        let pid = rustix::process::Pid::from_raw(first.id().cast_signed()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        drop(first);
        wait::until("nobody looks any more", || viewers(&world) == 0);
        let mut second = attach(&world, "calm", flags);
        second.send("hello\n");
        second.expect("got-1-hello");
        drop(second);
        world.agar(["rm", "--force"]).success();
        assert_eq!(world.agar(["ls", "-q"]).success().stdout, "");
    }
}

#[test]
fn the_window_keys_and_letters_arrive_as_they_are() {
    for flags in WAYS {
        let world = sandbox();
        let mut session = attach(&world, "calm", flags);
        session.send("stty size; echo \"term $TERM\"\n");
        // tmux keeps its last line for itself.
        session.expect(if flags.is_empty() { "23 80" } else { "24 80" });
        session.resize(31, 97);
        session.send(
            "while [ \"$(stty size | cut -d' ' -f2)\" != 97 ]; do sleep 0.05; done; stty size\n",
        );
        session.expect(if flags.is_empty() { "30 97" } else { "31 97" });
        session.send("sleep 1000; echo after-$?\n");
        session.expect("sleep 1000");
        wait::until("the command runs", || {
            world.agar(["ps"]).stdout.contains("sleep 1000")
        });
        session.send(&CTRL_C.repeat(4));
        session.send("echo alive-$((1 + 1))\n");
        session.expect("alive-2");
        session.send("printf 'gr\\303\\274n \\342\\226\\270 \\033[38;5;208morange\\033[0m\\n'\n");
        session.expect("grün ▸ orange");
        let raw = String::from_utf8_lossy(&session.raw()).into_owned();
        assert!(raw.contains("38;5;208"), "colours are lost");
        leave(&mut session);
        assert_eq!(session.finish(), 0);
        world.agar(["rm", "--force"]).success();
    }
}

#[test]
fn a_terminal_that_nobody_looked_at_can_be_joined_later() {
    let world = sandbox();
    for (flags, kind) in [
        (&["--json"][..], "tmux"),
        (&["--json", "--plain"][..], "plain"),
    ] {
        let words = [&["attach"], flags].concat();
        let told = checked("attach", &world.agar(words.clone()));
        assert_eq!(
            (&told["opened"], &told["kind"]),
            (&true.into(), &kind.into())
        );
        let session = told["session"].as_str().unwrap();
        assert_eq!(
            session,
            format!("sandbox_{}", told["sandbox"]["id"].as_str().unwrap())
        );
        let again = checked("attach", &world.agar(words));
        assert_eq!(again["opened"], false);
    }
    world.agar(["rm", "--force"]).success();
}

#[test]
fn a_shell_without_changes_leaves_nothing_and_one_with_changes_is_kept() {
    let world = repository();
    let shell = |keys: &str, said: &str| {
        let command = world
            .command(["shell"])
            .env("TERM", "xterm")
            .env("SHELL", "/bin/sh");
        let mut session = Session::start(command);
        session.send(keys);
        session.expect(said);
        assert_eq!(session.finish(), 0);
    };
    shell("exit\n", "nothing changed in it");
    assert_eq!(world.agar(["ls", "-q"]).success().stdout, "");
    shell("touch fresh.txt; exit\n", "shows its changes");
    assert!(!world.has("fresh.txt"));
    assert_eq!(
        world.agar(["diff", "--names"]).success().stdout.trim(),
        "fresh.txt"
    );
    let listed = world.agar(["ls", "--json"]).success().stdout;
    assert!(listed.contains("\"state\": \"finished\""), "{listed}");
}

#[test]
fn looking_takes_a_terminal() {
    let world = sandbox();
    let refused = world.agar(["attach"]).expect_code(2);
    assert!(
        refused.stderr.contains("takes a terminal"),
        "{}",
        refused.stderr
    );
    assert!(world.agar(["attach", "nobody", "--json"]).code() == 3);
    world.agar(["stop"]).success();
    let listed = world.agar(["ls", "--json"]).success().stdout;
    assert!(listed.contains("\"state\": \"finished\""), "{listed}");
}
