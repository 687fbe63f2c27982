//! `agar diff`: what a sandbox changed.

use crate::DONE;
use crate::context::Context;
use crate::report::Failure;
use crate::ui::block::{self, Block};
use crate::ui::{Form, changes, human, pager, patch};
use agar_core::text::printable;
use agar_engine::Engine;
use agar_engine::diff::{DiffAnswer, DiffRequest, diff};

/// Show what a sandbox changed
///
/// A unified diff against what the sandbox started from: through your pager on a terminal, as it
/// is into a pipe, where `git apply` reads it. Changes outside the project are listed apart and
/// are never applied unless you name them.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = "\
Examples:
  agar diff calm-fern
  agar diff calm-fern -- src/            only below src/
  agar diff --stat                       one line a file
  agar diff calm-fern > change.patch     for `git apply`
  agar diff --outside                    with what changed outside the project")]
pub struct DiffArgs {
    /// The sandbox
    #[arg(value_name = "SANDBOX")]
    pub sandbox: Option<String>,

    /// One line a file instead of the diff
    #[arg(long, conflicts_with = "names")]
    pub stat: bool,

    /// The paths alone
    #[arg(long)]
    pub names: bool,

    /// Include files outside the project
    #[arg(long)]
    pub outside: bool,

    /// Lines of context around each change
    #[arg(short = 'U', long, value_name = "LINES")]
    pub context: Option<usize>,

    /// Only these paths and what is below them
    #[arg(last = true, value_name = "PATH")]
    pub paths: Vec<String>,
}

/// Shows it.
pub fn run(args: &DiffArgs, context: &Context) -> Result<u8, Failure> {
    let request = DiffRequest {
        sandbox: args.sandbox.clone(),
        paths: args.paths.clone(),
        patch: !args.stat && !args.names,
        context: args.context,
        outside: args.outside,
    };
    let answer = diff(&context.engine()?, &request)?;
    if context.ui.form == Form::Json {
        context.ui.show_json(&answer)?;
        return Ok(DONE);
    }
    if args.names {
        context.ui.show(&names(&answer, args.outside))?;
    } else if args.stat {
        context
            .ui
            .show(&changes::stat(&answer.changes, context.ui.out))?;
    } else {
        show_patch(context, &answer)?;
    }
    remark(context, &answer, args.outside);
    Ok(DONE)
}

/// Shows the diff of a sandbox, for a person who is about to decide.
pub(super) fn show(
    context: &Context,
    engine: &Engine,
    request: &DiffRequest,
) -> Result<(), Failure> {
    let answer = diff(engine, request)?;
    show_patch(context, &answer)?;
    remark(context, &answer, request.outside);
    Ok(())
}

fn show_patch(context: &Context, answer: &DiffAnswer) -> Result<(), Failure> {
    let text = answer.patch.as_deref().unwrap_or_default();
    if context.ui.terminals.stdout {
        pager::show(&context.ui, &patch::for_terminal(text, context.ui.out))
    } else {
        context.ui.show(text)
    }
}

fn names(answer: &DiffAnswer, outside: bool) -> String {
    let files = answer.changes.files.iter();
    let outside = answer.changes.outside.iter().filter(|_| outside);
    human::lines(files.chain(outside).map(|file| printable(&file.path)))
}

/// Says what the diff itself cannot, where a person reads along.
fn remark(context: &Context, answer: &DiffAnswer, outside_shown: bool) {
    if !context.ui.terminals.stderr {
        return;
    }
    let alias = &answer.sandbox.alias;
    let mut block = Block::new();
    let changes = &answer.changes;
    if changes.is_empty() {
        block.push(
            block::NOTE,
            format!("{alias} changed nothing in the project"),
        );
    }
    if !changes.outside.is_empty() && !outside_shown {
        let count = changes.outside.len();
        block.push(
            block::NOTE,
            format!("{count} more outside the project; `agar diff {alias} --outside` shows them"),
        );
    }
    if !answer.drifted.is_empty() {
        let drifted = printable(&answer.drifted.join(", ")).into_owned();
        block.push(
            block::NOTE,
            format!("the live base changed meanwhile: {drifted}"),
        );
    }
    context.ui.say_block(&block);
}
