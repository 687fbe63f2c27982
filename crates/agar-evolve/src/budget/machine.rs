//! What this machine and process leave for cells, as the kernel says it.

use super::Ceilings;
use std::path::{Path, PathBuf};

/// What is assumed where the kernel does not say: its customary defaults.
const MAPPINGS: u64 = 65_530;
const DESCRIPTORS: u64 = 1_024;
const MEMORY: u64 = 1 << 30;

/// Where the kernel says it; another place in tests.
#[derive(Debug, Clone)]
pub(super) struct Machine {
    root: PathBuf,
}

impl Machine {
    pub(super) fn this() -> Self {
        Self::at(Path::new("/"))
    }

    pub(super) fn at(root: &Path) -> Self {
        let root = root.to_owned();
        Self { root }
    }

    /// Of the mappings four fifths, of the descriptors and of the memory a half, less what the
    /// process has of them already: the rest of the program needs some too.
    pub(super) fn ceilings(&self) -> Ceilings {
        let mappings = self.number("proc/sys/vm/max_map_count");
        let mapped = self.count("proc/self/maps");
        let descriptors = self.limit("Max open files").unwrap_or(DESCRIPTORS);
        let free = self.field("proc/meminfo", "MemAvailable:");
        let free = free.map_or(MEMORY, |kibibytes| kibibytes << 10);
        let rooms = [self.group_room(), self.address_room(), self.data_room()];
        let memory = rooms.into_iter().flatten().fold(free, u64::min);
        Ceilings {
            mappings: (mappings.unwrap_or(MAPPINGS) / 5 * 4).saturating_sub(mapped),
            descriptors: (descriptors / 2).saturating_sub(self.open_descriptors()),
            memory: memory / 2,
        }
    }

    fn text(&self, path: &str) -> Option<String> {
        fs_err::read_to_string(self.root.join(path)).ok()
    }

    fn number(&self, path: &str) -> Option<u64> {
        self.text(path)?.trim().parse().ok()
    }

    fn count(&self, path: &str) -> u64 {
        self.text(path)
            .map_or(0, |text| text.lines().count() as u64)
    }

    /// The number after a word at the beginning of a line.
    fn field(&self, path: &str, key: &str) -> Option<u64> {
        let text = self.text(path)?;
        let line = text.lines().find(|line| line.starts_with(key))?;
        line.strip_prefix(key)?
            .split_whitespace()
            .next()?
            .parse()
            .ok()
    }

    /// The soft limit of that name; nothing where there is none.
    fn limit(&self, name: &str) -> Option<u64> {
        self.field("proc/self/limits", name)
    }

    fn open_descriptors(&self) -> u64 {
        let listed = fs_err::read_dir(self.root.join("proc/self/fd"));
        listed.map_or(0, |entries| entries.count() as u64)
    }

    fn address_room(&self) -> Option<u64> {
        let used = self.field("proc/self/status", "VmSize:").unwrap_or(0) << 10;
        Some(self.limit("Max address space")?.saturating_sub(used))
    }

    fn data_room(&self) -> Option<u64> {
        let used = self.field("proc/self/status", "VmData:").unwrap_or(0) << 10;
        Some(self.limit("Max data size")?.saturating_sub(used))
    }

    /// The least that any of the process's control groups leaves.
    fn group_room(&self) -> Option<u64> {
        let text = self.text("proc/self/cgroup")?;
        let rooms = text.lines().filter_map(|line| {
            let (_, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            if controllers.is_empty() {
                return self.room_up("sys/fs/cgroup", path, "memory.max", "memory.current");
            }
            let memory = controllers.split(',').any(|name| name == "memory");
            let (limit, used) = ("memory.limit_in_bytes", "memory.usage_in_bytes");
            memory
                .then(|| self.room_up("sys/fs/cgroup/memory", path, limit, used))
                .flatten()
        });
        rooms.min()
    }

    /// From the group up to the top: each may limit all below it.
    fn room_up(&self, base: &str, path: &str, limit: &str, used: &str) -> Option<u64> {
        let groups = Path::new(path.trim_start_matches('/')).ancestors();
        let room = |group: &Path| {
            let file = |name: &str| format!("{base}/{}/{name}", group.display());
            let limit = self.number(&file(limit))?;
            Some(limit.saturating_sub(self.number(&file(used)).unwrap_or(0)))
        };
        groups.filter_map(room).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Ceilings) {
        let place = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = place.path().join(path);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(path, text).unwrap();
        }
        let ceilings = Machine::at(place.path()).ceilings();
        (place, ceilings)
    }

    const MEMINFO: (&str, &str) = (
        "proc/meminfo",
        "MemTotal: 9000000 kB\nMemAvailable: 4096 kB\n",
    );

    #[test]
    fn a_machine_that_says_nothing_has_what_is_customary() {
        let (_place, ceilings) = machine(&[]);
        assert_eq!(
            ceilings,
            Ceilings {
                mappings: 52_424,
                descriptors: 512,
                memory: 1 << 29
            }
        );
    }

    #[test]
    fn what_the_process_has_already_is_not_given_twice() {
        let (_place, ceilings) = machine(&[
            ("proc/sys/vm/max_map_count", "100\n"),
            ("proc/self/maps", "one\ntwo\nthree\n"),
            (
                "proc/self/limits",
                "Max open files            20   4096    files\n",
            ),
            ("proc/self/fd/0", ""),
            ("proc/self/fd/1", ""),
            MEMINFO,
        ]);
        assert_eq!(
            ceilings,
            Ceilings {
                mappings: 77,
                descriptors: 8,
                memory: 2 << 20
            }
        );
    }

    #[test]
    fn every_group_above_may_leave_less() {
        let group = "sys/fs/cgroup";
        let (_place, ceilings) = machine(&[
            ("proc/self/cgroup", "0::/a/b\n"),
            (&format!("{group}/a/b/memory.max"), "max\n"),
            (&format!("{group}/a/memory.max"), "3000\n"),
            (&format!("{group}/a/memory.current"), "1000\n"),
            MEMINFO,
        ]);
        assert_eq!(ceilings.memory, 1_000);
    }

    #[test]
    fn the_older_form_of_groups_is_read_too() {
        let (_place, ceilings) = machine(&[
            ("proc/self/cgroup", "4:cpu:/x\n3:memory,hugetlb:/y\n"),
            ("sys/fs/cgroup/memory/y/memory.limit_in_bytes", "5000\n"),
            MEMINFO,
        ]);
        assert_eq!(ceilings.memory, 2_500);
    }

    #[test]
    fn limits_of_the_process_count() {
        let (_place, ceilings) = machine(&[
            (
                "proc/self/limits",
                "Max address space         3145728  unlimited  bytes\nMax data size  unlimited unlimited bytes\n",
            ),
            ("proc/self/status", "VmSize:\t    1024 kB\n"),
            MEMINFO,
        ]);
        assert_eq!(ceilings.memory, 1 << 20);
    }
}
