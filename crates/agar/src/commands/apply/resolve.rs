//! Conflicts, one question each.

use crate::commands::diff;
use crate::context::Context;
use crate::report::Failure;
use crate::ui::block::{self, Block};
use crate::ui::prompt::{self, Choice, Reply};
use crate::ui::signals::Signals;
use agar_core::fault::Kind;
use agar_core::text::printable;
use agar_engine::Engine;
use agar_engine::apply::{ApplyAnswer, ApplyRequest, Side};
use agar_engine::diff::DiffRequest;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Debug, Clone, Copy)]
enum Choose {
    Side(Side),
    Edit,
    Show,
    Abort,
}

const CHOICES: [Choice<Choose>; 5] = [
    Choice {
        value: Choose::Side(Side::Mine),
        word: "mine",
    },
    Choice {
        value: Choose::Side(Side::Theirs),
        word: "theirs",
    },
    Choice {
        value: Choose::Edit,
        word: "edit",
    },
    Choice {
        value: Choose::Show,
        word: "show",
    },
    Choice {
        value: Choose::Abort,
        word: "abort",
    },
];

/// Asks about every conflict and puts the answers into the request. False if the person gave up.
///
/// Files to edit are written with markers like everything else, in one step that can be undone, and
/// opened afterwards.
pub(super) fn choose(
    context: &Context,
    engine: &Engine,
    signals: &Signals,
    (answer, request, edits): (&ApplyAnswer, &mut ApplyRequest, &mut Vec<PathBuf>),
) -> Result<bool, Failure> {
    for file in answer.conflicts() {
        let question = format!("Choose for {}:", printable(&file.path));
        let side = loop {
            match ask(context, signals, &question)? {
                Choose::Side(side) => break side,
                Choose::Edit => {
                    edits.push(Path::new(&answer.sandbox.project_path).join(&file.path));
                    break Side::Markers;
                }
                Choose::Show => {
                    let request = DiffRequest {
                        sandbox: Some(answer.sandbox.id.to_string()),
                        paths: vec![file.path.clone()],
                        patch: true,
                        ..DiffRequest::default()
                    };
                    diff::show(context, engine, &request)?;
                }
                Choose::Abort => {
                    let line = "nothing was applied; the sandbox is kept";
                    context.ui.say_block(&Block::new().line(block::NOTE, line));
                    return Ok(false);
                }
            }
        };
        request.choices.insert(file.path.clone(), side);
    }
    Ok(true)
}

fn ask(context: &Context, signals: &Signals, question: &str) -> Result<Choose, Failure> {
    let reply = prompt::ask(&context.ui, signals, question, &CHOICES)
        .map_err(|error| Failure::because(Kind::Internal, "cannot read the answer", &error))?;
    match reply {
        Reply::Chose(choice) => Ok(choice),
        Reply::Closed => Ok(Choose::Abort),
        Reply::Interrupted => Err(Failure::interrupted()),
    }
}

/// Opens the files that were to be edited.
pub(super) fn open_editor(context: &Context, files: &[PathBuf]) {
    if files.is_empty() {
        return;
    }
    let editor = context.environment.editor();
    // Through a shell, because an editor is often a command with arguments.
    let mut script = editor.clone();
    script.push(" \"$@\"");
    let status = Command::new("sh")
        .arg("-c")
        .arg(script)
        .arg(&editor)
        .args(files)
        .status();
    if !status.is_ok_and(|status| status.success()) {
        let line = "the editor failed; look for conflict markers in the files";
        context.ui.say_block(&Block::new().line(block::NOTE, line));
    }
}
