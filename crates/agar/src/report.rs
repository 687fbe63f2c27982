//! How a failure reaches the person, the script or the program that asked.
//!
//! A library error says what failed and carries its kind and its remedy as data. Here, and only
//! here, they become words: the sentence first, then what to type next. The causes wait for `-v`.

use crate::args::Cli;
use crate::ui::block::{self, Block};
use crate::ui::{Form, Ui};
use agar_core::fault::{Fault, Kind, Remedy, causes};
use agar_core::limits::Resource;
use agar_core::suggest::nearest;
use agar_core::text::printable;
use agar_core::walls::Tier;
use clap::error::{ContextKind, ContextValue};
use clap::{Command, CommandFactory as _};
use serde::Serialize;
use std::error::Error;
use std::io;

/// A failure on its way out of the program.
#[derive(Debug)]
pub struct Failure {
    kind: Kind,
    message: String,
    causes: Vec<String>,
    remedy: Option<Remedy>,
    advice: Vec<String>,
    exit: u8,
    silent: bool,
}

impl<E: Fault> From<E> for Failure {
    fn from(error: E) -> Self {
        Self {
            remedy: error.remedy(),
            causes: causes(&error),
            ..Self::new(error.kind(), error.to_string())
        }
    }
}

impl Failure {
    /// A failure of the command line itself.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            causes: Vec::new(),
            remedy: None,
            advice: Vec::new(),
            exit: kind.exit_code(),
            silent: false,
        }
    }

    /// The same, with what to type next.
    #[must_use]
    pub fn advised(mut self, advice: &[String]) -> Self {
        self.advice.extend_from_slice(advice);
        self
    }

    /// What the command line was doing, and the error that stopped it.
    pub fn because(kind: Kind, message: impl Into<String>, source: &dyn Error) -> Self {
        let mut causes = causes(source);
        causes.insert(0, source.to_string());
        Self {
            causes,
            ..Self::new(kind, message)
        }
    }

    /// The answer could not be written. A reader that left early has all it wanted.
    pub fn writing(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self {
                exit: 0,
                silent: true,
                ..Self::new(Kind::Interrupted, "the reader went away")
            };
        }
        let is_full = error.kind() == io::ErrorKind::StorageFull;
        let kind = if is_full { Kind::Limit } else { Kind::Internal };
        Self::because(kind, "cannot write the answer", error)
    }

    /// The answer could not be put into JSON.
    pub fn encoding(error: &serde_json::Error) -> Self {
        Self::because(Kind::Internal, "cannot write the answer as JSON", error)
    }

    /// The command line could not be read: clap's words in agar's shape. `typed` is that command
    /// line, without the program's name.
    pub fn misunderstood(error: &clap::Error, typed: &[String]) -> Self {
        let text = error.to_string();
        let (message, rest) = text.split_once("\n\n").unwrap_or((&text, ""));
        let message = message.strip_prefix("error: ").unwrap_or(message);
        let words: Vec<&str> = message.split_whitespace().collect();
        let mut advice: Vec<String> = rest
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with("For more information"))
            .map(|line| line.strip_prefix("tip: ").unwrap_or(line).to_owned())
            .collect();
        let remedy = meant(error, typed).map(|value| Remedy::Suggest { value });
        if remedy.is_some() {
            advice.retain(|line| line.starts_with("Usage: "));
        }
        Self {
            remedy,
            advice,
            ..Self::new(Kind::Invalid, words.join(" "))
        }
    }

    /// Ctrl-C: nothing more to say.
    pub fn interrupted() -> Self {
        Self {
            silent: true,
            ..Self::new(Kind::Interrupted, "interrupted")
        }
    }

    /// The same failure with a way out.
    #[must_use]
    pub fn with_remedy(self, remedy: Remedy) -> Self {
        Self {
            remedy: Some(remedy),
            ..self
        }
    }

    /// The same failure with another exit status, as container tools have for their own.
    #[must_use]
    pub fn with_exit(self, exit: u8) -> Self {
        Self { exit, ..self }
    }

    /// Whose move it is.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// The exit status of the program.
    pub const fn exit(&self) -> u8 {
        self.exit
    }

    /// Tells whoever asked. `typed` is the command line, without the program's name.
    pub fn tell(&self, ui: &Ui, typed: &[String]) {
        if self.silent {
            return;
        }
        match ui.form {
            // The answer of a failed request goes where answers go. Nobody is left to tell if it
            // cannot be written.
            Form::Json => drop(ui.show_json(&self.wire())),
            Form::Words => ui.say_block(&self.block(ui.verbose, typed)),
        }
    }

    /// The failure as JSON.
    pub fn wire(&self) -> WireFailure {
        WireFailure {
            error: WireError {
                code: self.kind.code(),
                message: self.message.clone(),
                remedy: self.remedy.clone(),
                causes: self.causes.clone(),
            },
        }
    }

    fn block(&self, verbose: bool, typed: &[String]) -> Block {
        let mut block = Block::new().line(block::ERROR, printable(&self.message));
        if verbose {
            for cause in &self.causes {
                block.push(block::CAUSE, printable(cause));
            }
        }
        for line in &self.advice {
            match line.strip_prefix("Usage: ") {
                Some(usage) => block.push(block::USAGE, printable(usage)),
                None => block.push(block::HINT, printable(line)),
            }
        }
        match &self.remedy {
            Some(remedy) => advise(&mut block, remedy, typed),
            None if self.kind == Kind::Internal && !verbose && !self.causes.is_empty() => {
                block.push(block::HINT, "`-v` shows the cause");
            }
            None => {}
        }
        block
    }
}

