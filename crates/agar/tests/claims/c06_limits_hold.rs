//! C6: a run that exceeds a limit is stopped, the reason has a name, and the host stays well.

use crate::AGAR;
use agar_testkit::{Caller, Outcome, World, leaks};

/// The run ended by this limit, said so in words, and left nothing.
#[track_caller]
fn assert_stopped(world: &World, outcome: &Outcome, limit: &str) {
    assert_eq!(outcome.code(), 5, "{outcome}");
    assert!(
        outcome.stderr.contains(limit),
        "`{limit}` is not named: {outcome}"
    );
    leaks::assert_gone(world.root());
    // The host answers as if nothing had been.
    assert_eq!(world.sh("echo well").success().stdout, "well\n");
}

fn python<'a>(limit: &'a str, script: &'a str) -> Vec<&'a str> {
    vec!["run", limit, "--", "/usr/bin/python3", "-I", "-c", script]
}

#[test]
fn a_memory_bomb_is_stopped() {
    let world = World::new(AGAR);
    let script = "data = []\nwhile True: data.append(bytearray(b'x' * (8 << 20)))";
    let outcome = world.agar(python("--memory=96M", script));
    assert_stopped(&world, &outcome, "memory");
}

/// Burns processor time in two processes until enough of it is used, and prints how much of one
/// processor they had together, in percent.
const BURN: &str = "
import os, time
start = time.monotonic()
child = os.fork()
while time.process_time() < 0.4: pass
if child == 0: os._exit(0)
os.waitpid(child, 0)
used = sum(os.times()[:4])
print('percent', round(100 * used / (time.monotonic() - start)))
";

/// Runs the burner under a limit of a fifth of one processor.
#[track_caller]
fn burn(world: &World, old_ways: &str) -> (u32, Outcome) {
    let words = [
        "try",
        "--discard",
        "--cpu=20",
        "--",
        "/usr/bin/python3",
        "-I",
        "-c",
        BURN,
    ];
    let command = world.command(words).env("AGAR_OLD_WAYS", old_ways);
    let outcome = command.run().success();
    let line = outcome
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix("percent "));
    (line.unwrap().parse().unwrap(), outcome)
}

const NOT_ENFORCED: &str = "the cpu limit is not enforced";

#[test]
fn the_processor_is_shared_out_or_the_run_says_that_it_is_not() {
    let world = World::new(AGAR);
    let (percent, outcome) = burn(&world, "");
    if outcome.stderr.contains(NOT_ENFORCED) {
        // An ordinary user to whom no control group was given.
        assert!(Caller::current().is_ordinary(), "{outcome}");
    } else {
        assert!(percent <= 40, "20 % of a processor came to {percent} %");
    }
}

#[test]
fn without_control_groups_the_processor_limit_is_said_not_to_hold() {
    let world = World::new(AGAR);
    let (_, outcome) = burn(&world, "no_cgroups");
    assert!(outcome.stderr.contains(NOT_ENFORCED), "{outcome}");
}

#[test]
fn limits_hold_in_the_helper_tier() {
    let world = World::new(AGAR);
    // Bounded, so that a limit that does not hold costs a test and not the machine.
    let bomb = "data = [bytearray(b'x' * (8 << 20)) for n in range(96)]";
    let filler = "
for n in range(4096):
    with open(f'filler-{n}', 'wb') as f: f.write(b'x' * (1 << 20))
";
    let crowd = "
import os, signal, time
for n in range(200):
    if os.fork() == 0: signal.pause()
time.sleep(20)
";
    for (flag, script, limit) in [
        ("--memory=96M", bomb, "memory"),
        ("--timeout=1", "while True: pass", "time"),
        ("--disk=32M", filler, "disk"),
        ("--processes=64", crowd, "processes"),
    ] {
        let mut words = python(flag, script);
        words.insert(1, "--tier=helper");
        assert_stopped(&world, &world.agar(words), limit);
    }
}

#[test]
fn memory_is_counted_over_all_processes() {
    let world = World::new(AGAR);
    let script = "
import os, signal
for n in range(16):
    if os.fork() == 0:
        data = bytearray(b'x' * (24 << 20))
        signal.pause()
os.wait()
";
    let outcome = world.agar(python("--memory=128M", script));
    assert_stopped(&world, &outcome, "memory");
}

