//! `agar apply`: a sandbox's changes into the real project.

mod hunks;
mod resolve;

use crate::DONE;
use crate::context::Context;
use crate::report::{self, Failure};
use crate::ui::block::{self, Block};
use crate::ui::signals::Signals;
use crate::ui::{Form, human, merging};
use agar_core::fault::{Kind, Remedy};
use agar_core::text::printable;
use agar_engine::Engine;
use agar_engine::apply::{ApplyAnswer, ApplyRequest, Destination, Merge, Side, apply};
use std::collections::BTreeMap;

/// Merge a sandbox's changes into the project
///
/// Three ways, file by file: what you edited meanwhile is never overwritten. Where both sides
/// changed the same lines you are asked; if nobody can be asked, nothing is written. The project
/// is wholly before or wholly after, also if the machine stops in between, and `agar undo` takes
/// it back.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(after_long_help = "\
Examples:
  agar apply calm-fern
  agar apply calm-fern -- src/ Cargo.lock   only these
  agar apply -p                             choose hunk by hunk
  agar apply --theirs=Cargo.lock --mine     the sandbox's lock file, mine elsewhere
  agar apply --commit -m 'Update dependencies'
  agar apply --branch try/update            without touching the work tree
  agar apply --outside ~/.config/tool.toml  a change outside the project, by name

Exit status: 4 if conflicts are left and nothing was written.")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag that is typed"
)]
pub struct ApplyArgs {
    /// The sandbox
    #[arg(value_name = "SANDBOX")]
    pub sandbox: Option<String>,

    /// In a conflict keep the project's version, everywhere or of one path
    #[arg(long, value_name = "PATH", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub mine: Vec<String>,

    /// In a conflict take the sandbox's version, everywhere or of one path
    #[arg(long, value_name = "PATH", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub theirs: Vec<String>,

    /// In a conflict write both with markers, everywhere or of one path
    #[arg(long, value_name = "PATH", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub markers: Vec<String>,

    /// Choose hunk by hunk
    #[arg(short, long)]
    pub patch: bool,

    /// Also make a git commit of exactly these changes
    #[arg(long, conflicts_with = "branch")]
    pub commit: bool,

    /// Put them on this git branch, without touching the work tree
    #[arg(long, value_name = "NAME")]
    pub branch: Option<String>,

    /// The commit's message
    #[arg(short, long, value_name = "TEXT")]
    pub message: Option<String>,

    /// Also apply this path outside the project, or a masked one
    #[arg(long, value_name = "PATH")]
    pub outside: Vec<String>,

    /// End what runs in the sandbox first
    #[arg(long)]
    pub stop: bool,

    /// What you think of it, for memory
    #[arg(long, value_name = "TEXT", hide_short_help = true)]
    pub feedback: Option<String>,

    /// Say what would happen, write nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,

    /// Only these paths and what is below them
    #[arg(last = true, value_name = "PATH")]
    pub paths: Vec<String>,
}

impl ApplyArgs {
    fn request(&self) -> Result<ApplyRequest, Failure> {
        let (side, choices) = sides(&self.mine, &self.theirs, &self.markers)?;
        let message = self.message.clone();
        let destination = match (&self.branch, self.commit || message.is_some()) {
            (Some(name), _) => Destination::Branch {
                name: name.clone(),
                message,
            },
            (None, true) => Destination::Commit { message },
            (None, false) => Destination::WorkTree,
        };
        Ok(ApplyRequest {
            sandbox: self.sandbox.clone(),
            paths: self.paths.clone(),
            outside: self.outside.clone(),
            side,
            choices,
            hunks: BTreeMap::new(),
            plan: None,
            destination,
            dry_run: self.dry_run,
            stop: self.stop,
            feedback: self.feedback.clone(),
        })
    }
}

/// Reads which side wins where: at most one everywhere, at most one a path.
pub(super) fn sides(
    mine: &[String],
    theirs: &[String],
    markers: &[String],
) -> Result<(Option<Side>, BTreeMap<String, Side>), Failure> {
    let mut everywhere = None;
    let mut choices = BTreeMap::new();
    for (paths, side) in [
        (mine, Side::Mine),
        (theirs, Side::Theirs),
        (markers, Side::Markers),
    ] {
        for path in paths {
            let before = if path.is_empty() {
                everywhere.replace(side)
            } else {
                choices.insert(path.clone(), side)
            };
            if before.is_some_and(|before| before != side) {
                let message = match path.as_str() {
                    "" => "two different sides are to win everywhere".to_owned(),
                    path => format!("two different sides are to win in {}", printable(path)),
                };
                return Err(Failure::new(Kind::Invalid, message));
            }
        }
    }
    Ok((everywhere, choices))
}

