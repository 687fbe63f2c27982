//! The kernel walls around a sandbox's processes.
//!
//! A [`policy`] says what is wanted, a [`plan`] what will be done about it on this machine. A small
//! program, the [`keeper`], raises the plan and minds what runs inside; a [`client`] starts it and
//! talks to it.
#![expect(
    unsafe_code,
    reason = "the one crate that talks to the kernel where no library does"
)]

pub mod capability;
pub mod cgroup;
pub mod client;
mod detach;
pub mod heap;
mod held;
mod init;
pub mod keeper;
pub mod landlock;
mod launch;
pub mod limit;
pub mod machine;
mod mount;
pub mod notify;
mod place;
pub mod plan;
pub mod policy;
pub mod probe;
mod program;
mod protocol;
mod raise;
pub mod report;
pub mod seccomp;
mod syscall;
pub mod wire;
pub mod writers;
