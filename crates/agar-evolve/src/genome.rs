//! A genome: code that was checked, given its counters and named by its content.
//!
//! Nothing reaches an engine that has not come through here. The checks read the bytes only; the
//! counters make both engines agree on every limit, so that where a genome runs can never be seen
//! in what it answers.

mod body;
mod emit;
mod operator;
mod piece;
pub(crate) mod rebuild;
mod refusal;
mod rules;
mod script;
mod survey;

pub use self::refusal::GenomeError;
pub use self::rules::{Import, Operation, Operations, Rules};

pub(crate) use self::script::Script;

use self::survey::{Frames, Survey};
use crate::tree::Tree;
use crate::value::ValueType;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::{Arc, OnceLock, Weak};
use wasmparser::ValType;

/// The name of a genome: a hash of its code as it was given, before the counters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct GenomeId([u8; 32]);

/// The text is not the name of a genome.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not the name of a genome")]
pub struct NotAGenomeId(pub String);

impl GenomeId {
    /// The name of this code.
    pub fn of(wasm: &[u8]) -> Self {
        Self(*blake3::hash(wasm).as_bytes())
    }

    /// The hash itself.
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The first letters, enough for people.
    pub fn short(&self) -> String {
        self.to_string().chars().take(12).collect()
    }
}

impl fmt::Display for GenomeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for GenomeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GenomeId({})", self.short())
    }
}

impl std::str::FromStr for GenomeId {
    type Err = NotAGenomeId;

    fn from_str(text: &str) -> Result<Self, NotAGenomeId> {
        blake3::Hash::from_hex(text)
            .map(|hash| Self(*hash.as_bytes()))
            .map_err(|_| NotAGenomeId(text.chars().take(80).collect()))
    }
}

impl TryFrom<String> for GenomeId {
    type Error = NotAGenomeId;

    fn try_from(text: String) -> Result<Self, NotAGenomeId> {
        text.parse()
    }
}

impl From<GenomeId> for String {
    fn from(id: GenomeId) -> Self {
        id.to_string()
    }
}

/// One function that a genome exports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// What it takes.
    pub params: Vec<ValueType>,
    /// What it answers.
    pub results: Vec<ValueType>,
    /// What one call costs, where that is the same number whatever the arguments.
    pub cost: Option<u64>,
}

/// Linear memory, in pages of 64 KiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pages {
    /// At birth.
    pub initial: u32,
    /// At most.
    pub max: u32,
}

/// What is known of a genome without running it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// What it exports and the host can call.
    pub functions: Vec<Function>,
    /// How many functions it defines.
    pub functions_defined: u32,
    /// Its memory, if it has one.
    pub memory: Option<Pages>,
    /// What its table can grow to, if it has one.
    pub table_elements: Option<u32>,
    /// What it imports.
    pub imports: Vec<Import>,
    /// What the scan found.
    pub operations: Operations,
    /// The mutable globals, by index.
    pub(crate) globals: Vec<(u32, ValueType)>,
    /// Whether its whole state can be copied from outside.
    pub(crate) portable: bool,
    /// Whether it carries counters; if not, the host charges each call by its known cost.
    pub(crate) metered: bool,
}

impl Facts {
    /// The position of the exported function of that name.
    pub fn function(&self, name: &str) -> Option<usize> {
        self.functions.iter().position(|it| it.name == name)
    }

    /// Whether nothing of one call can be seen by the next.
    pub fn is_stateless(&self) -> bool {
        self.memory.is_none() && self.globals.is_empty() && self.portable
    }
}

/// Code that may live in a cell. Cheap to clone.
#[derive(Clone)]
pub struct Genome(Arc<Contents>);

/// A genome for as long as somebody else keeps it.
pub(crate) struct FaintGenome(Weak<Contents>);

impl FaintGenome {
    pub(crate) fn upgrade(&self) -> Option<Genome> {
        self.0.upgrade().map(Genome)
    }
}

impl fmt::Debug for FaintGenome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FaintGenome").field(&self.upgrade()).finish()
    }
}

/// What is not needed for an expression to live is made when somebody asks for it.
struct Contents {
    tree: Option<Tree>,
    script: Option<Script>,
    id: OnceLock<GenomeId>,
    wasm: OnceLock<Box<[u8]>>,
    module: OnceLock<Box<[u8]>>,
    facts: Facts,
    pub(crate) code: crate::engine::Code,
}

/// Expressions of at most so many nodes and arguments break no rule that allows modules of
/// [`SMALL_BYTES`] and frames of [`SMALL_SLOTS`].
const SMALL_NODES: usize = 512;
const SMALL_ARGUMENTS: u16 = 64;
const SMALL_BYTES: usize = 32 << 10;
const SMALL_SLOTS: u32 = 1_024;

