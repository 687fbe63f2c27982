//! Reads a module once: validates it, holds it against the rules, and collects what loading needs.

use super::body::{self, Body, Context};
use super::refusal::GenomeError;
use super::rules::{Import, Operations, Rules};
use std::ops::Range;
use wasmparser::{
    Encoding, ExportSectionReader, ExternalKind, FuncToValidate, FuncType,
    FuncValidatorAllocations, FunctionBody, GlobalSectionReader, ImportSectionReader, MemoryType,
    Parser, Payload, TableType, TypeRef, TypeSectionReader, ValType, ValidPayload, Validator,
    ValidatorResources, WasmFeatures,
};

/// Names that begin with this are the host's own.
pub(crate) const RESERVED: &str = "agar:";

/// What cells offer. Threads, SIMD in both forms, tail calls, 64-bit and several memories,
/// exceptions and collected references are out: each would need its own proof that two engines
/// agree.
fn features() -> WasmFeatures {
    WasmFeatures::MUTABLE_GLOBAL
        | WasmFeatures::SATURATING_FLOAT_TO_INT
        | WasmFeatures::SIGN_EXTENSION
        | WasmFeatures::REFERENCE_TYPES
        | WasmFeatures::MULTI_VALUE
        | WasmFeatures::BULK_MEMORY
        | WasmFeatures::FLOATS
        | WasmFeatures::BULK_MEMORY_OPT
        | WasmFeatures::CALL_INDIRECT_OVERLONG
}

/// One exported function.
#[derive(Debug, Clone)]
pub(crate) struct Exported {
    pub(crate) name: String,
    pub(crate) index: u32,
}

/// What was found in the module.
#[derive(Debug, Default)]
pub(crate) struct Survey<'a> {
    pub(crate) types: Vec<FuncType>,
    pub(crate) type_bytes: Option<(u32, Range<usize>)>,
    pub(crate) imports: Vec<(Import, u32)>,
    pub(crate) functions: Vec<u32>,
    pub(crate) table: Option<TableType>,
    pub(crate) memory: Option<MemoryType>,
    pub(crate) globals: Option<GlobalSectionReader<'a>>,
    /// The mutable ones, by index.
    pub(crate) mutable: Vec<(u32, ValType)>,
    pub(crate) global_count: u32,
    pub(crate) exports: Option<ExportSectionReader<'a>>,
    pub(crate) exported: Vec<Exported>,
    /// The index of the memory is always zero; the name is what the host finds it by.
    pub(crate) memory_exported: bool,
    pub(crate) table_exported: bool,
    pub(crate) elements: Option<wasmparser::ElementSectionReader<'a>>,
    pub(crate) data_count: Option<u32>,
    pub(crate) bodies: Vec<Body>,
    pub(crate) data: Option<Range<usize>>,
    pub(crate) operations: Operations,
}

/// How much of the stack a call is taken to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Frames {
    /// The most that a compiler could make of it: every instruction's result at once.
    Worst,
    /// Its locals and operands: what compilers make of code that nobody wrote to hurt.
    Usual,
}

/// Refuses more than the limit.
fn at_most(what: &'static str, limit: u64, seen: u64) -> Result<(), GenomeError> {
    if seen > limit {
        return Err(GenomeError::TooLarge { what, limit, seen });
    }
    Ok(())
}

/// Reads the whole module.
pub(crate) fn read<'a>(
    bytes: &'a [u8],
    rules: &Rules,
    frames: Frames,
) -> Result<Survey<'a>, GenomeError> {
    at_most("bytes", rules.module_bytes_max as u64, bytes.len() as u64)?;
    let mut reading = Reading {
        survey: Survey::default(),
        rules,
        frames,
        allocations: FuncValidatorAllocations::default(),
    };
    let mut validator = Validator::new_with_features(features());
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload?;
        if let Payload::Version { encoding, .. } = payload
            && encoding != Encoding::Module
        {
            return Err(GenomeError::Malformed {
                reason: "it is a component, not a module".to_owned(),
                offset: 0,
            });
        }
        reading.limit(&payload)?;
        match validator.payload(&payload)? {
            ValidPayload::Func(function, body) => reading.function(function, &body)?,
            ValidPayload::Ok | ValidPayload::End(_) => reading.section(&payload)?,
            ValidPayload::Parser(_) => {}
        }
    }
    Ok(reading.survey)
}

struct Reading<'a, 'r> {
    survey: Survey<'a>,
    rules: &'r Rules,
    frames: Frames,
    allocations: FuncValidatorAllocations,
}

