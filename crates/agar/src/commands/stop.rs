//! `agar stop`: ends what runs, keeps what changed.

use crate::DONE;
use crate::context::Context;
use crate::report::Failure;
use crate::ui::block::{self, Block};
use agar_engine::stop::{StopAnswer, StopRequest, stop};

/// End what runs in a sandbox and keep what it changed
///
/// Every process inside ends, the terminal too. The sandbox is finished: its changes can be looked
/// at and applied, and `agar exec` or `agar attach` puts it up again.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = "\
Examples:
  agar stop calm-fern
  agar stop --all                        of this project")]
pub struct StopArgs {
    /// The sandboxes
    #[arg(value_name = "SANDBOX")]
    pub sandboxes: Vec<String>,

    /// All of this project
    #[arg(long, conflicts_with = "sandboxes")]
    pub all: bool,
}

/// Ends them.
pub fn run(args: &StopArgs, context: &Context) -> Result<u8, Failure> {
    let request = StopRequest {
        sandboxes: args.sandboxes.clone(),
        all: args.all,
    };
    let answer = stop(&context.engine()?, &request)?;
    context
        .ui
        .answer(&answer, |answer, palette| words(answer).render(palette))?;
    Ok(DONE)
}

fn words(answer: &StopAnswer) -> Block {
    let mut block = Block::new();
    for sandbox in &answer.stopped {
        block.push(block::STOPPED, sandbox.alias.clone());
    }
    if answer.stopped.is_empty() {
        block.push(block::NOTE, "nothing ran in it".to_owned());
    }
    block
}
