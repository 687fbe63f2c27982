//! `agar attach` and `agar shell` on real terminals: with tmux, and without.

use crate::answers::checked;
use crate::world::repository;
use agar_testkit::{Session, World, wait};

const CTRL_C: &str = "\x03";

/// tmux's own key, and `d` for detach.
const LEAVE: &str = "\x02d";

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
        first.send(LEAVE);
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
fn keys_that_arrive_all_at_once_are_not_taken_for_pasted_text() {
    for flags in WAYS {
        let world = sandbox();
        let mut first = attach(&world, "calm", flags);
        // A viewer that is slow has everything that was typed meanwhile in one piece.
        first.send(&format!("echo ready-$((2 + 3))\n{LEAVE}"));
        first.expect("goes on");
        assert_eq!(first.finish(), 0);
        let mut second = attach(&world, "calm", flags);
        second.expect("ready-5");
        second.send("exit\n");
        second.expect("the terminal is over");
        assert_eq!(second.finish(), 0);
        world.agar(["rm", "--force"]).success();
    }
}

#[test]
fn a_terminal_that_does_not_know_its_size_is_looked_at_like_any_other() {
    let world = sandbox();
    let script = "stty rows 0 columns 0; exec \"$0\" attach calm --plain";
    let line = world
        .invoke("/bin/sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_agar")])
        .env("TERM", "xterm")
        .env("SHELL", "/bin/sh");
    let mut session = Session::start(line);
    session.send("stty size\n");
    session.expect("24 80");
    session.send(LEAVE);
    session.expect("goes on");
    assert_eq!(session.finish(), 0);
    world.agar(["rm", "--force"]).success();
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
        second.send(LEAVE);
        second.expect("goes on");
        assert_eq!(second.finish(), 0);
        first.send("echo alone-$((40 + 4))\n");
        first.expect("alone-44");
        first.send(LEAVE);
        assert_eq!(first.finish(), 0);
        world.agar(["rm", "--force"]).success();
    }
}

