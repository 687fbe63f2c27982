//! The whole state of an instance, copied from outside.
//!
//! Memory and mutable globals are all the state there is, unless a genome writes to its table or
//! drops segments. The image of one engine's instance fits an instance on the other.

use crate::engine::Instance;
use crate::engine::host::Halt;
use crate::genome::Facts;
use crate::value::Value;

const PAGE: usize = 4_096;

/// State, without the pages of memory that are empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Image {
    /// Size of the memory, in bytes.
    length: usize,
    /// Pieces that hold something, by position.
    pieces: Vec<(u32, Box<[u8; PAGE]>)>,
    globals: Vec<Value>,
    random: u64,
}

impl Image {
    /// Copies the state.
    pub(crate) fn of(instance: &mut Instance, facts: &Facts) -> Self {
        let globals = facts
            .globals
            .iter()
            .map(|(index, ty)| instance.global(*index).unwrap_or(Value::zero(*ty)))
            .collect();
        let random = instance.host().random;
        let memory = instance.memory();
        let (pages, _) = memory.as_chunks::<PAGE>();
        let pieces = (0..)
            .zip(pages)
            .filter(|(_, page)| page.iter().any(|byte| *byte != 0))
            .map(|(index, page)| (index, Box::new(*page)))
            .collect();
        Self {
            length: memory.len(),
            pieces,
            globals,
            random,
        }
    }

    /// Gives a new instance of the same genome this state.
    pub(crate) fn put(&self, instance: &mut Instance, facts: &Facts) -> Result<(), Halt> {
        let missing = self.length.saturating_sub(instance.memory().len());
        if missing > 0 {
            instance.grow((missing >> 16) as u64)?;
        }
        for ((index, _), value) in facts.globals.iter().zip(&self.globals) {
            instance.set_global(*index, *value);
        }
        instance.host().random = self.random;
        let (pages, _) = instance.memory().as_chunks_mut::<PAGE>();
        let mut pieces = self.pieces.iter().peekable();
        for (index, page) in (0_u32..).zip(pages) {
            match pieces.next_if(|(at, _)| *at == index) {
                Some((_, piece)) => page.copy_from_slice(piece.as_slice()),
                // What the genome's data segments put there, and it has cleared since. Looking
                // first keeps untouched pages untouched.
                None if page.iter().any(|byte| *byte != 0) => page.fill(0),
                None => {}
            }
        }
        Ok(())
    }

    /// Where the seeded sequence had come to.
    pub(crate) const fn random(&self) -> u64 {
        self.random
    }

    /// A hash of all of it.
    pub(crate) fn fingerprint(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&(self.length as u64).to_le_bytes());
        hasher.update(&self.random.to_le_bytes());
        for (index, piece) in &self.pieces {
            hasher.update(&index.to_le_bytes()).update(piece.as_slice());
        }
        for global in &self.globals {
            hasher.update(&global.bits().to_le_bytes());
        }
        *hasher.finalize().as_bytes()
    }

    /// What keeping it takes, in bytes.
    pub(crate) fn size(&self) -> usize {
        self.pieces.len() * (PAGE + 16) + self.globals.len() * size_of::<Value>()
    }
}
