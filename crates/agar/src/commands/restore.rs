//! `agar restore`: back to a snapshot, or back from the trash.

use crate::DONE;
use crate::context::Context;
use crate::report::Failure;
use crate::ui::block::{self, Block};
use crate::ui::human;
use agar_core::text::printable;
use agar_engine::restore::{RestoreAnswer, RestoreRequest, restore};
use agar_engine::take_back::{TakeBackAnswer, TakeBackRequest, take_back};

/// Return a sandbox to a snapshot, or take one back from the trash
///
/// What runs in the sandbox is ended. What its files looked like is kept as a snapshot first, so
/// going back is never a loss of those; what is in /tmp, /var/tmp and /dev/shm is in memory, is not
/// part of any snapshot, and is gone if the jail has to be ended, which is then said. A sandbox that was removed with changes that were never applied waits
/// in the trash for a week; `agar ls --trash` shows which, and `--trash` takes it back whole.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = "\
Examples:
  agar restore calm-fern@before-migration
  agar restore calm-fern                 to its last snapshot; undoes an agent's last command
  agar restore                           the only sandbox, to its last snapshot
  agar restore --trash calm-fern         a sandbox that was removed
  agar restore --trash                   the only one in the trash")]
pub struct RestoreArgs {
    /// The snapshot, such as calm-fern@s1; the last one of the sandbox if only that is named
    #[arg(value_name = "SANDBOX@NAME")]
    pub snapshot: Option<String>,

    /// A sandbox from the trash instead
    #[arg(long)]
    pub trash: bool,
}

/// Returns to it.
pub fn run(args: &RestoreArgs, context: &Context) -> Result<u8, Failure> {
    if args.trash {
        return from_trash(args, context);
    }
    let request = RestoreRequest {
        snapshot: args.snapshot.clone(),
    };
    let answer = restore(&context.engine()?, &request)?;
    context
        .ui
        .answer(&answer, |answer, palette| words(answer).render(palette))?;
    Ok(DONE)
}

/// Takes a sandbox back from the trash.
fn from_trash(args: &RestoreArgs, context: &Context) -> Result<u8, Failure> {
    let request = TakeBackRequest {
        sandbox: args.snapshot.clone(),
    };
    let answer = take_back(&context.engine()?, &request)?;
    context.ui.answer(&answer, |answer, palette| {
        taken_back(answer).render(palette)
    })?;
    Ok(DONE)
}

fn taken_back(answer: &TakeBackAnswer) -> Block {
    let alias = &answer.sandbox.alias;
    let line = format!("{alias} · taken back from the trash · `agar diff {alias}`");
    let block = Block::new().line(block::KEPT, line);
    match &answer.renamed_from {
        Some(name) => block.line(
            block::NOTE,
            format!("another sandbox is called {name} by now, so this one has a new name"),
        ),
        None => block,
    }
}

fn words(answer: &RestoreAnswer) -> Block {
    let mut line = answer.snapshot.reference.clone();
    if let Some(note) = &answer.snapshot.note {
        line.push_str(" · ");
        line.push_str(&printable(note));
    }
    let mut block = Block::new().line(block::RESTORED, line);
    if answer.ended > 0 {
        let count = human::count(answer.ended, "process", "processes");
        block.push(block::ENDED, format!("{count} that ran in it"));
    }
    if answer.jail_ended {
        let line = "its jail was ended; the next command puts it up again";
        block.push(block::NOTE, line);
    }
    if let Some(left) = &answer.left {
        let line = format!("as it was before: agar restore {}", left.reference);
        block.push(block::KEPT, line);
    }
    block
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::examples;
    use crate::ui::palette::Palette;

    #[test]
    fn what_was_ended_and_the_way_forward_are_said() {
        let [busy, ..] = examples::restore_answers();
        insta::assert_snapshot!(words(&busy).render(Palette::Plain), @r"
        restored  calm-fern@s1 · tests pass
        ended     2 processes that ran in it
        note      its jail was ended; the next command puts it up again
        kept      as it was before: agar restore calm-fern@before
        ");
    }
}
