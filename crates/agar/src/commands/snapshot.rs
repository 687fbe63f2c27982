//! `agar snapshot`: a point to return to.

use crate::DONE;
use crate::context::Context;
use crate::report::Failure;
use crate::ui::block::{self, Block};
use crate::ui::{Form, human};
use agar_engine::snapshot::{SnapshotAnswer, SnapshotRequest, snapshot};

/// Keep the files of a sandbox as they are now, under a name
///
/// Instant while nothing runs in the sandbox. While something runs, its processes stand still for
/// the moment that it takes to clone what they wrote. A snapshot holds files, not processes, and not
/// what is in /tmp, /var/tmp and /dev/shm: those are in memory. Return to it with `agar restore`,
/// start another sandbox from it with `agar fork`.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = "\
Examples:
  agar snapshot                          the only sandbox; prints a name such as calm-fern@s1
  agar snapshot calm-fern --name before-migration
  agar snapshot --note 'tests pass'")]
pub struct SnapshotArgs {
    /// The sandbox; the only one if left out
    #[arg(value_name = "SANDBOX")]
    pub sandbox: Option<String>,

    /// Its name, instead of the next number
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// A few words about it
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,
}

/// Takes it.
pub fn run(args: &SnapshotArgs, context: &Context) -> Result<u8, Failure> {
    let request = SnapshotRequest {
        sandbox: args.sandbox.clone(),
        name: args.name.clone(),
        note: args.note.clone(),
    };
    let answer = snapshot(&context.engine()?, &request)?;
    let notes = notes(&answer);
    if context.ui.form == Form::Words && !notes.is_empty() {
        context.ui.say_block(&notes);
    }
    context.ui.answer(&answer, |answer, _| {
        format!("{}\n", answer.snapshot.reference)
    })?;
    Ok(DONE)
}

/// What happened to whatever was inside.
fn notes(answer: &SnapshotAnswer) -> Block {
    let mut block = Block::new();
    if let Some(micros) = answer.snapshot.frozen_us.filter(|micros| *micros > 0) {
        let line = format!("its processes stood still for {}", human::micros(micros));
        block.push(block::NOTE, line);
    }
    if answer.jail_ended {
        let line = "its jail was ended; the next command puts it up again";
        block.push(block::NOTE, line);
    }
    block
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::examples;
    use crate::ui::palette::Palette;

    #[test]
    fn how_long_processes_stood_still_is_said() {
        let [_, running] = examples::snapshot_answers();
        insta::assert_snapshot!(notes(&running).render(Palette::Plain), @r"
        note  its processes stood still for 4.2 ms
        note  its jail was ended; the next command puts it up again
        ");
    }
}
