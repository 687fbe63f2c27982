//! Layers, bases, runs, change sets and merging.

pub mod spelling;
pub mod stack;
