//! C2: a masked secret cannot be read from inside.
//!
//! Secrets with a marker in them are laid where people keep them; the attacker looks for the marker
//! directly, through other processes' roots, links, renamed parents and everything it can walk.

use crate::AGAR;
use crate::attack::{Attack, Report};
use agar_testkit::{Tree, World};
use std::path::Path;

const MARKER: &str = "marker-3f9c1e7a-of-a-secret";

/// What is masked by default, relative to the home.
const SECRETS: [&str; 24] = [
    ".ssh/id_ed25519",
    ".ssh/config",
    ".gnupg/private-keys-v1.d/key",
    ".aws/credentials",
    ".azure/tokens.json",
    ".config/gcloud/credentials.db",
    ".config/gh/hosts.yml",
    ".kube/config",
    ".docker/config.json",
    ".netrc",
    ".git-credentials",
    ".npmrc",
    ".pypirc",
    ".cargo/credentials.toml",
    ".cargo/credentials",
    ".vault-token",
    ".password-store/mail.gpg",
    ".bash_history",
    ".python_history",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".mozilla/firefox/x.default/logins.json",
    "server.key",
    "certificates/site.pem",
];

fn world() -> World {
    let world = World::with_repository(AGAR);
    for secret in SECRETS {
        let path = world.home().join(secret);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, format!("{MARKER}\n")).unwrap();
    }
    fs_err::write(world.home().join("plain.txt"), "plain\n").unwrap();
    world
}

#[track_caller]
fn attack(world: &World, flags: &[&str]) -> Report {
    let mut attack = Attack::new(world, include_str!("attacks/secrets.py"))
        .fact("home", world.home().to_string_lossy().into_owned())
        .fact("state", world.state().to_string_lossy().into_owned())
        .fact("marker", MARKER)
        .fact("secrets", SECRETS.to_vec());
    for flag in flags {
        attack = attack.flag(flag);
    }
    attack.run().complete()
}

#[test]
fn no_secret_is_found_by_any_way_of_reading() {
    let world = world();
    let before = Tree::read_without(&world.home(), &[Path::new(".local")]);
    let report = attack(&world, &[]);
    report.all_refused("read ");
    let found: Vec<&str> = report
        .outcome
        .stdout
        .lines()
        .filter(|line| line.contains("attempt\tsearch"))
        .collect();
    assert!(found.is_empty(), "{found:?}");
    report.all_refused("state listed");
    report.all_worked("plain ");
    let after = Tree::read_without(&world.home(), &[Path::new(".local")]);
    assert_eq!(before.difference(&after), "");
}

#[test]
fn masks_hold_under_fake_root_nesting_and_a_live_base() {
    let world = world();
    for flag in ["--fake-root", "--nested", "--base=live"] {
        attack(&world, &[flag]).all_refused("read ");
    }
}

#[test]
fn masks_hold_in_the_helper_tier() {
    let world = world();
    let report = attack(&world, &["--tier=helper"]);
    report.all_refused("read ");
    report.all_refused("state listed");
    // The home is read-only there.
    report.all_worked("plain read");
}

#[test]
fn a_key_deep_in_the_home_is_hidden_once_upkeep_has_seen_it() {
    let world = world();
    let deep = world.home().join("clients/one/deploy/keys/id_ed25519");
    fs_err::create_dir_all(deep.parent().unwrap()).unwrap();
    fs_err::write(&deep, format!("-----BEGIN PRIVATE KEY-----\n{MARKER}\n")).unwrap();
    fs_err::write(deep.with_file_name("id_map.rs"), "pub struct IdMap;\n").unwrap();
    let look = "ls ~/clients/one/deploy/keys; cat ~/clients/one/deploy/keys/*";
    world.agar(["upkeep"]).success();
    let seen = world.agar(["run", "--", "/bin/sh", "-c", look]).stdout;
    assert!(
        seen.contains("IdMap") && !seen.contains("id_ed25519"),
        "{seen}"
    );
    assert!(!seen.contains(MARKER), "{seen}");
    let shown = ["run", "--unmask", "id_ed25519", "--", "/bin/sh", "-c", look];
    assert!(world.agar(shown).success().stdout.contains(MARKER));
}

#[test]
fn a_file_that_was_named_can_be_read() {
    let world = world();
    let script = format!("grep -q {MARKER} ~/.npmrc && ! test -e ~/.netrc");
    world
        .agar([
            "run", "--unmask", "~/.npmrc", "--", "/bin/sh", "-c", &script,
        ])
        .success();
}

#[test]
fn the_projects_own_environment_file_is_there_only_while_nothing_can_leave() {
    let world = world();
    world.write(".env", "TOKEN=1\n");
    world.agar(["run", "--", "/bin/cat", ".env"]).success();
    let open = world.agar(["run", "--net=host", "--", "/bin/cat", ".env"]);
    assert_ne!(open.code(), 0, "{open}");
    assert!(!open.stdout.contains("TOKEN"), "{open}");
}

#[test]
fn a_masked_path_made_inside_is_not_applied() {
    let world = world();
    let kept = [
        "run",
        "--keep",
        "--",
        "/bin/sh",
        "-c",
        "mkdir -p ~/.ssh && echo evil >~/.ssh/authorized_keys && echo x >new.txt",
    ];
    let outcome = world.agar(kept).success();
    world.agar(["apply"]).success();
    assert!(world.has("new.txt"), "{outcome}");
    assert!(!world.home().join(".ssh/authorized_keys").exists());
}
