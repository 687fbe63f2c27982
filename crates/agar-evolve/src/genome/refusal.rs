//! Why bytes are not a genome.

use super::rules::Operation;
use agar_core::fault::{Fault, Kind};

/// The bytes were not accepted; nothing of them was loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GenomeError {
    /// Not a WebAssembly module, or one that uses what cells do not offer.
    #[error("cannot read the genome as WebAssembly: {reason} (at byte {offset})")]
    Malformed {
        /// What the reader said.
        reason: String,
        /// Where.
        offset: usize,
    },
    /// The text is not a module in WebAssembly's text format.
    #[error("cannot read the genome's text: {reason}")]
    Text {
        /// What the reader said, with the place.
        reason: String,
    },
    /// An expression tree that cannot be encoded.
    #[error("cannot encode the expression: {reason}")]
    Expression {
        /// What is wrong with it.
        reason: String,
    },
    /// The interpreter of its language does not come up: ours to mend.
    #[error("cannot bring up the interpreter for the genome's language: {reason}")]
    Interpreter {
        /// What went wrong.
        reason: String,
    },
    /// Larger than the rules allow.
    #[error("the genome has {seen} {what}, more than the {limit} that the rules allow")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// The limit.
        limit: u64,
        /// What was found.
        seen: u64,
    },
    /// It imports something that is not on the allow-list.
    #[error("the genome imports `{module}.{name}`, which is not allowed: {reason}")]
    Import {
        /// The module it is imported from.
        module: String,
        /// Its name.
        name: String,
        /// Unknown, not on the list, or of another type.
        reason: &'static str,
    },
    /// It would run code while being loaded.
    #[error("the genome has a start function: code that would run before anyone asks")]
    Start,
    /// It exports a name that is the host's own.
    #[error("the genome exports `{name}`, a name that agar keeps for itself")]
    ReservedExport {
        /// The name.
        name: String,
    },
    /// The scan found an operation that the rules deny.
    #[error("the genome contains {operation} in function {function}, which the rules deny")]
    Denied {
        /// What was found.
        operation: Operation,
        /// The index of the function.
        function: u32,
    },
}

impl Fault for GenomeError {
    fn kind(&self) -> Kind {
        match self {
            Self::Malformed { .. } | Self::Text { .. } | Self::Expression { .. } => Kind::Invalid,
            Self::TooLarge { .. } => Kind::Limit,
            Self::Interpreter { .. } => Kind::Internal,
            Self::Import { .. }
            | Self::Start
            | Self::ReservedExport { .. }
            | Self::Denied { .. } => Kind::Refused,
        }
    }
}

impl From<wasmparser::BinaryReaderError> for GenomeError {
    fn from(error: wasmparser::BinaryReaderError) -> Self {
        Self::Malformed {
            reason: error.message().to_owned(),
            offset: error.offset(),
        }
    }
}
