//! What is asked for while a snapshot has everything stand still.

use super::world::{World, finish};
use agar_jail::client::{Keeper, Lifetime, WindowSize};

fn connect(world: &World) -> Keeper {
    Keeper::connect(&world.path("socket"), &world.path("sandbox")).unwrap()
}

#[test]
fn what_is_taken_back_before_it_could_start_never_starts() {
    let world = World::new();
    let keeper = world.start(Lifetime::UntilStopped);
    let (asker, viewer) = (connect(&world), connect(&world));
    let still = keeper.freeze().unwrap();
    let run = asker.order(&world.request(1, "echo x >made")).unwrap();
    let mut shell = world.request(2, "echo x >made; sleep 1000");
    shell.terminal = Some(WindowSize {
        rows: 24,
        columns: 80,
    });
    let look = viewer.order_terminal(&shell).unwrap();
    run.take_back(&asker).unwrap();
    look.take_back(&viewer).unwrap();
    for (order, keeper) in [(run, &asker), (look, &viewer)] {
        assert!(order.started(keeper).unwrap_err().is_not_taken());
    }
    still.end().unwrap();
    let status = keeper.status().unwrap();
    assert_eq!((status.runs, status.terminal), (Vec::new(), None));
    let (text, _) = finish(asker.run(&world.request(3, "ls")).unwrap());
    assert_eq!(text, "file\n");
    drop((asker, viewer));
    keeper.stop().unwrap();
}

#[test]
fn what_is_taken_back_after_it_has_started_is_ended() {
    let world = World::new();
    let keeper = world.start(Lifetime::UntilStopped);
    let order = keeper.order(&world.request(1, "sleep 1000")).unwrap();
    order.take_back(&keeper).unwrap();
    let (_, report) = finish(order.started(&keeper).unwrap());
    assert_eq!(report.end, agar_jail::report::End::Signaled { signal: 9 });
    keeper.stop().unwrap();
}
