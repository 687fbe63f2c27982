//! Hunk by hunk, as `git add -p` does it.

use crate::context::Context;
use crate::report::Failure;
use crate::ui::patch;
use crate::ui::prompt::{self, Choice, Reply};
use crate::ui::signals::Signals;
use agar_core::fault::Kind;
use agar_core::text::printable;
use agar_engine::Engine;
use agar_engine::apply::{AppliedFile, ApplyRequest, apply};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choose {
    Yes,
    No,
    All,
    Done,
}

const CHOICES: [Choice<Choose>; 4] = [
    Choice {
        value: Choose::Yes,
        word: "yes",
    },
    Choice {
        value: Choose::No,
        word: "no",
    },
    Choice {
        value: Choose::All,
        word: "all of this file",
    },
    Choice {
        value: Choose::Done,
        word: "done",
    },
];

/// Asks about every hunk and narrows the request to what was chosen. False if that is nothing.
pub(super) fn choose(
    context: &Context,
    engine: &Engine,
    signals: &Signals,
    request: &mut ApplyRequest,
) -> Result<bool, Failure> {
    if !context.ui.can_ask() {
        let message = "cannot choose hunk by hunk: nobody is there to be asked";
        return Err(Failure::new(Kind::Invalid, message));
    }
    let plan = apply(
        engine,
        &ApplyRequest {
            dry_run: true,
            ..request.clone()
        },
    )?;
    let mut paths = Vec::new();
    for file in &plan.files {
        let (chosen, go_on) = ask_about(context, signals, file)?;
        match chosen {
            Chosen::Nothing => {}
            Chosen::Everything => paths.push(file.path.clone()),
            Chosen::Hunks(numbers) => {
                paths.push(file.path.clone());
                request.hunks.insert(file.path.clone(), numbers);
            }
        }
        if !go_on {
            break;
        }
    }
    // Numbers mean what they meant only while nothing else changes.
    request.plan = plan.plan;
    request.paths = paths;
    Ok(!request.paths.is_empty())
}

enum Chosen {
    Nothing,
    Everything,
    Hunks(Vec<usize>),
}

/// Asks about one file; the second answer is whether to go on to the next.
fn ask_about(
    context: &Context,
    signals: &Signals,
    file: &AppliedFile,
) -> Result<(Chosen, bool), Failure> {
    let path = printable(&file.path);
    if file.hunks.is_empty() {
        let question = format!("Apply {path}?");
        return Ok(match ask(context, signals, &question)? {
            Choose::Yes | Choose::All => (Chosen::Everything, true),
            Choose::No => (Chosen::Nothing, true),
            Choose::Done => (Chosen::Nothing, false),
        });
    }
    let mut numbers = Vec::new();
    let total = file.hunks.len();
    for (index, hunk) in file.hunks.iter().enumerate() {
        context
            .ui
            .say(&patch::for_terminal(&hunk.text, context.ui.err));
        if !hunk.text.ends_with('\n') {
            context.ui.say("\n");
        }
        let question = format!("Apply hunk {} of {total} of {path}?", hunk.number);
        match ask(context, signals, &question)? {
            Choose::Yes => numbers.push(hunk.number),
            Choose::No => {}
            Choose::All => {
                numbers.extend(file.hunks[index..].iter().map(|hunk| hunk.number));
                break;
            }
            Choose::Done => return Ok((chosen(numbers, total), false)),
        }
    }
    Ok((chosen(numbers, total), true))
}

fn chosen(numbers: Vec<usize>, total: usize) -> Chosen {
    match numbers.len() {
        0 => Chosen::Nothing,
        all if all == total => Chosen::Everything,
        _ => Chosen::Hunks(numbers),
    }
}

fn ask(context: &Context, signals: &Signals, question: &str) -> Result<Choose, Failure> {
    let reply = prompt::ask(&context.ui, signals, question, &CHOICES)
        .map_err(|error| Failure::because(Kind::Internal, "cannot read the answer", &error))?;
    match reply {
        Reply::Chose(choice) => Ok(choice),
        Reply::Closed => Ok(Choose::Done),
        Reply::Interrupted => Err(Failure::interrupted()),
    }
}