/// The command that an unknown one was a slip of. clap's own measure does not see two letters that
/// changed places: to it `tyr` is nearer to `tree` than to `try`.
fn meant(error: &clap::Error, typed: &[String]) -> Option<String> {
    let ContextValue::String(unknown) = error.get(ContextKind::InvalidSubcommand)? else {
        return None;
    };
    let mut command = Cli::command();
    let mut line = String::from("agar");
    for word in typed.iter().take_while(|word| *word != unknown) {
        if let Some(below) = command.find_subcommand(word) {
            command = below.clone();
            line = format!("{line} {word}");
        }
    }
    let known = command
        .get_subcommands()
        .filter(|below| !below.is_hide_set());
    let word = nearest(unknown, known.map(Command::get_name))?;
    Some(format!("{line} {word}"))
}

/// A failure as JSON: `{"error": {"code": …, "message": …, "remedy": …}}`.
#[derive(Debug, Clone, Serialize)]
pub struct WireFailure {
    /// The failure.
    pub error: WireError,
}

/// What is in it.
#[derive(Debug, Clone, Serialize)]
pub struct WireError {
    /// The kind's stable word.
    pub code: &'static str,
    /// What agar was trying to do and what stood in the way.
    pub message: String,
    /// A way out, as data.
    pub remedy: Option<Remedy>,
    /// The errors below, outermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
}

/// Words a remedy: a command to type wherever there is one.
pub fn advise(block: &mut Block, remedy: &Remedy, typed: &[String]) {
    match remedy {
        Remedy::Diagnose => block.push(
            block::FIX,
            "`agar doctor` says what is missing here and how to mend it",
        ),
        Remedy::UseTier { tier } => {
            block.push(block::FIX, "`agar doctor` says how to mend this machine");
            block.push(
                block::OR,
                format!("`{}`  {}", with_tier(*tier, typed), weaker(*tier)),
            );
        }
        Remedy::ListSandboxes => block.push(block::HINT, "`agar ls` shows the sandboxes"),
        Remedy::RaiseLimit { limit } => block.push(block::HINT, raise(*limit)),
        Remedy::ShowDiff { sandbox } => block.push(
            block::HINT,
            format!("`agar diff {}` shows its changes", printable(sandbox)),
        ),
        Remedy::ChooseSide => block.push(
            block::HINT,
            "choose with `--mine`, `--theirs` or `--markers`, for all paths or for some",
        ),
        Remedy::ApproveSettings => block.push(
            block::HINT,
            "read `agar.toml`, then accept it with `agar approve`",
        ),
        Remedy::Suggest { value } => {
            block.push(block::HINT, format!("did you mean `{}`?", printable(value)));
        }
        Remedy::Command { line } => block.push(block::FIX, format!("`{}`", printable(line))),
    }
}

/// How to raise a limit.
pub fn raise(limit: Resource) -> String {
    let example = match limit {
        Resource::Cpu => "200",
        Resource::Memory | Resource::Disk => "2G",
        Resource::Processes => "4096",
        Resource::Time => "30m",
        Resource::Output => "256M",
    };
    let key = limit.key();
    format!("raise it with `--{key} {example}`, or set limits.{key} in agar.toml")
}

