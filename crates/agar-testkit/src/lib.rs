//! What tests share: temporary worlds, the built command run in a clean environment, terminals,
//! pictures of trees, and the rules every test keeps.
//!
//! Development only. Time and randomness reach tests through [`clock`]; waiting goes through
//! [`wait::until`], so that no test sleeps; a test that cannot run here says so through
//! [`skip!`](crate::skip!) and is counted.
#![expect(
    clippy::expect_used,
    clippy::missing_panics_doc,
    clippy::panic,
    reason = "a test whose world cannot be set up must stop there and say why"
)]

pub mod caller;
pub mod clock;
pub mod http;
pub mod invocation;
pub mod keepers;
pub mod leaks;
pub mod random;
pub mod session;
pub mod skip;
pub mod small_disk;
pub mod tree;
pub mod wait;
pub mod websocket;
pub mod weight;
pub mod world;

pub use caller::Caller;
pub use invocation::{Invocation, Outcome};
pub use session::Session;
pub use small_disk::SmallDisk;
pub use tree::Tree;
pub use weight::Weight;
pub use world::World;
