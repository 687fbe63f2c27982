//! Links `QuickJS` with the glue into one module: as it is, or as it stood at a moment.
//!
//! Each module's imports are the other's exports; what is left are imports from `agar` and the
//! exports of a genome. A moment's memory and globals become data and initial values, so that
//! whoever loads the module goes on from there.

use crate::value::Value;
use wasm_encoder::reencode::{Error, Reencode};
use wasm_encoder::{
    CodeSection, ConstExpr, DataSection, ElementSection, EntityType, ExportKind, ExportSection,
    FunctionSection, GlobalSection, ImportSection, MemorySection, MemoryType, Module, TableSection,
    TypeSection,
};
use wasmparser::{
    DataSectionReader, ElementSectionReader, ExportSectionReader, ExternalKind, FunctionBody,
    GlobalSectionReader, ImportSectionReader, Parser, Payload, TableSectionReader, TypeRef,
    TypeSectionReader,
};

/// What is needed once only, before the moment.
const BEGINNINGS: [&str; 2] = ["begin", "boot"];
/// The module whose exports the glue imports, and the one that stays imported.
const HOST: &str = "agar";
const PAGE: usize = 4_096;

/// An instance's state.
#[derive(Debug)]
pub(super) struct Moment {
    /// All of its memory.
    pub(super) memory: Vec<u8>,
    /// All of its globals.
    pub(super) globals: Vec<Value>,
}

/// A function that one of the two asks for and the other does not define.
#[derive(Debug, thiserror::Error)]
#[error("nobody defines `{0}`")]
struct Undefined(String);

type Failure = Error<Undefined>;

/// What is taken from one of the two modules.
#[derive(Default)]
struct Part<'a> {
    types: Option<TypeSectionReader<'a>>,
    /// Module, name and type of each imported function.
    imports: Vec<(&'a str, &'a str, u32)>,
    functions: Vec<u32>,
    table: Option<TableSectionReader<'a>>,
    pages: Option<u64>,
    globals: Option<GlobalSectionReader<'a>>,
    exports: Vec<(&'a str, u32)>,
    elements: Option<ElementSectionReader<'a>>,
    bodies: Vec<FunctionBody<'a>>,
    data: Option<DataSectionReader<'a>>,
}

impl<'a> Part<'a> {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "sections that neither module has, or that nobody needs"
    )]
    fn read(module: &'a [u8]) -> Result<Self, Failure> {
        let mut part = Self::default();
        for payload in Parser::new(0).parse_all(module) {
            match payload? {
                Payload::TypeSection(reader) => part.types = Some(reader),
                Payload::ImportSection(reader) => part.imports = imported(reader)?,
                Payload::FunctionSection(reader) => {
                    part.functions = reader.into_iter().collect::<Result<_, _>>()?;
                }
                Payload::TableSection(reader) => part.table = Some(reader),
                Payload::MemorySection(reader) => {
                    let first = reader.into_iter().next().transpose()?;
                    part.pages = first.map(|memory| memory.initial);
                }
                Payload::GlobalSection(reader) => part.globals = Some(reader),
                Payload::ExportSection(reader) => part.exports = exported(reader)?,
                Payload::ElementSection(reader) => part.elements = Some(reader),
                Payload::CodeSectionEntry(body) => part.bodies.push(body),
                Payload::DataSection(reader) => part.data = Some(reader),
                _ => {}
            }
        }
        Ok(part)
    }

    fn type_count(&self) -> u32 {
        self.types.as_ref().map_or(0, TypeSectionReader::count)
    }

    fn global_count(&self) -> u32 {
        self.globals.as_ref().map_or(0, GlobalSectionReader::count)
    }
}

/// Module, name and type of each imported function.
fn imported(reader: ImportSectionReader<'_>) -> Result<Vec<(&str, &str, u32)>, Failure> {
    let mut imports = Vec::new();
    for import in reader.into_imports() {
        let import = import?;
        if let TypeRef::Func(ty) = import.ty {
            imports.push((import.module, import.name, ty));
        }
    }
    Ok(imports)
}

