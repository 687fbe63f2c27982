//! `agar evolve`: populations that breed for a task.

mod cells;
mod chart;
mod words;

pub use cells::{CellsAction, CellsArgs, CodeArgs};

use crate::DONE;
use crate::context::Context;
use crate::report::Failure;
use crate::ui::Form;
use agar_core::fault::Kind;
use agar_engine::Engine;
use agar_engine::EngineError;
use agar_engine::evolve::{
    BestRequest, Candidate, EvalRequest, EvolveError, EvolveRequest, ForgetSearchRequest,
    LineageRequest, PenaliseRequest, PlotRequest, ResumeSearchRequest, StatusRequest, best, eval,
    forget_search, lineage, penalise, plot, resume_search, run_search, status,
};
use std::io::{self, BufRead as _};
use std::path::PathBuf;

/// Breed a population of small programs for a task
///
/// Each individual runs in a cell of its own: it cannot reach the machine, outlast its budget, or
/// say itself what it is worth. agar computes every score from the answers. A search depends on its
/// file and its seed alone, whatever the number of threads, and one that was killed goes on with
/// `resume` to the very same end.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = "\
Examples:
  agar evolve run --target 'x^2 + 2*x - 1'   find a formula for the points of another
  agar evolve run packing.toml               run the search that a file describes
  agar evolve resume                         go on with the newest search
  agar evolve status                         how every search stands
  agar evolve best -n 5                      the best of the newest search
  agar evolve plot packing --svg > it.svg    fitness over generations
  agar evolve lineage --dot | dot -Tpng      where the best came from
  agar evolve cells create counter it.wat    a cell whose code can be swapped while it lives")]
pub struct EvolveArgs {
    /// What to do.
    #[command(subcommand)]
    pub action: EvolveAction,
}

/// What can be done with searches.
#[derive(Debug, Clone, clap::Subcommand)]
pub enum EvolveAction {
    /// Run a search to its end
    ///
    /// The file says what to breed for and how; docs/TUTORIAL.md shows one. Without a file,
    /// `--target` breeds for a formula.
    Run(RunArgs),
    /// Go on with a search that was broken off, or that should go further
    ///
    /// It continues from the last whole generation and ends as if it had never been interrupted.
    Resume {
        /// The search; the newest if left out
        #[arg(value_name = "NAME")]
        name: Option<String>,
        /// Another last generation: also lets one go on that has ended
        #[arg(short, long, value_name = "COUNT")]
        generations: Option<u32>,
        /// Threads to try candidates on
        #[arg(short = 'j', long, value_name = "COUNT")]
        threads: Option<usize>,
        /// Where to tell what happens.
        #[command(flatten)]
        told: ToldArgs,
    },
    /// Say how searches stand, or how the population of one is
    Status {
        /// The search; all of the project if left out
        #[arg(value_name = "NAME")]
        name: Option<String>,
    },
    /// Show the best individuals of a search
    Best {
        /// The search; the newest if left out
        #[arg(value_name = "NAME")]
        name: Option<String>,
        /// How many
        #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 1)]
        count: usize,
        /// Only the code of the best, for programs
        #[arg(long)]
        code: bool,
    },
    /// Show where an individual came from
    Lineage {
        /// The search; the newest if left out
        #[arg(value_name = "NAME")]
        name: Option<String>,
        /// Whose; the best if left out
        #[arg(short, long, value_name = "NUMBER")]
        individual: Option<u64>,
        /// How many generations back
        #[arg(long, value_name = "COUNT")]
        depth: Option<u32>,
        /// As a graph in DOT
        #[arg(long, conflicts_with = "svg")]
        dot: bool,
        /// As a drawing in SVG
        #[arg(long)]
        svg: bool,
    },
    /// Draw fitness over generations
    Plot {
        /// The search; the newest if left out
        #[arg(value_name = "NAME")]
        name: Option<String>,
        /// As a drawing in SVG
        #[arg(long)]
        svg: bool,
    },
    /// Score candidates that another program made
    ///
    /// Reads one JSON object a line: `id` (given back), and one of `formula`, `tree`, `wat`, `wasm`
    /// (hexadecimal) and `numbers`. Answers in the same order, with `--json` as one document. Nothing is
    /// kept.
    Eval {
        /// The evolve file whose task it is
        #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
        file: Option<PathBuf>,
        /// A formula to find, instead of a file
        #[arg(
            long,
            value_name = "FORMULA",
            conflicts_with = "file",
            allow_hyphen_values = true
        )]
        target: Option<String>,
    },
    /// Take something off an individual's score, for a reason
    ///
    /// For whoever watches individuals and knows what no score shows. It counts from the next
    /// generation on; a search that is running must be interrupted first.
    Penalise(PenaliseArgs),
    /// Keep individuals by name and swap their code while their state goes on
    Cells(CellsArgs),
    /// Remove searches and all that they bore
    Rm {
        /// The searches
        #[arg(value_name = "NAME", required = true, num_args = 1..)]
        names: Vec<String>,
    },
}

