//! Without a terminal: streams pass through, and nobody is asked.

use crate::world::{plain, repository};

#[test]
fn input_reaches_the_command_and_output_comes_back() {
    let world = plain();
    let outcome = world
        .command(["run", "--", "sh", "-c", "cat; echo oops >&2"])
        .stdin("one\ntwo\n")
        .run()
        .success();
    assert_eq!(outcome.stdout, "one\ntwo\n");
    assert_eq!(outcome.stderr, "oops\n");
}

#[test]
fn bytes_pass_through_untouched() {
    let world = plain();
    world.write("all", (0..=255).collect::<Vec<u8>>());
    let script = format!("'{}' run -- cat all | cmp - all", world.program().display());
    world.sh(&script).success();
}

#[test]
fn large_input_and_output_do_not_block_each_other() {
    let world = plain();
    let outcome = world
        .command(["run", "--", "cat"])
        .stdin(vec![b'x'; 3 << 20])
        .run()
        .success();
    assert_eq!(outcome.stdout.len(), 3 << 20);
}

#[test]
fn a_reader_that_leaves_early_is_not_an_error() {
    let world = plain();
    let agar = world.program().display().to_string();
    for script in [
        "{ 'AGAR' man --reference cli.md; echo $? >&2; } | head -n 1 >/dev/null",
        "{ 'AGAR' schema try; echo $? >&2; } | true",
    ] {
        let outcome = world.sh(&script.replace("AGAR", &agar)).success();
        assert_eq!(outcome.stderr, "0\n");
    }
    // The command itself is told as it would be without agar.
    let script = "{ 'AGAR' run -- yes; echo $? >&2; } | head -n 1".replace("AGAR", &agar);
    let outcome = world.sh(&script).success();
    assert_eq!(
        (outcome.stdout.as_str(), outcome.stderr.as_str()),
        ("y\n", "141\n")
    );
}

#[test]
fn nobody_is_asked_without_a_terminal() {
    let world = repository();
    let outcome = world
        .command(["try", "--", "sh", "-c", "echo new > fresh.txt"])
        .stdin("y\ny\ny\n")
        .run()
        .success();
    assert!(!world.has("fresh.txt"), "an answer nobody was asked for");
    assert!(outcome.stderr.contains("apply it with `agar apply "));
}

#[test]
fn an_interrupt_reaches_the_command_and_the_sandbox_is_kept() {
    let world = repository();
    let script = "echo kept > fresh.txt; trap 'echo told; exit 7' INT; echo ready; while :; do sleep 0.05; done";
    let mut running = world.command(["try", "--", "sh", "-c", script]).spawn();
    let log = || {
        let listed = world.agar(["logs"]);
        listed.stdout.contains("ready")
    };
    agar_testkit::wait::until("the command is ready", log);
    running.signal(rustix::process::Signal::INT);
    agar_testkit::wait::until("the command ended", || running.has_ended());
    let outcome = running.finish();
    assert!(outcome.stdout.ends_with("told\n"), "{}", outcome.stdout);
    assert_eq!(outcome.code(), 130, "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("stopped  on request"),
        "{}",
        outcome.stderr
    );
    assert!(world.agar(["diff", "--names"]).stdout.contains("fresh.txt"));
}

#[test]
fn three_interrupts_end_a_command_that_ignores_them() {
    let world = repository();
    let script = "trap '' INT; echo kept > fresh.txt; echo ready; while :; do sleep 0.05; done";
    let mut running = world.command(["try", "--", "sh", "-c", script]).spawn();
    agar_testkit::wait::until("the command is ready", || {
        world.agar(["logs"]).stdout.contains("ready")
    });
    agar_testkit::wait::until("agar gave up", || {
        if !running.has_ended() {
            running.signal(rustix::process::Signal::INT);
        }
        running.has_ended()
    });
    let outcome = running.finish();
    assert_eq!(outcome.code(), 130, "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("stopped  on request"),
        "{}",
        outcome.stderr
    );
    assert!(
        outcome.stderr.contains("look around:  agar attach "),
        "{}",
        outcome.stderr
    );
}
