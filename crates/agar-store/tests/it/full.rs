//! A disk with no room left.

use crate::world::{Numbers, at, place};
use agar_core::fault::{Fault as _, Kind};
use agar_core::id::ProjectId;
use agar_store::{FILE_NAME, Health, OpenError, Store, StoreError, check};
use agar_testkit::{Caller, SmallDisk, skip};

#[test]
fn a_full_disk_refuses_the_write_and_keeps_what_was_there() {
    if Caller::current() != Caller::Root {
        skip!("full-disk", "mounting a small disk needs root");
    }
    let disk = SmallDisk::new(c"size=1m,mode=0700");
    let path = disk.path().join(FILE_NAME);
    let mut store = Store::open(&path).unwrap();
    let id = ProjectId::new(at(1), Numbers::default().bytes());
    let project = store.project(&place("/src/shop"), id, at(1)).unwrap().id;
    let mut written = 0_u32;
    let error = loop {
        let hash = format!("{written}-{}", "x".repeat(8000));
        match store.write(|writer| writer.approve(project, &hash, "settings", at(2))) {
            Ok(()) => written += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, StoreError::Full), "{error:?}");
    assert_eq!(error.kind(), Kind::Limit);
    assert!(error.remedy().is_some());
    assert!(written > 0);
    let approvals = |store: &Store| store.read().approvals(project).unwrap().len();
    assert_eq!(approvals(&store), written as usize);
    drop(store);
    let again = Store::open(&path).unwrap();
    assert_eq!(approvals(&again), written as usize);
    drop(again);
    assert_eq!(check(&path).unwrap(), Health::Sound);
}

#[test]
fn a_store_that_does_not_fit_is_not_begun() {
    if Caller::current() != Caller::Root {
        skip!("full-disk", "mounting a small disk needs root");
    }
    let disk = SmallDisk::new(c"size=32k,mode=0700");
    let path = disk.path().join(FILE_NAME);
    let error = Store::open(&path).unwrap_err();
    assert!(matches!(error, OpenError::Full { .. }), "{error:?}");
    let left = fs_err::read_dir(disk.path()).unwrap().count();
    assert_eq!(left, 0, "nothing half-made is left");
}
