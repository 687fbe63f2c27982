//! Capabilities dropped in a child of its own are gone for good.

use crate::child::isolated;
use agar_jail::capability::{Set, clear_bounding, drop_all, keep_only, permitted};

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn line(key: &str) -> String {
    let status = fs_err::read_to_string("/proc/thread-self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(key)).unwrap();
    line.split_whitespace().last().unwrap().to_owned()
}

const NONE: &str = "0000000000000000";

#[test]
fn nothing_is_left_when_all_is_dropped() {
    isolated(|| {
        if is_root() {
            clear_bounding().unwrap();
            assert_eq!(line("CapBnd"), NONE);
        }
        drop_all().unwrap();
        assert!(permitted().unwrap().is_empty());
        for key in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
            assert_eq!(line(key), NONE, "{key}");
        }
        // What is given up cannot be had again.
        assert!(keep_only(Set::SYS_ADMIN).is_err());
    });
}

#[test]
fn what_is_kept_is_not_inherited_by_programs() {
    if !is_root() {
        return;
    }
    isolated(|| {
        keep_only(Set::SYS_ADMIN | Set::SETPCAP).unwrap();
        clear_bounding().unwrap();
        assert_eq!(permitted().unwrap(), Set::SYS_ADMIN | Set::SETPCAP);
        let output = std::process::Command::new("cat")
            .arg("/proc/self/status")
            .output()
            .unwrap();
        let status = String::from_utf8(output.stdout).unwrap();
        let effective = status.lines().find(|line| line.starts_with("CapEff"));
        assert!(effective.unwrap().ends_with(NONE));
    });
}
