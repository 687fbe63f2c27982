//! New layers and standing still, in jails that stand.

use crate::jail::{World, finish};
use agar_core::limits::Limits;
use agar_jail::client::{Keeper, Laid, Lifetime, Remount, Running};
use agar_jail::policy::{OldWay, Overlay};
use std::path::PathBuf;

/// A jail whose project can be given new layers.
struct Desk {
    world: World,
    uppers: u32,
    overlay: Overlay,
}

impl Desk {
    fn new() -> Self {
        let mut world = World::new();
        world.policy.layer_homes = vec![world.path("sandbox/project").into()];
        let project = world.project();
        let overlay = world
            .policy
            .overlays
            .iter()
            .find(|overlay| overlay.target.as_path() == project)
            .unwrap()
            .clone();
        Self {
            world,
            uppers: 0,
            overlay,
        }
    }

    fn say(&self, keeper: &Keeper, number: u32, script: &str) -> String {
        let running = keeper.run(&self.world.request(number, script)).unwrap();
        finish(running).0
    }

    /// Puts a new upper layer on top of what is there.
    fn rotate(&mut self, keeper: &Keeper, evict: bool) -> Laid {
        self.uppers += 1;
        let made = |name: &str| -> PathBuf {
            let path = self
                .world
                .path(&format!("sandbox/project/{name}-{}", self.uppers));
            fs_err::create_dir(&path).unwrap();
            path
        };
        let mut next = self.overlay.clone();
        next.lowers.insert(0, self.overlay.upper.clone());
        next.upper = made("upper").into();
        next.work = made("work").into();
        let laid = keeper
            .remount(&Remount {
                overlays: vec![next.clone()],
                layers: vec![next.upper.clone()],
                evict,
            })
            .unwrap();
        if matches!(laid, Laid::Done { .. }) {
            self.overlay = next;
        }
        laid
    }

    fn upper(&self) -> PathBuf {
        self.overlay.upper.clone().into()
    }
}

#[test]
fn an_idle_jail_takes_a_new_upper_and_shows_the_same_tree() {
    let mut desk = Desk::new();
    let keeper = desk.world.start(Lifetime::UntilStopped);
    desk.say(&keeper, 1, "echo one > made; echo two >> file; ");
    let first = desk.upper();
    assert!(matches!(
        desk.rotate(&keeper, false),
        Laid::Done { ended: 0 }
    ));
    let seen = desk.say(&keeper, 2, "cat made file; rm made; echo three > more; ls");
    assert_eq!(seen, "one\nbase\ntwo\nfile\nmore\n");
    assert_eq!(fs_err::read_to_string(first.join("made")).unwrap(), "one\n");
    assert!(!first.join("more").exists() && desk.upper().join("more").exists());
    let status = keeper.status().unwrap();
    assert!(
        status
            .uppers
            .iter()
            .any(|upper| upper.as_path() == desk.upper())
    );
    for number in 3..8 {
        assert!(matches!(desk.rotate(&keeper, false), Laid::Done { .. }));
        let seen = desk.say(&keeper, number, "cat more file; echo x >> file");
        assert!(seen.starts_with("three\nbase\ntwo\n"), "{seen}");
    }
    keeper.stop().unwrap();
}

#[test]
fn a_jail_in_which_something_runs_keeps_its_layers_unless_it_may_be_ended() {
    let mut desk = Desk::new();
    let keeper = desk.world.start(Lifetime::UntilStopped);
    desk.say(
        &keeper,
        1,
        "echo one > made; (cd /; sleep 1000 <&- >&- 2>&-) & ",
    );
    assert!(matches!(desk.rotate(&keeper, false), Laid::Busy));
    assert_eq!(desk.say(&keeper, 2, "cat made"), "one\n");
    assert!(matches!(
        desk.rotate(&keeper, true),
        Laid::Done { ended: 1.. }
    ));
    assert_eq!(desk.say(&keeper, 3, "cat made"), "one\n");
    assert_eq!(keeper.status().unwrap().processes, 0);
    keeper.stop().unwrap();
}

#[test]
fn a_layer_outside_the_promised_homes_is_refused_and_nothing_changes() {
    let mut desk = Desk::new();
    desk.world.policy.layer_homes = vec![desk.world.path("home").into()];
    let keeper = desk.world.start(Lifetime::UntilStopped);
    desk.say(&keeper, 1, "echo one > made");
    assert!(matches!(desk.rotate(&keeper, false), Laid::Unable(_)));
    assert_eq!(desk.say(&keeper, 2, "cat made"), "one\n");
    keeper.stop().unwrap();
}

