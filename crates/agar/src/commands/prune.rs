//! `agar prune`: clears away what nobody needs.

use crate::DONE;
use crate::context::Context;
use crate::report::Failure;
use crate::ui::block::{self, Block};
use crate::ui::human;
use agar_core::size::Bytes;
use agar_core::text::printable;
use agar_engine::prune::{PruneAnswer, PruneRequest, prune};
use agar_engine::remove::RemovedView;

/// Clear away idle sandboxes, unneeded pictures of the project and old trash
///
/// Never touches what agar did not make or a sandbox in which something runs. Changes that were
/// not applied go to the trash first, for a grace period. What is not said here comes from the
/// settings.
#[derive(Debug, Clone, Copy, clap::Args)]
#[command(after_long_help = "\
Examples:
  agar prune --dry-run                   say what would go
  agar prune --idle 2h --keep-last 3
  agar prune --disk 2G -a                until all sandboxes fit in 2 GB
  agar prune --empty-trash")]
pub struct PruneArgs {
    /// Remove sandboxes that nothing happened to for this long
    #[arg(long, value_name = "TIME", value_parser = human::parse_duration)]
    pub idle: Option<u64>,

    /// Keep at least this many of the newest of each project
    #[arg(long, value_name = "COUNT")]
    pub keep_last: Option<usize>,

    /// Remove the oldest until all together are at most this large
    #[arg(long, value_name = "SIZE")]
    pub disk: Option<Bytes>,

    /// Of every project, not only this one
    #[arg(short = 'a', long = "all")]
    pub everywhere: bool,

    /// Empty the trash now, grace period or not
    #[arg(long)]
    pub empty_trash: bool,

    /// Say what would happen, remove nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
}

/// Clears away.
pub fn run(args: &PruneArgs, context: &Context) -> Result<u8, Failure> {
    let request = PruneRequest {
        idle_ms: args.idle,
        keep_last: args.keep_last,
        disk_budget: args.disk,
        everywhere: args.everywhere,
        empty_trash: args.empty_trash,
        dry_run: args.dry_run,
    };
    let answer = prune(&context.engine()?, &request)?;
    context
        .ui
        .answer(&answer, |answer, palette| words(answer).render(palette))?;
    Ok(DONE)
}

fn words(answer: &PruneAnswer) -> Block {
    let label = if answer.dry_run {
        block::WOULD_REMOVE
    } else {
        block::REMOVED
    };
    let mut block = Block::new();
    for removed in &answer.removed {
        block.push(label, line(removed));
    }
    let stopped = if answer.dry_run {
        block::WOULD_STOP
    } else {
        block::STOPPED
    };
    for idle in &answer.stopped {
        block.push(stopped, format!("{} · kept", line(idle)));
    }
    for refused in &answer.refused {
        block.push(block::SKIPPED, line(refused));
    }
    if answer.snapshots > 0 {
        let snapshots = human::count(answer.snapshots, "snapshot", "snapshots");
        block.push(label, format!("{snapshots} taken before commands"));
    }
    if answer.generations > 0 {
        let generations = human::count(answer.generations, "generation", "generations");
        block.push(label, generations);
    }
    if answer.emptied > 0 {
        let emptied = human::count(answer.emptied, "entry", "entries");
        block.push(label, format!("{emptied} of the trash"));
    }
    let freed = Bytes(answer.freed_bytes);
    let trash = Bytes(answer.trash_bytes);
    let label = if answer.dry_run {
        block::WOULD_FREE
    } else {
        block::FREED
    };
    block.push(label, format!("{freed} · {trash} in the trash"));
    block
}

/// Which one, why, and where it goes.
fn line(removed: &RemovedView) -> String {
    let mut parts = vec![removed.alias.clone(), printable(&removed.why).into_owned()];
    if let Some(idle_ms) = removed.idle_ms.filter(|_| removed.why == "idle") {
        parts[1] = format!("idle for {}", human::age(idle_ms));
    }
    if let Some(bytes) = removed.disk_bytes {
        parts.push(Bytes(bytes).to_string());
    }
    if removed.in_trash {
        parts.push("to the trash".to_owned());
    }
    parts.join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::examples;
    use crate::ui::palette::Palette;

    #[test]
    fn what_went_and_what_it_gave_back() {
        insta::assert_snapshot!(words(&examples::prune()).render(Palette::Plain), @"
        removed  calm-fern · idle for 2 h · 28 KB · to the trash
        removed  brave-otter · idle
        stopped  calm-fern · idle for 2 h · 28 KB · to the trash · kept
        stopped  brave-otter · idle · kept
        skipped  calm-fern · idle for 2 h · 28 KB · to the trash
        skipped  brave-otter · idle
        removed  3 snapshots taken before commands
        removed  2 generations
        removed  1 entry of the trash
        freed    31 MB · 28 KB in the trash
        ");
    }
}
