//! Layers, bases, runs, change sets and merging.

pub mod merge;
pub mod spelling;
pub mod stack;
