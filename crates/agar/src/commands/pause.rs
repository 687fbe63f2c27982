//! `agar pause` and `agar resume`.

use crate::DONE;
use crate::context::Context;
use crate::report::Failure;
use crate::ui::block::{self, Block};
use crate::ui::human;
use agar_engine::pause::{PauseRequest, ResumeRequest, pause, resume};

/// Stop everything in a sandbox until it is resumed
///
/// Its processes keep their memory and use no processor; their time limits stand still, too.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = "\
Examples:
  agar pause calm-fern
  agar resume calm-fern")]
pub struct PauseArgs {
    /// The sandbox; the only one if left out
    #[arg(value_name = "SANDBOX")]
    pub sandbox: Option<String>,
}

/// Let everything in a paused sandbox go on
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = "\
Examples:
  agar resume calm-fern")]
pub struct ResumeArgs {
    /// The sandbox; the only one if left out
    #[arg(value_name = "SANDBOX")]
    pub sandbox: Option<String>,
}

/// Stops it.
pub fn run(args: &PauseArgs, context: &Context) -> Result<u8, Failure> {
    let request = PauseRequest {
        sandbox: args.sandbox.clone(),
    };
    let answer = pause(&context.engine()?, &request)?;
    context.ui.answer(&answer, |answer, palette| {
        words(block::PAUSED, &answer.sandbox.alias, answer.processes).render(palette)
    })?;
    Ok(DONE)
}

/// Lets it go on.
pub fn run_resume(args: &ResumeArgs, context: &Context) -> Result<u8, Failure> {
    let request = ResumeRequest {
        sandbox: args.sandbox.clone(),
    };
    let answer = resume(&context.engine()?, &request)?;
    context.ui.answer(&answer, |answer, palette| {
        words(block::RESUMED, &answer.sandbox.alias, answer.processes).render(palette)
    })?;
    Ok(DONE)
}

fn words(label: block::Label, alias: &str, processes: u32) -> Block {
    let count = human::count(processes, "process", "processes");
    Block::new().line(label, format!("{alias} · {count}"))
}
