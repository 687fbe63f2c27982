//! The use cases, driven as a face drives them, on the real kernel.

mod desk;
mod running;
