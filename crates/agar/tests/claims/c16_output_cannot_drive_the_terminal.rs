//! C16: what agar says about a sandbox never carries the sandbox's control characters, and a
//! process inside cannot type into the terminal outside.

use crate::AGAR;
use agar_testkit::{Session, World};

/// `TIOCSTI` puts a character into the terminal's input, as if it had been typed; `TIOCLINUX` does
/// the same on a console. High bits set must not get past a filter that compares too many.
const TYPING: &str = "
import fcntl, os, ctypes
libc = ctypes.CDLL(None, use_errno=True)
for request in (0x5412, 0x541C, 0x5412 | (1 << 32), 0x541C | (1 << 40)):
    for fd in (0, 1, 2):
        libc.ioctl(fd, ctypes.c_ulong(request), b'x')
print('typed')
";

#[test]
fn nothing_is_typed_into_the_terminal_outside() {
    for tier in ["full", "helper", "landlock"] {
        nothing_is_typed(tier);
    }
}

fn nothing_is_typed(tier: &str) {
    let world = World::new(AGAR);
    let script = format!(
        "{} run --tier={tier} -- /usr/bin/python3 -I -c \"$PROGRAM\"; read -r -t 1 -n 5 line; echo \"got [$line]\"",
        world.program().display()
    );
    let mut session = Session::start(
        world
            .invoke("/bin/bash")
            .args(["-c", &script])
            .env("PROGRAM", TYPING),
    );
    session.expect("typed");
    session.expect("got []");
    assert_eq!(session.finish(), 0);
}

#[test]
fn names_from_inside_are_spelled_out_in_agars_own_words() {
    for tier in ["--tier=full", "--tier=helper", "--tier=landlock"] {
        names_are_spelled_out(tier);
    }
}

fn names_are_spelled_out(tier: &str) {
    let world = World::new(AGAR);
    let script = "printf x >\"$(printf 'a\\033[2J\\033]0;owned\\007b')\"";
    let kept = world.agar(["try", "--keep", tier, "--", "/bin/sh", "-c", script]);
    kept.success();
    for words in [
        vec!["diff"],
        vec!["diff", "--stat"],
        vec!["ls"],
        vec!["inspect"],
        vec!["apply"],
        vec!["undo"],
    ] {
        let outcome = world.agar(&words);
        for text in [&outcome.stdout, &outcome.stderr] {
            assert!(
                !text.contains("\u{1b}[2J") && !text.contains('\u{7}'),
                "{words:?}: {outcome}"
            );
        }
    }
}
