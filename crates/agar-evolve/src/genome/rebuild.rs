//! Writes the module that engines load: the genome with its counters.
//!
//! Custom sections are left out, limits of memory and table become part of their types, and what
//! the host needs to reach gets a reserved name: the counters, the memory, the mutable globals.

use super::emit::{self, Layout};
use super::refusal::GenomeError;
use super::rules::Rules;
use super::survey::{RESERVED, Survey};
use std::collections::{BTreeMap, BTreeSet};
use wasm_encoder::reencode::{Reencode, RoundtripReencoder};
use wasm_encoder::{
    BlockType, ConstExpr, Encode, EntityType, ExportKind, ExportSection, FuncType, GlobalSection,
    GlobalType, ImportSection, MemorySection, MemoryType, Module, RawSection, SectionId, ValType,
};

/// The reserved name of the instruction counter.
pub(crate) const FUEL: &str = "agar:fuel";
/// The reserved name of the depth counter.
pub(crate) const DEPTH: &str = "agar:depth";
/// The reserved name of the linear memory.
pub(crate) const MEMORY: &str = "agar:memory";
/// The name by which counters ask for more.
pub(crate) const METER: &str = "meter";

/// The reserved name of a mutable global.
pub(crate) fn global_name(index: u32) -> String {
    format!("{RESERVED}global:{index}")
}

/// The limits as the module's types will state them: pages and elements.
pub(crate) fn ceilings(survey: &Survey<'_>, rules: &Rules) -> (u32, u32) {
    let least = |declared: Option<u64>, rule: u32| {
        declared.map_or(rule, |most| u32::try_from(most).unwrap_or(rule).min(rule))
    };
    let memory = survey.memory.as_ref();
    let pages = memory.map_or(0, |it| least(it.maximum, rules.memory_pages_max));
    let table = survey.table.as_ref();
    let elements = table.map_or(0, |it| least(it.maximum, rules.table_elements_max));
    (pages, elements)
}

/// Whether the host can charge every call itself: no function calls another, and each has one cost.
pub(crate) fn costs_are_known(survey: &Survey<'_>) -> bool {
    survey.bodies.iter().all(|body| body.cost.is_some())
}

/// Writes the module.
pub(crate) fn module(
    bytes: &[u8],
    survey: &Survey<'_>,
    rules: &Rules,
) -> Result<Vec<u8>, GenomeError> {
    let (pages_max, elements_max) = ceilings(survey, rules);
    let imported = u32::try_from(survey.imports.len()).unwrap_or(u32::MAX);
    let layout = (!costs_are_known(survey)).then_some(Layout {
        meter: imported,
        fuel: survey.global_count,
        depth: survey.global_count + 1,
        pages_max,
        elements_max,
    });
    let rebuild = Rebuild {
        bytes,
        survey,
        layout,
        pages_max,
        elements_max,
    };
    rebuild.write().map_err(|error| GenomeError::Malformed {
        reason: error.to_string(),
        offset: 0,
    })
}

type Failure = wasm_encoder::reencode::Error;

struct Rebuild<'s, 'a> {
    bytes: &'a [u8],
    survey: &'s Survey<'a>,
    layout: Option<Layout>,
    pages_max: u32,
    elements_max: u32,
}

/// Gives functions their new index wherever one is named.
struct Shift(Option<Layout>);

impl Reencode for Shift {
    type Error = std::convert::Infallible;

    fn function_index(
        &mut self,
        function: u32,
    ) -> Result<u32, wasm_encoder::reencode::Error<Self::Error>> {
        Ok(self.0.map_or(function, |layout| layout.function(function)))
    }
}

impl Rebuild<'_, '_> {
    fn write(&self) -> Result<Vec<u8>, Failure> {
        let mut module = Module::new();
        let blocks = self.types(&mut module)?;
        self.imports(&mut module);
        self.functions(&mut module);
        self.table(&mut module)?;
        self.memory(&mut module);
        self.globals(&mut module)?;
        self.exports(&mut module)?;
        if let Some(reader) = &self.survey.elements {
            let mut elements = wasm_encoder::ElementSection::new();
            Shift(self.layout).parse_element_section(&mut elements, reader.clone())?;
            module.section(&elements);
        }
        if let Some(count) = self.survey.data_count {
            module.section(&wasm_encoder::DataCountSection { count });
        }
        self.code(&mut module, &blocks)?;
        if let Some(range) = &self.survey.data {
            let data = self.bytes.get(range.clone()).unwrap_or_default();
            module.section(&RawSection {
                id: SectionId::Data.into(),
                data,
            });
        }
        Ok(module.finish())
    }

    /// The types as they were, then ours. Answers the block types of functions with several
    /// results, by the type of the function.
    fn types(&self, module: &mut Module) -> Result<BTreeMap<u32, u32>, Failure> {
        let (count, range) = self.survey.type_bytes.clone().unwrap_or((0, 0..0));
        let mut added: u32 = 0;
        let mut ours = Vec::new();
        let mut blocks = BTreeMap::new();
        if self.layout.is_some() {
            FuncType::new([ValType::I64], [ValType::I64]).encode_into(&mut ours);
            added += 1;
            for ty in self.wrapped_types() {
                let results = self.results(ty);
                let results = RoundtripReencoder.val_types(results.to_vec())?;
                FuncType::new([], results).encode_into(&mut ours);
                blocks.insert(ty, count + added);
                added += 1;
            }
        }
        if count + added > 0 {
            let mut data = Vec::new();
            (count + added).encode(&mut data);
            data.extend_from_slice(self.bytes.get(range).unwrap_or_default());
            data.extend_from_slice(&ours);
            module.section(&RawSection {
                id: SectionId::Type.into(),
                data: &data,
            });
        }
        Ok(blocks)
    }

