//! `agar memory`: what is remembered of what was tried.

mod words;

use crate::DONE;
use crate::args::caller;
use crate::context::Context;
use crate::report::Failure;
use crate::ui::Form;
use crate::ui::block::{self, Block};
use agar_core::fault::Kind;
use agar_engine::memory::{self, ExportForm, ForgetRequest};
use std::io::{self, BufReader, Write as _};
use std::path::PathBuf;

/// See what is remembered of what was tried, add to it, or forget it
///
/// Every `agar try` is an experiment; memory keeps what was proposed, what came of it, and what many
/// of them show together: patterns that hold, lessons that failures teach. It is made of exit codes,
/// test reports and error lines, and no language model reads it.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = "\
Examples:
  agar memory show                       patterns, lessons and notes
  agar memory show 8f2c0d1e              the experiments behind one of them
  agar memory search upgrade axum
  agar memory note 'always back up before a migration'
  agar memory calibration                what was predicted against what came
  agar memory forget --text 'project zanzibar'")]
pub struct MemoryArgs {
    /// What to do.
    #[command(subcommand)]
    pub action: MemoryAction,
}

/// What can be done with memory.
#[derive(Debug, Clone, clap::Subcommand)]
pub enum MemoryAction {
    /// Show patterns, lessons and notes, or one of them with the experiments behind it
    Show {
        /// The name of a pattern, lesson, note or experiment, or the beginning of it
        #[arg(value_name = "NAME")]
        name: Option<String>,
    },
    /// Find experiments, patterns, lessons and notes by words
    Search {
        /// The words
        #[arg(value_name = "WORDS", required = true, num_args = 1..)]
        words: Vec<String>,
        /// How many at most
        #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 20)]
        limit: usize,
    },
    /// List what was seen to hold across experiments
    Patterns {
        /// Also those that have expired
        #[arg(short, long)]
        all: bool,
    },
    /// List what failures taught
    Lessons {
        /// Also those that have expired or are retired
        #[arg(short, long)]
        all: bool,
    },
    /// Let a sandbox's patterns enter the project's memory, where they have earned it
    ///
    /// It happens by itself when an experiment ends well and when its change is applied. What does
    /// not enter is named with the reason.
    Graduate {
        /// The sandbox, or one of its experiments
        #[arg(value_name = "SANDBOX")]
        name: Option<String>,
    },
    /// Delete for good: an experiment, a pattern, a note, or all that holds a text
    ///
    /// Memory, its index and its log, the records of the run, its output, and the sandbox with its
    /// layers are gone afterwards, and overwritten. There is no way back. Pictures of the project
    /// itself are not touched: where a text is still in one, the answer says so.
    Forget(ForgetArgs),
    /// Write down what you know
    ///
    /// A note is shown where it fits, as a note: it carries no evidence.
    Note {
        /// What you know
        #[arg(value_name = "TEXT", required = true, num_args = 1..)]
        text: Vec<String>,
        /// Who says it
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
    },
    /// Say how much is remembered
    Stats,
    /// Hold what was predicted against what came
    Calibration {
        /// Print the plot as SVG
        #[arg(long)]
        svg: bool,
    },
    /// Write memory as JSON lines
    Export {
        /// What to write
        #[arg(long, value_name = "FORM", default_value = "memory")]
        form: Shape,
        /// Where to; standard output if left out
        #[arg(short, long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
        out: Option<PathBuf>,
    },
    /// Read what an export wrote
    Import {
        /// The file; standard input if left out
        #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
        file: Option<PathBuf>,
    },
}

/// What to forget.
#[derive(Debug, Clone, clap::Args)]
#[group(required = true, multiple = false)]
pub struct ForgetArgs {
    /// The name of an experiment, pattern, lesson or note, or the beginning of it
    #[arg(value_name = "NAME")]
    pub name: Option<String>,

    /// Everything in this project's memory that holds this text
    #[arg(long, value_name = "TEXT")]
    pub text: Option<String>,

    /// Everything of this project
    #[arg(long)]
    pub everything: bool,
}

/// In which form memory is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Shape {
    /// Everything, for `agar memory import`
    Memory,
    /// Training data: suggestion and outcome as chat messages
    Chat,
    /// Training data: the attempt that worked over the one that did not
    Preferences,
}

