//! Commands that cannot start now, on a terminal in raw mode: whoever waits for one can leave.

use crate::world::repository;
use agar_testkit::{Session, keepers, wait};
use rustix::process::{Signal, kill_process};

const CTRL_C: &str = "\x03";

#[test]
fn whoever_waits_for_a_keeper_that_hangs_can_leave_and_nothing_of_the_command_stays() {
    let world = repository();
    world.agar(["create", "--name", "calm-fern"]).success();
    let state = world.state().join("agar");
    let sandbox = fs_err::read_dir(state.join("sandboxes")).unwrap();
    let sandbox = sandbox.flatten().next().unwrap().path();
    let keeper = keepers::of_sandbox(&state, &sandbox).unwrap();
    kill_process(keeper, Signal::STOP).unwrap();
    let words = ["exec", "calm-fern", "--", "sleep", "1000"];
    let mut session = Session::start(world.command(words));
    wait::until("the command to be asked for", || {
        sandbox.join("runs/1").exists()
    });
    wait::until("it lets go", || {
        if !session.has_ended() {
            session.send(CTRL_C);
        }
        session.has_ended()
    });
    assert!(session.screen().contains("before the command had started"));
    assert_eq!(session.finish(), 130);
    kill_process(keeper, Signal::CONT).unwrap();
    wait::until("what was asked for to be ended", || {
        let listed = world.agar(["ps", "--json"]).success().stdout;
        listed.contains("\"processes\": []")
    });
    world.agar(["rm", "--force"]).success();
}