/// The command as it was typed, with the tier named.
fn with_tier(tier: Tier, typed: &[String]) -> String {
    let mut words = typed.iter().map(String::as_str);
    let verb = words.next().unwrap_or("try");
    let mut line = format!("agar {verb} --tier {tier}");
    for word in words {
        line.push(' ');
        line.push_str(&quoted(word));
    }
    line
}

/// A word as a shell would take it, safe to print.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    let word = printable(word);
    if !word.is_empty() && word.chars().all(plain) {
        return word.into_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// What is given up with a tier.
const fn weaker(tier: Tier) -> &'static str {
    match tier {
        Tier::Full => "all the walls",
        Tier::Helper => "the system's bubblewrap raises the walls",
        Tier::Landlock => "weaker: no private /tmp, no process hiding",
        Tier::None => "no walls at all: a copy of the project and nothing more",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::palette::Palette;

    #[derive(Debug, thiserror::Error)]
    #[error("this machine forbids unprivileged user namespaces")]
    struct Forbidden(#[source] io::Error);

    impl Fault for Forbidden {
        fn kind(&self) -> Kind {
            Kind::Unsupported
        }

        fn remedy(&self) -> Option<Remedy> {
            Some(Remedy::UseTier {
                tier: Tier::Landlock,
            })
        }
    }

    fn forbidden() -> Failure {
        Failure::from(Forbidden(io::Error::other("EPERM")))
    }

    fn typed(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    #[test]
    fn an_error_says_what_to_type_next() {
        let block = forbidden().block(false, &typed(&["try", "--", "sh", "-c", "a b"]));
        insta::assert_snapshot!(block.render(Palette::Plain), @r"
        error  this machine forbids unprivileged user namespaces
        fix    `agar doctor` says how to mend this machine
        or     `agar try --tier landlock -- sh -c 'a b'`  weaker: no private /tmp, no process hiding
        ");
        assert_eq!(forbidden().exit(), 6);
    }

    #[test]
    fn causes_are_shown_when_asked_for() {
        let block = forbidden().block(true, &typed(&["try"]));
        assert!(block.render(Palette::Plain).contains("cause  EPERM\n"));
    }

    #[test]
    fn a_failure_is_one_shape_as_json() {
        insta::assert_snapshot!(serde_json::to_string(&forbidden().wire()).unwrap(), @r#"{"error":{"code":"unsupported","message":"this machine forbids unprivileged user namespaces","remedy":{"do":"use_tier","tier":"landlock"},"causes":["EPERM"]}}"#);
    }

    #[test]
    fn a_reader_that_went_away_is_not_an_error() {
        let failure = Failure::writing(&io::ErrorKind::BrokenPipe.into());
        assert_eq!(failure.exit(), 0);
    }

    #[test]
    fn a_full_disk_is_not_our_defect() {
        let failure = Failure::writing(&io::ErrorKind::StorageFull.into());
        assert_eq!(failure.exit(), Kind::Limit.exit_code());
    }

    #[test]
    fn every_remedy_has_words() {
        let remedies = [
            Remedy::Diagnose,
            Remedy::UseTier { tier: Tier::Helper },
            Remedy::ListSandboxes,
            Remedy::RaiseLimit {
                limit: Resource::Memory,
            },
            Remedy::ShowDiff {
                sandbox: "calm-fern".into(),
            },
            Remedy::ChooseSide,
            Remedy::ApproveSettings,
            Remedy::Suggest {
                value: "\x1b[2J".into(),
            },
            Remedy::Command {
                line: "agar ls".into(),
            },
        ];
        let mut block = Block::new();
        for remedy in &remedies {
            advise(&mut block, remedy, &typed(&["run", "true"]));
        }
        insta::assert_snapshot!(block.render(Palette::Plain), @r"
        fix   `agar doctor` says what is missing here and how to mend it
        fix   `agar doctor` says how to mend this machine
        or    `agar run --tier helper true`  the system's bubblewrap raises the walls
        hint  `agar ls` shows the sandboxes
        hint  raise it with `--memory 2G`, or set limits.memory in agar.toml
        hint  `agar diff calm-fern` shows its changes
        hint  choose with `--mine`, `--theirs` or `--markers`, for all paths or for some
        hint  read `agar.toml`, then accept it with `agar approve`
        hint  did you mean `\e[2J`?
        fix   `agar ls`
        ");
    }
}
