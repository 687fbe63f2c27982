//! `agar create`: a sandbox that stays up.

use crate::DONE;
use crate::args::{LimitArgs, WallArgs};
use crate::context::Context;
use crate::report::Failure;
use crate::ui::{Form, ending};
use agar_engine::create::{CreateRequest, create};

/// Make a sandbox and leave it up, ready for commands
///
/// Its two-word name is printed. It starts from a picture of the project as it is now, so edits
/// you make meanwhile never appear inside. Run commands in it with `agar exec`; what they leave
/// running goes on until `agar rm`.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = "\
Examples:
  agar create                            prints the name, such as calm-fern
  box=$(agar create --note upgrade)      for a script
  agar create --name api --memory 2G
  agar exec calm-fern -- npm start")]
pub struct CreateArgs {
    /// Its name, instead of two words drawn by chance
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// Which walls.
    #[command(flatten)]
    pub walls: WallArgs,

    /// Which limits.
    #[command(flatten)]
    pub limits: LimitArgs,
}

/// Makes it.
pub fn run(args: &CreateArgs, context: &Context) -> Result<u8, Failure> {
    let request = CreateRequest {
        options: args.walls.options(args.limits, context.environment.agent()),
        alias: args.name.clone(),
    };
    let answer = create(&context.engine()?, &request)?;
    match context.ui.form {
        Form::Words if context.ui.terminals.stderr => {
            context
                .ui
                .say_block(&ending::heading(&answer.sandbox, None));
        }
        Form::Words => context.ui.say_block(&ending::warnings(&answer.sandbox)),
        Form::Json => {}
    }
    context
        .ui
        .answer(&answer, |answer, _| format!("{}\n", answer.sandbox.alias))?;
    Ok(DONE)
}