#[test]
fn files_in_the_private_tmp_count_as_memory_or_disk() {
    let world = World::new(AGAR);
    let script = "
block = b'x' * (1 << 20)
for where in ('/tmp/filler', '/dev/shm/filler', '/run/filler'):
    try:
        with open(where, 'wb') as f:
            for n in range(1024): f.write(block)
    except OSError as error:
        print(where, error)
        continue
    raise SystemExit('a gigabyte fitted in ' + where)
print('held')
";
    let limits = [
        "run",
        "--memory=96M",
        "--disk=96M",
        "--",
        "/usr/bin/python3",
        "-I",
        "-c",
        script,
    ];
    let outcome = world.agar(limits);
    assert!(
        outcome.code() == 5 || outcome.stdout.ends_with("held\n"),
        "{outcome}"
    );
    leaks::assert_gone(world.root());
}

#[test]
fn a_fork_bomb_is_stopped_or_stalls_within_its_number() {
    let world = World::new(AGAR);
    let script = "
import os, signal, sys
made = 0
try:
    while made < 5000:
        if os.fork() == 0: signal.pause()
        made += 1
except OSError: pass
print(made, flush=True)
sys.exit(0 if made < 64 else 9)
";
    let outcome = world.agar(python("--processes=64", script));
    assert!(outcome.code() == 0 || outcome.code() == 5, "{outcome}");
    leaks::assert_gone(world.root());
}

#[test]
fn a_shell_fork_bomb_ends_with_its_time() {
    let world = World::new(AGAR);
    let bomb = "bomb() { bomb | bomb & }; bomb; sleep 100";
    let words = [
        "run",
        "--processes=128",
        "--timeout=3s",
        "--",
        "/bin/sh",
        "-c",
        bomb,
    ];
    let outcome = world.agar(words);
    assert_eq!(outcome.code(), 5, "{}", outcome.code());
    leaks::assert_gone(world.root());
}

#[test]
fn a_disk_filler_is_stopped() {
    let world = World::new(AGAR);
    let script = "
block = b'x' * (1 << 20)
with open('filler', 'wb') as f:
    for n in range(4096):
        f.write(block)
        f.flush()
raise SystemExit('four gigabytes fitted')
";
    let outcome = world.agar(python("--disk=32M", script));
    assert_stopped(&world, &outcome, "disk");
}

#[test]
fn a_disk_filler_of_many_small_files_is_stopped() {
    let world = World::new(AGAR);
    let script = "
block = b'x' * 65536
for n in range(100000):
    with open(f'filler-{n}', 'wb') as f: f.write(block)
raise SystemExit('six gigabytes fitted')
";
    let outcome = world.agar(python("--disk=32M", script));
    assert_stopped(&world, &outcome, "disk");
}

#[test]
fn space_reserved_at_one_stroke_is_stopped() {
    let world = World::new(AGAR);
    let script = "
import os, time
fd = os.open('filler', os.O_CREAT | os.O_RDWR)
os.posix_fallocate(fd, 0, 1 << 30)
time.sleep(30)
";
    let outcome = world.agar(python("--disk=32M", script));
    // Refused by the kernel at once, or seen by the watch.
    assert!(
        outcome.code() == 5 || outcome.stderr.contains("File too large") || outcome.code() == 153,
        "{outcome}"
    );
}

#[test]
fn the_home_counts_as_the_project_does() {
    let world = World::new(AGAR);
    let script = "
import os
block = b'x' * 65536
for n in range(100000):
    with open(os.path.expanduser(f'~/filler-{n}'), 'wb') as f: f.write(block)
raise SystemExit('six gigabytes fitted')
";
    let outcome = world.agar(python("--disk=32M", script));
    assert_stopped(&world, &outcome, "disk");
}

#[test]
fn space_held_by_files_without_a_name_counts() {
    let world = World::new(AGAR);
    let script = "
import os
block = b'x' * (1 << 20)
kept = []
for n in range(64):
    f = open(f'filler-{n}', 'wb', buffering=0)
    os.unlink(f'filler-{n}')
    kept.append(f)
    for m in range(16): f.write(block)
raise SystemExit('a gigabyte fitted')
";
    let outcome = world.agar(python("--disk=32M", script));
    assert_stopped(&world, &outcome, "disk");
}