/// Name and index of each exported function.
fn exported(reader: ExportSectionReader<'_>) -> Result<Vec<(&str, u32)>, Failure> {
    let mut exports = Vec::new();
    for export in reader {
        let export = export?;
        if export.kind == ExternalKind::Func {
            exports.push((export.name, export.index));
        }
    }
    Ok(exports)
}

/// Where a part's things lie in the whole.
struct Place {
    types: u32,
    globals: u32,
    /// The new index of each of its functions.
    functions: Vec<u32>,
}

impl Reencode for Place {
    type Error = Undefined;

    fn type_index(&mut self, ty: u32) -> Result<u32, Failure> {
        Ok(self.types + ty)
    }

    fn global_index(&mut self, global: u32) -> Result<u32, Failure> {
        Ok(self.globals + global)
    }

    fn function_index(&mut self, function: u32) -> Result<u32, Failure> {
        let place = self.functions.get(function as usize).copied();
        place.ok_or_else(|| Failure::UserError(Undefined(format!("function {function}"))))
    }
}

/// Links the two; without a moment, as they are.
pub(super) fn link(
    quickjs: &[u8],
    glue: &[u8],
    moment: Option<&Moment>,
) -> Result<Vec<u8>, String> {
    let whole = || -> Result<Vec<u8>, Failure> {
        let link = Link::new(Part::read(quickjs)?, Part::read(glue)?)?;
        link.write(moment)
    };
    whole().map_err(|error| error.to_string())
}

