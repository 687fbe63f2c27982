//! One binary for all integration tests of the crate; each module keeps the rules of one part.
mod change_git;
mod change_overlay;
mod overlay;
