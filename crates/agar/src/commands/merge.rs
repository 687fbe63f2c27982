//! `agar merge`: apply and commit.

use super::apply::{self, ApplyArgs};
use crate::context::Context;
use crate::report::Failure;

/// Apply a sandbox's changes and commit them: `apply --commit`
///
/// The commit holds exactly the sandbox's changes; what else you have edited or staged stays as it
/// is. Your git hooks are not run.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = "\
Examples:
  agar merge calm-fern
  agar merge calm-fern -m 'Update dependencies'")]
pub struct MergeArgs {
    /// As `apply` has them.
    #[command(flatten)]
    pub apply: ApplyArgs,
}

/// Applies and commits.
pub fn run(args: &MergeArgs, context: &Context) -> Result<u8, Failure> {
    let commit = args.apply.branch.is_none();
    let args = ApplyArgs {
        commit,
        ..args.apply.clone()
    };
    apply::run(&args, context)
}