/// What to run.
#[derive(Debug, Clone, clap::Args)]
pub struct RunArgs {
    /// The evolve file
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub file: Option<PathBuf>,

    /// A formula to find, instead of a file: + - * / ^, x0 x1 … (x y z), max(a, b) and the like
    #[arg(
        long,
        value_name = "FORMULA",
        conflicts_with = "file",
        allow_hyphen_values = true
    )]
    pub target: Option<String>,

    /// The name, instead of the file's
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// The seed that all chance comes from
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,

    /// Individuals on each island
    #[arg(short, long, value_name = "COUNT")]
    pub population: Option<usize>,

    /// The last generation
    #[arg(short, long, value_name = "COUNT")]
    pub generations: Option<u32>,

    /// Threads to try candidates on; they change nothing but the speed
    #[arg(short = 'j', long, value_name = "COUNT")]
    pub threads: Option<usize>,

    /// Let the search ask for children beyond this machine, where its file says so
    #[arg(long)]
    pub allow_outside: bool,

    /// Where to tell what happens.
    #[command(flatten)]
    pub told: ToldArgs,
}

/// What to take off whose score.
#[derive(Debug, Clone, clap::Args)]
pub struct PenaliseArgs {
    /// The search; the newest if left out
    #[arg(value_name = "NAME")]
    pub name: Option<String>,

    /// Whose
    #[arg(short, long, value_name = "NUMBER")]
    pub individual: u64,

    /// How much
    #[arg(long, value_name = "AMOUNT")]
    pub by: f64,

    /// Why
    #[arg(long, value_name = "TEXT")]
    pub reason: String,
}

impl PenaliseArgs {
    fn request(&self) -> PenaliseRequest {
        PenaliseRequest {
            name: self.name.clone(),
            individual: self.individual,
            amount: self.by,
            reason: self.reason.clone(),
        }
    }
}

/// Where to tell what happens, beside the answer.
#[derive(Debug, Clone, clap::Args)]
pub struct ToldArgs {
    /// Add every event to this file, one JSON object a line
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub events: Option<PathBuf>,

    /// Keep the numbers of the last generation in this file, in Prometheus' text format
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub metrics: Option<PathBuf>,
}

