//! What is stopped when it wants too much.

use super::world::{World, finish};
use agar_core::limits::{Limits, Resource};
use agar_core::size::Bytes;
use agar_jail::client::{Lifetime, VIEWERS};
use agar_jail::policy::OldWay;
use agar_jail::report::End;

#[test]
fn a_run_out_of_time_is_stopped_by_name() {
    let world = World::new();
    let keeper = world.start(Lifetime::OneRun);
    let mut request = world.request(1, "sleep 1000");
    request.timeout_ms = Some(50);
    let (_, report) = finish(keeper.run(&request).unwrap());
    let End::Stopped { breach } = report.end else {
        panic!("{:?}", report.end)
    };
    assert_eq!((breach.resource, breach.limit), (Resource::Time, 50));
    assert!(breach.seen >= 50);
    keeper.bury();
}

#[test]
fn a_memory_bomb_is_stopped_by_name() {
    let mut world = World::new();
    world.config_limits.memory_bytes = Some(Bytes::mib(64));
    world.policy.limits = world.config_limits;
    let (_, report) = world.run("a=0123456789abcdef; while :; do a=$a$a; done");
    let End::Stopped { breach } = report.end else {
        panic!("{report:?}")
    };
    assert_eq!(
        (breach.resource, breach.limit),
        (Resource::Memory, 64 << 20)
    );
}

/// The limit that ended a script which is given a second chance to go on after each refusal.
fn stopped_by(limits: Limits, script: &str) -> agar_core::limits::Breach {
    let mut world = World::new();
    world.config_limits = limits;
    world.policy.limits = limits;
    let (text, report) = world.run(script);
    let End::Stopped { breach } = report.end else {
        panic!("{text} {report:?}")
    };
    agar_testkit::leaks::assert_gone(world.directory.path());
    breach
}

#[test]
fn a_fork_bomb_is_stopped_by_name() {
    let limits = Limits {
        processes: Some(64),
        ..Limits::default()
    };
    let breach = stopped_by(
        limits,
        "while :; do sleep 1000 & done 2>/dev/null; sleep 1000",
    );
    assert_eq!((breach.resource, breach.limit), (Resource::Processes, 64));
}

#[test]
fn a_disk_filler_is_stopped_by_name() {
    let limits = Limits {
        disk_bytes: Some(Bytes::mib(8)),
        ..Limits::default()
    };
    let script = "i=0; while :; do i=$((i+1)); head -c 1048576 /dev/zero > f$i; done; sleep 1000";
    let breach = stopped_by(limits, script);
    assert_eq!((breach.resource, breach.limit), (Resource::Disk, 8 << 20));
}

#[test]
fn without_control_groups_memory_is_watched_and_that_is_said() {
    let mut world = World::new();
    world.config_limits.memory_bytes = Some(Bytes::mib(64));
    world.policy.limits = world.config_limits;
    world.policy.old_ways = vec![OldWay::NoCgroups];
    let (_, report) = world.run("a=0123456789abcdef; while :; do a=$a$a; done");
    let End::Stopped { breach } = report.end else {
        panic!("{report:?}")
    };
    assert_eq!(breach.resource, Resource::Memory);
    assert!(
        breach
            .culprit
            .is_some_and(|culprit| culprit.starts_with("sh (pid "))
    );
    assert!(
        report.notes.iter().any(|note| note.contains("watched")),
        "{:?}",
        report.notes
    );
}

#[test]
fn a_single_file_past_the_limit_is_named_too() {
    let limits = Limits {
        disk_bytes: Some(Bytes::mib(4)),
        ..Limits::default()
    };
    let breach = stopped_by(limits, "head -c 8388608 /dev/zero > big; echo done");
    assert_eq!((breach.resource, breach.limit), (Resource::Disk, 4 << 20));
}

#[test]
fn memory_that_nobody_maps_counts() {
    let limits = Limits {
        memory_bytes: Some(Bytes::mib(64)),
        ..Limits::default()
    };
    let fill = "perl -e 'my @f; my $m = \"m\\0\"; for (1..40) { my $n = syscall(319, $m, 0); \
                open(my $h, \">&=\", $n); syswrite($h, \"x\" x (4<<20)); push @f, $h } sleep 1000'";
    let breach = stopped_by(limits, fill);
    assert_eq!(
        (breach.resource, breach.limit),
        (Resource::Memory, 64 << 20)
    );
}

#[test]
fn a_deleted_file_that_is_open_counts() {
    let limits = Limits {
        disk_bytes: Some(Bytes::mib(8)),
        ..Limits::default()
    };
    let script = "exec 3> gone; rm gone; head -c 33554432 /dev/zero >&3; sleep 1000";
    let breach = stopped_by(limits, script);
    assert_eq!((breach.resource, breach.limit), (Resource::Disk, 8 << 20));
}

#[test]
fn shared_memory_that_nobody_attached_counts() {
    let limits = Limits {
        memory_bytes: Some(Bytes::mib(64)),
        ..Limits::default()
    };
    let fill = "perl -e 'my $x = \"x\" x (4<<20); for (1..40) { my $id = shmget(0, 4<<20, 0600); \
                shmwrite($id, $x, 0, 4<<20) or die }'";
    let breach = stopped_by(limits, fill);
    assert_eq!(
        (breach.resource, breach.limit),
        (Resource::Memory, 64 << 20)
    );
}

#[test]
fn what_was_ended_at_rest_is_told_by_the_next_report_whoever_looked_meanwhile() {
    let mut world = World::new();
    world.config_limits = Limits {
        disk_bytes: Some(Bytes::mib(8)),
        ..Limits::default()
    };
    world.policy.limits = world.config_limits;
    let keeper = world.start(Lifetime::UntilStopped);
    let fill = "(read go; head -c 33554432 /dev/zero >big; sleep 1000) <&0 >/dev/null 2>&1 &";
    let mut running = keeper.run(&world.request(1, fill)).unwrap();
    let go = running.stdin.take();
    finish(running);
    drop(go);
    agar_testkit::wait::until("it is ended", || keeper.status().unwrap().processes == 0);
    let look = keeper.run(&world.request(VIEWERS + 1, "true")).unwrap();
    look.over().unwrap();
    let (_, report) = finish(keeper.run(&world.request(2, "true")).unwrap());
    let told = |note: &String| note.contains("had left running was ended");
    assert!(report.notes.iter().any(told), "{:?}", report.notes);
    keeper.stop().unwrap();
}

#[test]
fn what_a_run_held_open_does_not_count_against_the_next() {
    let mut world = World::new();
    world.config_limits = Limits {
        disk_bytes: Some(Bytes::mib(8)),
        ..Limits::default()
    };
    world.policy.limits = world.config_limits;
    let keeper = world.start(Lifetime::UntilStopped);
    let script = "exec 3> gone; rm gone; head -c 33554432 /dev/zero >&3; sleep 1000";
    for number in [1, 3, 5] {
        let (_, report) = finish(keeper.run(&world.request(number, script)).unwrap());
        let told = format!("{:?}", report.end);
        assert!(matches!(report.end, End::Stopped { .. }), "{told}");
        let (_, report) = finish(keeper.run(&world.request(number + 1, "true")).unwrap());
        assert_eq!(report.end, End::Exited { code: 0 });
    }
    keeper.stop().unwrap();
}
