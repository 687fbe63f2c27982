//! Children of WebAssembly modules, by `wasm-mutate`.

use crate::chance::Chance;
use wasm_mutate::WasmMutate;

/// What one mutation may cost, in the mutator's own unit.
const FUEL: u64 = 300;

/// How often another seed is tried where one finds nothing to change.
const ATTEMPTS: usize = 8;

/// A module that differs from the parent, or nothing where none was found.
pub fn mutate_module(wasm: &[u8], chance: &mut Chance) -> Option<Vec<u8>> {
    mutate(wasm, false, chance)
}

/// A module that differs from the parent and does the same.
pub fn reword_module(wasm: &[u8], chance: &mut Chance) -> Option<Vec<u8>> {
    mutate(wasm, true, chance)
}

fn mutate(wasm: &[u8], preserve: bool, chance: &mut Chance) -> Option<Vec<u8>> {
    for _ in 0..ATTEMPTS {
        let mut mutator = WasmMutate::default();
        mutator
            .seed(chance.bits())
            .fuel(FUEL)
            .preserve_semantics(preserve);
        let Ok(mut children) = mutator.run(wasm) else {
            continue;
        };
        if let Some(Ok(child)) = children.next() {
            return Some(child);
        }
    }
    None
}
