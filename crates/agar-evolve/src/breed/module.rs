//! Children of WebAssembly modules: changed by `wasm-mutate`, or crossed function by function.

use crate::chance::Chance;
use wasm_encoder::{CodeSection, Module, RawSection};
use wasm_mutate::WasmMutate;
use wasmparser::{Parser, Payload, Validator};

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

/// The mother with the body of one function replaced by one of the father's, or nothing where no
/// pair of functions was found that makes a valid module.
///
/// Bodies name types, functions and globals by number. Those of related modules mostly mean the
/// same; whether they mean anything in the mother is for the validator to say.
pub fn cross_modules(mother: &[u8], father: &[u8], chance: &mut Chance) -> Option<Vec<u8>> {
    let (own, other) = (bodies(mother)?, bodies(father)?);
    for _ in 0..ATTEMPTS {
        let (Some(at), Some(body)) = (index(&own, chance), chance.pick(&other)) else {
            return None;
        };
        if own.get(at) == Some(body) {
            continue;
        }
        let child = with_body(mother, at, body)?;
        if Validator::new().validate_all(&child).is_ok() {
            return Some(child);
        }
    }
    None
}

fn index(bodies: &[&[u8]], chance: &mut Chance) -> Option<usize> {
    (!bodies.is_empty()).then(|| chance.below(bodies.len()))
}

/// The bodies of a module's functions, as they stand there.
fn bodies(wasm: &[u8]) -> Option<Vec<&[u8]>> {
    let mut bodies = Vec::new();
    for payload in Parser::new(0).parse_all(wasm) {
        if let Payload::CodeSectionEntry(body) = payload.ok()? {
            bodies.push(wasm.get(body.range())?);
        }
    }
    Some(bodies)
}

/// The module with another body for its function at this place; everything else is copied.
fn with_body(wasm: &[u8], at: usize, body: &[u8]) -> Option<Vec<u8>> {
    let mut module = Module::new();
    let mut code = CodeSection::new();
    let mut left = 0_u32;
    for payload in Parser::new(0).parse_all(wasm) {
        let payload = payload.ok()?;
        if let Payload::CodeSectionStart { count, .. } = &payload {
            left = *count;
        } else if let Payload::CodeSectionEntry(own) = &payload {
            let chosen = code.len() as usize == at;
            code.raw(if chosen { body } else { wasm.get(own.range())? });
            left = left.saturating_sub(1);
            if left == 0 {
                module.section(&code);
            }
        } else if let Some((id, range)) = payload.as_section() {
            let data = wasm.get(range)?;
            module.section(&RawSection { id, data });
        }
    }
    Some(module.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(constant: u32, sum: bool) -> Vec<u8> {
        let operator = if sum { "add" } else { "mul" };
        wat::parse_str(format!(
            "(module (func $a (param f64) (result f64) (f64.{operator} (local.get 0) (f64.const {constant})))
               (func (export \"f\") (param f64) (result f64) (call $a (call $a (local.get 0)))))"
        ))
        .unwrap()
    }

    #[test]
    fn a_child_of_two_modules_is_valid_and_has_something_of_both() {
        let (mother, father) = (module(3, true), module(7, false));
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..50 {
            let child = cross_modules(&mother, &father, &mut Chance::of(&[seed])).unwrap();
            Validator::new().validate_all(&child).unwrap();
            assert_ne!(child, mother);
            let bodies = bodies(&child).unwrap();
            let theirs = super::bodies(&father).unwrap();
            assert!(bodies.iter().any(|body| theirs.contains(body)));
            seen.insert(child);
        }
        assert!(seen.len() > 1, "always the same child");
    }

    #[test]
    fn modules_without_functions_have_no_children() {
        let empty = wat::parse_str("(module)").unwrap();
        assert_eq!(
            cross_modules(&empty, &module(1, true), &mut Chance::of(&[1])),
            None
        );
        assert_eq!(
            cross_modules(b"nonsense", &empty, &mut Chance::of(&[1])),
            None
        );
    }
}
