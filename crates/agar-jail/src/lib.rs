//! The kernel walls around a sandbox's processes.
//!
//! A [`policy`] says what is wanted, a [`plan`] what will be done about it on this machine. A small
//! program, the keeper, raises the plan and minds what runs inside; a [`client`] starts it and
//! talks to it.

pub mod client;
pub mod machine;
pub mod plan;
pub mod policy;
pub mod report;
pub mod wire;

pub mod capability;
pub mod landlock;
pub mod limit;
pub mod seccomp;
