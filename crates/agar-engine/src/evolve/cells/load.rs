//! The code of a cell, from whatever file it is in.

use super::super::failure::EvolveError;
use super::act::wrong;
use super::keep::rules;
use crate::compile::{Compiled, compile};
use crate::{Engine, EngineError, NoControls, SandboxOptions};
use agar_evolve::{Genome, Tree};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// What a file's name says of the code in it.
enum Form {
    /// WebAssembly, or its text format; its first bytes say which.
    Module,
    JavaScript,
    Source(Compiled),
}

impl Form {
    fn of(path: &Path) -> Self {
        match path.extension().and_then(OsStr::to_str) {
            Some("js" | "mjs") => Self::JavaScript,
            Some("c") => Self::Source(Compiled::C),
            Some("rs") => Self::Source(Compiled::Rust),
            Some(_) | None => Self::Module,
        }
    }
}

/// The genome of a file or of a formula. What has to be compiled is compiled in a sandbox.
pub(super) fn genome(
    engine: &Engine,
    file: Option<&PathBuf>,
    formula: Option<&String>,
) -> Result<Genome, EngineError> {
    let made = match (file, formula) {
        (Some(file), None) => return from_file(engine, engine.surroundings().cwd.join(file)),
        (None, Some(formula)) => {
            let tree = Tree::formula(formula).map_err(|source| EvolveError::Formula {
                text: formula.clone(),
                source,
            })?;
            Genome::from_tree(&tree, &rules())
        }
        _ => {
            let why = "give the code of the cell: either a file or --formula".to_owned();
            return Err(EngineError::Invalid(why));
        }
    };
    made.map_err(wrong)
}

fn from_file(engine: &Engine, path: PathBuf) -> Result<Genome, EngineError> {
    let form = Form::of(&path);
    let bytes = fs_err::read(&path).map_err(|source| EvolveError::Unreadable { path, source })?;
    let text = std::str::from_utf8(&bytes);
    let made = match (form, text) {
        (Form::Source(language), _) => {
            let given = (language, bytes.as_slice());
            let module = compile(engine, SandboxOptions::default(), given, &mut NoControls);
            let module = module.map_err(|error| EvolveError::Compile(Box::new(error)))?;
            Genome::from_wasm(&module, &rules())
        }
        (Form::JavaScript, Ok(source)) => Genome::from_javascript(source, &rules()),
        (Form::Module, Ok(text)) if !bytes.starts_with(b"\0asm") => {
            Genome::from_wat(text, &rules())
        }
        (Form::Module | Form::JavaScript, _) => Genome::from_wasm(&bytes, &rules()),
    };
    made.map_err(wrong)
}
