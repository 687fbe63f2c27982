//! `agar rm`: gives sandboxes up.

use crate::DONE;
use crate::context::Context;
use crate::report::Failure;
use crate::ui::block::{self, Block};
use agar_engine::remove::{RemoveAnswer, RemoveRequest, remove};

/// Remove sandboxes and give up their changes, or remove snapshots
///
/// What was not applied waits in a trash for a while before it is gone for good; `agar prune`
/// clears it sooner. A sandbox in which processes run is removed only with `--force`.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = "\
Examples:
  agar rm calm-fern
  agar rm calm brave                     unique beginnings are enough
  agar rm calm-fern@s1                   a snapshot alone
  agar rm --all --force                  every sandbox of this project")]
pub struct RmArgs {
    /// The sandboxes or snapshots; the only sandbox if left out
    #[arg(value_name = "SANDBOX")]
    pub sandboxes: Vec<String>,

    /// Every sandbox of this project
    #[arg(long, conflicts_with = "sandboxes")]
    pub all: bool,

    /// Also those in which processes run
    #[arg(short, long)]
    pub force: bool,

    /// Why, for memory
    #[arg(long, value_name = "TEXT", hide_short_help = true)]
    pub feedback: Option<String>,
}

/// Removes them.
pub fn run(args: &RmArgs, context: &Context) -> Result<u8, Failure> {
    let request = RemoveRequest {
        sandboxes: args.sandboxes.clone(),
        all: args.all,
        force: args.force,
        feedback: args.feedback.clone(),
    };
    let answer = remove(&context.engine()?, &request)?;
    context
        .ui
        .answer(&answer, |answer, palette| words(answer).render(palette))?;
    Ok(DONE)
}

fn words(answer: &RemoveAnswer) -> Block {
    let mut block = Block::new();
    for removed in &answer.removed {
        let trash = if removed.in_trash {
            " · its changes wait in the trash"
        } else {
            ""
        };
        block.push(block::REMOVED, format!("{}{trash}", removed.alias));
    }
    block
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::examples;
    use crate::ui::palette::Palette;

    #[test]
    fn what_waits_in_the_trash_is_said() {
        insta::assert_snapshot!(words(&examples::remove()).render(Palette::Plain), @r"
        removed  calm-fern · its changes wait in the trash
        removed  brave-otter
        ");
    }
}
