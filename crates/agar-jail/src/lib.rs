//! The kernel walls around a sandbox.
