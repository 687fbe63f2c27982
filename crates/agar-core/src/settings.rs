//! Every value a person can set, where each came from, and who may loosen what.
//!
//! Settings come in layers: built-in defaults, the user's file, hints from files of other tools,
//! the project's `agar.toml`, `AGAR_*` variables, flags. The later one wins, with one exception: a
//! project's file is written by whoever wrote the project. It may tighten the walls as it likes; it
//! may loosen them only after a person approved its exact content.
//!
//! A layer is a table from [`Key`] to [`Value`], so that reading, merging, showing and documenting
//! are written once. [`resolve`] turns layers into [`Settings`], which have one typed field for each
//! thing the engine asks.

mod check;
mod key;
mod layer;
mod reference;
mod resolve;
mod seed;
mod value;

pub use check::{Check, Measure};
pub use key::{Key, Kind, Merge};
pub use layer::{Layer, Origin, Source};
pub use reference::reference;
pub use resolve::{
    Cleanup, Graduation, HeldBack, Line, Patterns, Resolved, Settings, Snapshots, Who, resolve,
};
pub use seed::{SEED, SeedKey};
pub use value::{BaseChoice, NotAValue, OnBreach, Raw, Value};

#[cfg(test)]
mod tests;
