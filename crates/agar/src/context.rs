//! What every command is given besides its own arguments.

use crate::environment::Environment;
use crate::report::Failure;
use crate::ui::Ui;
use crate::ui::progress::Meter;
use agar_engine::Engine;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

/// What every command is given.
#[derive(Debug)]
pub struct Context {
    /// The streams.
    pub ui: Ui,
    /// The process's surroundings.
    pub environment: Environment,
    /// Where to work, if not in the current directory.
    pub directory: Option<PathBuf>,
    /// The command line, without the program's name.
    pub typed: Vec<OsString>,
}

impl Context {
    /// Opens the engine for this caller.
    pub fn engine(&self) -> Result<Engine, Failure> {
        let progress = Arc::new(Meter::new(self.ui.terminals.stderr));
        let surroundings = self
            .environment
            .surroundings(self.directory.as_deref(), progress)?;
        Ok(Engine::open(surroundings)?)
    }
}
