//! Shared memory that no process has attached: nobody's resident set shows it, and only a process
//! of the same namespace can ask for it.

use super::Runs;
use crate::plan::Plan;
use crate::protocol::{self, News};
use rustix::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

/// What is known of it.
pub(super) struct Shared {
    /// Whether anybody wants to know: only where there is a limit on memory.
    wanted: bool,
    told: u64,
}

impl Shared {
    pub(super) fn of(plan: &Plan) -> Self {
        Self {
            wanted: plan.policy.limits.memory_bytes.is_some(),
            told: 0,
        }
    }

    /// How long until it is worth a look.
    pub(super) fn patience(&self, runs: &Runs) -> Option<Duration> {
        let pace = if runs.is_empty() { 1000 } else { 50 };
        self.wanted.then(|| Duration::from_millis(pace))
    }

    /// Tells the keeper, if it changed.
    pub(super) fn tell(&mut self, socket: &OwnedFd) {
        if !self.wanted {
            return;
        }
        let text = crate::machine::fs_err_read(Path::new("/proc/sysvipc/shm")).unwrap_or_default();
        let bytes = detached(&text);
        if bytes != self.told {
            self.told = bytes;
            // Without a keeper the kernel ends this process.
            drop(protocol::send(socket, &News::Detached { bytes }, &[]));
        }
    }
}

/// Memory of the segments without an attachment, from the kernel's table: the seventh column counts
/// attachments, the fifteenth is what is resident.
fn detached(table: &[u8]) -> u64 {
    let rows = table.split(|byte| *byte == b'\n').skip(1);
    rows.filter_map(|row| {
        let row = std::str::from_utf8(row).ok()?;
        let mut columns = row.split_ascii_whitespace();
        let attached = columns.nth(6)?;
        let resident: u64 = columns.nth(7)?.parse().ok()?;
        (attached == "0").then_some(resident)
    })
    .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_nobody_attached_counts() {
        let table = b"       key      shmid perms                  size  cpid  lpid nattch   uid   gid  cuid  cgid      atime      dtime      ctime                   rss                  swap\n\
            0          0   600              1048576    10    10      0  1000  1000  1000  1000          1          1          1               1048576                     0\n\
            0          1   600              4096    10    10      2  1000  1000  1000  1000          1          1          1               4096                     0\n";
        assert_eq!(detached(table), 1_048_576);
        assert_eq!(detached(b""), 0);
    }
}
