//! C12: bad input gives a clear error, or works; never a panic, a hang or damage.

use crate::AGAR;
use agar_testkit::{Outcome, Tree, World};

/// An answer in agar's own words: no panic, no defect, no bare control characters.
#[track_caller]
fn assert_clear(outcome: &Outcome) {
    assert!(!outcome.stderr.contains("panicked"), "{outcome}");
    assert_ne!(outcome.code(), 70, "{outcome}");
    assert_ne!(outcome.code(), 101, "{outcome}");
    assert!(!outcome.stderr.contains('\u{1b}'), "{outcome}");
}

#[test]
fn awkward_names_go_in_and_come_out_unchanged() {
    let world = World::new(AGAR);
    let script = "
import os
for name in ['new\\nline', 'tab\\t', '\\x1b[2Jclear', ' lead', 'trail ', '-rf', '\"quote\\'', 'back\\\\slash', '\u{202e}gnp.exe', '.hidden', '*', '$(id)']:
    open(name, 'w').write('x')
os.mkdir(b'bytes-\\xff\\xfe')
open(b'bytes-\\xff\\xfe/\\x80', 'w').write('y')
";
    world
        .agar([
            "run",
            "--keep",
            "--",
            "/usr/bin/python3",
            "-I",
            "-c",
            script,
        ])
        .success();
    for words in [
        vec!["diff"],
        vec!["diff", "--stat"],
        vec!["ls"],
        vec!["apply", "--dry-run"],
    ] {
        let outcome = world.agar(&words);
        assert_clear(&outcome);
        assert!(!outcome.stdout.contains('\u{1b}'), "{outcome}");
    }
    let json = world.agar(["diff", "--json"]).success();
    serde_json::from_str::<serde_json::Value>(&json.stdout).unwrap();
    world.agar(["apply"]).success();
    assert_eq!(world.read("new\nline"), "x");
    assert_eq!(world.read("\u{1b}[2Jclear"), "x");
    world.agar(["undo"]).success();
    assert!(Tree::read(&world.project()).is_empty());
}

#[test]
fn loops_of_links_are_links() {
    let world = World::new(AGAR);
    let script =
        "ln -s b a; ln -s a b; ln -s . self; mkdir d; ln -s .. d/up; ln -s /proc/self/fd/0 fd";
    world
        .agar(["run", "--keep", "--", "/bin/sh", "-c", script])
        .success();
    assert_clear(&world.agar(["diff"]).success());
    world.agar(["apply"]).success();
    assert_eq!(
        fs_err::read_link(world.project().join("a"))
            .unwrap()
            .to_string_lossy(),
        "b"
    );
}

#[test]
fn links_that_lead_outside_are_never_followed_when_applying() {
    let world = World::with_repository(AGAR);
    let outside = world.outside();
    fs_err::write(outside.join("canary"), "alive\n").unwrap();
    // Inside, a directory of the project becomes a link outwards with files written through it.
    let script = format!(
        "rm -r src && mkdir src && echo evil >src/canary; ln -s {} out; echo x >new",
        outside.display()
    );
    world
        .agar(["run", "--keep", "--", "/bin/sh", "-c", &script])
        .success();
    // Meanwhile the same directory becomes a link outwards here.
    fs_err::remove_dir_all(world.project().join("src")).unwrap();
    std::os::unix::fs::symlink(&outside, world.project().join("src")).unwrap();
    let before = Tree::read(&outside);
    assert_clear(&world.agar(["apply"]));
    assert_clear(&world.agar(["apply", "--theirs"]));
    before.assert_unchanged(&outside, "an apply through a link");
}

#[test]
fn special_files_made_inside_do_not_reach_the_project_unnoticed() {
    let world = World::new(AGAR);
    let script = "mkfifo fifo; /usr/bin/python3 -c 'import socket; socket.socket(1).bind(\"sock\")'; echo x >plain";
    world
        .agar(["run", "--keep", "--", "/bin/sh", "-c", script])
        .success();
    assert_clear(&world.agar(["diff"]));
    let outcome = world.agar(["apply"]);
    assert_clear(&outcome);
}

#[test]
fn a_change_set_of_a_hundred_thousand_entries_is_shown_applied_and_taken_back() {
    let world = World::new(AGAR);
    let script = "
import os
for d in range(400):
    os.mkdir(f'd{d}')
    for n in range(124): open(f'd{d}/{n}', 'w').write(str(n))
    for n in range(125): os.symlink(str(n), f'd{d}/link{n}')
";
    world
        .agar([
            "run",
            "--keep",
            "--",
            "/usr/bin/python3",
            "-I",
            "-c",
            script,
        ])
        .success();
    let stat = world.agar(["diff", "--stat"]).success();
    let last = stat.stdout.lines().last().unwrap_or_default();
    assert!(last.contains("100000"), "{last}");
    // With as few descriptors as an ordinary shell gives, and fewer.
    let agar = |word: &str| {
        let script = format!("ulimit -n 256; exec {} {word}", world.program().display());
        world.sh(&script).success();
    };
    agar("apply");
    assert_eq!(world.read("d399/123"), "123");
    agar("undo");
    assert!(Tree::read(&world.project()).is_empty());
}

#[test]
fn a_damaged_store_is_said_to_be_damaged() {
    let world = World::with_repository(AGAR);
    world
        .agar(["run", "--keep", "--", "/bin/sh", "-c", "echo x >x"])
        .success();
    let store = world.state().join("agar/store.db");
    let whole = fs_err::read(&store).unwrap();
    for damage in [
        b"not a database".to_vec(),
        whole[..whole.len() / 2].to_vec(),
        vec![0; 8192],
    ] {
        fs_err::write(&store, &damage).unwrap();
        for end in ["-wal", "-shm"] {
            drop(fs_err::remove_file(
                world.state().join(format!("agar/store.db{end}")),
            ));
        }
        let before = Tree::read(&world.project());
        for words in [
            vec!["ls"],
            vec!["apply"],
            vec!["run", "--", "/bin/true"],
            vec!["undo"],
        ] {
            let outcome = world.agar(&words);
            assert!(!outcome.stderr.contains("panicked"), "{outcome}");
            assert_ne!(outcome.code(), 101, "{outcome}");
        }
        before.assert_unchanged(&world.project(), "commands over a damaged store");
    }
}

#[test]
fn damaged_settings_are_refused_with_their_place() {
    let world = World::with_repository(AGAR);
    for text in [
        "limits = 7\n",
        "[limits\n",
        "[limits]\nmemroy = \"1G\"\n",
        "\u{0}\u{1b}[2J",
    ] {
        world.write("agar.toml", text);
        let outcome = world.agar(["run", "--", "/bin/true"]);
        assert_clear(&outcome);
        assert_ne!(outcome.code(), 0, "accepted {text:?}");
        assert!(outcome.stderr.contains("agar.toml"), "{outcome}");
    }
}

#[test]
fn odd_words_on_the_command_line_are_refused() {
    let world = World::with_repository(AGAR);
    for words in [
        vec!["run", "--memory=lots", "--", "/bin/true"],
        vec!["run", "--timeout=-1", "--", "/bin/true"],
        vec!["run", "--tier=magic", "--", "/bin/true"],
        vec!["run", "--net=everything", "--", "/bin/true"],
        vec!["run"],
        vec!["exec", "no-such-sandbox", "--", "/bin/true"],
        vec!["diff", "\u{1b}[2J"],
        vec!["rm", "../../etc"],
        vec!["apply", "no-such"],
        vec!["undo", "no-such"],
        vec!["no-such-command"],
    ] {
        let outcome = world.agar(&words);
        assert_clear(&outcome);
        assert!(
            [1, 2, 3, 125].contains(&outcome.code()),
            "{words:?}: {outcome}"
        );
        assert!(!outcome.stderr.trim().is_empty(), "{words:?} says nothing");
    }
}

#[test]
fn the_root_and_a_home_are_no_projects() {
    let world = World::new(AGAR);
    for place in [std::path::PathBuf::from("/"), world.home()] {
        let outcome = world
            .command(["run", "--", "/bin/true"])
            .current_dir(&place)
            .run();
        assert_clear(&outcome);
        assert_ne!(
            outcome.code(),
            0,
            "{} was taken as a project",
            place.display()
        );
    }
}

#[test]
fn programs_that_are_not_there_or_not_programs_have_their_own_status() {
    let world = World::with_repository(AGAR);
    world
        .agar(["run", "--", "/no/such/program"])
        .expect_code(127);
    world
        .agar(["run", "--", "no-such-program-anywhere"])
        .expect_code(127);
    world.agar(["run", "--", "/etc/passwd"]).expect_code(126);
    world.agar(["run", "--", "/"]).expect_code(126);
}
