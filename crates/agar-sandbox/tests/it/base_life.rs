//! Generations survive crashes, damage and collection, or are made again.

use crate::desk::{Desk, tree};
use agar_core::fault::{Fault as _, Kind};
use agar_core::walls::BaseKind;
use agar_sandbox::base::{BulkReason, Choice, Silent, collect_abandoned};
use agar_testkit::wait;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn a_damaged_manifest_is_never_trusted() {
    let desk = Desk::new();
    desk.write("a", "1");
    let first = desk.freeze();
    let manifest = first.lowers[0].parent().unwrap().join("manifest");
    let mut bytes = fs_err::read(&manifest).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs_err::write(&manifest, bytes).unwrap();
    drop(first);
    let second = desk.freeze();
    assert_eq!(second.lowers.len(), 1);
    assert_eq!(desk.merged(&second).difference(&tree(&desk.shop())), "");
}

#[test]
fn after_a_power_failure_a_generation_that_lost_data_is_made_again() {
    let desk = Desk::new();
    desk.write("a", "1");
    desk.write("b", "2");
    let first = desk.freeze();
    let again = |boot: &str| {
        desk.with_bases(|bases| {
            bases
                .during_boot(boot)
                .prepare(Choice::Frozen, &Silent)
                .unwrap()
        })
    };
    assert_eq!(
        again("next").generation,
        first.generation,
        "nothing was lost"
    );
    fs_err::OpenOptions::new()
        .write(true)
        .open(first.lowers[0].join("b"))
        .unwrap()
        .set_len(0)
        .unwrap();
    let made = again("later");
    assert_eq!(
        fs_err::read_to_string(made.lowers[0].join("b")).unwrap(),
        "2"
    );
}

#[test]
fn a_crash_while_freezing_leaves_only_what_the_next_command_clears() {
    let desk = Desk::new();
    desk.write("a", "1");
    let first = desk.freeze();
    let place = first.lowers[0].ancestors().nth(2).unwrap().to_owned();
    fs_err::create_dir_all(place.join("tmp-1/layer/half")).unwrap();
    desk.with_bases(|bases| bases.recover().unwrap());
    assert!(!place.join("tmp-1").exists());
    fs_err::create_dir_all(place.join("tmp-1/layer/half")).unwrap();
    desk.write("b", "2");
    let second = desk.freeze();
    assert!(!place.join("tmp-1").exists());
    assert_eq!(desk.merged(&second).difference(&tree(&desk.shop())), "");
}

#[test]
fn unused_generations_are_collected_and_their_needed_layers_kept() {
    let desk = Desk::new();
    for number in 0..4 {
        desk.write("a", &number.to_string());
        desk.freeze();
    }
    let held = desk.freeze();
    let collect = |used: &[u64]| {
        let used: BTreeSet<u64> = used.iter().copied().collect();
        let told = desk.with_bases(|bases| bases.count_unneeded(&used));
        let gone = desk.with_bases(|bases| bases.collect(|| Some(used.clone())).unwrap());
        // What is told beforehand comes true, unless a sandbox is being made.
        assert!(gone == told || gone == 0, "{told} told, {gone} gone");
        gone
    };
    assert_eq!(collect(&[]), 0, "not while a sandbox is being made");
    drop(held);
    assert_eq!(collect(&[1]), 0, "every layer is below the newest");
    let third = desk.freeze();
    assert_eq!(desk.merged(&third).difference(&tree(&desk.shop())), "");
    assert_eq!(
        desk.with_bases(|bases| bases.layers_of(1).unwrap().lowers.len()),
        2
    );
    assert!(desk.with_bases(|bases| bases.layers_of(0).is_err()));
}

#[test]
fn generations_of_a_directory_that_is_gone_are_removed_unless_used() {
    let desk = Desk::new();
    desk.write("a", "1");
    let place = desk.freeze().lowers[0]
        .ancestors()
        .nth(2)
        .unwrap()
        .to_owned();
    let id = Desk::id();
    assert_eq!(collect_abandoned(&desk.state, id, &|_| false).unwrap(), 0);
    fs_err::rename(desk.shop(), desk.top.join("moved")).unwrap();
    fs_err::create_dir_all(desk.shop()).unwrap();
    assert_eq!(collect_abandoned(&desk.state, id, &|_| true).unwrap(), 0);
    assert_eq!(collect_abandoned(&desk.state, id, &|_| false).unwrap(), 1);
    assert!(!place.exists());
}

