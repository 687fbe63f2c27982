//! `agar shell`: a shell in a sandbox, made for it if none is named.

use super::{attach, create};
use crate::DONE;
use crate::args::{LimitArgs, WallArgs};
use crate::context::Context;
use crate::report::Failure;
use crate::ui::Form;
use crate::ui::block::{self, Block};
use crate::ui::ending;
use agar_engine::attach::{AttachRequest, prepare};
use agar_engine::create::CreateRequest;
use agar_engine::diff::{DiffRequest, diff};
use agar_engine::remove::{RemoveRequest, remove};
use agar_engine::stop::{StopRequest, stop};
use agar_engine::{Engine, SandboxView};

/// Open a shell in a new sandbox, or in one that is there
///
/// Without a name a sandbox is made from the project as it is now. Leaving with Ctrl-b d keeps
/// everything going for `agar attach`; ending the shell ends a sandbox made for it, which is kept
/// if the project changed inside.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = "\
Examples:
  agar shell                             look around, break things
  agar shell calm-fern                   the same as agar attach calm-fern
  agar shell --net host --memory 2G")]
pub struct ShellArgs {
    /// The sandbox; a new one if left out
    #[arg(value_name = "SANDBOX")]
    pub sandbox: Option<String>,

    /// If it has no terminal yet, a plain one, even where there is tmux
    #[arg(long)]
    pub plain: bool,

    /// Which walls.
    #[command(flatten)]
    pub walls: WallArgs,

    /// Which limits.
    #[command(flatten)]
    pub limits: LimitArgs,
}

/// Opens it.
pub fn run(args: &ShellArgs, context: &Context) -> Result<u8, Failure> {
    if let Some(sandbox) = &args.sandbox {
        let args = attach::AttachArgs {
            sandbox: Some(sandbox.clone()),
            plain: args.plain,
        };
        return attach::run(&args, context);
    }
    let engine = context.engine()?;
    let wanted = CreateRequest {
        options: args.walls.options(args.limits, context.environment.agent()),
        alias: None,
    };
    let made = create::made(context, &engine, &wanted)?;
    let request = AttachRequest {
        sandbox: Some(made.sandbox.id.to_string()),
        shell: Some(context.environment.shell()),
        plain: args.plain,
    };
    if context.ui.form == Form::Json {
        context.ui.show_json(&prepare(&engine, &request)?)?;
        return Ok(DONE);
    }
    context.ui.say_block(&ending::heading(&made.sandbox, None));
    let answer = attach::view(context, &engine, &request)?;
    let alias = &made.sandbox.alias;
    if let Some(removed) = attach::removed(&answer) {
        context.ui.say_block(&removed);
        return Ok(DONE);
    }
    if !answer.over {
        let line = format!("{alias} · goes on · `agar attach {alias}` comes back");
        context.ui.say_block(&Block::new().line(block::KEPT, line));
        return Ok(DONE);
    }
    context.ui.say_block(&farewell(&engine, &made.sandbox)?);
    Ok(DONE)
}

/// What becomes of a sandbox whose shell ended: with changes to the project it is kept, else removed.
fn farewell(engine: &Engine, sandbox: &SandboxView) -> Result<Block, Failure> {
    let (id, alias) = (sandbox.id.to_string(), &sandbox.alias);
    let request = DiffRequest {
        sandbox: Some(id.clone()),
        ..DiffRequest::default()
    };
    if !diff(engine, &request)?.changes.is_empty() {
        let sandboxes = vec![id];
        let all = false;
        stop(engine, &StopRequest { sandboxes, all })?;
        let line = format!(
            "{alias} · `agar diff {alias}` shows its changes, `agar apply {alias}` applies them"
        );
        return Ok(Block::new().line(block::KEPT, line));
    }
    let request = RemoveRequest {
        sandboxes: vec![id],
        force: true,
        ..RemoveRequest::default()
    };
    let answer = remove(engine, &request)?;
    let said = if answer.removed.iter().any(|it| it.in_trash) {
        "nothing changed in the project; its other changes wait in the trash"
    } else {
        "nothing changed in it"
    };
    Ok(Block::new().line(block::REMOVED, format!("{alias} · {said}")))
}