/// The engine and the glue, each with its place.
struct Link<'a> {
    parts: [(Part<'a>, Place); 2],
    /// Those imports of the glue that stay.
    host: Vec<(&'a str, u32)>,
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

impl<'a> Link<'a> {
    fn new(engine: Part<'a>, glue: Part<'a>) -> Result<Self, Failure> {
        let from_host = |import: &&(&'a str, &'a str, u32)| import.0 == HOST;
        let host: Vec<_> = glue.imports.iter().filter(from_host).collect();
        let host: Vec<_> = host.iter().map(|(_, name, ty)| (*name, *ty)).collect();
        let kept = count(host.len());
        let engine_end = kept + count(engine.functions.len());
        // The imports of either are functions that the other defines.
        let find = |part: &Part<'_>, name: &str, first: u32| -> Result<u32, Failure> {
            let found = part.exports.iter().find(|(it, _)| *it == name);
            let own = found.and_then(|(_, index)| index.checked_sub(count(part.imports.len())));
            own.map(|own| first + own)
                .ok_or_else(|| Failure::UserError(Undefined(name.to_owned())))
        };
        let mut of_engine = Vec::new();
        for (_, name, _) in &engine.imports {
            of_engine.push(find(&glue, name, engine_end)?);
        }
        of_engine.extend((0..count(engine.functions.len())).map(|own| kept + own));
        let mut of_glue = Vec::new();
        for (module, name, _) in &glue.imports {
            let at = host.iter().position(|(it, _)| it == name);
            of_glue.push(match at {
                Some(at) if *module == HOST => count(at),
                Some(_) | None => find(&engine, name, kept)?,
            });
        }
        of_glue.extend((0..count(glue.functions.len())).map(|own| engine_end + own));
        let behind = (engine.type_count(), engine.global_count());
        let place = |(types, globals), functions| Place {
            types,
            globals,
            functions,
        };
        let engine = (engine, place((0, 0), of_engine));
        let glue = (glue, place(behind, of_glue));
        Ok(Self {
            parts: [engine, glue],
            host,
        })
    }

    fn write(mut self, moment: Option<&Moment>) -> Result<Vec<u8>, Failure> {
        let mut module = Module::new();
        let [(engine, _), (glue, glue_place)] = &self.parts;
        let behind = glue_place.types;
        let exports = exports(engine, glue, glue_place, moment.is_some());
        let initial = engine.pages.unwrap_or_default();
        let mut types = TypeSection::new();
        let mut functions = FunctionSection::new();
        let mut tables = TableSection::new();
        let mut globals = GlobalSection::new();
        let mut elements = ElementSection::new();
        let mut code = CodeSection::new();
        let mut data = DataSection::new();
        for (part, place) in &mut self.parts {
            if let Some(reader) = part.types.take() {
                place.parse_type_section(&mut types, reader)?;
            }
            for ty in &part.functions {
                functions.function(place.types + ty);
            }
            if let Some(reader) = part.table.take() {
                place.parse_table_section(&mut tables, reader)?;
            }
            if let Some(reader) = part.globals.take() {
                place.parse_global_section(&mut globals, reader)?;
            }
            if let Some(reader) = part.elements.take() {
                place.parse_element_section(&mut elements, reader)?;
            }
            for body in std::mem::take(&mut part.bodies) {
                place.parse_function_body(&mut code, body)?;
            }
            if let Some(reader) = part.data.take() {
                place.parse_data_section(&mut data, reader)?;
            }
        }
        let mut imports = ImportSection::new();
        for (name, ty) in &self.host {
            imports.import(HOST, name, EntityType::Function(behind + ty));
        }
        let pages = moment.map_or(initial, |moment| (moment.memory.len() >> 16) as u64);
        if let Some(moment) = moment {
            globals = globals_at(moment);
            data = data_at(moment);
        }
        module
            .section(&types)
            .section(&imports)
            .section(&functions)
            .section(&tables)
            .section(&memory(pages))
            .section(&globals)
            .section(&exports)
            .section(&elements)
            .section(&code)
            .section(&data);
        Ok(module.finish())
    }
}

fn memory(pages: u64) -> MemorySection {
    let mut memories = MemorySection::new();
    memories.memory(MemoryType {
        minimum: pages,
        maximum: None,
        memory64: false,
        shared: false,
        page_size_log2: None,
    });
    memories
}

/// What the glue exports beyond what the engine asks of it.
fn exports(engine: &Part<'_>, glue: &Part<'_>, place: &Place, begun: bool) -> ExportSection {
    let mut exports = ExportSection::new();
    exports.export("memory", ExportKind::Memory, 0);
    for (name, index) in &glue.exports {
        let inner = engine.imports.iter().any(|(_, it, _)| it == name);
        if inner || (begun && BEGINNINGS.contains(name)) {
            continue;
        }
        if let Some(index) = place.functions.get(*index as usize) {
            exports.export(name, ExportKind::Func, *index);
        }
    }
    exports
}

/// Neither module has a global that is not mutable.
fn globals_at(moment: &Moment) -> GlobalSection {
    let mut globals = GlobalSection::new();
    for value in &moment.globals {
        let (val_type, initial) = match *value {
            Value::I32(value) => (wasm_encoder::ValType::I32, ConstExpr::i32_const(value)),
            Value::I64(value) => (wasm_encoder::ValType::I64, ConstExpr::i64_const(value)),
            Value::F32(value) => (
                wasm_encoder::ValType::F32,
                ConstExpr::f32_const(value.into()),
            ),
            Value::F64(value) => (
                wasm_encoder::ValType::F64,
                ConstExpr::f64_const(value.into()),
            ),
        };
        let ty = wasm_encoder::GlobalType {
            val_type,
            mutable: true,
            shared: false,
        };
        globals.global(ty, &initial);
    }
    globals
}

/// Each stretch of pages that hold something.
fn data_at(moment: &Moment) -> DataSection {
    let mut data = DataSection::new();
    let (pages, _) = moment.memory.as_chunks::<PAGE>();
    let empty = |page: &[u8; PAGE]| page.iter().all(|byte| *byte == 0);
    let stretches = pages.chunk_by(|one, next| empty(one) == empty(next));
    let mut at = 0_i32;
    for stretch in stretches {
        if stretch.first().is_some_and(|page| !empty(page)) {
            let bytes = stretch.as_flattened().iter().copied();
            data.active(0, &ConstExpr::i32_const(at), bytes);
        }
        at += i32::try_from(stretch.len() * PAGE).unwrap_or(i32::MAX);
    }
    data
}
