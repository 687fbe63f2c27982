//! `agar ls`: the sandboxes there are.

use crate::DONE;
use crate::context::Context;
use crate::report::Failure;
use crate::ui::block::{self, Block};
use crate::ui::palette::{Palette, Tone};
use crate::ui::table::{Cell, Table};
use crate::ui::{Form, human};
use agar_core::seam::Timestamp;
use agar_core::size::Bytes;
use agar_core::state::State;
use agar_core::text::printable;
use agar_engine::RunView;
use agar_engine::list::{ListAnswer, ListRequest, Listed, list};
use std::path::Path;

/// List the sandboxes of this project
///
/// Oldest first, with what each changed and what runs in it.
#[derive(Debug, Clone, Copy, clap::Args)]
#[command(after_long_help = "\
Examples:
  agar ls
  agar ls -a                             of every project
  agar ls -q | xargs agar rm             names alone, for scripts")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag that is typed"
)]
pub struct LsArgs {
    /// Of every project, not only this one
    #[arg(short = 'a', long = "all")]
    pub everywhere: bool,

    /// Also those that are gone, as far as agar remembers them
    #[arg(long)]
    pub gone: bool,

    /// Only those that were removed and can still be taken back
    #[arg(long, conflicts_with = "gone")]
    pub trash: bool,

    /// Names alone, one a line
    #[arg(short, long)]
    pub quiet: bool,
}

/// Lists them.
pub fn run(args: &LsArgs, context: &Context) -> Result<u8, Failure> {
    let request = ListRequest {
        everywhere: args.everywhere,
        collected: args.gone,
        trash: args.trash,
        ..ListRequest::default()
    };
    let answer = list(&context.engine()?, &request)?;
    if answer.sandboxes.is_empty() && context.ui.form == Form::Words {
        if context.ui.terminals.stderr && !args.quiet {
            let line = "no sandboxes here; `agar try -- COMMAND` makes one";
            context.ui.say_block(&Block::new().line(block::NOTE, line));
        }
        return Ok(DONE);
    }
    let now = context.environment.now();
    context.ui.answer(&answer, |answer, palette| {
        if args.quiet {
            names(answer)
        } else {
            table(answer, now, palette)
        }
    })?;
    Ok(DONE)
}

fn names(answer: &ListAnswer) -> String {
    let names = answer.sandboxes.iter().map(|l| l.sandbox.alias.as_str());
    human::lines(names)
}

fn table(answer: &ListAnswer, now: Timestamp, palette: Palette) -> String {
    let mut table = Table::new(&[
        "ID", "STATE", "AGE", "BASE", "RUNS", "CHANGES", "CPU", "MEM", "NOTE",
    ]);
    for listed in &answer.sandboxes {
        table.row(row(listed, now));
    }
    table.render(palette)
}

fn row(listed: &Listed, now: Timestamp) -> Vec<Cell> {
    const NOTHING: &str = "–";
    let sandbox = &listed.sandbox;
    let project = Path::new(&sandbox.project_path)
        .file_name()
        .map_or_else(|| "/".to_owned(), |name| human::path(Path::new(name)));
    let changes = match listed.changed_files {
        Some(0) | None => NOTHING.to_owned(),
        Some(files) => human::count(files, "file", "files"),
    };
    let cpu = listed.cpu_percent.map(|percent| format!("{percent} %"));
    let memory = listed.memory_bytes.map(|bytes| Bytes(bytes).to_string());
    vec![
        Cell::toned(Tone::Name, sandbox.alias.clone()),
        state(sandbox.state),
        human::age(now.since(sandbox.created_at)).into(),
        format!("{project}@{}", sandbox.base.kind.word()).into(),
        sandbox.runs.to_string().into(),
        changes.into(),
        cpu.unwrap_or_else(|| NOTHING.to_owned()).into(),
        memory.unwrap_or_else(|| NOTHING.to_owned()).into(),
        note(sandbox.note.as_deref(), listed.last_run.as_ref()).into(),
    ]
}

fn state(state: State) -> Cell {
    match state {
        State::Running | State::Creating => Cell::toned(Tone::Good, state.word()),
        State::Paused => Cell::toned(Tone::Warn, state.word()),
        State::Finished => state.word().into(),
        State::Promoted | State::Discarded | State::Collected => {
            Cell::toned(Tone::Dim, state.word())
        }
    }
}

/// The person's own words, else the last command and how it ended.
fn note(note: Option<&str>, last: Option<&RunView>) -> String {
    const LONGEST: usize = 40;
    let mark = match last.and_then(|run| run.end.as_ref()) {
        None => "",
        Some(end) if end.is_success() => " ✓",
        Some(_) => " ✗",
    };
    let text = note.or_else(|| last.map(|run| run.command.as_str()));
    let text = printable(text.unwrap_or_default());
    let short: String = text.chars().take(LONGEST).collect();
    let cut = if text.chars().count() > LONGEST {
        "…"
    } else {
        ""
    };
    format!("{short}{cut}{mark}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::examples;

    #[test]
    fn the_list_lines_up() {
        let answer = examples::list();
        let now = Timestamp::from_millis(answer.sandboxes[0].sandbox.created_at.millis() + 130_000);
        insta::assert_snapshot!(table(&answer, now, Palette::Plain), @"
        ID           STATE     AGE  BASE         RUNS  CHANGES  CPU   MEM     NOTE
        calm-fern    finished  2 m  shop@frozen  1     1 file   –     –       cargo update ✓
        brave-otter  running   2 m  shop@live    0     –        41 %  212 MB  migrate
        ");
    }
}
