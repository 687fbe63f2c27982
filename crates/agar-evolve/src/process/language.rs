//! Programs that speak the conversation for code in their language.

/// A language whose interpreter is found where the program runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// Python 3.
    Python,
    /// JavaScript on Node.
    Node,
}

impl Language {
    /// The command that runs code of this language.
    pub fn command(self) -> Vec<&'static str> {
        match self {
            Self::Python => vec!["python3", "-I", "-S", "-c", include_str!("speaker.py")],
            Self::Node => vec!["node", "-e", include_str!("speaker.js")],
        }
    }
}
