//! One binary for all integration tests of the crate; each module keeps the rules of one part.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test whose world cannot be set up must stop there"
)]

mod base;
mod base_git;
mod base_life;
mod change_git;
mod change_overlay;
mod chase;
mod crash;
mod desk;
mod git;
mod overlay;
mod play;
mod promote;
mod random;
mod scenario;
