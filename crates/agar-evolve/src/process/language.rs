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

    /// The command that forks an individual whenever a [`Zygote`](super::Zygote) asks for one, with
    /// these modules imported before the first. Nothing for a language that cannot fork.
    pub fn zygote<'a>(self, modules: &[&'a str]) -> Option<Vec<&'a str>> {
        match self {
            Self::Python => {
                let mut command = vec!["python3", "-I"];
                if modules.is_empty() {
                    // What is installed beside the language is not looked for.
                    command.push("-S");
                }
                command.extend(["-c", include_str!("zygote.py"), include_str!("speaker.py")]);
                command.extend(modules);
                Some(command)
            }
            // Node has no fork: see `Ahead`.
            Self::Node => None,
        }
    }
}
