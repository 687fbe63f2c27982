//! Layers, bases, runs, change sets and merging.

pub mod base;
pub mod copy;
pub mod merge;
pub mod project;
pub mod spelling;
pub mod stack;
pub mod trash;
