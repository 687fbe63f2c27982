//! When a jail begins and ends.

use super::world::{World, finish};
use agar_core::walls::Network;
use agar_jail::client::{self, Ahead, Keeper, Lifetime};
use agar_jail::policy::{Nested, Policy};
use agar_jail::report::End;
use agar_testkit::Caller;
use std::time::Duration;

/// Longer than a keeper is given to hear.
const LONG: Duration = Duration::from_secs(12);

/// What a jail looks like from inside, raised with or without a beginning made before its plan.
fn seen_inside(ahead: bool, change: impl Fn(&mut Policy)) -> String {
    let mut world = World::new();
    // The machine's root has a tree of its own, which cannot be begun.
    world.policy.overlays.truncate(2);
    change(&mut world.policy);
    let staging = world.policy.staging.as_path();
    let ahead = if ahead {
        Ahead::Usual(staging)
    } else {
        Ahead::Nothing
    };
    let waiting = client::prepare(&world.path("program"), ahead).unwrap();
    let raising = waiting.raise(&world.config(Lifetime::OneRun)).unwrap();
    let script = "cut -d' ' -f5,6 /proc/self/mountinfo | sort; ls -A ~ / /dev; id -u; \
                  cat /proc/sys/user/max_user_namespaces; cat /proc/net/dev | wc -l; cat file";
    let order = raising.order(&world.request(1, script)).unwrap();
    let keeper = raising.ready().unwrap();
    let (printed, report) = finish(order.started(&keeper).unwrap());
    assert_eq!(report.end, End::Exited { code: 0 }, "{printed}");
    keeper.bury();
    printed.replace(&world.directory.path().display().to_string(), "WORLD")
}

#[test]
fn a_jail_begun_before_its_plan_is_the_jail_of_its_plan() {
    let usual = seen_inside(false, |_| {});
    assert!(usual.contains("WORLD/home/project"), "{usual}");
    assert_eq!(seen_inside(true, |_| {}), usual);
}

#[test]
fn a_plan_that_cannot_use_what_was_begun_is_raised_from_nothing() {
    let changes: [fn(&mut Policy); 2] = [
        |policy| policy.nested = Nested::Allowed,
        |policy| policy.network = Network::Host,
    ];
    for change in changes {
        assert_eq!(seen_inside(true, change), seen_inside(false, change));
    }
}

#[test]
fn a_keeper_without_a_plan_ends_with_its_client() {
    let world = World::new();
    let staging = world.policy.staging.as_path();
    let program = world.path("program");
    drop(client::prepare(&program, Ahead::Usual(staging)).unwrap());
    let is_gone = || agar_testkit::leaks::processes_in(&program).is_empty();
    agar_testkit::wait::until("the keeper to end", is_gone);
}

#[test]
fn a_sandbox_that_stays_takes_one_command_after_another() {
    let world = World::new();
    let keeper = world.start(Lifetime::UntilStopped);
    let (text, _) = finish(
        keeper
            .run(&world.request(1, "echo one > seen; cat seen"))
            .unwrap(),
    );
    assert_eq!(text, "one\n");
    let again = Keeper::connect(&world.path("socket"), &world.path("sandbox")).unwrap();
    let (text, _) = finish(
        again
            .run(&world.request(2, "cat seen; sleep 1000 >/dev/null 2>&1 &"))
            .unwrap(),
    );
    assert_eq!(text, "one\n");
    let status = again.status().unwrap();
    assert_eq!((status.runs, status.processes), (Vec::new(), 1));
    drop(keeper);
    again.stop().unwrap();
    assert!(!world.path("socket").exists());
}

#[test]
fn a_one_run_jail_ends_when_its_client_goes_away() {
    let world = World::new();
    let keeper = world.start(Lifetime::OneRun);
    let running = keeper.run(&world.request(1, "sleep 1000")).unwrap();
    drop((running, keeper));
    agar_testkit::leaks::assert_gone(world.directory.path());
}

#[test]
fn a_jail_that_waits_ends_with_its_client_unless_it_is_to_stay() {
    let world = World::new();
    let keeper = world.start(Lifetime::UntilLeft);
    for number in 1..3 {
        let (text, _) = finish(keeper.run(&world.request(number, "echo one")).unwrap());
        assert_eq!(text, "one\n", "a run does not end it");
    }
    drop(keeper);
    agar_testkit::leaks::assert_gone(world.directory.path());
    let world = World::new();
    let keeper = world.start(Lifetime::UntilLeft);
    keeper.stay().unwrap();
    drop(keeper);
    let again = Keeper::connect(&world.path("socket"), &world.path("sandbox")).unwrap();
    assert_eq!(again.status().unwrap().processes, 0);
    again.stop().unwrap();
}

#[test]
fn killing_the_keeper_ends_everything_inside() {
    let world = World::new();
    let keeper = world.start(Lifetime::UntilStopped);
    let running = keeper.run(&world.request(1, "sleep 1000")).unwrap();
    let status = Keeper::connect(&world.path("socket"), &world.path("sandbox"))
        .unwrap()
        .status();
    let pid = rustix::process::Pid::from_raw(status.unwrap().keeper.cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    keeper.bury();
    assert!(running.wait().is_err());
    agar_testkit::leaks::assert_gone(world.directory.path());
}

#[test]
fn two_keepers_cannot_have_one_sandbox() {
    let world = World::new();
    let keeper = world.start(Lifetime::UntilStopped);
    let refused = world.try_start(Lifetime::UntilStopped).unwrap_err();
    assert_eq!(refused.step, "lock the sandbox");
    keeper.stop().unwrap();
}

/// Whose end its parent does not hear of until this is let go.
struct Withheld(i32);

impl Withheld {
    fn hold(pid: i32) -> Self {
        // SAFETY: PTRACE_SEIZE takes two integers and touches no memory of this process.
        let code = unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, 0, 0) };
        assert_eq!(code, 0, "{}", std::io::Error::last_os_error());
        Self(pid)
    }

    fn let_go(self) {
        // SAFETY: waitpid stores nothing where it is given no place.
        let waited = unsafe { libc::waitpid(self.0, std::ptr::null_mut(), libc::__WALL) };
        assert_eq!(waited, self.0);
    }
}

#[test]
fn a_jail_that_takes_long_to_end_is_waited_for_and_its_keeper_is_not_killed() {
    if Caller::current() != Caller::Root {
        // An ordinary user cannot hold on to the init.
        return;
    }
    let world = World::new();
    let keeper = world.start(Lifetime::UntilStopped);
    let running = keeper.run(&world.request(1, "sleep 1000")).unwrap();
    let others = || Keeper::connect(&world.path("socket"), &world.path("sandbox")).unwrap();
    let status = others().status().unwrap();
    let pid = rustix::process::Pid::from_raw(status.keeper.cast_signed()).unwrap();
    let withheld = Withheld::hold(status.init.cast_signed());
    let (first, second) = (others(), others());
    std::thread::scope(|scope| {
        // Whoever comes later is not heard at all.
        let stopping = [first, second].map(|it| scope.spawn(|| it.stop()));
        let is_killed = || !agar_testkit::keepers::is_there(pid);
        assert!(!agar_testkit::wait::holds_within(LONG, is_killed));
        withheld.let_go();
        for stopped in stopping {
            stopped.join().unwrap().unwrap();
        }
    });
    assert_eq!(running.wait().unwrap().end, End::Lost, "it was reported");
}
