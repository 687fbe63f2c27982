//! `agar tree`: what descends from what.

use crate::DONE;
use crate::commands::snapshots::why;
use crate::context::Context;
use crate::report::Failure;
use crate::ui::Form;
use crate::ui::block::{self, Block};
use crate::ui::palette::{Palette, Tone};
use agar_core::snapshot::SnapshotKind;
use agar_core::text::printable;
use agar_engine::tree::{Branch, Point, TreeAnswer, TreeRequest, tree};

/// Draw how sandboxes and their snapshots descend from each other
///
/// A snapshot stands below the one that the sandbox's files descended from when it was taken, a fork
/// below the snapshot that it began as. A snapshot marked `*` is what its sandbox's files descend
/// from.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = "\
Examples:
  agar tree
  agar tree calm-fern")]
pub struct TreeArgs {
    /// The sandbox to begin with; every one of this project if left out
    #[arg(value_name = "SANDBOX")]
    pub sandbox: Option<String>,
}

/// Draws it.
pub fn run(args: &TreeArgs, context: &Context) -> Result<u8, Failure> {
    let request = TreeRequest {
        sandbox: args.sandbox.clone(),
        family: false,
    };
    let answer = tree(&context.engine()?, &request)?;
    if answer.roots.is_empty() && context.ui.form == Form::Words {
        if context.ui.terminals.stderr {
            let line = "no sandboxes here; `agar try -- COMMAND` makes one";
            context.ui.say_block(&Block::new().line(block::NOTE, line));
        }
        return Ok(DONE);
    }
    context.ui.answer(&answer, drawn)?;
    Ok(DONE)
}

fn drawn(answer: &TreeAnswer, palette: Palette) -> String {
    let mut text = String::new();
    for root in &answer.roots {
        branch(root, ("", ""), palette, &mut text);
    }
    text
}

/// Draws a sandbox behind `first`, and what is below it behind `rest`.
fn branch(branch: &Branch, (first, rest): (&str, &str), palette: Palette, text: &mut String) {
    let sandbox = &branch.sandbox;
    let note = sandbox.note.as_deref().map(printable).unwrap_or_default();
    let state = palette.paint(Tone::Dim, sandbox.state.word());
    let name = palette.paint(Tone::Name, &sandbox.alias);
    let line = format!("{first}{name}  {state}  {note}");
    text.push_str(line.trim_end());
    text.push('\n');
    let roots = branch.snapshots.iter().filter(|at| !has_parent(branch, at));
    let forks = branch.forks.iter().map(Twig::Fork);
    twigs(
        branch,
        roots.map(Twig::Point).chain(forks),
        rest,
        (palette, text),
    );
}

/// Something that stands below a sandbox or a snapshot.
#[derive(Clone, Copy)]
enum Twig<'a> {
    Point(&'a Point),
    Fork(&'a Branch),
}

/// Whether a snapshot of a sandbox descends from another that is still there.
fn has_parent(of: &Branch, at: &Point) -> bool {
    let parent = at.snapshot.parent;
    parent.is_some() && of.snapshots.iter().any(|it| Some(it.snapshot.id) == parent)
}

/// Draws what stands below one thing.
fn twigs<'a>(
    of: &Branch,
    twigs: impl Iterator<Item = Twig<'a>>,
    rest: &str,
    (palette, text): (Palette, &mut String),
) {
    let mut twigs = twigs.peekable();
    while let Some(twig) = twigs.next() {
        let (first, below) = match twigs.peek() {
            Some(_) => ("├ ", "│ "),
            None => ("└ ", "  "),
        };
        let stems = (format!("{rest}{first}"), format!("{rest}{below}"));
        let stems = (stems.0.as_str(), stems.1.as_str());
        match twig {
            Twig::Point(at) => point(of, at, stems, (palette, text)),
            Twig::Fork(fork) => branch(fork, stems, palette, text),
        }
    }
}

fn point(
    of: &Branch,
    point: &Point,
    (first, rest): (&str, &str),
    (palette, text): (Palette, &mut String),
) {
    let snapshot = &point.snapshot;
    let head = if of.head == Some(snapshot.id) {
        " *"
    } else {
        ""
    };
    let reason = if snapshot.kind == SnapshotKind::Asked {
        String::new()
    } else {
        palette.paint(Tone::Dim, why(snapshot.kind))
    };
    let note = snapshot.note.as_deref().map(printable).unwrap_or_default();
    let said = if note.is_empty() {
        reason
    } else {
        note.into_owned()
    };
    let line = format!("{first}@{}{head}  {said}", snapshot.name);
    text.push_str(line.trim_end());
    text.push('\n');
    let later = of.snapshots.iter();
    let later = later.filter(|it| it.snapshot.parent == Some(snapshot.id));
    let forks = point.forks.iter().map(Twig::Fork);
    let below: Vec<Twig<'_>> = forks.chain(later.map(Twig::Point)).collect();
    twigs(of, below.into_iter(), rest, (palette, text));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::examples;

    #[test]
    fn lineage_is_drawn_as_a_tree() {
        insta::assert_snapshot!(drawn(&examples::tree(), Palette::Plain), @"
        calm-fern  finished
        └ @s1  tests pass
          ├ brave-otter  running  migrate
          ├ dim-reed  finished
          └ @before *  before a restore
        brave-otter  running  migrate
        ");
    }
}
