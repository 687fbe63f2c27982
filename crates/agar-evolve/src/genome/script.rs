//! JavaScript as a genome: source for an engine that is a genome itself.
//!
//! `QuickJS`, compiled to WebAssembly, is linked with a little glue and brought up once in a process;
//! how it then stands, memory and globals, is the module that every JavaScript genome shares. A new
//! cell begins there: nothing is left to do but to evaluate its source. Counters, limits, engines and
//! images are those of any other genome, and so is the calling convention.

mod link;

use super::refusal::GenomeError;
use super::rules::{Import, Rules};
use super::{Facts, Genome, GenomeId};
use crate::cell::converse::{self, Reply, Talk, Verb};
use crate::cell::run_once;
use crate::engine::Instance;
use crate::engine::host::Halt;
use crate::limits::{Limits, STACK_SLOTS_MAX};
use crate::value::{Value, ValueType};
use std::sync::OnceLock;

const QUICKJS: &[u8] = include_bytes!("../../vendor/quickjs-wasi/quickjs.wasm");
const GLUE: &str = include_str!("script/glue.wat");
/// What the glue reads by position, and the prelude.
const TEXTS: &str = concat!(
    "reif",
    "genome\0",
    "out of memory",
    "its promise never settles",
    include_str!("script/prelude.js")
);

const BEGIN: Verb = converse::verb("begin", 0, ValueType::I32);
const BOOT: Verb = converse::verb("boot", 2, ValueType::I32);
const SOURCE: Verb = converse::verb("source", 4, ValueType::I64);
/// What a source may define, by the bits of what `source` answers.
const VERBS: [Verb; 6] = [
    converse::INIT,
    converse::EVALUATE,
    converse::STEP,
    converse::SAVE,
    converse::LOAD,
    converse::MIGRATE,
];

/// Pages that the engine needs beside what it may give to the source.
const PAGES_SPARED: u32 = 4;

/// The engine, ready for a source.
pub(crate) struct Base {
    genome: Genome,
    /// Its memory at that moment.
    memory: Vec<u8>,
}

/// A source, and what is known of it.
pub(crate) struct Script {
    base: &'static Base,
    text: Box<str>,
    /// Bytes that it may have.
    memory: u32,
    /// What it may ask of the host, a bit each.
    allowed: u32,
    /// What the first evaluation found. It is the same every time: a source is evaluated before the
    /// cell's own seed and cases are there.
    facts: OnceLock<Facts>,
}

/// The engine as every JavaScript genome finds it, brought up by whoever needs it first.
fn base() -> Result<&'static Base, GenomeError> {
    static BASE: OnceLock<Result<Base, String>> = OnceLock::new();
    let brought_up = BASE.get_or_init(bring_up).as_ref();
    brought_up.map_err(|reason| GenomeError::Interpreter {
        reason: reason.clone(),
    })
}

fn bring_up() -> Result<Base, String> {
    let glue = wat::parse_str(GLUE).map_err(|error| error.to_string())?;
    let rules = rules_of_engine();
    let fresh = link::link(QUICKJS, &glue, None)?;
    let fresh = Genome::from_own(&fresh, &rules).map_err(|error| error.to_string())?;
    let mut instance = Instance::light(&fresh).map_err(|halt| format!("{halt:?}"))?;
    let limits = Limits {
        instructions: 1 << 32,
        stack_slots: STACK_SLOTS_MAX,
        ..Limits::default()
    };
    let booted = run_once(&mut instance, fresh.facts(), &limits, |talk| {
        let begun = talk.ask(BEGIN, &[])?;
        Ok(begun | talk.tell(BOOT, TEXTS.as_bytes(), &[])?)
    });
    match booted.outcome {
        Ok(0) => {}
        Ok(code) => return Err(format!("the prelude ended with {code}")),
        Err(halt) => return Err(format!("{halt:?}")),
    }
    let moment = moment(&mut instance, fresh.facts());
    let module = link::link(QUICKJS, &glue, Some(&moment))?;
    let genome = Genome::from_own(&module, &rules).map_err(|error| error.to_string())?;
    Ok(Base {
        genome,
        memory: moment.memory,
    })
}

fn moment(instance: &mut Instance, facts: &Facts) -> link::Moment {
    let globals: Vec<Value> = facts
        .globals
        .iter()
        .map(|(index, ty)| instance.global(*index).unwrap_or(Value::zero(*ty)))
        .collect();
    let mut memory = instance.memory().to_vec();
    // The stack begins at address zero and is empty now: what lies below its top is litter.
    if let Some(Value::I32(top)) = globals.first() {
        let used = memory.get_mut(..top.cast_unsigned() as usize);
        used.unwrap_or_default().fill(0);
    }
    link::Moment { memory, globals }
}