/// Applies them.
pub fn run(args: &ApplyArgs, context: &Context) -> Result<u8, Failure> {
    let engine = context.engine()?;
    let signals = super::signals()?;
    let mut request = args.request()?;
    if args.patch && !hunks::choose(context, &engine, &signals, &mut request)? {
        context
            .ui
            .say_block(&Block::new().line(block::NOTE, "nothing was chosen, nothing was applied"));
        return Ok(DONE);
    }
    let answer = carry_out(context, &engine, &signals, request)?;
    if context.ui.form == Form::Json {
        context.ui.show_json(&answer)?;
    }
    Ok(status(&answer))
}

/// The exit status for an application.
pub(super) fn status(answer: &ApplyAnswer) -> u8 {
    if answer.conflicts().next().is_some() {
        Kind::Conflict.exit_code()
    } else {
        DONE
    }
}

/// Applies, asks about conflicts where somebody can be asked, and says what happened.
pub(super) fn carry_out(
    context: &Context,
    engine: &Engine,
    signals: &Signals,
    mut request: ApplyRequest,
) -> Result<ApplyAnswer, Failure> {
    let mut edits = Vec::new();
    loop {
        let answer = {
            // Half an application is finished or taken back by the next command, but there is no
            // need for one.
            let _held = signals.hold();
            apply(engine, &request)?
        };
        let conflicts = answer.conflicts().next().is_some();
        if context.ui.form == Form::Words {
            tell(context, &answer, request.dry_run);
        }
        if !conflicts {
            resolve::open_editor(context, &edits);
            return Ok(answer);
        }
        if request.dry_run || !context.ui.can_ask() {
            return Ok(answer);
        }
        if !resolve::choose(
            context,
            engine,
            signals,
            (&answer, &mut request, &mut edits),
        )? {
            return Ok(answer);
        }
    }
}

fn tell(context: &Context, answer: &ApplyAnswer, dry_run: bool) {
    if answer.conflicts().next().is_some() {
        context.ui.say_block(&merging::paths(&answer.files));
        let mut block = Block::new().line(block::NOTE, "nothing has been written");
        if !context.ui.can_ask() {
            report::advise(&mut block, &Remedy::ChooseSide, &[]);
        }
        context.ui.say_block(&block);
        return;
    }
    let interesting = answer
        .files
        .iter()
        .any(|file| !matches!(file.merge, Merge::Clean | Merge::Same));
    if dry_run || interesting {
        context.ui.say_block(&merging::paths(&answer.files));
    }
    context.ui.say_block(&conclusion(answer, dry_run));
}

/// What was written, or would be, and how to take it back.
fn conclusion(answer: &ApplyAnswer, dry_run: bool) -> Block {
    let written = answer
        .files
        .iter()
        .filter(|file| !matches!(file.merge, Merge::Same | Merge::Skipped | Merge::Conflict))
        .count();
    let files = human::count(written as u64, "file", "files");
    let mut block = Block::new();
    if dry_run {
        block.push(
            block::NOTE,
            format!("{files} would be applied; nothing was written"),
        );
    } else if answer.applied {
        block.push(block::APPLIED, format!("{files} · undo with `agar undo`"));
    } else {
        block.push(
            block::NOTE,
            format!("{} has nothing to apply", answer.sandbox.alias),
        );
    }
    if let Some(commit) = &answer.commit {
        let short: String = commit.chars().take(10).collect();
        block.push(block::COMMITTED, short);
    }
    for reference in &answer.references {
        block.push_more(format!(
            "commits made inside are at {}",
            printable(reference)
        ));
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
    fn an_application_says_how_to_take_it_back() {
        let answer = examples::apply();
        insta::assert_snapshot!(conclusion(&answer, false).render(Palette::Plain), @"
        applied    2 files · undo with `agar undo`
        committed  0123456789
                   commits made inside are at refs/agar/calm-fern/main
        note       git hooks were not run
        ");
        insta::assert_snapshot!(conclusion(&answer, true).render(Palette::Plain), @"
        note       2 files would be applied; nothing was written
        committed  0123456789
                   commits made inside are at refs/agar/calm-fern/main
        note       git hooks were not run
        ");
    }

    #[test]
    fn one_side_wins_everywhere_and_others_by_path() {
        let all = String::new;
        let path = || "Cargo.lock".to_owned();
        let (side, choices) = sides(&[all()], &[path()], &[]).unwrap();
        assert_eq!(side, Some(Side::Mine));
        assert_eq!(choices, BTreeMap::from([(path(), Side::Theirs)]));
        assert_eq!(sides(&[all()], &[all()], &[]).unwrap_err().exit(), 2);
        assert_eq!(sides(&[path()], &[], &[path()]).unwrap_err().exit(), 2);
    }

    #[test]
    fn a_message_means_a_commit() {
        let args = ApplyArgs {
            message: Some("why".to_owned()),
            ..ApplyArgs::default()
        };
        let message = Some("why".to_owned());
        assert_eq!(
            args.request().unwrap().destination,
            Destination::Commit { message }
        );
    }
}
