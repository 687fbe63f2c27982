//! C14: only allowed variables enter, and none that carries a secret or loads code.

use crate::AGAR;
use agar_testkit::World;
use std::collections::BTreeSet;

const REFUSED: [(&str, &str); 14] = [
    (
        "AWS_SECRET_ACCESS_KEY",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    ),
    ("GITHUB_TOKEN", "ghp_0123456789abcdefghijABCDEFGHIJ012345"),
    ("DATABASE_URL", "postgres://user:password@db/x"),
    ("CARGO_REGISTRY_TOKEN", "cio0123456789abcdefghijABCDEFGHIJ0"),
    (
        "npm_config__authToken",
        "npm_0123456789abcdefghijABCDEFGHIJ012345",
    ),
    ("SSH_AUTH_SOCK", "/tmp/agent.1"),
    ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/user/0/bus"),
    ("LD_PRELOAD", ""),
    ("LD_LIBRARY_PATH", "/tmp"),
    ("BASH_ENV", "/tmp/x"),
    ("NODE_OPTIONS", "--require=/tmp/x.js"),
    ("PYTHONSTARTUP", "/tmp/x.py"),
    ("SOME_RANDOM_VARIABLE", "1"),
    ("KUBECONFIG", "/tmp/x"),
];

fn inside(world: &World, extra: &[&str]) -> String {
    let mut command = world
        .command(["run"])
        .args(extra)
        .args(["--", "/usr/bin/env", "-0"]);
    for (name, value) in REFUSED {
        command = command.env(name, value);
    }
    command = command
        .env("LC_ALL", "C.UTF-8")
        .env("GOPATH", "/go")
        .env("EDITOR", "vi");
    command.run().success().stdout
}

#[test]
fn no_secret_and_no_loader_variable_enters() {
    for tier in ["--tier=full", "--tier=helper", "--tier=landlock"] {
        none_enters(tier);
    }
}

fn none_enters(tier: &str) {
    let world = World::new(AGAR);
    let text = inside(&world, &[tier]);
    let names: BTreeSet<&str> = text
        .split('\0')
        .filter_map(|line| line.split_once('='))
        .map(|(name, _)| name)
        .collect();
    for (name, _) in REFUSED {
        assert!(!names.contains(name), "{tier}: {name} is inside");
    }
    for name in ["PATH", "HOME", "LC_ALL", "GOPATH", "EDITOR"] {
        assert!(
            names.contains(name),
            "{tier}: {name} is not inside: {names:?}"
        );
    }
}

#[test]
fn a_variable_that_was_named_enters() {
    let world = World::new(AGAR);
    let text = inside(
        &world,
        &["--env", "SOME_RANDOM_VARIABLE", "--env", "OTHER=2"],
    );
    assert!(
        text.contains("SOME_RANDOM_VARIABLE=1") && text.contains("OTHER=2"),
        "{text}"
    );
}
