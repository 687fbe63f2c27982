//! Layers, bases, runs, change sets and merging.

pub mod base;
pub mod change;
pub mod copy;
pub mod git;
pub mod layer;
pub mod merge;
pub mod project;
pub mod promote;
pub mod snapshot;
pub mod spelling;
pub mod stack;
pub mod trash;
