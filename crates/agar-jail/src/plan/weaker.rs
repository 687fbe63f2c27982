//! The tiers for machines that refuse user namespaces: no layers, a copy of the project instead.

use super::{Draft, IdMap, Ids, LayerApi, Plan, Root};
use crate::machine::FRESH;
use crate::wire::Raw;
use agar_core::walls::{Network, Tier};
use std::path::Path;

impl Draft<'_> {
    /// A plan of the tiers in which commands work on copies.
    pub(super) fn without_layers(&self) -> Plan {
        let root = match self.policy.tier {
            Tier::Helper => Root::Helper,
            Tier::Full | Tier::Landlock | Tier::None => Root::Host,
        };
        let copies = self.policy.copies.iter();
        let writable = match root {
            Root::Helper => copies.map(|copied| copied.target.clone()).collect(),
            Root::Host | Root::ReadOnly | Root::Staged => {
                copies.map(|copied| copied.copy.clone()).collect()
            }
        };
        Plan {
            policy: self.policy.clone(),
            ids: Ids {
                uid: self.machine.uid,
                gid: self.machine.gid,
                map: IdMap::Same,
            },
            before: Vec::new(),
            root,
            steps: Vec::new(),
            room_bytes: self.room_in_memory(),
            layers: LayerApi::Fsconfig,
            writable,
            helper: if root == Root::Helper {
                self.bubblewrap()
            } else {
                Vec::new()
            },
            capabilities: Vec::new(),
        }
    }

    /// What the system's bubblewrap is asked to put together.
    fn bubblewrap(&self) -> Vec<Raw> {
        let mut words = ["bwrap", "--unshare-all", "--as-pid-1", "--die-with-parent"].to_vec();
        if self.policy.network == Network::Host {
            words.push("--share-net");
        }
        words.extend(["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]);
        let fresh = FRESH
            .into_iter()
            .filter(|path| !matches!(*path, "/proc" | "/dev"));
        words.extend(fresh.flat_map(|path| ["--tmpfs", path]));
        let mut words: Vec<Raw> = words.into_iter().map(Raw::from).collect();
        for mask in &self.policy.masks {
            if Path::new(mask.as_os_str()).is_dir() {
                words.extend(["--tmpfs".into(), mask.clone()]);
            } else {
                words.extend(["--ro-bind".into(), "/dev/null".into(), mask.clone()]);
            }
        }
        for copied in &self.policy.copies {
            words.extend(["--bind".into(), copied.copy.clone(), copied.target.clone()]);
        }
        words
    }
}
