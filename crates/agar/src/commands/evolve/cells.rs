//! `agar evolve cells`: individuals by name, whose code is swapped while their state goes on.

mod words;

use self::words::{answer, info, list, removed, sent, versions, worked};
use crate::context::Context;
use crate::report::Failure;
use crate::ui::Form;
use crate::ui::human;
use agar_core::fault::Kind;
use agar_engine::Engine;
use agar_engine::evolve::{
    CellCreateRequest, CellInfoRequest, CellReloadRequest, CellRestartRequest, CellRollbackRequest,
    CellRunRequest, CellSendRequest, CellShadowRequest, CellWorkRequest, CellsRemoveRequest,
    cell_info, cell_versions, create_cell, list_cells, reload_cell, remove_cells, restart_cell,
    rollback_cell, run_cell, send_to_cell, shadow_cell, work_of_cell,
};
use std::io::{self, Read as _};
use std::path::PathBuf;

/// What can be done with cells.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = "\
Examples:
  agar evolve cells create counter counter.wat    a cell of this code
  agar evolve cells run counter 5                 pass it a message
  agar evolve cells reload counter better.wat     other code; the state comes along
  agar evolve cells versions counter              what code it has had
  agar evolve cells rollback counter 1            back to the first
  agar evolve cells send counter 5                leave a message; `work` has it answered
  agar evolve cells shadow counter other.js       compare other code with it, unseen
  agar evolve cells create square --formula x^2
  agar evolve cells run square --call f 7         call a function with numbers")]
pub struct CellsArgs {
    /// What to do.
    #[command(subcommand)]
    pub action: CellsAction,
}

