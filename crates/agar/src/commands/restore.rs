//! `agar restore`: takes back what was given up.

use crate::DONE;
use crate::context::Context;
use crate::report::Failure;
use crate::ui::block::{self, Block};
use agar_engine::take_back::{TakeBackAnswer, TakeBackRequest, take_back};

/// Take a sandbox back from the trash
///
/// A sandbox that was removed with changes that were never applied waits in the trash for a week;
/// `agar ls --trash` shows which. Until then it comes back whole.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = "\
Examples:
  agar restore --trash calm-fern
  agar restore --trash                   the only one in the trash")]
pub struct RestoreArgs {
    /// From the trash
    #[arg(long, required = true)]
    pub trash: bool,

    /// The sandbox
    #[arg(value_name = "SANDBOX")]
    pub sandbox: Option<String>,
}

/// Takes it back.
pub fn run(args: &RestoreArgs, context: &Context) -> Result<u8, Failure> {
    let request = TakeBackRequest {
        sandbox: args.sandbox.clone(),
    };
    let answer = take_back(&context.engine()?, &request)?;
    context
        .ui
        .answer(&answer, |answer, palette| words(answer).render(palette))?;
    Ok(DONE)
}

fn words(answer: &TakeBackAnswer) -> Block {
    let alias = &answer.sandbox.alias;
    let line = format!("{alias} · taken back from the trash · `agar diff {alias}`");
    Block::new().line(block::KEPT, line)
}