/// Does it.
pub fn run(args: &MemoryArgs, context: &Context) -> Result<u8, Failure> {
    let engine = context.engine()?;
    let ui = &context.ui;
    match &args.action {
        MemoryAction::Show { name } => {
            let request = memory::ShowRequest { name: name.clone() };
            ui.answer(&memory::show(&engine, &request)?, words::show)?;
        }
        MemoryAction::Search { words, limit } => {
            let request = memory::SearchRequest {
                words: words.join(" "),
                limit: *limit,
            };
            ui.answer(&memory::search(&engine, &request)?, words::found)?;
        }
        MemoryAction::Patterns { all } => {
            let request = memory::FindingsRequest { all: *all };
            ui.answer(&memory::patterns(&engine, &request)?, words::patterns)?;
        }
        MemoryAction::Lessons { all } => {
            let request = memory::FindingsRequest { all: *all };
            ui.answer(&memory::lessons(&engine, &request)?, words::lessons)?;
        }
        MemoryAction::Graduate { name } => {
            let request = memory::GraduateRequest { name: name.clone() };
            ui.answer(&memory::graduate(&engine, &request)?, words::graduation)?;
        }
        MemoryAction::Forget(args) => {
            let answer = memory::forget(&engine, &args.request())?;
            ui.answer(&answer, words::forgotten)?;
        }
        MemoryAction::Note { text, agent } => {
            let request = memory::NoteRequest {
                text: text.join(" "),
                caller: caller(agent.clone().or(context.environment.agent())),
            };
            ui.answer(&memory::note(&engine, &request)?, words::noted)?;
        }
        MemoryAction::Stats => ui.answer(&memory::stats(&engine)?, words::stats)?,
        MemoryAction::Calibration { svg } => {
            let answer = memory::calibration(&engine)?;
            if *svg && ui.form == Form::Words {
                ui.show(&answer.svg)?;
            } else {
                ui.answer(&answer, words::calibration)?;
            }
        }
        MemoryAction::Export { form, out } => export(context, &engine, *form, out.as_ref())?,
        MemoryAction::Import { file } => {
            let answer = import(&engine, file.as_ref())?;
            ui.answer(&answer, words::imported)?;
        }
    }
    Ok(DONE)
}

impl ForgetArgs {
    fn request(&self) -> ForgetRequest {
        match (&self.name, &self.text) {
            (Some(name), _) => ForgetRequest::Name(name.clone()),
            (None, Some(text)) => ForgetRequest::Text(text.clone()),
            (None, None) => ForgetRequest::Everything,
        }
    }
}

fn export(
    context: &Context,
    engine: &agar_engine::Engine,
    form: Shape,
    out: Option<&PathBuf>,
) -> Result<(), Failure> {
    let request = memory::ExportRequest {
        form: match form {
            Shape::Memory => ExportForm::Memory,
            Shape::Chat => ExportForm::Chat,
            Shape::Preferences => ExportForm::Preferences,
        },
    };
    let cannot =
        |error: &io::Error| Failure::because(Kind::Invalid, "cannot write the export", error);
    let Some(path) = out else {
        let mut stdout = io::stdout().lock();
        memory::export(engine, request, &mut stdout)?;
        return stdout.flush().map_err(|error| Failure::writing(&error));
    };
    let mut file = fs_err::File::create(path).map_err(|error| cannot(&error))?;
    let answer = memory::export(engine, request, &mut file)?;
    file.flush().map_err(|error| cannot(&error))?;
    match context.ui.form {
        Form::Json => context.ui.show_json(&answer),
        Form::Words => {
            let line = format!("{} · {} lines", path.display(), answer.lines);
            context.ui.say_block(&Block::new().line(block::WROTE, line));
            Ok(())
        }
    }
}

fn import(
    engine: &agar_engine::Engine,
    file: Option<&PathBuf>,
) -> Result<memory::Imported, Failure> {
    let request = memory::ImportRequest::default();
    match file {
        None => Ok(memory::import(engine, request, &mut io::stdin().lock())?),
        Some(path) => {
            let file = fs_err::File::open(path).map_err(|error| {
                Failure::because(Kind::NotFound, "cannot read the export", &error)
            })?;
            Ok(memory::import(engine, request, &mut BufReader::new(file))?)
        }
    }
}
