//! `agar init`: a project's first settings file.

use crate::DONE;
use crate::context::Context;
use crate::report::Failure;
use crate::ui::Form;
use crate::ui::block::{self, Block};
use agar_core::text::printable;
use agar_engine::init::{InitAnswer, InitRequest, init};

/// Write a commented agar.toml for this project
///
/// Looks at the project, finds its kind and its check commands, and writes a file that changes
/// nothing until you uncomment it. agar works without one.
#[derive(Debug, Clone, Copy, clap::Args)]
#[command(after_long_help = "\
Examples:
  agar init
  agar init --dry-run                    print it, write nothing")]
pub struct InitArgs {
    /// Replace a file that is there
    #[arg(short, long)]
    pub force: bool,

    /// Print what would be written, write nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
}

/// Writes it.
pub fn run(args: &InitArgs, context: &Context) -> Result<u8, Failure> {
    let request = InitRequest {
        force: args.force,
        dry_run: args.dry_run,
    };
    let answer = init(&context.engine()?, &request)?;
    match context.ui.form {
        Form::Json => context.ui.show_json(&answer)?,
        Form::Words if answer.written => context.ui.say_block(&words(&answer)),
        Form::Words => context.ui.show(&answer.text)?,
    }
    Ok(DONE)
}

fn words(answer: &InitAnswer) -> Block {
    let kinds = if answer.kinds.is_empty() {
        "no kind of project that agar knows".to_owned()
    } else {
        printable(&answer.kinds.join(", ")).into_owned()
    };
    let mut block = Block::new().line(
        block::WROTE,
        format!("{} · {kinds}", printable(&answer.path)),
    );
    for check in &answer.checks {
        block.push_more(format!("check  {}", printable(check)));
    }
    block
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::examples;
    use crate::ui::palette::Palette;

    #[test]
    fn what_was_found_is_said() {
        insta::assert_snapshot!(words(&examples::init()).render(Palette::Plain), @r"
        wrote  /home/ana/src/shop/agar.toml · cargo
               check  cargo test
        ");
    }
}
