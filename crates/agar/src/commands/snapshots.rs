//! `agar snapshots`: the points there are to return to.

use crate::DONE;
use crate::context::Context;
use crate::report::Failure;
use crate::ui::block::{self, Block};
use crate::ui::palette::{Palette, Tone};
use crate::ui::table::{Cell, Table};
use crate::ui::{Form, human};
use agar_core::seam::Timestamp;
use agar_core::size::Bytes;
use agar_core::snapshot::SnapshotKind;
use agar_core::text::printable;
use agar_engine::snapshots::{ListedSnapshot, SnapshotsAnswer, SnapshotsRequest, snapshots};

/// List the snapshots of a sandbox, or of all sandboxes of this project
///
/// Oldest first. The one marked `*` is what the sandbox's files descend from, and what `agar restore`
/// returns to when no name is given.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = "\
Examples:
  agar snapshots
  agar snapshots calm-fern
  agar snapshots -q calm-fern            names alone, for scripts")]
pub struct SnapshotsArgs {
    /// The sandbox; every one of this project if left out
    #[arg(value_name = "SANDBOX")]
    pub sandbox: Option<String>,

    /// Names alone, one a line
    #[arg(short, long)]
    pub quiet: bool,
}

/// Lists them.
pub fn run(args: &SnapshotsArgs, context: &Context) -> Result<u8, Failure> {
    let request = SnapshotsRequest {
        sandbox: args.sandbox.clone(),
    };
    let answer = snapshots(&context.engine()?, &request)?;
    if answer.snapshots.is_empty() && context.ui.form == Form::Words {
        if context.ui.terminals.stderr && !args.quiet {
            let line = "no snapshots here; `agar snapshot` takes one";
            context.ui.say_block(&Block::new().line(block::NOTE, line));
        }
        return Ok(DONE);
    }
    let now = context.environment.now();
    context.ui.answer(&answer, |answer, palette| {
        if args.quiet {
            let names = answer
                .snapshots
                .iter()
                .map(|it| it.snapshot.reference.as_str());
            human::lines(names)
        } else {
            table(answer, now, palette)
        }
    })?;
    Ok(DONE)
}

fn table(answer: &SnapshotsAnswer, now: Timestamp, palette: Palette) -> String {
    let mut table = Table::new(&["SNAPSHOT", "AGE", "SIZE", "FROM", "WHY", "NOTE"]);
    for listed in &answer.snapshots {
        table.row(row(listed, answer, now));
    }
    table.render(palette)
}

fn row(listed: &ListedSnapshot, answer: &SnapshotsAnswer, now: Timestamp) -> Vec<Cell> {
    let snapshot = &listed.snapshot;
    let head = if listed.is_head { " *" } else { "" };
    let parent = answer
        .snapshots
        .iter()
        .find(|other| Some(other.snapshot.id) == snapshot.parent);
    let parent = parent.map_or("–", |parent| parent.snapshot.name.as_str());
    vec![
        Cell::toned(Tone::Name, format!("{}{head}", snapshot.reference)),
        human::age(now.since(snapshot.created_at)).into(),
        Bytes(listed.disk_bytes).to_string().into(),
        parent.into(),
        why(snapshot.kind).into(),
        printable(snapshot.note.as_deref().unwrap_or_default())
            .into_owned()
            .into(),
    ]
}

/// Why there is a snapshot, in words.
pub(super) const fn why(kind: SnapshotKind) -> &'static str {
    match kind {
        SnapshotKind::Asked => "asked",
        SnapshotKind::BeforeRun => "before a run",
        SnapshotKind::BeforeRestore => "before a restore",
        SnapshotKind::BeforeFork => "before a fork",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::examples;

    #[test]
    fn the_list_says_what_descends_from_what() {
        let answer = examples::snapshots();
        let born = answer.snapshots[0].snapshot.created_at;
        let now = Timestamp::from_millis(born.millis() + 130_000);
        insta::assert_snapshot!(table(&answer, now, Palette::Plain), @"
        SNAPSHOT            AGE  SIZE   FROM  WHY               NOTE
        calm-fern@s1        2 m  40 KB  –     asked             tests pass
        calm-fern@before *  2 m  0 B    s1    before a restore
        ");
    }
}
