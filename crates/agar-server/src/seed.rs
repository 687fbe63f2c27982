//! The endpoints of the first seed, with its names, bodies and answers.
//!
//! Fields are read and written in the seed's spelling and in ours: `limits` or `resourceLimits`,
//! `diskQuota` or `disk`, `id` or `sandboxId`. Units are the seed's: percent, MB, seconds.

mod create;
mod finalize;
mod limits;
mod memory;
mod run;

pub(crate) use create::{CreateBody, Created, begin, create};
pub(crate) use finalize::{FinalizeBody, Finalized, finalize};
pub(crate) use limits::SeedLimits;
pub(crate) use memory::{
    CalculateBody, Calculated, Findings, GraduateBody, Graduated, OfSandbox, calculate, graduate,
    lessons, of_sandbox,
};
pub(crate) use run::{ExecuteBody, Executed, Standing, execute, status, stream};

/// The seed's word for how an experiment ended.
pub(crate) fn outcome_word(status: &str) -> &str {
    match status {
        "failure" => "failed",
        other => other,
    }
}
