//! Jails without layers.

use super::world::{World, finish};
use agar_core::walls::Tier;
use agar_jail::client::Lifetime;
use agar_jail::report::End;
use std::path::{Path, PathBuf};

/// The same world in a tier that works on copies.
fn copying(tier: Tier) -> World {
    let mut world = World::new();
    let copied = |target: PathBuf, name: &str| {
        let copy = world.path(name);
        fs_err::create_dir_all(&copy).unwrap();
        agar_jail::policy::Copied {
            target: target.into(),
            copy: copy.into(),
        }
    };
    world.policy.copies = vec![
        copied("/tmp".into(), "sandbox/tmp"),
        copied(world.project(), "sandbox/copy"),
    ];
    fs_err::write(world.path("sandbox/copy/file"), "base\n").unwrap();
    world.policy.overlays.clear();
    world.policy.tier = tier;
    world
}

#[test]
fn without_namespaces_landlock_keeps_a_command_in_its_copy() {
    let world = copying(Tier::Landlock);
    let keeper = world.start(Lifetime::OneRun);
    let script = format!(
        "echo new > file; cat file; echo x > {0}/file; cat {1}/.ssh/id_rsa; setsid sleep 1000 &",
        world.project().display(),
        world.path("home").display(),
    );
    let mut request = world.request(1, &script);
    request.cwd = world.path("sandbox/copy").into();
    let (text, report) = finish(keeper.run(&request).unwrap());
    keeper.bury();
    assert_eq!(report.end, End::Exited { code: 0 }, "{text}");
    assert!(
        text.starts_with("new\n") && !text.contains("secret"),
        "{text}"
    );
    assert_eq!(
        fs_err::read_to_string(world.project().join("file")).unwrap(),
        "base\n"
    );
    assert_eq!(
        fs_err::read_to_string(world.path("sandbox/copy/file")).unwrap(),
        "new\n"
    );
    agar_testkit::leaks::assert_gone(world.directory.path());
}

#[test]
fn without_a_network_namespace_the_filter_keeps_the_network_off() {
    let world = copying(Tier::Landlock);
    let keeper = world.start(Lifetime::OneRun);
    let script = "perl -MSocket -e 'socket(S, PF_INET, SOCK_STREAM, 0) and print \"open\"; \
                  socket(U, PF_UNIX, SOCK_STREAM, 0) and print \"unix\"'";
    let (text, _) = finish(keeper.run(&world.request(1, script)).unwrap());
    keeper.bury();
    assert_eq!(text, "unix");
}

#[test]
fn bubblewrap_can_do_the_privileged_part() {
    if !Path::new("/usr/bin/bwrap").exists() {
        agar_testkit::skip!("helper-tier", "bubblewrap is not installed");
    }
    let world = copying(Tier::Helper);
    let (text, report) =
        world.run("pwd; echo new > file; cat file; ls ~/.ssh; touch /usr/x; echo $$");
    assert!(report.end == End::Exited { code: 0 }, "{text} {report:?}");
    assert!(
        text.starts_with(&format!("{}\nnew\n", world.project().display())),
        "{text}"
    );
    assert!(!text.contains("id_rsa"), "{text}");
    assert_eq!(
        fs_err::read_to_string(world.project().join("file")).unwrap(),
        "base\n"
    );
    assert_eq!(
        fs_err::read_to_string(world.path("sandbox/copy/file")).unwrap(),
        "new\n"
    );
    agar_testkit::leaks::assert_gone(world.directory.path());
}

#[test]
fn the_weakest_tier_is_a_copy_and_says_so() {
    let world = copying(Tier::None);
    let keeper = world.start(Lifetime::OneRun);
    assert!(
        keeper.notes.iter().any(|note| note.contains("no walls")),
        "{:?}",
        keeper.notes
    );
    let mut request = world.request(1, "echo new > file");
    request.cwd = world.path("sandbox/copy").into();
    assert_eq!(
        finish(keeper.run(&request).unwrap()).1.end,
        End::Exited { code: 0 }
    );
    keeper.bury();
    assert_eq!(
        fs_err::read_to_string(world.project().join("file")).unwrap(),
        "base\n"
    );
}
