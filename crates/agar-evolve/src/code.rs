//! What is inherited: an expression, a WebAssembly module, a script, or numbers for a program of the
//! task's.

use crate::tree::{NotATree, Tree};
use std::fmt::Write as _;

/// What an individual is made of.
#[derive(Debug, Clone, PartialEq)]
pub enum Code {
    /// An expression.
    Tree(Tree),
    /// A WebAssembly module.
    Module(Vec<u8>),
    /// JavaScript source.
    Script(String),
    /// Numbers that a program of the task's works on.
    Numbers(Vec<f64>),
}

/// Stored code cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotCode {
    /// No such kind.
    #[error("there is no kind of code called `{0}`")]
    Kind(String),
    /// The bytes are not what their kind says.
    #[error("the bytes are no {0}")]
    Bytes(&'static str),
    /// Not an expression.
    #[error(transparent)]
    Tree(#[from] NotATree),
}

const TREE: &str = "tree";
const MODULE: &str = "module";
const SCRIPT: &str = "javascript";
const NUMBERS: &str = "numbers";

impl Code {
    /// The word for its kind.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Tree(_) => TREE,
            Self::Module(_) => MODULE,
            Self::Script(_) => SCRIPT,
            Self::Numbers(_) => NUMBERS,
        }
    }

    /// How large it is: nodes, bytes or numbers.
    pub fn size(&self) -> usize {
        match self {
            Self::Tree(tree) => tree.nodes().len(),
            Self::Module(wasm) => wasm.len(),
            Self::Script(source) => source.len(),
            Self::Numbers(numbers) => numbers.len(),
        }
    }

    /// All of it as bytes, from which [`Code::read`] makes the same, bit for bit.
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            // Numbers are written in as many digits as it takes to read the same bits.
            Self::Tree(tree) => format!("{} {tree}", tree.arguments()).into_bytes(),
            Self::Module(wasm) => wasm.clone(),
            Self::Script(source) => source.clone().into_bytes(),
            Self::Numbers(numbers) => numbers.iter().flat_map(|it| it.to_le_bytes()).collect(),
        }
    }

    /// Reads what [`Code::bytes`] wrote.
    pub fn read(kind: &str, bytes: &[u8]) -> Result<Self, NotCode> {
        match kind {
            TREE => {
                let text = std::str::from_utf8(bytes).map_err(|_| NotCode::Bytes(TREE))?;
                let (arguments, text) = text.split_once(' ').ok_or(NotCode::Bytes(TREE))?;
                let arguments = arguments.parse().map_err(|_| NotCode::Bytes(TREE))?;
                Ok(Self::Tree(Tree::parse(text, arguments)?))
            }
            MODULE => Ok(Self::Module(bytes.to_vec())),
            SCRIPT => {
                let text = std::str::from_utf8(bytes).map_err(|_| NotCode::Bytes(SCRIPT))?;
                Ok(Self::Script(text.to_owned()))
            }
            NUMBERS => {
                let (chunks, rest) = bytes.as_chunks::<8>();
                if !rest.is_empty() {
                    return Err(NotCode::Bytes(NUMBERS));
                }
                let numbers = chunks.iter().map(|chunk| f64::from_le_bytes(*chunk));
                Ok(Self::Numbers(numbers.collect()))
            }
            other => Err(NotCode::Kind(other.to_owned())),
        }
    }

    /// A hash of kind and content: equal code, equal name.
    pub fn digest(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.kind().as_bytes());
        hasher.update(&[0]);
        hasher.update(&self.bytes());
        *hasher.finalize().as_bytes()
    }

    /// All of it as text that programs can read: an expression in prefix form, hexadecimal digits,
    /// source, or numbers.
    pub fn text(&self) -> String {
        match self {
            Self::Tree(tree) => tree.to_string(),
            Self::Module(wasm) => wasm.iter().fold(String::new(), |mut text, byte| {
                let _ = write!(text, "{byte:02x}");
                text
            }),
            Self::Script(source) => source.clone(),
            Self::Numbers(numbers) => {
                let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
                numbers.join(" ")
            }
        }
    }

    /// For people: a formula, a size, or the first few numbers.
    pub fn words(&self) -> String {
        match self {
            Self::Tree(tree) => tree.to_formula(),
            Self::Module(wasm) => format!("a module of {} bytes", wasm.len()),
            Self::Script(source) => format!("a script of {} bytes", source.len()),
            Self::Numbers(numbers) => {
                let mut words = String::new();
                for number in numbers.iter().take(4) {
                    let _ = write!(words, "{number:.6} ");
                }
                let more = numbers.len().saturating_sub(4);
                if more > 0 {
                    let _ = write!(words, "and {more} more numbers");
                }
                words.trim_end().to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn code_survives_being_stored(
            seed: u64,
            bytes: Vec<u8>,
            source: String,
            numbers: Vec<f64>,
        ) {
            let mut chance = crate::Chance::of(&[seed]);
            let tree = crate::breed::grow(&crate::Soil::of(3), 5, &mut chance);
            for code in [
                Code::Tree(tree),
                Code::Module(bytes),
                Code::Script(source),
                Code::Numbers(numbers),
            ] {
                let read = Code::read(code.kind(), &code.bytes()).unwrap();
                prop_assert_eq!(read.digest(), code.digest());
                prop_assert_eq!(read.bytes(), code.bytes());
            }
        }
    }

    #[test]
    fn stored_nonsense_is_refused() {
        assert!(Code::read("song", b"la").is_err());
        assert!(Code::read(TREE, b"1 (add x0)").is_err());
        assert!(Code::read(TREE, &[0xff]).is_err());
        assert!(Code::read(SCRIPT, &[0xff]).is_err());
        assert!(Code::read(NUMBERS, &[0; 9]).is_err());
    }
}
