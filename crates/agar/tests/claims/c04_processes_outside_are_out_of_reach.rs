//! C4: a process inside neither sees nor signals a process outside.

use crate::AGAR;
use crate::attack::{Attack, Report};
use agar_testkit::{Invocation, World, invocation::Running};

const MARKER: &str = "victim-of-the-attack";

/// A process of the same user that an attacker would like to reach.
fn victim() -> Running {
    Invocation::new("/bin/sh")
        .args(["-c", "read never </dev/zero", MARKER])
        .spawn()
}

/// Its state and nice value, from `/proc`.
fn condition(victim: &Running) -> (char, i32) {
    let stat = fs_err::read_to_string(format!("/proc/{}/stat", victim.id())).unwrap();
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap()
        .split_whitespace()
        .collect();
    (
        fields[0].chars().next().unwrap(),
        fields[16].parse().unwrap(),
    )
}

fn attack(world: &World, victim: &Running, flags: &[&str]) -> Report {
    let mut attack = Attack::new(world, include_str!("attacks/processes.py"))
        .fact("victim", victim.id())
        .fact("marker", MARKER);
    for flag in flags {
        attack = attack.flag(flag);
    }
    attack.run().complete()
}

#[track_caller]
fn try_to_break(flags: &[&str]) {
    let world = World::new(AGAR);
    let mut victim = victim();
    let (_, nice) = condition(&victim);
    let report = attack(&world, &victim, flags);
    assert!(
        !victim.has_ended(),
        "the victim was killed\n{}",
        report.outcome
    );
    let (state, nice_after) = condition(&victim);
    assert_ne!(state, 'T', "the victim was stopped");
    assert_eq!(nice_after, nice, "the victim's priority was changed");
    report.all_refused("see ");
    report.all_refused("signal ");
    report.all_refused("first ");
    report.all_worked("plain ");
    victim.kill();
}

#[test]
fn nothing_outside_is_seen_or_signalled() {
    try_to_break(&[]);
}

#[test]
fn fake_root_reaches_no_further() {
    try_to_break(&["--fake-root"]);
}

#[test]
fn the_helper_tier_hides_them_as_well() {
    try_to_break(&["--tier=helper"]);
}

#[test]
fn the_hosts_network_does_not_show_its_processes() {
    try_to_break(&["--net=host"]);
}

#[test]
fn killing_everything_inside_ends_only_the_run() {
    let world = World::new(AGAR);
    let outcome = world.agar(["run", "--", "/bin/sh", "-c", "kill -9 -1; echo still here"]);
    assert!(
        outcome.code() == 137 || outcome.stdout.contains("still here"),
        "{outcome}"
    );
    world.agar(["run", "--", "/bin/true"]).success();
}
