//! C17: a sandbox's state and control socket answer only its owner.

use crate::AGAR;
use agar_testkit::{Caller, World, skip};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

#[test]
fn state_and_sockets_are_private() {
    let world = World::with_repository(AGAR);
    world.agar(["create"]).success();
    world
        .agar(["exec", "--", "/bin/sh", "-c", "echo x >x"])
        .success();
    let mut pending = vec![world.state().join("agar"), world.runtime().join("agar")];
    while let Some(path) = pending.pop() {
        let meta = fs_err::symlink_metadata(&path).unwrap();
        assert_eq!(
            meta.mode() & 0o077,
            0,
            "{} is open to others",
            path.display()
        );
        // What lies below a private directory is private, whatever its own bits: look one deep.
        if meta.is_dir() && path.parent() == Some(world.runtime().as_path()) {
            pending.extend(children(&path));
        }
    }
    world.agar(["rm", "--all", "--force"]).success();
}

fn children(path: &Path) -> Vec<PathBuf> {
    fs_err::read_dir(path)
        .unwrap()
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .collect()
}

#[test]
fn another_user_is_turned_away_at_the_socket() {
    if Caller::current().is_ordinary() {
        skip!("C17", "only root can be another user");
    }
    let world = World::with_repository(AGAR);
    world.agar(["create"]).success();
    let sockets: Vec<PathBuf> = children(&world.runtime().join("agar"))
        .into_iter()
        .filter(|path| path.extension().is_some_and(|end| end == "sock"))
        .collect();
    assert!(!sockets.is_empty());
    // Even where the file system would let somebody in, the peer's identity decides.
    let open = "chmod 755 . .. && chmod 777 *.sock";
    world
        .invoke("/bin/sh")
        .args(["-c", open])
        .current_dir(world.runtime().join("agar"))
        .run()
        .success();
    let script = "
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
try: s.connect(sys.argv[1])
except OSError:
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    s.connect(sys.argv[1])
s.settimeout(5)
try:
    s.send(b'{\"status\":{}}\\n')
    print('answer', s.recv(4096))
except OSError as error: print('refused', error)
";
    let mut ways =
        world
            .invoke("setpriv")
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    ways = ways
        .args(["/usr/bin/python3", "-I", "-c", script])
        .arg(&sockets[0]);
    let outcome = ways.run();
    let answered = outcome.stdout.contains("answer") && !outcome.stdout.contains("answer b''");
    assert!(!answered, "{outcome}");
    world.agar(["rm", "--all", "--force"]).success();
}
