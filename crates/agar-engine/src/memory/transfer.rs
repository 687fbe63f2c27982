//! Memory written out, and read in again.

use super::{Imported, open};
use crate::{Engine, EngineError};
use agar_memory::Export;
use serde::{Deserialize, Serialize};
use std::io::{BufRead, Write};

/// In which form memory is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExportForm {
    /// Everything, to be imported elsewhere.
    #[default]
    Memory,
    /// Suggestion and outcome as chat messages.
    Chat,
    /// Of two attempts at one problem, the one that worked over the one that did not.
    Preferences,
}

/// Asks for memory to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ExportRequest {
    /// In which form.
    pub form: ExportForm,
}

/// It is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportAnswer {
    /// How many lines.
    pub lines: u64,
}

/// Writes the project's memory as lines of JSON.
pub fn export(
    engine: &Engine,
    request: ExportRequest,
    out: &mut dyn Write,
) -> Result<ExportAnswer, EngineError> {
    let (_, memory) = open(engine)?;
    let what = match request.form {
        ExportForm::Memory => Export::Memory,
        ExportForm::Chat => Export::Chat,
        ExportForm::Preferences => Export::Preferences,
    };
    let lines = memory.export(what, out)?;
    Ok(ExportAnswer { lines })
}

/// Asks for an export to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ImportRequest {}

/// Reads lines that an export wrote. What is known stays as it is.
pub fn import(
    engine: &Engine,
    _request: ImportRequest,
    lines: &mut dyn BufRead,
) -> Result<Imported, EngineError> {
    let (_, mut memory) = open(engine)?;
    Ok(memory.import(lines)?)
}
