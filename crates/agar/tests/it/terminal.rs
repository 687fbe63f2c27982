//! `agar try` on a real terminal, driven key by key.

use crate::world::{assert_told, repository, steady};
use agar_testkit::{Session, World};

const CTRL_C: &str = "\x03";
const CTRL_D: &str = "\x04";

fn try_on_terminal(world: &World, script: &str) -> Session {
    Session::start(
        world
            .command(["try", "--", "sh", "-c", script])
            .env("PAGER", "cat"),
    )
}

#[test]
fn yes_applies() {
    let world = repository();
    let mut session = try_on_terminal(&world, "echo working; echo sixth >> notes.txt");
    session.expect("Apply to ~/project?");
    session.send("y\n");
    session.expect("learned");
    let screen = steady(&world, &session.screen());
    assert_eq!(session.finish(), 0);
    assert_told!(screen, @r#"
    agar  [NAME] · [BASE] base · network none · no evidence yet

    working

    ok    exit 0 · [TIME]
          1 file changed   notes.txt  +1 −0

    Apply to ~/project?  [y]es  [n]o  [d]iff  [e]xplore  [k]eep  ▸ y
    applied  1 file · undo with `agar undo`
    learned  "sh -c 'echo working; echo sixth >> notes.txt'" worked
    "#);
    assert!(world.read("notes.txt").ends_with("sixth\n"));
}

#[test]
fn no_throws_it_away() {
    let world = repository();
    let mut session = try_on_terminal(&world, "rm -rf src");
    session.expect("Apply to");
    session.send("n\n");
    session.expect("discarded");
    assert_eq!(session.finish(), 0);
    assert!(world.has("src/main.rs"));
    assert_eq!(world.agar(["ls", "-q"]).stdout, "");
}

#[test]
fn keep_leaves_it_for_later() {
    let world = repository();
    let mut session = try_on_terminal(&world, "touch fresh.txt");
    session.expect("Apply to");
    session.send("what?\n");
    session.expect("Apply to");
    session.send("\n");
    session.expect("Apply to");
    session.send("keep\n");
    session.expect("kept");
    assert_eq!(session.finish(), 0);
    assert!(!world.has("fresh.txt"));
    assert_eq!(world.agar(["ls", "-q"]).stdout.lines().count(), 1);
}

#[test]
fn closing_the_input_keeps_it() {
    let world = repository();
    let mut session = try_on_terminal(&world, "touch fresh.txt");
    session.expect("Apply to");
    session.send(CTRL_D);
    session.expect("kept");
    assert_eq!(session.finish(), 0);
    assert!(!world.has("fresh.txt"));
}

#[test]
fn the_diff_is_shown_and_the_question_comes_back() {
    let world = repository();
    let mut session = try_on_terminal(&world, "sed -i s/second/changed/ notes.txt");
    session.expect("Apply to");
    session.send("d\n");
    session.expect("-second");
    session.expect("+changed");
    session.expect("Apply to");
    session.send("n\n");
    assert_eq!(session.finish(), 0);
}

#[test]
fn exploring_is_a_shell_inside_and_its_changes_count() {
    let world = repository();
    let mut session = try_on_terminal(&world, "touch first.txt");
    session.expect("Apply to");
    session.send("e\n");
    session.expect("leave the shell to come back");
    session.send("ls first.txt && touch second.txt; echo here-$((40 + 2))\n");
    session.expect("here-42");
    session.send("exit\n");
    session.expect("2 files changed");
    session.expect("Apply to");
    session.send("y\n");
    session.expect("applied");
    assert_eq!(session.finish(), 0);
    assert!(world.has("first.txt") && world.has("second.txt"));
}

#[test]
fn the_command_has_a_terminal_of_the_same_size() {
    let world = repository();
    let script = "test -t 0 && test -t 1 && test -t 2 && stty size; trap 'stty size; exit 0' WINCH; \
                  echo ready; while :; do sleep 0.05; done";
    let mut session = try_on_terminal(&world, script);
    session.expect("24 80");
    session.expect("ready");
    session.resize(31, 97);
    session.expect("31 97");
    assert_eq!(session.finish(), 0);
}

#[test]
fn ctrl_c_ends_the_run_and_keeps_the_sandbox() {
    let world = repository();
    let mut session = try_on_terminal(&world, "touch fresh.txt; echo ready; sleep 1000");
    session.expect("ready");
    session.send(CTRL_C);
    session.expect("stopped");
    session.expect("look around:  agar attach ");
    assert_eq!(session.finish(), 130);
    assert!(!world.has("fresh.txt"));
    assert!(world.agar(["diff", "--names"]).stdout.contains("fresh.txt"));
}

#[test]
fn three_ctrl_c_end_a_command_that_ignores_them() {
    let world = repository();
    let script = "trap '' INT; touch fresh.txt; echo ready; while :; do sleep 0.05; done";
    let mut session = try_on_terminal(&world, script);
    session.expect("ready");
    session.send(&CTRL_C.repeat(3));
    session.expect("stopped");
    assert_eq!(session.finish(), 130);
}

#[test]
fn ctrl_c_at_the_question_keeps_the_sandbox() {
    let world = repository();
    let mut session = try_on_terminal(&world, "touch fresh.txt");
    session.expect("Apply to");
    session.send(CTRL_C);
    session.expect("kept");
    assert_eq!(session.finish(), 130);
    assert!(!world.has("fresh.txt"));
}

#[test]
fn keys_typed_during_the_run_do_not_answer_the_question() {
    let world = repository();
    let script = "touch fresh.txt; echo ready; read answer; echo \"read $answer\"";
    let mut session = try_on_terminal(&world, script);
    session.expect("ready");
    session.send("first\ny\ny\n");
    session.expect("read first");
    session.expect("Apply to");
    session.send("n\n");
    session.expect("discarded");
    assert_eq!(session.finish(), 0);
    assert!(!world.has("fresh.txt"));
}

#[test]
fn the_terminal_is_given_back_as_it_was() {
    let world = repository();
    let agar = world.program().display().to_string();
    for command in [
        "true",
        "sh -c 'exit 3'",
        "no-such-program",
        "stty -echo raw",
    ] {
        let script = format!(
            "stty -g > ../before; '{agar}' try --discard -- {command}; stty -g > ../after; echo over"
        );
        let shell = world.invoke("/bin/sh").args(["-c", &script]);
        let mut session = Session::start(shell);
        session.expect("over");
        session.finish();
        assert_eq!(world.read("../before"), world.read("../after"), "{command}");
    }
}

#[test]
fn a_conflict_is_asked_about() {
    let world = repository();
    let script = "sed -i s/third/THEIRS/ notes.txt; echo ready; read go";
    let mut session = try_on_terminal(&world, script);
    session.expect("ready");
    world.sh("sed -i s/third/MINE/ notes.txt").success();
    session.send("\n");
    session.expect("Apply to");
    session.send("y\n");
    session.expect("conflict");
    session.expect("Choose for notes.txt:");
    session.send("s\n");
    session.expect("THEIRS");
    session.expect("Choose for notes.txt:");
    session.send("t\n");
    session.expect("applied");
    assert_eq!(session.finish(), 0);
    assert!(world.read("notes.txt").contains("THEIRS"));
}

#[test]
fn aborting_a_conflict_writes_nothing() {
    let world = repository();
    let mut session = try_on_terminal(
        &world,
        "sed -i s/third/THEIRS/ notes.txt; echo ready; read go",
    );
    session.expect("ready");
    world.sh("sed -i s/third/MINE/ notes.txt").success();
    session.send("\n");
    session.expect("Apply to");
    session.send("y\n");
    session.expect("Choose for notes.txt:");
    session.send("a\n");
    assert_eq!(session.finish(), 4);
    assert!(world.read("notes.txt").contains("MINE"));
}

#[test]
fn hunks_are_chosen_one_by_one() {
    let world = repository();
    let many: Vec<String> = (1..=40).map(|n| format!("line {n}")).collect();
    world.write("long.txt", many.join("\n") + "\n");
    let script = "sed -i -e 's/^line 2$/SECOND/' -e 's/^line 39$/LAST/' long.txt";
    world
        .agar(["try", "--keep", "--", "sh", "-c", script])
        .success();
    let mut session = Session::start(world.command(["apply", "-p"]));
    session.expect("+SECOND");
    session.expect("Apply hunk 1 of 2 of long.txt?");
    session.send("n\n");
    session.expect("+LAST");
    session.expect("Apply hunk 2 of 2 of long.txt?");
    session.send("y\n");
    session.expect("applied");
    assert_eq!(session.finish(), 0);
    let text = world.read("long.txt");
    assert!(text.contains("LAST") && !text.contains("SECOND"));
}

#[test]
fn run_and_exec_have_a_terminal_too() {
    let world = repository();
    let mut session =
        Session::start(world.command(["run", "--", "sh", "-c", "test -t 0 && echo tty; exit 5"]));
    session.expect("tty");
    assert_eq!(session.finish(), 5);
    world.agar(["create", "--name", "calm-fern"]).success();
    let mut session = Session::start(world.command(["exec", "calm"]));
    session.send("test -t 1 && echo in-$((1 + 1)); exit 6\n");
    session.expect("in-2");
    assert_eq!(session.finish(), 6);
    world.agar(["rm", "--force"]).success();
}

#[test]
fn a_command_in_the_background_is_not_stopped_by_the_terminal() {
    let world = repository();
    let agar = world.program().display().to_string();
    let script = format!(
        "set -m; '{agar}' try -- sh -c 'touch fresh.txt; cat; echo done inside' & wait %1; echo over $?"
    );
    let mut session = Session::start(world.invoke("/bin/sh").args(["-c", &script]));
    session.expect("done inside");
    session.expect("kept");
    session.expect("over 0");
    session.finish();
    assert!(!world.has("fresh.txt"));
}

#[test]
fn top_is_driven_by_keys_and_gives_the_terminal_back() {
    let world = repository();
    world.agar(["create", "--name", "calm-fern"]).success();
    world.agar(["create", "--name", "dim-reed"]).success();
    let agar = world.program().display().to_string();
    let script = format!("stty -g > ../before; '{agar}' top; stty -g > ../after; echo over");
    let shell = world.invoke("/bin/sh").args(["-c", &script]);
    let mut session = Session::start(shell.env("TERM", "xterm"));
    // Only cells that change are drawn again, so what is looked for is words without gaps.
    session.expect("2 sandboxes · 2 up");
    session.send("?");
    session.expect("keys─");
    session.send("x");
    session.send("o");
    session.expect("▾ calm-fern");
    session.send("gp");
    session.expect("paused");
    session.send("s");
    session.expect("stopped");
    session.resize(12, 60);
    session.send("Gx");
    session.expect("sure?");
    session.send("n");
    session.expect("kept");
    session.send("xy");
    agar_testkit::wait::until("it is removed", || {
        world.agar(["ls", "-q"]).stdout == "calm-fern\n"
    });
    session.send("q");
    session.expect("over");
    let raw = String::from_utf8_lossy(&session.raw()).into_owned();
    assert!(raw.contains("\u{1b}[?1049h") && raw.contains("\u{1b}[?1049l"));
    session.finish();
    assert_eq!(world.read("../before"), world.read("../after"));
    assert_eq!(world.agar(["ls", "-q"]).success().stdout, "calm-fern\n");
}

#[test]
fn top_that_is_ended_by_a_signal_gives_the_terminal_back() {
    let world = repository();
    world.agar(["create", "--name", "calm-fern"]).success();
    let mut session = Session::start(world.command(["top"]).env("TERM", "xterm"));
    session.expect("calm-fern");
    let pid = rustix::process::Pid::from_raw(session.id().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    agar_testkit::wait::until("the other screen is left", || {
        String::from_utf8_lossy(&session.raw()).contains("\u{1b}[?1049l")
    });
    assert_eq!(session.finish(), 0);
    let piped = world.agar(["top"]).success().stdout;
    assert!(
        piped.starts_with("ID ") && piped.contains("calm-fern"),
        "{piped}"
    );
    crate::answers::checked("top", &world.agar(["top", "--json"]));
    world.agar(["rm", "--force"]).success();
}
