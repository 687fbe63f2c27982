//! Source in a language that is compiled ahead becomes a genome, in a sandbox.
//!
//! A compiler runs whatever its input makes it run, for as long as that takes. So it is a run like
//! any other: in a sandbox of its own that is removed afterwards, under limits, ended by whoever asked
//! for it. The source goes in and the module comes out as streams; which compiler is there is found
//! out inside.

use crate::relay::{Controls, Sink, Source, Streams};
use crate::run::{Afterwards, RunRequest, run};
use crate::{Command, Engine, EngineError, SandboxOptions};
use agar_core::fault::{Fault, Kind, Remedy};
use agar_core::limits::{Breach, Limits};
use agar_core::run::End;
use agar_core::size::Bytes;

/// A language that is compiled to WebAssembly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Compiled {
    /// C, by clang, or by Zig's C compiler (from the system, or the Python package `ziglang`).
    C,
    /// Rust without its standard library, by rustc.
    Rust,
}

/// The script's word for a machine without a compiler.
const NO_COMPILER: i32 = 64;

impl Compiled {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::C => "C",
            Self::Rust => "Rust",
        }
    }

    const fn script(self) -> &'static str {
        match self {
            Self::C => include_str!("compile/c.sh"),
            Self::Rust => include_str!("compile/rust.sh"),
        }
    }

    const fn install(self) -> &'static str {
        match self {
            Self::C => "pip install ziglang",
            Self::Rust => "rustup target add wasm32-unknown-unknown",
        }
    }
}

/// No module came of the source.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// Nothing here compiles the language.
    #[error("cannot compile {}: no compiler that writes WebAssembly is installed", .language.name())]
    NoCompiler {
        /// The language.
        language: Compiled,
    },
    /// The compiler refuses the source.
    #[error("cannot compile the {}: {words}", .language.name())]
    Refused {
        /// The language.
        language: Compiled,
        /// What the compiler said.
        words: String,
    },
    /// A limit ended the compiler.
    #[error("cannot compile the {}: the compiler was ended by its limit of {} ({})", .language.name(), .breach.resource, .breach.limit)]
    Limit {
        /// The language.
        language: Compiled,
        /// The limit.
        breach: Breach,
    },
    /// Whoever asked for it ended it, or it was lost.
    #[error("cannot compile the {}: the compiler was ended", .language.name())]
    Ended {
        /// The language.
        language: Compiled,
    },
    /// There was no sandbox for it.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl Fault for CompileError {
    fn kind(&self) -> Kind {
        match self {
            Self::NoCompiler { .. } => Kind::Unsupported,
            Self::Refused { .. } => Kind::Invalid,
            Self::Limit { .. } => Kind::Limit,
            Self::Ended { .. } => Kind::Interrupted,
            Self::Engine(error) => error.kind(),
        }
    }

    fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::NoCompiler { language } => Some(Remedy::Command {
                line: language.install().to_owned(),
            }),
            Self::Limit { breach, .. } => Some(Remedy::RaiseLimit {
                limit: breach.resource,
            }),
            Self::Refused { .. } | Self::Ended { .. } => None,
            Self::Engine(error) => error.remedy(),
        }
    }
}

/// What a compiler may use where nobody says otherwise.
pub const COMPILE_LIMITS: Limits = Limits {
    cpu_percent: None,
    memory_bytes: Some(Bytes::mib(2_048)),
    processes: Some(256),
    disk_bytes: Some(Bytes::mib(512)),
    timeout_ms: Some(60_000),
    output_bytes: Some(Bytes::mib(16)),
};

/// Compiles the source to a WebAssembly module, which is not checked yet. `controls` may end it.
pub fn compile(
    engine: &Engine,
    options: SandboxOptions,
    (language, source): (Compiled, &[u8]),
    controls: &mut dyn Controls,
) -> Result<Vec<u8>, CompileError> {
    let options = SandboxOptions {
        limits: options.limits.or(COMPILE_LIMITS),
        ..options
    };
    let request = RunRequest {
        options,
        command: Command::new(["/bin/sh", "-c", language.script()]),
        afterwards: Afterwards::Remove,
        proposal: None,
    };
    let (mut module, mut words) = (Vec::new(), Vec::new());
    let streams = Streams {
        stdin: Source::Bytes(source),
        stdout: Sink::Buffer(&mut module),
        stderr: Sink::Buffer(&mut words),
        terminal: None,
        controls,
    };
    let answer = run(engine, &request, streams)?;
    match answer.run.end {
        Some(_) if answer.run.interrupted => Err(CompileError::Ended { language }),
        Some(End::Exited { code: 0 }) => Ok(module),
        Some(End::Exited { code }) if code == NO_COMPILER => {
            Err(CompileError::NoCompiler { language })
        }
        Some(End::Stopped { breach }) => Err(CompileError::Limit { language, breach }),
        Some(End::Exited { .. }) => Err(CompileError::Refused {
            language,
            words: shortened(&words),
        }),
        Some(End::Signaled { .. } | End::NotFound | End::NotExecutable { .. } | End::Lost)
        | None => Err(CompileError::Ended { language }),
    }
}

/// The beginning of what was said: compilers explain at length.
fn shortened(words: &[u8]) -> String {
    let words = String::from_utf8_lossy(words);
    let words: String = words.trim().chars().take(4_000).collect();
    agar_core::text::printable(&words).into_owned()
}