/// A gigabyte of memory that no process has mapped.
fn hidden_memory(way: &str) -> String {
    format!(
        "
import ctypes, os, time
block = b'x' * (1 << 20)
kept = []
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
def memfd():
    fd = os.memfd_create('hidden')
    kept.append(fd)
    for n in range(16): os.write(fd, block)
def segment():
    made = libc.shmget(0, 16 << 20, 0o1600)
    if made < 0: raise OSError(ctypes.get_errno(), 'shmget')
    at = libc.shmat(made, None, 0)
    ctypes.memset(at, 120, 16 << 20)
    libc.shmdt(ctypes.c_void_p(at))
for n in range(64): {way}()
raise SystemExit('a gigabyte fitted')
"
    )
}

#[test]
fn memory_hidden_in_nameless_files_counts() {
    let world = World::new(AGAR);
    let outcome = world.agar(python("--memory=128M", &hidden_memory("memfd")));
    assert_stopped(&world, &outcome, "memory");
}

#[test]
fn memory_hidden_in_detached_segments_counts() {
    let world = World::new(AGAR);
    let outcome = world.agar(python("--memory=128M", &hidden_memory("segment")));
    assert_stopped(&world, &outcome, "memory");
}

#[test]
fn time_is_up_when_it_is_up() {
    let world = World::new(AGAR);
    let outcome = world.agar([
        "run",
        "--timeout=1s",
        "--",
        "/bin/sh",
        "-c",
        "trap '' TERM INT; sleep 1000; sleep 1000",
    ]);
    assert_stopped(&world, &outcome, "time");
}

#[test]
fn an_output_flood_is_stopped() {
    let world = World::new(AGAR);
    let outcome = world.agar(["run", "--output=1M", "--", "/usr/bin/yes"]);
    assert_eq!(
        outcome.code(),
        5,
        "exit {}: {}",
        outcome.code(),
        outcome.stderr
    );
    assert!(outcome.stderr.contains("output"), "{}", outcome.stderr);
    assert!(
        outcome.stdout.len() < 16 << 20,
        "{} bytes came through",
        outcome.stdout.len()
    );
    leaks::assert_gone(world.root());
}

#[test]
fn leaked_descriptors_are_the_sandboxs_own_trouble() {
    let world = World::new(AGAR);
    let script = "
import os
count = 0
try:
    while count < 3000000:
        os.open('/dev/null', os.O_RDONLY)
        count += 1
except OSError as error: print('stopped', flush=True)
";
    let outcome = world.agar(["run", "--", "/usr/bin/python3", "-I", "-c", script]);
    assert!(outcome.stdout.contains("stopped"), "{outcome}");
    assert_eq!(world.sh("echo well").success().stdout, "well\n");
}

#[test]
fn a_breach_is_named_for_programs_too() {
    let world = World::new(AGAR);
    let outcome = world.agar(["run", "--json", "--timeout=1s", "--", "/bin/sleep", "1000"]);
    let answer: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert!(answer.to_string().contains("time"), "{answer}");
}

#[test]
fn an_agents_run_gets_an_agents_limits() {
    let world = World::new(AGAR);
    let script = "data = []\nwhile True: data.append(bytearray(b'x' * (16 << 20)))";
    let outcome = world.agar([
        "run",
        "--agent=tester",
        "--",
        "/usr/bin/python3",
        "-I",
        "-c",
        script,
    ]);
    assert_stopped(&world, &outcome, "memory");
}

#[test]
fn work_within_the_limits_is_left_alone() {
    let world = World::new(AGAR);
    let limits = [
        "run",
        "--memory=256M",
        "--disk=64M",
        "--processes=64",
        "--timeout=1m",
        "--output=1M",
    ];
    let work = [
        "--",
        "/bin/sh",
        "-c",
        "head -c 1000000 /dev/zero >file; (echo a; echo b) | sort",
    ];
    let outcome = world.agar(limits.iter().chain(&work)).success();
    assert_eq!(outcome.stdout, "a\nb\n");
}
