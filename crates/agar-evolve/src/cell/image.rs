//! The whole state of an instance, copied from outside.
//!
//! Memory and mutable globals are all the state there is, unless a genome writes to its table or
//! drops segments. The image of one engine's instance fits an instance on the other.

use crate::engine::Instance;
use crate::engine::host::Halt;
use crate::genome::Genome;
use crate::value::{Value, ValueType};

const PAGE: usize = 4_096;

/// State, without the pages of memory that are empty, or as they were at a birth that is known.
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
    pub(crate) fn of(instance: &mut Instance, genome: &Genome) -> Self {
        let globals = genome
            .facts()
            .globals
            .iter()
            .map(|(index, ty)| instance.global(*index).unwrap_or(Value::zero(*ty)))
            .collect();
        let random = instance.host().random;
        let memory = instance.memory();
        let (pages, _) = memory.as_chunks::<PAGE>();
        let pieces = (0..)
            .zip(pages)
            .filter(|(index, page)| !is_as_at_birth(genome, *index, page))
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
    pub(crate) fn put(&self, instance: &mut Instance, genome: &Genome) -> Result<(), Halt> {
        let missing = self.length.saturating_sub(instance.memory().len());
        if missing > 0 {
            instance.grow((missing >> 16) as u64)?;
        }
        let globals = &genome.facts().globals;
        for ((index, _), value) in globals.iter().zip(&self.globals) {
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
                None if genome.birth().is_empty() && page.iter().any(|byte| *byte != 0) => {
                    page.fill(0);
                }
                None => {}
            }
        }
        Ok(())
    }

    /// All of it as bytes, from which [`Image::read`] makes the same.
    pub(crate) fn bytes(&self, genome: &Genome) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(32 + self.size());
        for number in [
            birth_mark(genome),
            self.length as u64,
            self.random,
            self.globals.len() as u64,
            self.pieces.len() as u64,
        ] {
            bytes.extend(number.to_le_bytes());
        }
        for global in &self.globals {
            bytes.extend(global.bits().to_le_bytes());
        }
        for (index, piece) in &self.pieces {
            bytes.extend(index.to_le_bytes());
            bytes.extend(piece.as_slice());
        }
        bytes
    }

    /// Reads what [`Image::bytes`] wrote of this genome; nothing where it is damaged, or relative to
    /// another birth.
    pub(crate) fn read(mut bytes: &[u8], genome: &Genome) -> Option<Self> {
        let facts = genome.facts();
        let mut word = || -> Option<u64> {
            let (word, rest) = bytes.split_first_chunk::<8>()?;
            bytes = rest;
            Some(u64::from_le_bytes(*word))
        };
        let [mark, length, random, globals, pieces] = [word()?, word()?, word()?, word()?, word()?];
        if mark != birth_mark(genome) || globals != facts.globals.len() as u64 {
            return None;
        }
        let globals: Option<Vec<Value>> = facts
            .globals
            .iter()
            .map(|(_, ty)| word().map(|bits| value(*ty, bits)))
            .collect();
        let globals = globals?;
        let length = usize::try_from(length).ok()?;
        let mut read = Vec::new();
        for _ in 0..pieces {
            let (index, rest) = bytes.split_first_chunk::<4>()?;
            let (piece, rest) = rest.split_first_chunk::<PAGE>()?;
            let index = u32::from_le_bytes(*index);
            if (index as usize + 1) * PAGE > length {
                return None;
            }
            read.push((index, Box::new(*piece)));
            bytes = rest;
        }
        bytes.is_empty().then_some(Self {
            length,
            pieces: read,
            globals,
            random,
        })
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

#[expect(
    clippy::cast_possible_truncation,
    reason = "the bits of a narrower number were widened, and are cut again"
)]
fn value(ty: ValueType, bits: u64) -> Value {
    match ty {
        ValueType::I32 => Value::I32((bits as u32).cast_signed()),
        ValueType::I64 => Value::I64(bits.cast_signed()),
        ValueType::F32 => Value::F32(f32::from_bits(bits as u32)),
        ValueType::F64 => Value::F64(f64::from_bits(bits)),
    }
}

/// Tells births that images are relative to apart; zero where they are relative to none.
fn birth_mark(genome: &Genome) -> u64 {
    let first = genome.script().and_then(|script| {
        let id = script.engine().id();
        id.bytes().first_chunk::<8>().copied()
    });
    first.map_or(0, u64::from_le_bytes)
}

/// Whether a page holds what a new instance holds there, as far as that is known.
fn is_as_at_birth(genome: &Genome, index: u32, page: &[u8; PAGE]) -> bool {
    let start = index as usize * PAGE;
    match genome.birth().get(start..start + PAGE) {
        Some(birth) => page.as_slice() == birth,
        None => page.iter().all(|byte| *byte == 0),
    }
}
