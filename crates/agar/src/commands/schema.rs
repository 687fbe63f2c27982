//! `agar schema`: the shape of each JSON answer.

use crate::DONE;
use crate::context::Context;
use crate::report::Failure;
use crate::schema;
use crate::ui::human;
use agar_core::fault::{Kind, Remedy};

/// Print the JSON schema of a command's --json answer
///
/// Without a command, lists those that have one. `error` is the shape of every failure.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = "\
Examples:
  agar schema
  agar schema diff > diff.schema.json")]
pub struct SchemaArgs {
    /// The command
    #[arg(value_name = "COMMAND")]
    pub command: Option<String>,
}

/// Prints it.
pub fn run(args: &SchemaArgs, context: &Context) -> Result<u8, Failure> {
    let Some(command) = &args.command else {
        context.ui.show(&human::lines(schema::names()))?;
        return Ok(DONE);
    };
    let schema = schema::of(command).ok_or_else(|| {
        Failure::new(Kind::NotFound, format!("`{command}` has no JSON answer")).with_remedy(
            Remedy::Command {
                line: "agar schema".to_owned(),
            },
        )
    })?;
    context.ui.show_json(&schema)?;
    Ok(DONE)
}