#[test]
fn layers_are_never_laid_behind_a_link_that_was_laid_on_the_way_to_a_tree() {
    let mut desk = Desk::new();
    // Deep enough for what is above it to be moved, since nothing of it is there outside.
    let place = desk.world.path("home/a/proj");
    for overlay in &mut desk.world.policy.overlays {
        if *overlay == desk.overlay {
            overlay.target = place.clone().into();
        }
    }
    desk.overlay.target = place.into();
    let keeper = desk.world.start(Lifetime::UntilStopped);
    let guard = "awk '$5 == \"/proc/sys\" { print $6, $(NF - 2) }' /proc/self/mountinfo";
    let before = desk.say(&keeper, 1, guard);
    assert!(
        before.starts_with("ro,") && before.ends_with(" proc\n"),
        "{before}"
    );
    let script = "cat ~/a/proj/file && mv ~/a ~/b && mkdir ~/a && ln -s /proc/sys ~/a/proj";
    assert_eq!(desk.say(&keeper, 2, script), "base\n");
    assert!(matches!(desk.rotate(&keeper, false), Laid::Unable(_)));
    assert_eq!(desk.say(&keeper, 3, guard), before);
    // Where it stands again it takes them.
    assert_eq!(desk.say(&keeper, 4, "rm -r ~/a && mv ~/b ~/a"), "");
    assert!(matches!(desk.rotate(&keeper, false), Laid::Done { .. }));
    assert_eq!(desk.say(&keeper, 5, "cat ~/a/proj/file"), "base\n");
    keeper.stop().unwrap();
}

fn ticking(desk: &Desk, keeper: &Keeper) -> Running {
    let script = "i=0; while :; do i=$((i+1)); echo $i > count; done";
    keeper.run(&desk.world.request(1, script)).unwrap()
}

/// Whether the counter inside moves.
fn moves(desk: &Desk) -> bool {
    let read = || fs_err::read_to_string(desk.upper().join("count")).unwrap_or_default();
    let before = read();
    let began = std::time::Instant::now();
    while began.elapsed().as_millis() < 200 {
        if read() != before {
            return true;
        }
    }
    false
}

fn stands_still_and_goes_on(desk: &Desk) {
    let keeper = desk.world.start(Lifetime::UntilStopped);
    let running = ticking(desk, &keeper);
    agar_testkit::wait::until("the counter counts", || moves(desk));
    let other = Keeper::connect(&desk.world.path("socket"), &desk.world.path("sandbox")).unwrap();
    let still = other.freeze().unwrap();
    assert!(!moves(desk), "frozen after {:?}", still.took);
    let took = still.took;
    let stood = still.end().unwrap();
    assert!(stood >= took, "stood {stood:?} after {took:?}");
    agar_testkit::wait::until("the counter goes on", || moves(desk));
    // Whoever goes away without a word lets them go on.
    other.freeze().unwrap();
    assert!(!moves(desk));
    drop(other);
    agar_testkit::wait::until("the counter counts again", || moves(desk));
    let other = Keeper::connect(&desk.world.path("socket"), &desk.world.path("sandbox")).unwrap();
    other.pause().unwrap();
    drop(other);
    assert!(!moves(desk));
    let other = Keeper::connect(&desk.world.path("socket"), &desk.world.path("sandbox")).unwrap();
    assert!(other.status().unwrap().paused);
    other.resume().unwrap();
    agar_testkit::wait::until("the counter goes on when resumed", || moves(desk));
    assert!(!other.status().unwrap().paused);
    other.pause().unwrap();
    other.stop().unwrap();
    drop(running);
}

#[test]
fn processes_stand_still_in_a_control_group_and_go_on() {
    let mut desk = Desk::new();
    desk.world.config_limits = Limits {
        memory_bytes: Some(agar_core::size::Bytes(1 << 30)),
        ..Limits::person()
    };
    stands_still_and_goes_on(&desk);
}

#[test]
fn processes_stand_still_by_signal_and_go_on() {
    let mut desk = Desk::new();
    desk.world.policy.old_ways = vec![OldWay::NoCgroups];
    stands_still_and_goes_on(&desk);
}

#[test]
fn processes_that_wait_for_the_handler_of_their_calls_stand_still_too() {
    let mut desk = Desk::new();
    desk.world.config_limits = Limits {
        memory_bytes: Some(agar_core::size::Bytes(1 << 30)),
        ..Limits::person()
    };
    let keeper = desk.world.start(Lifetime::UntilStopped);
    // Each execution asks the handler, which stands still with those whom it has not answered.
    let script = "for i in 1 2 3; do while :; do /bin/true; done & done; touch begun; wait";
    let running = keeper.run(&desk.world.request(1, script)).unwrap();
    let begun = desk.upper().join("begun");
    agar_testkit::wait::until("they execute", || begun.exists());
    let other = Keeper::connect(&desk.world.path("socket"), &desk.world.path("sandbox")).unwrap();
    for round in 0..300 {
        let still = other.freeze().unwrap_or_else(|error| {
            panic!(
                "round {round}: {error}: {:?}",
                std::error::Error::source(&error)
            )
        });
        still.end().unwrap();
    }
    other.stop().unwrap();
    drop(running);
}
