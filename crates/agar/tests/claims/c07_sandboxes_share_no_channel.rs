//! C7: a sandbox learns nothing of another through shared memory, keyrings, locks or sockets.
//!
//! One sandbox leaves marks wherever it can and stays; the other looks for them.

use crate::AGAR;
use crate::attack::{Attack, Report};
use agar_testkit::{World, leaks};

fn shared_files(world: &World) -> Vec<String> {
    vec![
        world
            .project()
            .join("README.md")
            .to_string_lossy()
            .into_owned(),
        world
            .home()
            .join("shared.txt")
            .to_string_lossy()
            .into_owned(),
        "/etc/passwd".into(),
        "/usr/bin/env".into(),
        "/var/lib/dpkg/status".into(),
        "/".into(),
        "/usr".into(),
    ]
}

fn with_facts<'a>(attack: Attack<'a>, world: &World) -> Attack<'a> {
    let files = shared_files(world)
        .into_iter()
        .filter(|path| std::path::Path::new(path).is_file());
    attack
        .fact("name", format!("mark-{}", std::process::id()))
        .fact("key", 0x00a6_a400 + (std::process::id() & 0xff))
        .fact("port", 40_123)
        .fact("home", world.home().to_string_lossy().into_owned())
        .fact("project", world.project().to_string_lossy().into_owned())
        .fact("shared", files.collect::<Vec<_>>())
}

#[track_caller]
fn find_while_left(flags: &[&str]) -> Report {
    let world = World::with_repository(AGAR);
    fs_err::write(world.home().join("shared.txt"), "x\n").unwrap();
    let mut leave = with_facts(
        Attack::new(&world, include_str!("attacks/channel_leave.py")),
        &world,
    );
    let mut find = with_facts(
        Attack::new(&world, include_str!("attacks/channel_find.py")),
        &world,
    );
    for flag in flags {
        leave = leave.flag(flag);
        find = find.flag(flag);
    }
    let mut leaving = leave.spawn();
    leaving.expect("marks left");
    let report = find.run().complete();
    leaving.kill();
    report
}

#[test]
fn no_mark_of_one_is_found_by_the_other() {
    let report = find_while_left(&[]);
    report.all_refused("find ");
    report.all_worked("plain ");
}

#[test]
fn a_live_base_is_no_channel() {
    find_while_left(&["--base=live"]).all_refused("find ");
}

#[test]
fn no_mark_is_found_after_the_other_is_gone() {
    let world = World::with_repository(AGAR);
    fs_err::write(world.home().join("shared.txt"), "x\n").unwrap();
    let leave = with_facts(
        Attack::new(&world, include_str!("attacks/channel_leave.py")),
        &world,
    );
    let mut leaving = leave.spawn();
    leaving.expect("marks left");
    leaving.kill();
    leaks::assert_gone(world.root());
    let find = with_facts(
        Attack::new(&world, include_str!("attacks/channel_find.py")),
        &world,
    );
    find.run().complete().all_refused("find ");
}