#[test]
fn a_freeze_killed_at_any_moment_leaves_the_next_one_right() {
    // This test starts itself again, to be killed.
    if let Some(top) = std::env::var_os("AGAR_TEST_DESK") {
        Desk::at(Path::new(&top)).freeze();
        return;
    }
    let desk = Desk::new();
    for number in 0..600 {
        desk.write(&format!("d{}/f{number}", number % 7), &number.to_string());
    }
    for round in 0..12 {
        desk.write(
            &format!("d{}/f{round}", round % 7),
            &format!("round {round}"),
        );
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "base_life::a_freeze_killed_at_any_moment_leaves_the_next_one_right",
            ])
            .env("AGAR_TEST_DESK", &desk.top)
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let place = desk.with_bases(|bases| bases.directory().to_owned());
        // From the first directory on, later each time.
        let begun = || {
            let half = place.read_dir().into_iter().flatten().flatten();
            let half =
                half.filter(|entry| entry.file_name().as_encoded_bytes().starts_with(b"tmp-"));
            let inside = half.flat_map(|entry| entry.path().join("layer").read_dir());
            inside.flatten().count() > round / 2
        };
        wait::until("the freeze to begin or end", || {
            begun() || child.try_wait().unwrap().is_some()
        });
        // It may be over already; killing it then changes nothing.
        child.kill().unwrap();
        child.wait().unwrap();
        if round % 3 == 2 {
            let next = desk.freeze();
            assert_eq!(
                desk.merged(&next).difference(&tree(&desk.shop())),
                "",
                "round {round}"
            );
            desk.with_bases(|bases| bases.recover().unwrap());
            let left = place.read_dir().unwrap().flatten();
            let mut left = left.map(|entry| entry.file_name().into_string().unwrap());
            assert!(left.all(|name| !name.starts_with("tmp-")));
        }
    }
}

fn freeze_around_a_mount(top: &Path) {
    let desk = Desk::at(top);
    let live = desk.with_bases(|bases| bases.prepare(Choice::Live, &Silent).unwrap_err());
    assert_eq!(live.kind(), Kind::Unsupported);
    let quick = desk.with_bases(|bases| bases.prepare(Choice::Quick, &Silent).unwrap());
    assert_eq!(quick.kind, BaseKind::Frozen);
    let bulk: Vec<_> = quick
        .bulk
        .iter()
        .map(|bulk| (bulk.path.as_path(), bulk.reason))
        .collect();
    assert_eq!(bulk, [(Path::new("data"), BulkReason::Mount)]);
    let paths = desk.merged(&quick).paths();
    assert_eq!(paths, ["a", "data"].map(std::path::PathBuf::from));
}

#[test]
fn a_mount_below_the_project_is_left_live_and_forces_a_frozen_base() {
    // This test starts itself again where something is mounted.
    if let Some(top) = std::env::var_os("AGAR_TEST_DESK") {
        freeze_around_a_mount(Path::new(&top));
        return;
    }
    let desk = Desk::new();
    desk.write("a", "1");
    desk.write("data/hidden by the mount", "");
    let script = r#"mount -t tmpfs tmpfs "$1/shop/data" && touch "$1/shop/data/visible" &&
        exec "$2" --exact base_life::a_mount_below_the_project_is_left_live_and_forces_a_frozen_base"#;
    let status = Command::new("unshare")
        .args(["-Urm", "sh", "-c", script, "sh"])
        .args([&desk.top, &std::env::current_exe().unwrap()])
        .env("AGAR_TEST_DESK", &desk.top)
        .stdout(std::process::Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
}

#[test]
fn a_project_that_is_written_to_all_the_time_gives_a_picture_of_one_moment_or_says_so() {
    let desk = Desk::new();
    for number in 0..300 {
        desk.write(&format!("filler/{number}"), "");
    }
    let save = |name: &str, number: u64| {
        desk.write(&format!("{name}.new"), &number.to_string());
        let (new, old) = (
            desk.shop().join(format!("{name}.new")),
            desk.shop().join(name),
        );
        fs_err::rename(new, old).unwrap();
    };
    save("a", 0);
    save("b", 0);
    let stop = AtomicBool::new(false);
    let write = || {
        let mut numbers = (1..).take_while(|_| !stop.load(Ordering::Relaxed));
        numbers.by_ref().for_each(|number| {
            save("a", number);
            save("b", number);
        });
    };
    std::thread::scope(|scope| {
        scope.spawn(write);
        for _ in 0..5 {
            let prepared = desk.freeze();
            let read = |name: &str| -> u64 {
                let mut layers = prepared.lowers.iter();
                let layer = layers.find(|layer| layer.join(name).exists()).unwrap();
                fs_err::read_to_string(layer.join(name))
                    .unwrap()
                    .parse()
                    .unwrap()
            };
            let (a, b) = (read("a"), read("b"));
            let whole = a == b || a == b + 1;
            assert!(
                whole || !prepared.notes.is_empty(),
                "{a} {b} {:?}",
                prepared.notes
            );
        }
        stop.store(true, Ordering::Relaxed);
    });
}
