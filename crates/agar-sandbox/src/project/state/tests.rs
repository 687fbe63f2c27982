//! Where the state goes, and what is never taken over for it.

use super::*;
use crate::project::MountTable;
use std::os::unix::fs::{PermissionsExt as _, symlink};

fn world() -> (tempfile::TempDir, PathBuf, Surroundings) {
    let dir = tempfile::tempdir().unwrap();
    let real = dir.path().canonicalize().unwrap();
    fs_err::create_dir_all(real.join("home")).unwrap();
    fs_err::create_dir_all(real.join("work/shop")).unwrap();
    let uid = real.metadata().unwrap().uid();
    let around = Surroundings {
        home: Some(real.join("home")),
        uid,
        ..Surroundings::default()
    };
    (dir, real, around)
}

#[test]
fn on_one_filesystem_the_state_goes_where_the_system_says() {
    let (_dir, real, mut around) = world();
    let project = super::super::at(&real.join("work/shop"), &around).unwrap();
    let state = StateDir::place(&project, &around).unwrap();
    assert_eq!(state.path(), real.join("home/.local/state/agar"));
    around.state_home = Some(real.join("elsewhere"));
    assert_eq!(
        StateDir::place(&project, &around).unwrap().path(),
        real.join("elsewhere/agar")
    );
    assert_eq!(state.path().metadata().unwrap().mode() & 0o777, 0o700);
    assert!(state.is_marked());
}

#[test]
fn on_another_filesystem_it_goes_next_to_the_project_and_never_inside() {
    let (_dir, real, mut around) = world();
    around.home = Some(PathBuf::from("/proc/agar-test-home"));
    let shop = real.join("work/shop");
    let table = format!(
        "1 0 8:1 / / rw - ext4 a rw\n2 1 8:2 / {} rw - ext4 b rw\n",
        real.display()
    );
    around.mounts = MountTable::parse(table.as_bytes());
    let project = super::super::at(&shop, &around).unwrap();
    let state = StateDir::place(&project, &around).unwrap();
    assert_eq!(state.path(), real.join(format!(".agar-{}", around.uid)));
    assert!(!state.path().starts_with(&shop));
    assert_eq!(
        StateDir::place(&project, &around).unwrap(),
        state,
        "the same place next time"
    );
}

#[test]
fn a_state_home_inside_the_project_is_not_used() {
    let (_dir, real, mut around) = world();
    let shop = real.join("work/shop");
    around.state_home = Some(shop.join("state"));
    let table = format!("1 0 8:1 / {} rw - ext4 a rw\n", real.display());
    around.mounts = MountTable::parse(table.as_bytes());
    let project = super::super::at(&shop, &around).unwrap();
    let state = StateDir::place(&project, &around).unwrap();
    assert!(!state.path().starts_with(&shop));
    assert!(!shop.join("state").exists());
}

#[test]
fn a_link_or_a_directory_with_strange_things_is_not_taken_over() {
    let (_dir, real, around) = world();
    fs_err::create_dir_all(real.join("strange")).unwrap();
    fs_err::write(real.join("strange/thesis.tex"), "").unwrap();
    let refused = StateDir::open(&real.join("strange"), around.uid).unwrap_err();
    assert_eq!(refused.kind(), Kind::Refused);
    symlink(real.join("home"), real.join("link")).unwrap();
    let refused = StateDir::open(&real.join("link"), around.uid).unwrap_err();
    assert_eq!(refused.kind(), Kind::Refused);
    assert!(StateDir::open(&real.join("mine"), around.uid.wrapping_add(1)).is_err());
}

#[test]
fn a_state_directory_open_to_others_is_closed() {
    let (_dir, real, around) = world();
    let path = real.join("state");
    StateDir::open(&path, around.uid).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    StateDir::open(&path, around.uid).unwrap();
    assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o700);
}

#[test]
fn having_no_place_says_what_to_make() {
    let error = NoState::NoPlace {
        project: PathBuf::from("/mnt/disk/shop"),
        wanted: PathBuf::from("/mnt/disk/.agar-1000"),
        uid: 1000,
    };
    let line = "sudo install -d -m 700 -o 1000 '/mnt/disk/.agar-1000'".to_owned();
    assert_eq!(error.remedy(), Some(Remedy::Command { line }));
}
