//! `agar undo`: takes a promotion back.

use super::apply::sides;
use crate::DONE;
use crate::context::Context;
use crate::report::{self, Failure};
use crate::ui::block::{self, Block};
use crate::ui::{Form, human, merging};
use agar_core::fault::{Kind, Remedy};
use agar_core::text::printable;
use agar_engine::apply::Merge;
use agar_engine::undo::{UndoAnswer, UndoRequest, undo};

/// Take an apply back
///
/// The last one, or the one of a sandbox, or one by its id. Edits you made since are kept, merged
/// three ways as `apply` does; where both touch the same lines nothing is written until you choose.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = "\
Examples:
  agar undo
  agar undo calm-fern
  agar undo --dry-run

Exit status: 4 if your later edits stand in the way and nothing was written.")]
pub struct UndoArgs {
    /// A sandbox whose changes were applied, or a promotion's id
    #[arg(value_name = "SANDBOX")]
    pub promotion: Option<String>,

    /// In a conflict keep the project's version, everywhere or of one path
    #[arg(long, value_name = "PATH", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub mine: Vec<String>,

    /// In a conflict go back to the version before, everywhere or of one path
    #[arg(long, value_name = "PATH", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub theirs: Vec<String>,

    /// In a conflict write both with markers, everywhere or of one path
    #[arg(long, value_name = "PATH", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub markers: Vec<String>,

    /// Say what would happen, write nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
}

/// Takes it back.
pub fn run(args: &UndoArgs, context: &Context) -> Result<u8, Failure> {
    let (side, choices) = sides(&args.mine, &args.theirs, &args.markers)?;
    let request = UndoRequest {
        promotion: args.promotion.clone(),
        side,
        choices,
        dry_run: args.dry_run,
    };
    let engine = context.engine()?;
    let signals = super::signals()?;
    let answer = {
        let _held = signals.hold();
        undo(&engine, &request)?
    };
    let conflict = answer
        .files
        .iter()
        .any(|file| file.merge == Merge::Conflict);
    match context.ui.form {
        Form::Json => context.ui.show_json(&answer)?,
        Form::Words => {
            if conflict || args.dry_run {
                context.ui.say_block(&merging::paths(&answer.files));
            }
            context.ui.say_block(&words(&answer, conflict));
        }
    }
    Ok(if conflict {
        Kind::Conflict.exit_code()
    } else {
        DONE
    })
}

fn words(answer: &UndoAnswer, conflict: bool) -> Block {
    let mut block = Block::new();
    let sandbox = printable(&answer.sandbox);
    // What is as it was before has nothing to be taken back.
    let taken = answer
        .files
        .iter()
        .filter(|file| !matches!(file.merge, Merge::Same | Merge::Skipped | Merge::Conflict))
        .count();
    let files = human::count(taken as u64, "file", "files");
    if conflict {
        block.push(block::NOTE, "nothing has been written");
        report::advise(&mut block, &Remedy::ChooseSide, &[]);
    } else if answer.undone {
        block.push(block::UNDONE, format!("{files} of {sandbox}"));
    } else {
        block.push(
            block::NOTE,
            format!("{files} of {sandbox} would be undone; nothing was written"),
        );
    }
    for note in &answer.notes {
        block.push(block::NOTE, printable(note));
    }
    block
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::examples;
    use crate::ui::palette::Palette;

    #[test]
    fn an_undo_says_what_it_took_back() {
        insta::assert_snapshot!(words(&examples::undo(), false).render(Palette::Plain), @"
        undone  2 files of calm-fern
        note    the commit is still there
        ");
    }
}
