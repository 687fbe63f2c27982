//! The walls, tried on the real kernel.
#![expect(
    unsafe_code,
    reason = "a wall cannot be taken down again, so each test raises it in a child"
)]
#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test stops where its world is not as expected"
)]

mod capability;
mod cgroup;
mod child;
mod jail;
mod landlock;
mod limit;
mod notify;
mod probe;
mod remount;
mod seccomp;
