//! `agar help`: what `--help` says, for those who ask in words.

use crate::DONE;
use crate::args::Cli;
use crate::context::Context;
use crate::report::Failure;
use crate::ui::palette::Palette;
use agar_core::fault::{Kind, Remedy};
use agar_core::suggest::nearest;
use clap::{Command, CommandFactory as _};

/// Explain agar, or one of its commands
///
/// The same as `--help` behind the command.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = "\
Examples:
  agar help
  agar help apply
  agar help evolve cells")]
pub struct HelpArgs {
    /// The command
    #[arg(value_name = "COMMAND")]
    pub words: Vec<String>,
}

/// Explains it.
pub fn run(args: &HelpArgs, context: &Context) -> Result<u8, Failure> {
    let text = named(&args.words)?.render_long_help();
    let text = match context.ui.out {
        Palette::Colour => text.ansi().to_string(),
        Palette::Plain => text.to_string(),
    };
    context.ui.show(&text)?;
    Ok(DONE)
}

/// The command of that name.
fn named(words: &[String]) -> Result<Command, Failure> {
    let mut command = Cli::command();
    // Until then a command does not know below which it stands.
    command.build();
    let mut line = String::from("agar");
    for word in words {
        let Some(below) = command.find_subcommand(word) else {
            return Err(unknown(&command, &line, word));
        };
        command = below.clone();
        line = format!("{line} {word}");
    }
    Ok(command)
}

fn unknown(command: &Command, line: &str, word: &str) -> Failure {
    let failure = Failure::new(
        Kind::Invalid,
        format!("there is no command `{line} {word}`"),
    );
    let known = command
        .get_subcommands()
        .filter(|below| !below.is_hide_set());
    match nearest(word, known.map(Command::get_name)) {
        Some(near) => {
            let value = format!("{line} {near}").replacen("agar", "agar help", 1);
            failure.with_remedy(Remedy::Suggest { value })
        }
        None => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;

    #[test]
    fn help_in_words_says_what_the_flag_says() {
        let words = |line: &str| {
            line.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        for line in ["", "apply", "run", "evolve cells", "evolve cells send"] {
            let typed = format!("agar {line} --help");
            let flag = Cli::try_parse_from(typed.split_whitespace()).unwrap_err();
            let said = named(&words(line)).unwrap().render_long_help();
            assert_eq!(said.to_string(), flag.render().to_string(), "{line}");
        }
        assert_eq!(named(&words("aply")).unwrap_err().exit(), 2);
    }
}
