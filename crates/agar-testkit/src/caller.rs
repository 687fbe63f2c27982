//! Who runs the tests: every claim must hold for an ordinary user and for root, and some differ.

/// The user that the tests run as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// Effective user id zero.
    Root,
    /// Anybody else.
    Ordinary,
}

impl Caller {
    /// The user of this process.
    pub fn current() -> Self {
        if rustix::process::geteuid().is_root() {
            Self::Root
        } else {
            Self::Ordinary
        }
    }

    /// Whether this is an ordinary user.
    pub fn is_ordinary(self) -> bool {
        self == Self::Ordinary
    }
}