impl<'a> Reading<'a, '_> {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "sections without a count, and those the validator refuses"
    )]
    /// Counts are held against the rules before anyone walks through what they announce.
    fn limit(&self, payload: &Payload<'a>) -> Result<(), GenomeError> {
        let (what, limit, seen) = match payload {
            Payload::TypeSection(reader) => ("types", self.rules.items_max, reader.count()),
            Payload::ImportSection(reader) => ("imports", self.rules.items_max, reader.count()),
            Payload::FunctionSection(reader) => {
                ("functions", self.rules.functions_max, reader.count())
            }
            Payload::TableSection(reader) => ("tables", 1, reader.count()),
            Payload::MemorySection(reader) => ("memories", 1, reader.count()),
            Payload::GlobalSection(reader) => ("globals", self.rules.items_max, reader.count()),
            Payload::ExportSection(reader) => ("exports", self.rules.items_max, reader.count()),
            Payload::ElementSection(reader) => {
                ("element segments", self.rules.items_max, reader.count())
            }
            Payload::DataSection(reader) => ("data segments", self.rules.items_max, reader.count()),
            _ => return Ok(()),
        };
        at_most(what, u64::from(limit), u64::from(seen))
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "custom sections carry no code, and the validator refuses the rest"
    )]
    fn section(&mut self, payload: &Payload<'a>) -> Result<(), GenomeError> {
        match payload {
            Payload::TypeSection(reader) => self.types(reader.clone()),
            Payload::ImportSection(reader) => self.imports(reader.clone()),
            Payload::FunctionSection(reader) => {
                self.survey.functions = reader.clone().into_iter().collect::<Result<_, _>>()?;
                Ok(())
            }
            Payload::TableSection(reader) => self.table(reader.clone()),
            Payload::MemorySection(reader) => self.memory(reader.clone()),
            Payload::GlobalSection(reader) => self.globals(reader.clone()),
            Payload::ExportSection(reader) => self.exports(reader.clone()),
            Payload::StartSection { .. } => Err(GenomeError::Start),
            Payload::ElementSection(reader) => {
                self.survey.elements = Some(reader.clone());
                Ok(())
            }
            Payload::DataCountSection { count, .. } => {
                self.survey.data_count = Some(*count);
                Ok(())
            }
            Payload::DataSection(reader) => {
                self.survey.data = Some(reader.range());
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn types(&mut self, reader: TypeSectionReader<'a>) -> Result<(), GenomeError> {
        let (count, range) = (reader.count(), reader.range());
        let body = reader.original_position()..range.end;
        for group in reader.into_iter_err_on_gc_types() {
            self.survey.types.push(group?);
        }
        self.survey.type_bytes = Some((count, body));
        Ok(())
    }

    fn imports(&mut self, reader: ImportSectionReader<'a>) -> Result<(), GenomeError> {
        for import in reader.into_imports() {
            let import = import?;
            let refuse = |reason| GenomeError::Import {
                module: import.module.to_owned(),
                name: import.name.to_owned(),
                reason,
            };
            let known = Import::named(import.name).filter(|_| import.module == "agar");
            let known = known.ok_or_else(|| refuse("the host offers no such thing"))?;
            if !self.rules.imports.contains(&known) {
                return Err(refuse("it is not on the allow-list"));
            }
            let TypeRef::Func(ty) = import.ty else {
                return Err(refuse("it is a function"));
            };
            let matches = self
                .survey
                .types
                .get(ty as usize)
                .is_some_and(|ty| has_signature(ty, known));
            if !matches {
                return Err(refuse("its type is another"));
            }
            self.survey.imports.push((known, ty));
        }
        Ok(())
    }

    fn table(&mut self, reader: wasmparser::TableSectionReader<'a>) -> Result<(), GenomeError> {
        for table in reader {
            let table = table?.ty;
            let limit = u64::from(self.rules.table_elements_max);
            at_most("table elements", limit, table.initial)?;
            if !table.element_type.is_func_ref() {
                return Err(GenomeError::Malformed {
                    reason: "its table holds something other than functions".to_owned(),
                    offset: 0,
                });
            }
            self.survey.table = Some(table);
        }
        Ok(())
    }

    fn memory(&mut self, reader: wasmparser::MemorySectionReader<'a>) -> Result<(), GenomeError> {
        for memory in reader {
            let memory = memory?;
            let limit = u64::from(self.rules.memory_pages_max);
            at_most("pages of memory", limit, memory.initial)?;
            self.survey.memory = Some(memory);
        }
        Ok(())
    }

    fn globals(&mut self, reader: GlobalSectionReader<'a>) -> Result<(), GenomeError> {
        self.survey.global_count = reader.count();
        for (index, global) in (0..).zip(reader.clone()) {
            let ty = global?.ty;
            if ty.mutable {
                self.survey.mutable.push((index, ty.content_type));
            }
        }
        self.survey.globals = Some(reader);
        Ok(())
    }

    fn exports(&mut self, reader: ExportSectionReader<'a>) -> Result<(), GenomeError> {
        for export in reader.clone() {
            let export = export?;
            if export.name.starts_with(RESERVED) {
                return Err(GenomeError::ReservedExport {
                    name: export.name.to_owned(),
                });
            }
            match export.kind {
                ExternalKind::Func => self.survey.exported.push(Exported {
                    name: export.name.to_owned(),
                    index: export.index,
                }),
                ExternalKind::Memory => self.survey.memory_exported |= export.name == "memory",
                ExternalKind::Table => self.survey.table_exported = true,
                ExternalKind::Global | ExternalKind::Tag | ExternalKind::FuncExact => {}
            }
        }
        self.survey.exports = Some(reader);
        Ok(())
    }

    fn function(
        &mut self,
        function: FuncToValidate<ValidatorResources>,
        body: &FunctionBody<'a>,
    ) -> Result<(), GenomeError> {
        let limit = self.rules.function_bytes_max as u64;
        at_most("bytes in one function", limit, body.range().len() as u64)?;
        let context = Context {
            rules: self.rules,
            frames: self.frames,
            imported: u32::try_from(self.survey.imports.len()).unwrap_or(u32::MAX),
            function: function.index,
        };
        let allocations = std::mem::take(&mut self.allocations);
        let mut validator = function.into_validator(allocations);
        let body = body::read(body, &mut validator, &context, &mut self.survey.operations)?;
        self.allocations = validator.into_allocations();
        self.survey.bodies.push(body);
        Ok(())
    }
}

fn has_signature(ty: &FuncType, import: Import) -> bool {
    let (params, result) = import.signature();
    ty.params().len() == params
        && ty.params().iter().all(|param| *param == ValType::I32)
        && ty.results() == result.as_slice()
}
