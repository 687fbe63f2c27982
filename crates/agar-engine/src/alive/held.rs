//! Which of many marks somebody holds, without opening each.
//!
//! It only ever spares a look: whoever is not in the kernel's list is looked at by itself, so a list
//! that lacks some, or cannot be read, costs time and nothing else.

use super::{Found, Stay, directory};
use std::collections::HashSet;
use std::path::Path;

/// The marks that somebody holds, as the kernel's list of all locks has them: one look, however many
/// sandboxes are alive. It may lack some, and is empty where it costs more than it tells.
#[derive(Debug, Default)]
pub(crate) struct Held(HashSet<u64>);

/// So many are looked at one by one in about the time that reading the list takes: 19 µs for eight marks, 11
/// for a list of sixteen locks; for 300 it is 710 and 79.
const MARKS_FEW: usize = 8;

impl Held {
    /// Reads the list. The marks must have been read before: one that is in it was held since.
    pub(crate) fn read(state: &Path, marks: &[Found]) -> Self {
        if marks.len() <= MARKS_FEW {
            return Self::default();
        }
        let device = rustix::fs::stat(directory(state)).map(|it| it.st_dev);
        match (device, fs_err::read_to_string("/proc/locks")) {
            (Ok(device), Ok(list)) => Self(locked(&list, device)),
            (Err(_), _) | (_, Err(_)) => Self::default(),
        }
    }

    /// Whether somebody minds the sandbox of this mark, which is there to stay: the command that is
    /// raising its jail, or its keeper.
    pub(crate) fn minds(&self, mark: &Found) -> bool {
        mark.stay == Stay::UntilStopped && self.0.contains(&mark.inode)
    }
}

/// The inodes on a device that are locked, of lines like
/// `7: FLOCK  ADVISORY  READ 1234 fe:00:4711 0 EOF`.
fn locked(list: &str, device: u64) -> HashSet<u64> {
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let here = format!("{major:02x}:{minor:02x}:");
    let inode = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        // Whoever waits for a lock has an arrow here.
        let holds = words.nth(1) == Some("FLOCK");
        let file = words.nth(3).filter(|_| holds)?;
        file.strip_prefix(&here)?.parse().ok()
    };
    list.lines().filter_map(inode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alive::{Mark, marks};
    use agar_core::id::SandboxId;
    use agar_core::seam::Timestamp;
    use agar_testkit::wait;
    use std::time::Duration;

    #[test]
    fn the_list_of_locks_tells_who_is_minded() {
        let state = tempfile::tempdir().unwrap();
        let ids: Vec<SandboxId> = (0..=u8::try_from(MARKS_FEW).unwrap())
            .map(|n| SandboxId::new(Timestamp::from_millis(1), [n; 10]))
            .collect();
        let leave = |id: &SandboxId| Mark::leave(state.path(), *id, Stay::UntilStopped).unwrap();
        let mut held: Vec<Mark> = ids.iter().map(leave).collect();
        // Its file stays; nobody holds it any more.
        drop(held.pop());
        let found = marks(state.path()).unwrap();
        let (nobodys, minded) = found.split_last().unwrap();
        // The kernel may pass one over while others come and go, and it is then looked at by itself.
        let all_are_told = wait::holds_within(Duration::from_secs(10), || {
            let list = Held::read(state.path(), &found);
            assert!(!list.minds(nobodys), "nobody holds it");
            minded.iter().all(|mark| list.minds(mark))
        });
        assert!(all_are_told);
        let few = Held::read(state.path(), &found[..MARKS_FEW]);
        assert!(!few.minds(&found[0]), "few are looked at one by one");
    }

    #[test]
    fn only_locks_that_are_held_on_this_device_count() {
        let device = rustix::fs::makedev(0xfe, 1);
        let list = "1: FLOCK  ADVISORY  WRITE 12 fe:01:100 0 EOF\n\
                    1: -> FLOCK  ADVISORY  WRITE 13 fe:01:101 0 EOF\n\
                    2: FLOCK  ADVISORY  READ 14 fe:02:102 0 EOF\n\
                    3: POSIX  ADVISORY  WRITE 15 fe:01:103 0 EOF\n\
                    strange\n\
                    4: FLOCK  ADVISORY  READ 16 fe:01:104 0 EOF\n";
        assert_eq!(locked(list, device), HashSet::from([100, 104]));
    }
}
