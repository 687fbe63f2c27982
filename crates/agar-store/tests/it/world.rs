//! A store in a directory of its own, and records to put into it.

use agar_core::id::{ProjectId, PromotionId, SandboxId};
use agar_core::limits::Limits;
use agar_core::seam::{Entropy, Timestamp};
use agar_core::walls::{BaseKind, Identity, Network, Tier};
use agar_store::{FILE_NAME, NewSandbox, Place, Project, Sandbox, Store};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A store that is gone when the test is over.
pub(crate) struct World {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) store: Store,
    pub(crate) numbers: Numbers,
}

/// Numbers that are never the same twice and the same in every run.
#[derive(Debug, Default)]
pub(crate) struct Numbers(AtomicU64);

impl Numbers {
    pub(crate) fn starting_at(number: u64) -> Self {
        Self(AtomicU64::new(number))
    }

    fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn bytes(&self) -> [u8; 10] {
        let mut bytes = [0; 10];
        bytes[2..].copy_from_slice(&self.next().to_be_bytes());
        bytes
    }
}

impl Entropy for Numbers {
    fn fill(&self, bytes: &mut [u8]) {
        let number = self.next().to_le_bytes();
        for (byte, value) in bytes.iter_mut().zip(number.iter().cycle()) {
            *byte = *value;
        }
    }
}

pub(crate) const fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

impl World {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(&directory.path().join(FILE_NAME)).unwrap();
        Self {
            directory,
            store,
            numbers: Numbers::default(),
        }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join(FILE_NAME)
    }

    pub(crate) fn project(&mut self, path: &str) -> Project {
        let id = self.project_id();
        self.store.project(&place(path), id, at(1)).unwrap()
    }

    pub(crate) fn project_id(&self) -> ProjectId {
        ProjectId::new(at(1), self.numbers.bytes())
    }

    pub(crate) fn promotion_id(&self) -> PromotionId {
        PromotionId::new(at(self.numbers.next()), self.numbers.bytes())
    }

    pub(crate) fn sandbox(&mut self, project: ProjectId, alias: &str) -> Sandbox {
        let mut new = self.new_sandbox(project);
        new.alias = Some(alias.to_owned());
        let numbers = &self.numbers;
        self.store
            .write(|writer| writer.create_sandbox(&new, numbers, at(2)))
            .unwrap()
    }

    pub(crate) fn new_sandbox(&self, project: ProjectId) -> NewSandbox {
        NewSandbox {
            id: SandboxId::new(at(2), self.numbers.bytes()),
            alias: None,
            project,
            tier: Tier::Full,
            network: Network::None,
            base: BaseKind::Frozen,
            generation: Some(0),
            stacks: "[]".to_owned(),
            limits: Limits::person(),
            identity: Identity::Caller,
            note: None,
            parent: None,
            origin: None,
        }
    }
}

/// A directory whose inode is told by its path.
pub(crate) fn place(path: &str) -> Place {
    Place {
        path: Path::new(path).to_owned(),
        device: 1,
        inode: path
            .bytes()
            .fold(7, |sum: u64, byte| sum.wrapping_mul(31) ^ u64::from(byte)),
        born_ns: Some(5),
        repository: None,
    }
}
