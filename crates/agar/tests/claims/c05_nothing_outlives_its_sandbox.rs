//! C5: no process outlives its sandbox, and none that `run` or `try` started outlives the run.

use crate::AGAR;
use agar_testkit::{World, keepers, leaks, wait};

/// A process that leaves its parents, its session and its terminal, and ignores being asked to go. It
/// has a path of its world among its arguments, by which it is found from outside.
const DAEMON: &str = "
import os, signal, sys
for s in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE):
    signal.signal(s, signal.SIG_IGN)
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
with open(sys.argv[1], 'w') as mark: mark.write('up')
os.chdir('/')
while True: signal.pause()
";

fn daemon(mark: &str) -> String {
    let program = DAEMON.replace('\'', "\"");
    format!(
        "/usr/bin/python3 -I -c '{program}' $PWD/{mark} & while ! test -s {mark}; do :; done; echo started"
    )
}

#[test]
fn a_daemon_that_forked_twice_ends_with_its_run() {
    let world = World::new(AGAR);
    for tier in ["full", "helper", "landlock", "none"] {
        let tier = format!("--tier={tier}");
        let outcome = world
            .agar(["run", &tier, "--", "/bin/sh", "-c", &daemon("up")])
            .success();
        assert_eq!(outcome.stdout, "started\n", "{tier}");
        leaks::assert_gone(world.root());
    }
}

#[test]
fn a_hundred_orphans_and_zombies_end_with_their_run() {
    let world = World::new(AGAR);
    let script = "
import os, signal
for n in range(50):
    if os.fork() == 0:
        if os.fork(): os._exit(0)
        signal.pause()
for n in range(50):
    if os.fork() == 0: os._exit(0)
print('made')
";
    let outcome = world
        .agar(["run", "--", "/usr/bin/python3", "-I", "-c", script])
        .success();
    assert_eq!(outcome.stdout, "made\n");
    leaks::assert_gone(world.root());
}

#[test]
fn zombies_are_reaped_while_the_sandbox_lives() {
    let world = World::new(AGAR);
    // Orphans fall to process 1, which must take them: none may be left as a zombie.
    let script = "
import os, time
for n in range(200):
    if os.fork() == 0:
        if os.fork() == 0: os._exit(0)
        os._exit(0)
    os.wait()
def zombies():
    found = 0
    for pid in [p for p in os.listdir('/proc') if p.isdigit()]:
        try:
            found += open(f'/proc/{pid}/stat').read().rsplit(')', 1)[1].split()[0] == 'Z'
        except OSError: pass
    return found
end = time.monotonic() + 20
while zombies() and time.monotonic() < end: pass
print(zombies())
";
    let outcome = world
        .agar(["run", "--", "/usr/bin/python3", "-I", "-c", script])
        .success();
    assert_eq!(outcome.stdout, "0\n");
}

#[test]
fn what_exec_left_running_is_shown_and_ends_with_the_sandbox() {
    let world = World::new(AGAR);
    world.agar(["create"]).success();
    world
        .agar(["exec", "--", "/bin/sh", "-c", &daemon("up")])
        .success();
    let shown = world.agar(["ps"]).success();
    assert!(shown.stdout.contains("python3"), "{shown}");
    assert!(!leaks::processes_in(world.root()).is_empty());
    world.agar(["rm", "--all", "--force"]).success();
    leaks::assert_gone(world.root());
}

#[test]
fn without_namespaces_and_control_groups_a_daemon_ends_with_its_sandbox_or_its_keeper() {
    let world = World::new(AGAR);
    let agar = |words: &[&str]| {
        let command = world.command(words).env("AGAR_OLD_WAYS", "no_cgroups");
        command.run().success()
    };
    // An ordinary user does not see inits.
    let holders = || leaks::processes_in(world.root());
    let is_daemon = |holder: &leaks::Holder| holder.words.contains("signal.pause");
    for tier in ["--tier=landlock", "--tier=none"] {
        for end in ["rm", "keeper", "init"] {
            agar(&["create", tier, "--name=calm-fern"]);
            agar(&["exec", "--", "/bin/sh", "-c", &daemon("up")]);
            assert!(holders().iter().any(is_daemon), "{tier} {end}: it runs");
            let keeper = keepers::any(&world.state().join("agar")).unwrap();
            let victim = match end {
                "keeper" => Some(keeper),
                "init" => keepers::first_child(keeper),
                _ => None,
            };
            if let Some(victim) = victim {
                keepers::kill(victim);
                wait::until("everything of it to end", || holders().is_empty());
            }
            agar(&["rm", "--all", "--force"]);
            agar(&["prune", "--empty-trash"]);
            leaks::assert_gone(world.root());
        }
    }
}

#[test]
fn killing_the_command_that_attends_a_run_ends_the_run() {
    let world = World::new(AGAR);
    let script = "echo x >started; exec sleep 1000";
    let running = world
        .command(["run", "--", "/bin/sh", "-c", script])
        .spawn();
    wait::until("the run to start", || {
        leaks::processes_in(world.root())
            .iter()
            .any(|holder| holder.words.contains("sleep 1000"))
    });
    running.signal(rustix::process::Signal::KILL);
    wait::until("the run to end", || {
        !leaks::processes_in(world.root())
            .iter()
            .any(|holder| holder.words.contains("sleep 1000"))
    });
    leaks::assert_gone(world.root());
}
