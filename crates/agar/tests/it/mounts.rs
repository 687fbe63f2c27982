//! Projects and homes with other filesystems mounted in them.

use crate::world::repository;
use agar_testkit::{Outcome, World};

/// Runs a script where `~/disk` and `data` in the project are filesystems of their own, each with a
/// file `there`.
fn with_mounts(world: &World, script: &str) -> Outcome {
    world.write("../disk/covered", "");
    world.write("data/covered", "");
    let root = rustix::process::geteuid().is_root();
    let own: &[&str] = if root {
        &["--mount"]
    } else {
        &["--map-current-user", "--keep-caps", "--mount"]
    };
    let script = format!(
        "set -e
         for place in ~/disk data; do mount -t tmpfs none $place; echo host > $place/there; done
         set +e
         {script}"
    );
    let program = world.program().to_owned();
    world
        .invoke("unshare")
        .args(own)
        .args(["sh", "-c", &script])
        .env("AGAR", program)
        .run()
}

#[test]
fn what_is_mounted_below_the_project_or_the_home_is_seen_and_cannot_be_changed() {
    let world = repository();
    let outcome = with_mounts(
        &world,
        r"$AGAR run --rm -- sh -c '
               cat data/there ~/disk/there
               echo inside > data/there; echo inside > ~/disk/there; echo new > data/new
               echo more >> notes.txt; tail -n 1 notes.txt' 2> /dev/null
           cat data/there ~/disk/there; ls data; tail -n 1 notes.txt",
    );
    let expected = "host\nhost\nmore\nhost\nhost\nthere\nfifth\n";
    assert_eq!(outcome.success().stdout, expected);
}

#[test]
fn a_change_beside_a_mount_is_found_and_applied() {
    let world = repository();
    let change = r"$AGAR try --yes -- sh -c 'echo more >> notes.txt; mkdir -p src/deep; echo x > src/deep/x'
         tail -n 1 notes.txt; cat src/deep/x data/there";
    assert_eq!(
        with_mounts(&world, change).success().stdout,
        "more\nx\nhost\n"
    );
}

#[test]
fn secrets_stay_hidden_in_a_home_with_mounts() {
    let world = repository();
    for (path, text) in [
        (".ssh/id_ed25519", "key"),
        (".netrc", "password"),
        (".config/gh/hosts.yml", "token"),
        ("notes/plain", "plain"),
    ] {
        let path = world.home().join(path);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, text).unwrap();
    }
    let outcome = with_mounts(
        &world,
        "$AGAR run -- sh -c 'cat ~/.ssh/* ~/.netrc ~/.config/gh/* ~/notes/plain' 2> /dev/null",
    );
    assert_eq!(outcome.stdout, "plain");
}

#[test]
fn a_home_with_mounts_is_said_to_be_read_only_where_it_is() {
    if rustix::process::geteuid().is_root() {
        // Root's copy is of the whole machine: there is nothing to say.
        let world = repository();
        let outcome = with_mounts(&world, "$AGAR run -- sh -c 'echo x > ~/x; cat ~/x'");
        let outcome = outcome.success();
        assert_eq!((&*outcome.stdout, &*outcome.stderr), ("x\n", ""));
        return;
    }
    let world = repository();
    let outcome = with_mounts(
        &world,
        "mkdir ~/below; $AGAR run -- sh -c 'echo y > ~/below/y; cat ~/below/y; touch ~/x 2> /dev/null || echo no'",
    );
    let outcome = outcome.success();
    assert_eq!(outcome.stdout, "y\nno\n");
    assert!(
        outcome.stderr.contains("is read-only inside"),
        "{}",
        outcome.stderr
    );
    assert!(!world.home().join("below/y").exists());
}

#[test]
fn a_machine_that_was_examined_first_takes_sandboxes_afterwards() {
    let world = repository();
    // Nobody has used agar since this /tmp was made, and the session gives no place for sockets. What was
    // built may lie below the other one.
    let outcome = with_mounts(
        &world,
        r"cp $AGAR ~/agar && AGAR=~/agar
         mkdir ~/fresh && chmod 1777 ~/fresh && mount --bind ~/fresh /tmp
         unset XDG_RUNTIME_DIR; umask 022
         (cd ~ && $AGAR doctor --tries 1 > ~/told 2>&1) || cat ~/told
         stat -c %a /tmp/agar-*
         $AGAR run -- cat notes.txt | head -n 1",
    );
    assert_eq!(outcome.success().stdout, "700\nfirst\n");
}