impl Genome {
    /// Checks a WebAssembly module and gives it its counters.
    pub fn from_wasm(wasm: &[u8], rules: &Rules) -> Result<Self, GenomeError> {
        Self::surveyed(wasm, rules, Frames::Worst)
    }

    /// The same for a module of our own, whose frames are known not to be made to hurt.
    pub(crate) fn from_own(wasm: &[u8], rules: &Rules) -> Result<Self, GenomeError> {
        Self::surveyed(wasm, rules, Frames::Usual)
    }

    fn surveyed(wasm: &[u8], rules: &Rules, frames: Frames) -> Result<Self, GenomeError> {
        let survey = survey::read(wasm, rules, frames)?;
        let module = rebuild::module(wasm, &survey, rules)?;
        Ok(Self(Arc::new(Contents {
            tree: None,
            script: None,
            id: GenomeId::of(wasm).into(),
            wasm: OnceLock::from(Box::<[u8]>::from(wasm)),
            module: OnceLock::from(module.into_boxed_slice()),
            facts: facts(&survey, rules),
            code: crate::engine::Code::default(),
        })))
    }

    /// The same for WebAssembly's text format.
    pub fn from_wat(text: &str, rules: &Rules) -> Result<Self, GenomeError> {
        // Text is many times as long as what it says, but not without end.
        let limit = rules.module_bytes_max.saturating_mul(16);
        if text.len() > limit {
            return Err(GenomeError::TooLarge {
                what: "bytes of text",
                limit: limit as u64,
                seen: text.len() as u64,
            });
        }
        let wasm = wat::parse_str(text).map_err(|error| GenomeError::Text {
            reason: error.to_string(),
        })?;
        Self::from_wasm(&wasm, rules)
    }

    /// The same for an expression, as a module that exports `f`.
    pub fn from_tree(tree: &Tree, rules: &Rules) -> Result<Self, GenomeError> {
        let small = tree.nodes().len() <= SMALL_NODES
            && tree.arguments() <= SMALL_ARGUMENTS
            && rules.module_bytes_max.min(rules.function_bytes_max) >= SMALL_BYTES
            && rules.frame_slots_max >= SMALL_SLOTS
            && rules.functions_max.min(rules.items_max) >= 1;
        if !small {
            return Self::from_wasm(&tree.encode()?, rules);
        }
        Ok(Self(Arc::new(Contents {
            tree: Some(tree.clone()),
            script: None,
            id: OnceLock::new(),
            wasm: OnceLock::new(),
            module: OnceLock::new(),
            facts: facts_of_tree(tree),
            code: crate::engine::Code::default(),
        })))
    }

    /// JavaScript source, for an engine that all such genomes share. Whether it is JavaScript shows
    /// when a cell first evaluates it, under the cell's limits.
    pub fn from_javascript(source: &str, rules: &Rules) -> Result<Self, GenomeError> {
        let script = Script::new(source, rules)?;
        let engine = script.engine();
        Ok(Self(Arc::new(Contents {
            tree: None,
            id: script.id().into(),
            wasm: OnceLock::from(Box::<[u8]>::from(source.as_bytes())),
            module: OnceLock::new(),
            facts: engine.facts().clone(),
            code: crate::engine::Code::default(),
            script: Some(script),
        })))
    }

    /// The genome of what [`Genome::wasm`] gave: a module by its first bytes, else JavaScript.
    pub fn read(bytes: &[u8], rules: &Rules) -> Result<Self, GenomeError> {
        match std::str::from_utf8(bytes) {
            Ok(source) if !bytes.starts_with(b"\0asm") => Self::from_javascript(source, rules),
            Ok(_) | Err(_) => Self::from_wasm(bytes, rules),
        }
    }

    pub(crate) fn downgrade(&self) -> FaintGenome {
        FaintGenome(Arc::downgrade(&self.0))
    }

    /// Whether the two are one, and not just equal.
    #[cfg(test)]
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The source that it was made of, where it was made of JavaScript.
    pub fn javascript(&self) -> Option<&str> {
        self.script().map(Script::text)
    }

    /// The source that it was made of, where it was made of one, with its engine.
    pub(crate) fn script(&self) -> Option<&Script> {
        self.0.script.as_ref()
    }

    /// What engines load and keep for it: itself, or the engine of its language.
    pub(crate) fn loaded(&self) -> &Self {
        match self.script() {
            Some(script) => script.engine(),
            None => self,
        }
    }

