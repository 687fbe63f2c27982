//! Colours that carry a meaning the words carry too.
//!
//! Code asks for a tone, never for a colour, and what is printed reads the same without any.

/// What a piece of text means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// It worked, or was added.
    Good,
    /// It failed, or was removed.
    Bad,
    /// It needs a second look.
    Warn,
    /// Beside the point.
    Dim,
    /// The point itself.
    Strong,
    /// Something the reader can type.
    Name,
}

impl Tone {
    const fn code(self) -> &'static str {
        match self {
            Self::Good => "32",
            Self::Bad => "31",
            Self::Warn => "33",
            Self::Dim => "2",
            Self::Strong => "1",
            Self::Name => "36",
        }
    }
}

/// Whether this stream is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Palette {
    /// Escape sequences are written.
    Colour,
    /// Words alone.
    Plain,
}

impl Palette {
    /// The text in its tone.
    pub fn paint(self, tone: Tone, text: &str) -> String {
        match self {
            Self::Colour if !text.is_empty() => format!("\x1b[{}m{text}\x1b[0m", tone.code()),
            Self::Colour | Self::Plain => text.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_colour_the_words_are_unchanged() {
        assert_eq!(Palette::Plain.paint(Tone::Bad, "failed"), "failed");
        assert_eq!(
            Palette::Colour.paint(Tone::Bad, "failed"),
            "\x1b[31mfailed\x1b[0m"
        );
    }
}
