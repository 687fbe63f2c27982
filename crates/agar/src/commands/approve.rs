//! `agar approve`: a person's consent to a project's settings.

use crate::DONE;
use crate::context::Context;
use crate::report::Failure;
use crate::ui::block::{self, Block};
use crate::ui::prompt::{self, Choice, Reply};
use crate::ui::{Form, human};
use agar_core::fault::{Kind, Remedy};
use agar_core::text::printable;
use agar_engine::Engine;
use agar_engine::approve::{ApproveAnswer, ApproveRequest, approve};
use std::path::Path;

/// Accept the settings of this project, exactly as they are now
///
/// A project's agar.toml may ask for weaker walls, an open network, more of your environment, or
/// commands that run outside a sandbox. None of that is in force until you have accepted that
/// exact content; a changed file asks again.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = "\
Examples:
  agar approve                           show what it loosens, then ask
  agar approve --hash 4f1c…              accept that content and no other, in a script")]
pub struct ApproveArgs {
    /// Accept the content with this hash, without asking
    #[arg(long, value_name = "HASH")]
    pub hash: Option<String>,
}

/// Asks, and records the answer.
pub fn run(args: &ApproveArgs, context: &Context) -> Result<u8, Failure> {
    let engine = context.engine()?;
    let request = ApproveRequest {
        hash: args.hash.clone(),
    };
    let answer = approve(&engine, &request)?;
    if context.ui.form == Form::Json {
        context.ui.show_json(&answer)?;
        return Ok(DONE);
    }
    if answer.approved {
        context
            .ui
            .say_block(&Block::new().line(block::OK, describe(&answer)));
        return Ok(DONE);
    }
    ask(context, &engine, &answer)
}

fn ask(context: &Context, engine: &Engine, answer: &ApproveAnswer) -> Result<u8, Failure> {
    let mut block = Block::new().line(block::NOTE, describe(answer));
    for line in &answer.loosens {
        block.push_more(printable(line));
    }
    context.ui.say_block(&block);
    if !context.ui.can_ask() {
        return Err(
            Failure::new(Kind::Refused, "nobody is there to accept the settings").with_remedy(
                Remedy::Command {
                    line: format!("agar approve --hash {}", answer.hash),
                },
            ),
        );
    }
    let signals = super::signals()?;
    let choices = [
        Choice {
            value: true,
            word: "yes",
        },
        Choice {
            value: false,
            word: "no",
        },
    ];
    let reply = prompt::ask(&context.ui, &signals, "Accept it?", &choices)
        .map_err(|error| Failure::because(Kind::Internal, "cannot read the answer", &error))?;
    match reply {
        Reply::Chose(true) => {
            let request = ApproveRequest {
                hash: Some(answer.hash.clone()),
            };
            approve(engine, &request)?;
            Ok(DONE)
        }
        Reply::Chose(false) | Reply::Closed => Ok(Kind::Refused.exit_code()),
        Reply::Interrupted => Err(Failure::interrupted()),
    }
}

fn describe(answer: &ApproveAnswer) -> String {
    let path = human::path(Path::new(&answer.path));
    let short: String = answer.hash.chars().take(12).collect();
    if answer.approved {
        format!("{path} is accepted as it is ({short})")
    } else {
        format!("{path} ({short}) asks for")
    }
}