    /// The types of functions that call others and have several results.
    fn wrapped_types(&self) -> BTreeSet<u32> {
        let bodies = self.survey.bodies.iter().filter(|body| body.calls);
        let types = bodies.map(|body| body.ty);
        types.filter(|ty| self.results(*ty).len() > 1).collect()
    }

    fn results(&self, ty: u32) -> &[wasmparser::ValType] {
        let ty = self.survey.types.get(ty as usize);
        ty.map_or(&[], |ty| ty.results())
    }

    fn imports(&self, module: &mut Module) {
        let mut imports = ImportSection::new();
        for (import, ty) in &self.survey.imports {
            imports.import("agar", import.name(), EntityType::Function(*ty));
        }
        if self.layout.is_some() {
            let ty = self
                .survey
                .type_bytes
                .as_ref()
                .map_or(0, |(count, _)| *count);
            imports.import("agar", METER, EntityType::Function(ty));
        }
        if !imports.is_empty() {
            module.section(&imports);
        }
    }

    fn functions(&self, module: &mut Module) {
        if self.survey.functions.is_empty() {
            return;
        }
        let mut functions = wasm_encoder::FunctionSection::new();
        for ty in &self.survey.functions {
            functions.function(*ty);
        }
        module.section(&functions);
    }

    fn table(&self, module: &mut Module) -> Result<(), Failure> {
        let Some(table) = self.survey.table else {
            return Ok(());
        };
        let mut tables = wasm_encoder::TableSection::new();
        let table = RoundtripReencoder.table_type(table)?;
        tables.table(wasm_encoder::TableType {
            maximum: Some(u64::from(self.elements_max)),
            ..table
        });
        module.section(&tables);
        Ok(())
    }

    fn memory(&self, module: &mut Module) {
        let Some(memory) = self.survey.memory else {
            return;
        };
        let mut memories = MemorySection::new();
        memories.memory(MemoryType {
            minimum: memory.initial,
            maximum: Some(u64::from(self.pages_max)),
            memory64: false,
            shared: false,
            page_size_log2: None,
        });
        module.section(&memories);
    }

    fn globals(&self, module: &mut Module) -> Result<(), Failure> {
        let mut globals = GlobalSection::new();
        if let Some(reader) = &self.survey.globals {
            Shift(self.layout).parse_global_section(&mut globals, reader.clone())?;
        }
        if self.layout.is_some() {
            let counter = |val_type| GlobalType {
                val_type,
                mutable: true,
                shared: false,
            };
            globals.global(counter(ValType::I64), &ConstExpr::i64_const(0));
            globals.global(counter(ValType::I32), &ConstExpr::i32_const(0));
        }
        if !globals.is_empty() {
            module.section(&globals);
        }
        Ok(())
    }

    fn exports(&self, module: &mut Module) -> Result<(), Failure> {
        let mut exports = ExportSection::new();
        if let Some(reader) = &self.survey.exports {
            Shift(self.layout).parse_export_section(&mut exports, reader.clone())?;
        }
        for (index, _) in &self.survey.mutable {
            exports.export(&global_name(*index), ExportKind::Global, *index);
        }
        if let Some(layout) = self.layout {
            exports.export(FUEL, ExportKind::Global, layout.fuel);
            exports.export(DEPTH, ExportKind::Global, layout.depth);
        }
        if self.survey.memory.is_some() {
            exports.export(MEMORY, ExportKind::Memory, 0);
        }
        if !exports.is_empty() {
            module.section(&exports);
        }
        Ok(())
    }

    fn code(&self, module: &mut Module, blocks: &BTreeMap<u32, u32>) -> Result<(), Failure> {
        if self.survey.bodies.is_empty() {
            return Ok(());
        }
        let mut data = Vec::with_capacity(self.bytes.len());
        let count = u32::try_from(self.survey.bodies.len()).unwrap_or(u32::MAX);
        count.encode(&mut data);
        for body in &self.survey.bodies {
            let results = match self.results(body.ty) {
                [] => BlockType::Empty,
                [one] => BlockType::Result(RoundtripReencoder.val_type(*one)?),
                [..] => BlockType::FunctionType(blocks.get(&body.ty).copied().unwrap_or_default()),
            };
            emit::function(self.bytes, body, self.layout, results, &mut data);
        }
        module.section(&RawSection {
            id: SectionId::Code.into(),
            data: &data,
        });
        Ok(())
    }
}

/// Types are written by their section only; this writes one into a section of our own.
trait EncodeInto {
    fn encode_into(&self, out: &mut Vec<u8>);
}

impl EncodeInto for FuncType {
    fn encode_into(&self, out: &mut Vec<u8>) {
        out.push(0x60);
        self.params().encode(out);
        self.results().encode(out);
    }
}