/// What can be done with cells.
#[derive(Debug, Clone, clap::Subcommand)]
pub enum CellsAction {
    /// Make a cell
    ///
    /// Its code is checked and given counters first. Between two commands it sleeps in the project's
    /// records; nothing keeps running.
    Create {
        /// Its name
        #[arg(value_name = "NAME")]
        name: String,
        /// Its code.
        #[command(flatten)]
        code: CodeArgs,
        /// What its `init` is told
        #[arg(long, value_name = "TEXT")]
        params: Option<String>,
        /// The number that its random numbers come from
        #[arg(long, value_name = "NUMBER", default_value_t = 0)]
        seed: u64,
        /// The most instructions of one run
        #[arg(long, value_name = "COUNT")]
        instructions: Option<u64>,
        /// The longest that one run may take [default: 30s]
        #[arg(long, value_name = "DURATION", value_parser = human::parse_duration)]
        timeout: Option<u64>,
    },
    /// List the cells of the project
    Ls,
    /// Say what can be said of a cell without waking it
    Info {
        /// The cell
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Pass a message to a cell, or call one of its functions
    ///
    /// A message goes to `step`, which may change the cell's state, or to `evaluate` where there is
    /// no `step`. The answer is printed as it is. A run that a limit ends, or that traps, leaves the
    /// cell crashed: `restart` begins it anew, `rollback` and `reload` replace its code.
    Run {
        /// The cell
        #[arg(value_name = "NAME")]
        name: String,
        /// The message, or with --call the numbers; `-` reads the message from standard input
        #[arg(value_name = "MESSAGE", allow_negative_numbers = true)]
        words: Vec<String>,
        /// Ask `evaluate`, which keeps nothing
        #[arg(long, conflicts_with = "call")]
        evaluate: bool,
        /// Call this function with numbers
        #[arg(long, value_name = "FUNCTION")]
        call: Option<String>,
    },
    /// Leave a message for a cell without running it
    Send {
        /// The cell
        #[arg(value_name = "NAME")]
        name: String,
        /// The message; `-` reads it from standard input
        #[arg(value_name = "MESSAGE", required = true, allow_negative_numbers = true)]
        words: Vec<String>,
    },
    /// Have a cell answer the messages that wait for it, in order
    ///
    /// Each answer is printed after the number of its message.
    Work {
        /// The cell
        #[arg(value_name = "NAME")]
        name: String,
        /// How many at most [default: all]
        #[arg(long, value_name = "COUNT")]
        most: Option<u64>,
    },
    /// Put a variant into the shadow of a cell
    ///
    /// It begins with the cell's state and is asked whatever the cell is asked; only the cell's answers
    /// are shown. After so many comparisons it takes over if it said the same and costs hardly more
    /// instructions, and is gone if not. Swapping the cell's code otherwise, or restarting it, ends it.
    Shadow {
        /// The cell
        #[arg(value_name = "NAME")]
        name: String,
        /// Its code.
        #[command(flatten)]
        code: CodeArgs,
        /// After how many comparisons it is judged [default: 1000]
        #[arg(long, value_name = "COUNT")]
        comparisons: Option<u64>,
        /// What share of the answers must be the same [default: 0.99]
        #[arg(long, value_name = "SHARE")]
        alike: Option<f64>,
        /// How many times the cell's instructions it may take [default: 1.1]
        #[arg(long, value_name = "TIMES")]
        cost: Option<f64>,
    },
    /// End the variant in the shadow of a cell
    Unshadow {
        /// The cell
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Swap other code into a cell; its state comes along
    ///
    /// All or nothing: the new code must load the state and answer the probes, or the old code goes
    /// on as if nothing had been tried.
    Reload {
        /// The cell
        #[arg(value_name = "NAME")]
        name: String,
        /// Its code.
        #[command(flatten)]
        code: CodeArgs,
        /// Why, for the history
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        /// A message that the new code must answer before it is trusted; may be given again
        #[arg(long, value_name = "MESSAGE", allow_hyphen_values = true)]
        probe: Vec<String>,
        /// The answers to the probes must be those of the old code
        #[arg(long, requires = "probe")]
        same: bool,
    },
    /// List the versions of a cell's code that are kept: the last ten
    Versions {
        /// The cell
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Go back to an earlier version, with the state that it left behind
    Rollback {
        /// The cell
        #[arg(value_name = "NAME")]
        name: String,
        /// The number of the version
        #[arg(value_name = "VERSION")]
        version: u32,
        /// Keep what the cell knows now
        #[arg(long)]
        keep_state: bool,
    },
    /// Begin a cell anew in the same version, without its state
    Restart {
        /// The cell
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Remove cells, with their state and all their versions
    Rm {
        /// The cells
        #[arg(value_name = "NAME", required = true, num_args = 1..)]
        names: Vec<String>,
    },
}

/// The code of a cell.
#[derive(Debug, Clone, clap::Args)]
#[group(required = true, multiple = false)]
pub struct CodeArgs {
    /// A file: WebAssembly or its text format, JavaScript (.js), or C (.c) and Rust (.rs), which are
    /// compiled in a sandbox
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub file: Option<PathBuf>,

    /// A formula instead; it becomes a function `f`
    #[arg(long, value_name = "FORMULA", allow_hyphen_values = true)]
    pub formula: Option<String>,
}

/// Does it.
pub(super) fn run(action: &CellsAction, engine: &Engine, context: &Context) -> Result<(), Failure> {
    let ui = &context.ui;
    match action {
        CellsAction::Create { .. } | CellsAction::Reload { .. } | CellsAction::Shadow { .. } => {
            load(action, engine, context)
        }
        CellsAction::Send { name, words } => send(name, words, engine, context),
        CellsAction::Work { name, most } => work(name, *most, engine, context),
        CellsAction::Unshadow { name } => {
            let request = CellShadowRequest {
                name: name.clone(),
                end: true,
                ..CellShadowRequest::default()
            };
            ui.answer(&shadow_cell(engine, &request)?, info)
        }
        CellsAction::Ls => ui.answer(&list_cells(engine)?, list),
        CellsAction::Info { name } => {
            let request = CellInfoRequest { name: name.clone() };
            ui.answer(&cell_info(engine, &request)?, info)
        }
        CellsAction::Run {
            name,
            words,
            evaluate,
            call,
        } => {
            let given = message_or_numbers(words, call.is_some())?;
            let request = CellRunRequest {
                name: name.clone(),
                message: given.0,
                evaluate: *evaluate,
                call: call.clone(),
                arguments: given.1,
            };
            let said = run_cell(engine, &request)?;
            match ui.form {
                Form::Json => ui.show_json(&said),
                Form::Words => ui.show(&answer(&said)),
            }
        }
        CellsAction::Versions { name } => {
            let request = CellInfoRequest { name: name.clone() };
            ui.answer(&cell_versions(engine, &request)?, versions)
        }
        CellsAction::Rollback {
            name,
            version,
            keep_state,
        } => {
            let request = CellRollbackRequest {
                name: name.clone(),
                version: *version,
                keep_state: *keep_state,
            };
            ui.answer(&rollback_cell(engine, &request)?, info)
        }
        CellsAction::Restart { name } => {
            let request = CellRestartRequest { name: name.clone() };
            ui.answer(&restart_cell(engine, &request)?, info)
        }
        CellsAction::Rm { names } => {
            let request = CellsRemoveRequest {
                names: names.clone(),
            };
            ui.answer(&remove_cells(engine, &request)?, removed)
        }
    }
}

fn send(name: &str, words: &[String], engine: &Engine, context: &Context) -> Result<(), Failure> {
    let request = CellSendRequest {
        name: name.to_owned(),
        message: message(words)?,
    };
    context.ui.answer(&send_to_cell(engine, &request)?, sent)
}

fn work(name: &str, most: Option<u64>, engine: &Engine, context: &Context) -> Result<(), Failure> {
    let request = CellWorkRequest {
        name: name.to_owned(),
        most,
    };
    let done = work_of_cell(engine, &request)?;
    match context.ui.form {
        Form::Json => context.ui.show_json(&done),
        Form::Words => context.ui.show(&worked(&done)),
    }
}

/// What brings code.
fn load(action: &CellsAction, engine: &Engine, context: &Context) -> Result<(), Failure> {
    let view = match action {
        CellsAction::Create {
            name,
            code,
            params,
            seed,
            instructions,
            timeout,
        } => {
            let request = CellCreateRequest {
                name: name.clone(),
                file: code.file.clone(),
                formula: code.formula.clone(),
                seed: *seed,
                params: params.clone(),
                instructions: *instructions,
                timeout_ms: *timeout,
            };
            create_cell(engine, &request)?
        }
        CellsAction::Reload {
            name,
            code,
            reason,
            probe,
            same,
        } => {
            let request = CellReloadRequest {
                name: name.clone(),
                file: code.file.clone(),
                formula: code.formula.clone(),
                reason: reason.clone(),
                probe: probe.clone(),
                same: *same,
            };
            reload_cell(engine, &request)?
        }
        CellsAction::Shadow {
            name,
            code,
            comparisons,
            alike,
            cost,
        } => {
            let request = CellShadowRequest {
                name: name.clone(),
                file: code.file.clone(),
                formula: code.formula.clone(),
                end: false,
                comparisons: *comparisons,
                alike: *alike,
                cost: *cost,
            };
            shadow_cell(engine, &request)?
        }
        CellsAction::Ls
        | CellsAction::Info { .. }
        | CellsAction::Run { .. }
        | CellsAction::Send { .. }
        | CellsAction::Work { .. }
        | CellsAction::Unshadow { .. }
        | CellsAction::Versions { .. }
        | CellsAction::Rollback { .. }
        | CellsAction::Restart { .. }
        | CellsAction::Rm { .. } => return Ok(()),
    };
    context.ui.answer(&view, info)
}

/// What a run is given: a message, or the numbers of a call.
fn message_or_numbers(words: &[String], call: bool) -> Result<(Vec<u8>, Vec<String>), Failure> {
    if call {
        return Ok((Vec::new(), words.to_vec()));
    }
    Ok((message(words)?, Vec::new()))
}

/// The message: the words, or standard input.
fn message(words: &[String]) -> Result<Vec<u8>, Failure> {
    if words != ["-"] {
        return Ok(words.join(" ").into_bytes());
    }
    let mut bytes = Vec::new();
    let read = io::stdin().lock().read_to_end(&mut bytes);
    read.map_err(|error| Failure::because(Kind::Invalid, "cannot read the message", &error))?;
    Ok(bytes)
}