/// The engine is ours and known; these only have to be large enough.
fn rules_of_engine() -> Rules {
    Rules {
        module_bytes_max: 4 << 20,
        functions_max: 4_096,
        function_bytes_max: 256 << 10,
        frame_slots_max: 4_096,
        items_max: 4_096,
        ..Rules::default()
    }
}

impl Script {
    pub(super) fn new(text: &str, rules: &Rules) -> Result<Self, GenomeError> {
        let too_large = |what, limit, seen| GenomeError::TooLarge { what, limit, seen };
        if text.len() > rules.module_bytes_max {
            let limit = rules.module_bytes_max as u64;
            return Err(too_large("bytes of source", limit, text.len() as u64));
        }
        let base = base()?;
        let facts = base.genome.facts();
        let denied = facts.operations.iter().find(|it| rules.denied.has(*it));
        if let Some(operation) = denied {
            return Err(GenomeError::Denied {
                operation,
                function: 0,
            });
        }
        let needed = facts.memory.map_or(0, |memory| memory.initial) + PAGES_SPARED;
        let limit = rules.memory_pages_max;
        let pages = limit
            .checked_sub(needed)
            .ok_or_else(|| too_large("pages of memory", u64::from(limit), u64::from(needed)))?;
        let mut allowed = 0;
        for (at, import) in Import::ALL.iter().enumerate() {
            allowed |= u32::from(rules.imports.contains(import)) << at;
        }
        Ok(Self {
            base,
            text: text.into(),
            memory: pages.min(1_024) << 16,
            allowed,
            facts: OnceLock::new(),
        })
    }

    /// The engine as a genome: its module is what engines load.
    pub(crate) fn engine(&self) -> &'static Genome {
        &self.base.genome
    }

    /// Memory as it is at birth, before the source.
    pub(crate) fn birth(&self) -> &'static [u8] {
        &self.base.memory
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The name of this source on this engine.
    pub(super) fn id(&self) -> GenomeId {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"javascript\0");
        hasher.update(self.base.genome.id().bytes());
        hasher.update(self.text.as_bytes());
        GenomeId(*hasher.finalize().as_bytes())
    }

    /// What is known of it: until it was evaluated, what the engine would allow.
    pub(super) fn facts(&self) -> &Facts {
        self.facts.get().unwrap_or(self.base.genome.facts())
    }

    /// Evaluates the source in a new instance of the engine; the inner failure is in its own words.
    pub(crate) fn open(&self, talk: &mut Talk<'_>) -> Result<Result<(), String>, Halt> {
        let given = [self.memory.cast_signed(), self.allowed.cast_signed()];
        let answer = talk.tell(SOURCE, self.text.as_bytes(), &given)?;
        let Ok(defined) = u32::try_from(answer) else {
            return Ok(match talk.read(answer)? {
                Reply::Refused(words) => Err(words),
                Reply::Bytes(_) => Ok(()),
            });
        };
        self.facts.get_or_init(|| self.facts_with(defined));
        Ok(Ok(()))
    }

    /// The engine's facts, with the functions of the source.
    fn facts_with(&self, defined: u32) -> Facts {
        let mut facts = self.base.genome.facts().clone();
        facts.functions.retain(|function| {
            let verb = VERBS.iter().position(|verb| verb.name == function.name);
            match verb {
                Some(at) => defined & (1 << at) != 0,
                None => function.name != SOURCE.name,
            }
        });
        facts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::genome::Operation;

    #[test]
    fn the_engine_is_the_one_that_was_published() {
        let sum = "d4c9375f2b1ca4dc95f72c8aa2982a7a9951ac8011490d79c6582df732b4bbd9";
        let readme = include_str!("../../vendor/quickjs-wasi/README.md");
        assert!(readme.contains(sum));
        assert_eq!(QUICKJS.len(), 637_405);
        let hash = blake3::hash(QUICKJS).to_hex();
        assert_eq!(
            hash.as_str(),
            "043bf0da72910f531cb039f3272de72432cef56d7f3ea3260aaefcfef7feb65b"
        );
    }

    #[test]
    fn nothing_is_imported_but_what_a_genome_may() {
        let base = base().unwrap();
        assert_eq!(base.genome.facts().imports, Import::ALL);
        assert!(base.genome.facts().portable);
        assert!(!base.genome.facts().operations.has(Operation::TableWrite));
    }

    #[test]
    fn bringing_the_engine_up_twice_gives_the_same_module() {
        let again = bring_up().unwrap();
        assert_eq!(again.genome.id(), base().unwrap().genome.id());
    }
}
