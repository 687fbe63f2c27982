//! Layers, bases, runs, change sets and merging.