    /// Memory as it is at birth where that is known; nothing otherwise.
    pub(crate) fn birth(&self) -> &[u8] {
        match self.script() {
            Some(script) => script.birth(),
            None => &[],
        }
    }

    /// The expression that it was made of, where it was made of a small one.
    pub fn tree(&self) -> Option<&Tree> {
        self.0.tree.as_ref()
    }

    /// Its name.
    pub fn id(&self) -> GenomeId {
        *self.0.id.get_or_init(|| GenomeId::of(self.wasm()))
    }

    /// The code as it was given: the module, or the source.
    pub fn wasm(&self) -> &[u8] {
        let encoded = || self.tree().map(Tree::encoded).unwrap_or_default();
        self.0.wasm.get_or_init(|| encoded().into())
    }

    /// The code as engines load it.
    pub(crate) fn module(&self) -> &[u8] {
        let own = || {
            // No rule can refuse a small expression; were one to, the engines would refuse nothing.
            let whole = Self::from_wasm(self.wasm(), &Rules::default());
            whole.map(|it| it.module().into()).unwrap_or_default()
        };
        match self.script() {
            Some(script) => script.engine().module(),
            None => self.0.module.get_or_init(own),
        }
    }

    /// What is known of it.
    pub fn facts(&self) -> &Facts {
        self.script().map_or(&self.0.facts, Script::facts)
    }

    /// What engines made of it.
    pub(crate) fn code(&self) -> &crate::engine::Code {
        &self.loaded().0.code
    }
}

impl fmt::Debug for Genome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Genome")
            .field("id", &self.id())
            .field("bytes", &self.wasm().len())
            .finish_non_exhaustive()
    }
}

fn facts(survey: &Survey<'_>, rules: &Rules) -> Facts {
    let (pages_max, elements_max) = rebuild::ceilings(survey, rules);
    let metered = !rebuild::costs_are_known(survey);
    let globals: Vec<_> = survey
        .mutable
        .iter()
        .filter_map(|(index, ty)| value_type(*ty).map(|ty| (*index, ty)))
        .collect();
    let portable = globals.len() == survey.mutable.len()
        && !survey.operations.has(Operation::TableWrite)
        && !survey.operations.has(Operation::SegmentDrop);
    Facts {
        functions: functions(survey, metered),
        functions_defined: u32::try_from(survey.functions.len()).unwrap_or(u32::MAX),
        memory: survey.memory.map(|memory| Pages {
            initial: u32::try_from(memory.initial).unwrap_or(u32::MAX),
            max: pages_max,
        }),
        table_elements: survey.table.map(|_| elements_max),
        imports: survey.imports.iter().map(|(import, _)| *import).collect(),
        operations: survey.operations,
        globals,
        portable,
        metered,
    }
}

/// What reading the module of an expression would say.
fn facts_of_tree(tree: &Tree) -> Facts {
    let function = Function {
        name: crate::tree::ENTRY.to_owned(),
        params: vec![ValueType::F64; usize::from(tree.arguments())],
        results: vec![ValueType::F64],
        cost: Some(tree.cost()),
    };
    Facts {
        functions: vec![function],
        functions_defined: 1,
        memory: None,
        table_elements: None,
        imports: Vec::new(),
        operations: Operations::NONE,
        globals: Vec::new(),
        portable: true,
        metered: false,
    }
}

/// The exported functions that the host can call: of the genome's own, with plain numbers.
fn functions(survey: &Survey<'_>, metered: bool) -> Vec<Function> {
    let mut functions = Vec::new();
    for exported in &survey.exported {
        let own = (exported.index as usize).checked_sub(survey.imports.len());
        let Some(own) = own else { continue };
        let ty = survey.functions.get(own);
        let Some(ty) = ty.and_then(|ty| survey.types.get(*ty as usize)) else {
            continue;
        };
        let values = |types: &[ValType]| types.iter().map(|ty| value_type(*ty)).collect();
        let (params, results): (Option<Vec<_>>, Option<Vec<_>>) =
            (values(ty.params()), values(ty.results()));
        if let (Some(params), Some(results)) = (params, results) {
            let cost = survey.bodies.get(own).and_then(|body| body.cost);
            functions.push(Function {
                name: exported.name.clone(),
                params,
                results,
                cost: cost.filter(|_| !metered),
            });
        }
    }
    functions
}

fn value_type(ty: ValType) -> Option<ValueType> {
    match ty {
        ValType::I32 => Some(ValueType::I32),
        ValType::I64 => Some(ValueType::I64),
        ValType::F32 => Some(ValueType::F32),
        ValType::F64 => Some(ValueType::F64),
        ValType::V128 | ValType::Ref(_) => None,
    }
}