/// Does it.
pub fn run(args: &EvolveArgs, context: &Context) -> Result<u8, Failure> {
    let engine = context.engine()?;
    let ui = &context.ui;
    match &args.action {
        EvolveAction::Run(args) => {
            ui.answer(&run_search(&engine, &args.request())?, words::came)?;
        }
        EvolveAction::Resume {
            name,
            generations,
            threads,
            told,
        } => {
            let request = ResumeSearchRequest {
                name: name.clone(),
                generations: *generations,
                threads: *threads,
                events: told.events.clone(),
                metrics: told.metrics.clone(),
            };
            ui.answer(&resume_search(&engine, &request)?, words::came)?;
        }
        EvolveAction::Status { name } => {
            let request = StatusRequest { name: name.clone() };
            ui.answer(&status(&engine, &request)?, words::status)?;
        }
        EvolveAction::Best { name, count, code } => {
            let request = BestRequest {
                name: name.clone(),
                count: *count,
            };
            let answer = best(&engine, &request)?;
            match answer
                .best
                .first()
                .filter(|_| *code && ui.form == Form::Words)
            {
                Some(first) => ui.show(&format!("{}\n", first.code))?,
                None => ui.answer(&answer, words::best)?,
            }
        }
        EvolveAction::Lineage { .. } | EvolveAction::Plot { .. } => {
            drawn(&args.action, &engine, context)?;
        }
        EvolveAction::Eval { file, target } => {
            let request = EvalRequest {
                file: file.clone(),
                target: target.clone(),
                candidates: candidates()?,
            };
            ui.answer(&eval(&engine, &request)?, words::scored)?;
        }
        EvolveAction::Penalise(args) => {
            ui.answer(&penalise(&engine, &args.request())?, words::penalised)?;
        }
        EvolveAction::Cells(args) => cells::run(&args.action, &engine, context)?,
        EvolveAction::Rm { names } => {
            let request = ForgetSearchRequest {
                names: names.clone(),
            };
            ui.answer(&forget_search(&engine, &request)?, words::removed)?;
        }
    }
    Ok(DONE)
}

/// What can also be had as a drawing.
fn drawn(action: &EvolveAction, engine: &Engine, context: &Context) -> Result<(), Failure> {
    let ui = &context.ui;
    match action {
        EvolveAction::Lineage {
            name,
            individual,
            depth,
            dot,
            svg,
        } => {
            let request = LineageRequest {
                name: name.clone(),
                individual: *individual,
                depth: *depth,
            };
            let answer = lineage(engine, &request)?;
            match ui.form {
                Form::Words if *dot => ui.show(&answer.dot),
                Form::Words if *svg => ui.show(&answer.svg),
                Form::Words | Form::Json => ui.answer(&answer, words::lineage),
            }
        }
        EvolveAction::Plot { name, svg } => {
            let request = PlotRequest { name: name.clone() };
            let answer = plot(engine, &request)?;
            match ui.form {
                Form::Words if *svg => ui.show(&chart::svg(&answer.generations)),
                Form::Words | Form::Json => ui.answer(&answer, words::plot),
            }
        }
        EvolveAction::Run(_)
        | EvolveAction::Resume { .. }
        | EvolveAction::Status { .. }
        | EvolveAction::Best { .. }
        | EvolveAction::Eval { .. }
        | EvolveAction::Penalise(_)
        | EvolveAction::Cells(_)
        | EvolveAction::Rm { .. } => Ok(()),
    }
}

impl RunArgs {
    fn request(&self) -> EvolveRequest {
        EvolveRequest {
            file: self.file.clone(),
            target: self.target.clone(),
            name: self.name.clone(),
            seed: self.seed,
            population: self.population,
            generations: self.generations,
            threads: self.threads,
            allow_outside: self.allow_outside,
            events: self.told.events.clone(),
            metrics: self.told.metrics.clone(),
        }
    }
}

/// Candidates from standard input, one a line.
fn candidates() -> Result<Vec<Candidate>, Failure> {
    let mut candidates = Vec::new();
    for (index, line) in io::stdin().lock().lines().enumerate() {
        let line = line.map_err(|error| {
            Failure::because(Kind::Invalid, "cannot read the candidates", &error)
        })?;
        if line.trim().is_empty() {
            continue;
        }
        let read = serde_json::from_str(&line).map_err(|error| {
            EngineError::from(EvolveError::Candidate {
                line: index + 1,
                why: error.to_string(),
            })
        })?;
        candidates.push(read);
    }
    Ok(candidates)
}
