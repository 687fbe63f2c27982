//! The use cases, driven as a face drives them, on the real kernel.
#![expect(
    clippy::unwrap_used,
    reason = "a test whose world cannot be set up must stop there"
)]

mod breaching;
mod checking;
mod clearing;
mod compiling;
mod crowding;
mod departing;
mod desk;
mod enduring;
mod evolution;
mod forking;
mod grounding;
mod joining;
mod keeping;
mod learning;
mod living;
mod pooling;
mod process_cells;
mod programs;
mod promoting;
mod recording;
mod returning;
mod running;
mod settling;
mod standing_still;
mod travelling;
mod troubles;
mod undoing;
mod zygotes;
