//! The use cases, driven as a face drives them, on the real kernel.
#![expect(
    clippy::unwrap_used,
    reason = "a test whose world cannot be set up must stop there"
)]

mod checking;
mod clearing;
mod compiling;
mod desk;
mod evolution;
mod grounding;
mod learning;
mod living;
mod process_cells;
mod promoting;
mod recording;
mod running;
mod settling;
mod travelling;
mod undoing;
mod zygotes;