#[test]
fn a_viewer_that_is_killed_or_whose_window_is_closed_takes_nothing_with_it() {
    let kill = |session: &mut Session| {
        let pid = rustix::process::Pid::from_raw(session.id().cast_signed()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    };
    for flags in WAYS {
        for end in [&kill as &dyn Fn(&mut Session), &Session::close_window] {
            let world = sandbox();
            let mut first = attach(&world, "calm", flags);
            first.send("kept=4; echo ready-$((kept + 1))\n");
            first.expect("ready-5");
            end(&mut first);
            first.finish();
            wait::until("nobody looks any more", || viewers(&world) == 0);
            let mut second = attach(&world, "calm", flags);
            second.send("echo still-$((kept + 2))\n");
            second.expect("still-6");
            drop(second);
            world.agar(["rm", "--force"]).success();
            assert_eq!(world.agar(["ls", "-q"]).success().stdout, "");
        }
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
        session.send(LEAVE);
        assert_eq!(session.finish(), 0);
        world.agar(["rm", "--force"]).success();
    }
}

#[test]
fn what_runs_inside_ignores_nothing_that_whoever_made_the_sandbox_ignored() {
    let world = repository();
    let agar = world.program().display();
    let words = "create --name calm-fern";
    world
        .sh(&format!("trap '' INT QUIT HUP PIPE; exec '{agar}' {words}"))
        .success();
    let words = "exec calm-fern -- grep SigIgn /proc/self/status";
    let told = world.sh(&format!("trap '' INT QUIT HUP PIPE; exec '{agar}' {words}"));
    let told = told.success().stdout;
    let ignored = told.trim().rsplit('\t').next().unwrap_or_default();
    let ignored = u64::from_str_radix(ignored, 16).unwrap_or(u64::MAX);
    // Two belong to the C library, which lets nobody set them.
    let its_own = 1 << 31 | 1 << 32;
    assert_eq!(ignored & !its_own, 0, "{told}");
    world.agar(["rm", "--force"]).success();
}

#[test]
fn a_terminal_that_nobody_looked_at_can_be_joined_later() {
    for (flags, kind) in [
        (&["--json"][..], "tmux"),
        (&["--json", "--plain"][..], "plain"),
    ] {
        let world = sandbox();
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
        world.agar(["rm", "--force"]).success();
    }
}

#[test]
fn a_sandbox_has_one_terminal_whatever_kind_is_asked_for() {
    for (first, second, kind) in [
        (&["--json"][..], &["--json", "--plain"][..], "tmux"),
        (&["--json", "--plain"], &["--json"], "plain"),
    ] {
        let world = sandbox();
        let ask = |flags: &[&str]| checked("attach", &world.agar([&["attach"], flags].concat()));
        assert_eq!(ask(first)["opened"], true);
        let again = ask(second);
        assert_eq!(
            (&again["opened"], &again["kind"]),
            (&false.into(), &kind.into())
        );
        world.agar(["rm", "--force"]).success();
    }
}

/// Whether the last word about a mode of the terminal was to switch it on.
fn is_on(session: &Session, mode: &str) -> bool {
    let raw = String::from_utf8_lossy(&session.raw()).into_owned();
    let last = |switch| raw.rfind(&format!("\u{1b}[?{mode}{switch}"));
    last('h') > last('l')
}

#[test]
fn a_sandbox_that_ends_under_its_viewer_leaves_the_terminal_as_it_was() {
    for flags in WAYS {
        for (ending, said) in [
            (&["stop"][..], "calm-fern · was stopped"),
            (&["restore", "calm-fern@s1"], "calm-fern · "),
            (&["rm", "--force"], "removed  calm-fern"),
        ] {
            let world = sandbox();
            world.agar(["snapshot"]).success();
            let mut session = attach(&world, "calm", flags);
            if !flags.is_empty() {
                session.send("printf '\\033[?1049h\\033[?1h\\033[?1000h\\033[?2004h\\033[?25l'\n");
            }
            session.send("echo ready-$((2 + 3))\n");
            session.expect("ready-5");
            assert!(
                is_on(&session, "1049") && is_on(&session, "1"),
                "{ending:?}"
            );
            world.agar(ending).success();
            session.expect(said);
            let left_on = ["1049", "1", "1000", "1002", "1003", "1006", "2004"]
                .into_iter()
                .filter(|mode| is_on(&session, mode));
            assert_eq!(left_on.collect::<Vec<_>>(), [""; 0], "{ending:?}");
            assert!(is_on(&session, "25"), "the cursor is hidden: {ending:?}");
            assert_eq!(session.finish(), 0, "{ending:?}");
            world.agar(["rm", "--all", "--force"]);
        }
    }
}

#[test]
fn a_plain_terminal_is_as_large_as_the_smallest_window() {
    fn awaits(session: &mut Session, size: &str) {
        session.send(&format!(
            "while [ \"$(stty size)\" != '{size}' ]; do sleep 0.05; done; echo it is $(stty size)\n"
        ));
        session.expect(&format!("it is {size}"));
    }
    let world = sandbox();
    let mut large = attach(&world, "calm", &["--plain"]);
    large.resize(40, 120);
    awaits(&mut large, "40 120");
    let mut small = attach(&world, "calm", &["--plain"]);
    small.resize(20, 130);
    awaits(&mut small, "20 120");
    // Whoever has more room gains nothing by more of it.
    large.resize(50, 110);
    awaits(&mut large, "20 110");
    small.send(LEAVE);
    assert_eq!(small.finish(), 0);
    awaits(&mut large, "50 110");
    large.send(LEAVE);
    assert_eq!(large.finish(), 0);
    world.agar(["rm", "--force"]).success();
}

#[test]
fn a_tmux_that_does_not_answer_is_not_waited_for_without_end() {
    let world = sandbox();
    checked("attach", &world.agar(["attach", "--json"]));
    let stop = "kill -STOP $(tmux -S /tmp/.agar-terminal display-message -p '#{pid}')";
    world
        .agar(["exec", "calm-fern", "--", "sh", "-c", stop])
        .success();
    let refused = world.agar(["attach", "--json"]);
    assert_ne!(refused.code(), 0);
    assert!(refused.stdout.contains("does not answer"), "{refused}");
    let plain = checked("attach", &world.agar(["attach", "--plain", "--json"]));
    assert_eq!(plain["kind"], "plain");
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
