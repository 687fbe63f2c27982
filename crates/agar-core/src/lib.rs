//! The vocabulary that every other crate speaks.
//!
//! Nothing here touches the disk, the clock, the network or a random source: a value of this crate
//! can be made in a test, stored, sent and compared without a machine around it. What the outside
//! world contributes comes in through the traits in [`seam`].

pub mod alias;
pub mod environment;
pub mod fault;
pub mod id;
pub mod limits;
pub mod mask;
pub mod run;
pub mod seam;
pub mod secret;
pub mod settings;
pub mod size;
pub mod snapshot;
pub mod state;
pub mod suggest;
pub mod text;
pub mod walls;
