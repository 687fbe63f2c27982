//! The genomes of the living, by their source: equal code is checked once and kept once.
//!
//! That is less to keep, and less to fetch: whoever runs the same code as the one before finds it in
//! the processor's caches.

use super::{Source, held};
use crate::genome::{FaintGenome, Genome, GenomeError, Rules};
use std::collections::HashMap;
use std::sync::Mutex;

/// A hash of a source and its form.
type Key = [u8; 32];

/// With fewer than so many, nobody looks for those that are gone.
const FEW: usize = 1_024;

#[derive(Debug, Default)]
pub(super) struct Library(Mutex<Shelf>);

#[derive(Debug, Default)]
struct Shelf {
    genomes: HashMap<Key, FaintGenome>,
    /// How many there were after the last look for those that are gone.
    remained: usize,
}

impl Library {
    /// The genome of this source: the one that somebody lives by, or a new one.
    pub(super) fn get(&self, source: Source<'_>, rules: &Rules) -> Result<Genome, GenomeError> {
        let Some(key) = key(source) else {
            return read(source, rules);
        };
        let known = held(&self.0).genomes.get(&key).map(FaintGenome::upgrade);
        if let Some(genome) = known.flatten() {
            return Ok(genome);
        }
        // Checked while nobody waits for the shelf; should two check the same, either will do.
        let genome = read(source, rules)?;
        held(&self.0).put(key, &genome);
        Ok(genome)
    }
}

impl Shelf {
    fn put(&mut self, key: Key, genome: &Genome) {
        // Looked through when it has doubled, so that each is looked at a few times in all.
        if self.genomes.len() >= FEW.max(2 * self.remained) {
            self.genomes.retain(|_, genome| genome.upgrade().is_some());
            self.remained = self.genomes.len();
        }
        self.genomes.insert(key, genome.downgrade());
    }
}

fn read(source: Source<'_>, rules: &Rules) -> Result<Genome, GenomeError> {
    match source {
        Source::Wasm(bytes) => Genome::from_wasm(bytes, rules),
        Source::Wat(text) => Genome::from_wat(text, rules),
        Source::Tree(tree) => Genome::from_tree(tree, rules),
        Source::JavaScript(text) => Genome::from_javascript(text, rules),
    }
}

/// What it is known by; an expression is made sooner than it is found.
fn key(source: Source<'_>) -> Option<Key> {
    let (form, bytes): (&[u8], &[u8]) = match source {
        Source::Wasm(bytes) => (b"wasm", bytes),
        Source::Wat(text) => (b"wat", text.as_bytes()),
        Source::JavaScript(text) => (b"javascript", text.as_bytes()),
        Source::Tree(_) => return None,
    };
    let mut hasher = blake3::Hasher::new();
    hasher.update(form).update(&[0]).update(bytes);
    Some(*hasher.finalize().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "(module (func (export \"f\")))";

    #[test]
    fn equal_code_is_kept_once_and_only_while_somebody_lives_by_it() {
        let (library, rules) = (Library::default(), Rules::default());
        let first = library.get(Source::Wat(CODE), &rules).unwrap();
        let second = library.get(Source::Wat(CODE), &rules).unwrap();
        assert!(first.is(&second));
        let faint = first.downgrade();
        drop((first, second));
        assert!(faint.upgrade().is_none());
        assert!(library.get(Source::Wat("(module"), &rules).is_err());
        assert!(library.get(Source::Wasm(CODE.as_bytes()), &rules).is_err());
    }

    #[test]
    fn those_that_are_gone_are_forgotten() {
        let (library, rules) = (Library::default(), Rules::default());
        for number in 0..3 * FEW {
            let text = format!("(module (func (export \"f{number}\")))");
            library.get(Source::Wat(&text), &rules).unwrap();
        }
        assert!(held(&library.0).genomes.len() <= FEW);
    }
}
