//! The Landlock wall, raised in a child of its own: what it lets through and what it stops.

use crate::child::{isolated, spawn, wait};
use agar_jail::landlock::{Guard, LandlockError, Wall, around, raise, version};
use std::path::{Path, PathBuf};

struct Trees {
    _directory: tempfile::TempDir,
    inside: PathBuf,
    outside: PathBuf,
}

fn trees() -> Trees {
    let directory = tempfile::tempdir().unwrap();
    let inside = directory.path().join("inside");
    let outside = directory.path().join("outside");
    for tree in [&inside, &outside] {
        fs_err::create_dir_all(tree.join("sub")).unwrap();
        fs_err::write(tree.join("file"), "before").unwrap();
    }
    Trees {
        _directory: directory,
        inside,
        outside,
    }
}

/// The second wall without the private trees, which hold the tests' own directories.
fn wall(writable: &Path) -> Wall {
    Wall {
        writable: vec![writable.into()],
        ..Wall::second([])
    }
}

fn truncate(path: &Path) -> std::io::Result<()> {
    let path = std::ffi::CString::new(path.as_os_str().as_encoded_bytes())?;
    // SAFETY: the path is a terminated string that outlives the call.
    match unsafe { libc::truncate(path.as_ptr(), 0) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

#[test]
fn only_the_listed_trees_can_be_changed() {
    let trees = trees();
    isolated(|| {
        let raised = raise(&wall(&trees.inside)).unwrap();
        assert_eq!(raised.version, version());
        assert!(raised.guards.contains(&Guard::Files));
        let out = &trees.outside;
        assert_eq!(fs_err::read_to_string(out.join("file")).unwrap(), "before");
        assert!(fs_err::write(out.join("file"), "after").is_err());
        assert!(fs_err::write(out.join("new"), "").is_err());
        assert!(fs_err::remove_file(out.join("file")).is_err());
        assert!(fs_err::rename(out.join("file"), out.join("moved")).is_err());
        assert!(fs_err::rename(out.join("file"), trees.inside.join("taken")).is_err());
        assert!(std::fs::hard_link(out.join("file"), trees.inside.join("link")).is_err());
        assert!(truncate(&out.join("file")).is_err());
        let within = &trees.inside;
        fs_err::write(within.join("file"), "after").unwrap();
        fs_err::rename(within.join("file"), within.join("sub/moved")).unwrap();
        fs_err::remove_file(within.join("sub/moved")).unwrap();
    });
    assert_eq!(
        fs_err::read_to_string(trees.outside.join("file")).unwrap(),
        "before"
    );
}

#[test]
fn the_private_trees_and_devices_of_a_jail_stay_usable() {
    isolated(|| {
        raise(&Wall::second([])).unwrap();
        fs_err::write("/dev/null", "gone").unwrap();
        drop(tempfile::tempdir_in("/tmp").unwrap());
        let terminal = rustix::pty::openpt(rustix::pty::OpenptFlags::NOCTTY).unwrap();
        assert!(rustix::termios::tcgetwinsize(&terminal).is_ok());
        assert!(fs_err::write("/proc/self/oom_score_adj", "0").is_err());
    });
}

#[test]
fn the_only_wall_hides_what_is_masked() {
    let trees = trees();
    let secret = trees.outside.join("sub/secret");
    fs_err::write(&secret, "secret").unwrap();
    let readable = around(Path::new("/"), &[trees.outside.join("sub")]).unwrap();
    isolated(|| {
        let raised = raise(&Wall::only(readable, [trees.inside.as_path()])).unwrap();
        assert!(
            raised
                .missing()
                .all(|guard| version() < 6 || guard == Guard::Files)
        );
        assert!(fs_err::read(&secret).is_err());
        assert!(fs_err::read(trees.outside.join("file")).is_ok());
        assert!(fs_err::write(trees.outside.join("file"), "").is_err());
        assert!(fs_err::read_dir("/").is_ok());
        fs_err::write(trees.inside.join("file"), "after").unwrap();
        let status = std::process::Command::new("true").status().unwrap();
        assert!(status.success());
    });
}

#[test]
fn processes_outside_cannot_be_signalled() {
    if version() < 6 {
        return;
    }
    isolated(|| {
        let outside = rustix::process::getppid().unwrap();
        raise(&Wall::nested()).unwrap();
        assert!(rustix::process::test_kill_process(outside).is_err());
        let inside = spawn(|| {});
        assert!(rustix::process::test_kill_process(inside).is_ok());
        wait(inside);
    });
}

#[test]
fn a_nested_wall_leaves_files_and_mounts_alone() {
    let trees = trees();
    isolated(|| {
        let raised = raise(&Wall::nested()).unwrap();
        assert!(!raised.guards.contains(&Guard::Files));
        fs_err::write(trees.outside.join("file"), "after").unwrap();
    });
}

#[test]
fn older_kernels_keep_less_and_say_so() {
    let trees = trees();
    for (version_max, files, signals) in [(1, false, false), (2, true, false), (5, true, false)] {
        isolated(|| {
            let wall = Wall {
                version_max: Some(version_max),
                ..wall(&trees.inside)
            };
            let raised = raise(&wall).unwrap();
            assert_eq!(raised.guards.contains(&Guard::Files), files);
            assert_eq!(raised.guards.contains(&Guard::Signals), signals);
            assert!(raised.missing().any(|guard| guard == Guard::Signals));
            let refused = fs_err::write(trees.outside.join("new"), "").is_err();
            assert_eq!(refused, files);
        });
        drop(fs_err::remove_file(trees.outside.join("new")));
    }
}

#[test]
fn an_only_wall_that_cannot_stop_truncation_is_refused() {
    isolated(|| {
        let wall = Wall {
            version_max: Some(2),
            ..Wall::only([PathBuf::from("/usr")], [])
        };
        let refused = raise(&wall);
        assert!(matches!(
            refused,
            Err(LandlockError::TooOld {
                found: 2,
                needed: 3
            })
        ));
    });
}
