//! `agar jail`: the jail a sandbox would get.

use crate::DONE;
use crate::args::{LimitArgs, WallArgs};
use crate::context::Context;
use crate::report::Failure;
use crate::ui::{Form, pager};
use agar_engine::jail_plan::{JailPlanRequest, jail_plan};

/// Look at the jail without building it
#[derive(Debug, Clone, clap::Args)]
pub struct JailArgs {
    /// What to do.
    #[command(subcommand)]
    pub action: JailAction,
}

/// What can be done with a jail.
#[derive(Debug, Clone, clap::Subcommand)]
pub enum JailAction {
    /// Print the plan: every mount, mask, limit and wall, in the order they are raised
    ///
    /// The plan is plain data that decides everything; raising the jail only follows it. Nothing
    /// is built and nothing is run.
    #[command(after_long_help = "\
Examples:
  agar jail plan
  agar jail plan calm-fern               of a sandbox that is there
  agar jail plan --net host --json")]
    Plan(PlanArgs),
}

/// Which jail.
#[derive(Debug, Clone, clap::Args)]
pub struct PlanArgs {
    /// A sandbox that is there, instead of a new one
    #[arg(value_name = "SANDBOX")]
    pub sandbox: Option<String>,

    /// Which walls.
    #[command(flatten)]
    pub walls: WallArgs,

    /// Which limits.
    #[command(flatten)]
    pub limits: LimitArgs,
}

/// Prints it.
pub fn run(args: &JailArgs, context: &Context) -> Result<u8, Failure> {
    let JailAction::Plan(plan) = &args.action;
    let request = JailPlanRequest {
        sandbox: plan.sandbox.clone(),
        options: plan.walls.options(plan.limits, context.environment.agent()),
    };
    let answer = jail_plan(&context.engine()?, &request)?;
    match context.ui.form {
        Form::Json => context.ui.show_json(&answer)?,
        Form::Words => {
            let text = answer.text.trim_end();
            pager::show(&context.ui, &format!("{text}\n"))?;
        }
    }
    Ok(DONE)
}
