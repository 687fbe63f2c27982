//! Copying trees.
