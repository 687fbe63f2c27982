//! C13: a weaker tier is used only when it was named, and every record says which one was in force.

use crate::AGAR;
use crate::attack::{Attack, Report};
use agar_testkit::{Caller, Invocation, Tree, World, skip};
use std::path::{Path, PathBuf};

/// Switches user namespaces off in a namespace of its own, where the caller is an ordinary user
/// without capabilities: other tests go on undisturbed.
fn switched_off(world: &World) -> Invocation {
    let line = "echo 0 >/proc/sys/user/max_user_namespaces && \
                exec setpriv --inh-caps=-all --ambient-caps=-all -- \"$@\"";
    world
        .invoke("unshare")
        .args([
            "--user",
            "--map-user=1000",
            "--map-group=1000",
            "--keep-caps",
        ])
        .args(["--", "/bin/sh", "-c", line, "sh"])
}

/// The command where user namespaces are switched off.
fn without_user_namespaces(world: &World, words: &[&str]) -> Invocation {
    switched_off(world).arg(world.program()).args(words)
}

fn can_switch_off(world: &World) -> bool {
    let probe = "! unshare --user true 2>/dev/null";
    switched_off(world)
        .args(["/bin/sh", "-c", probe])
        .run()
        .code()
        == 0
}

#[test]
fn without_user_namespaces_the_full_tier_is_refused_with_a_way_out() {
    let world = World::with_repository(AGAR);
    if !can_switch_off(&world) {
        skip!("C13", "user namespaces cannot be switched off here");
    }
    let outcome = without_user_namespaces(&world, &["run", "--", "/bin/true"]).run();
    assert_eq!(outcome.code(), 125, "{outcome}");
    assert!(outcome.stderr.contains("namespace"), "{outcome}");
    assert!(
        outcome.stderr.contains("doctor") || outcome.stderr.contains("--tier"),
        "{outcome}"
    );
}

#[test]
fn the_landlock_tier_works_where_it_is_named_and_is_recorded() {
    let world = World::with_repository(AGAR);
    if !can_switch_off(&world) {
        skip!("C13", "user namespaces cannot be switched off here");
    }
    fs_err::write(world.home().join("canary"), "alive\n").unwrap();
    let before = Tree::read_without(&world.home(), &[Path::new(".local")]);
    let script =
        "echo more >>notes.txt; echo x >~/canary; echo x >/tmp/agar-landlock-canary; cat notes.txt";
    let words = [
        "run",
        "--keep",
        "--tier=landlock",
        "--",
        "/bin/sh",
        "-c",
        script,
    ];
    let outcome = without_user_namespaces(&world, &words).run();
    assert!(outcome.stdout.contains("more"), "{outcome}");
    let after = Tree::read_without(&world.home(), &[Path::new(".local")]);
    assert_eq!(before.difference(&after), "", "{outcome}");
    let list = world.agar(["inspect"]).success();
    assert!(list.stdout.contains("landlock"), "{list}");
}

/// Tries every write under this tier: what was outside before and after, and the report.
fn try_writes(world: &World, tier: &str) -> (Tree, Tree, Report) {
    fs_err::write(world.home().join("canary"), "alive\n").unwrap();
    fs_err::write(world.outside().join("canary"), "alive\n").unwrap();
    let shown = |path: PathBuf| path.to_string_lossy().into_owned();
    let picture =
        || Tree::read_without(world.root(), &[Path::new("home/.local"), Path::new("run")]);
    let before = picture();
    let report = Attack::new(world, include_str!("attacks/writes.py"))
        .flag(&format!("--tier={tier}"))
        .fact("world", shown(world.root().to_owned()))
        .fact("home", shown(world.home()))
        .fact("project", shown(world.project()))
        .fact("outside", shown(world.outside()))
        .fact("hosttmp", shown(world.outside()))
        .fact("hostshm", shown(world.outside()))
        .fact("device", 0)
        .fact("devices", Vec::<String>::new())
        .run()
        .complete();
    (before, picture(), report)
}

/// Landlock keeps contents and names; it does not cover modes, owners and times (the threat model
/// says so).
#[test]
fn the_landlock_tier_keeps_writes_in() {
    let world = World::with_repository(AGAR);
    let (before, after, report) = try_writes(&world, "landlock");
    let difference = before.contents().difference(&after.contents());
    assert_eq!(difference, "", "{}", report.outcome);
    report.all_refused("kernel ");
}

#[test]
fn the_helper_tier_keeps_writes_in() {
    let world = World::with_repository(AGAR);
    let (before, after, report) = try_writes(&world, "helper");
    assert_eq!(before.difference(&after), "", "{}", report.outcome);
    report.all_refused("kernel ");
    report.all_refused("mount ");
    report.all_refused("device open ");
}

#[test]
fn every_record_names_the_tier() {
    let world = World::with_repository(AGAR);
    world
        .agar(["run", "--keep", "--", "/bin/sh", "-c", "echo x >x"])
        .success();
    let shown = world.agar(["inspect", "--json"]).success();
    let answer: serde_json::Value = serde_json::from_str(&shown.stdout).unwrap();
    assert!(answer.to_string().contains("\"full\""), "{answer}");
}

#[test]
fn the_tier_without_walls_must_be_named_too() {
    let world = World::with_repository(AGAR);
    let outcome = world.agar([
        "run",
        "--tier=none",
        "--",
        "/bin/sh",
        "-c",
        "echo x >x; pwd",
    ]);
    assert!(outcome.stderr.contains("none"), "not said aloud: {outcome}");
    assert!(!world.has("x"), "the project itself was written");
}

#[test]
fn doctor_says_what_this_machine_can_do() {
    let world = World::with_repository(AGAR);
    let outcome = world.agar(["doctor", "--json"]);
    let answer: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert!(answer.to_string().contains("landlock"), "{answer}");
    if Caller::current() == Caller::Root {
        return;
    }
    assert!(answer.to_string().contains("cgroup"), "{answer}");
}
