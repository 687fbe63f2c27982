//! `agar fork`: more sandboxes from one.

use crate::DONE;
use crate::context::Context;
use crate::report::Failure;
use crate::ui::human;
use agar_engine::fork::{ForkRequest, fork};

/// Start sandboxes from a snapshot of another one
///
/// They share its layers, so a hundred cost almost no disk, and see nothing of each other. Without
/// a name behind the `@` a snapshot is taken first. Their jails are put up by their first commands.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = "\
Examples:
  agar fork calm-fern                    the sandbox as it is now; prints the name of the fork
  agar fork calm-fern@s1 -n 8            eight from a snapshot
  agar fork calm-fern --name idea --note 'try the other parser'")]
pub struct ForkArgs {
    /// The sandbox, or one of its snapshots; the only sandbox if left out
    #[arg(value_name = "SANDBOX[@NAME]")]
    pub source: Option<String>,

    /// How many
    #[arg(short = 'n', long = "count", value_name = "N", default_value_t = 1)]
    pub count: u32,

    /// Its name, instead of two words drawn by chance
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// A few words about them
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,
}

/// Makes them.
pub fn run(args: &ForkArgs, context: &Context) -> Result<u8, Failure> {
    let request = ForkRequest {
        source: args.source.clone(),
        count: args.count,
        alias: args.name.clone(),
        note: args.note.clone(),
    };
    let answer = fork(&context.engine()?, &request)?;
    context.ui.answer(&answer, |answer, _| {
        human::lines(answer.forks.iter().map(|fork| fork.alias.as_str()))
    })?;
    Ok(DONE)
}
