//! Reads one command without building the grammar of all the others.
//!
//! A sandbox is ready in two or three milliseconds, and building two dozen commands to read one
//! would be a noticeable part of that. Only what is plainly one known command is read here; for
//! help, mistakes and anything else the whole grammar answers.

use super::{Cli, GlobalArgs, Verb};
use clap::Parser as _;
use std::ffi::OsString;

/// One command with what every command takes.
#[derive(Debug, clap::Parser)]
#[command(disable_help_subcommand = true)]
struct Alone<T: clap::Args> {
    #[command(flatten)]
    global: GlobalArgs,
    #[command(flatten)]
    args: T,
}

/// The command line, if its first word is a command and the rest is what that command takes.
pub(super) fn read(typed: &[OsString]) -> Option<Cli> {
    match typed.first()?.to_str()? {
        "try" => one(typed, Verb::Try),
        "run" => one(typed, Verb::Run),
        "exec" => one(typed, Verb::Exec),
        "create" => one(typed, Verb::Create),
        "ls" => one(typed, Verb::Ls),
        "diff" => one(typed, Verb::Diff),
        "apply" => one(typed, Verb::Apply),
        "rm" => one(typed, Verb::Rm),
        _ => None,
    }
}

fn one<T: clap::Args>(typed: &[OsString], verb: fn(T) -> Verb) -> Option<Cli> {
    let alone = Alone::<T>::try_parse_from(typed).ok()?;
    Some(Cli {
        global: alone.global,
        verb: verb(alone.args),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_read_alone_is_read_as_among_all() {
        for line in [
            "run true",
            "run -- true",
            "run --json --memory 2G -v ls -la --json",
            "run --rm -e A=b --net host -- sh -c x",
            "try --yes --tier landlock cargo fmt",
            "exec calm-fern -- ls",
            "exec -- ls -l",
            "exec",
            "create --name api --base frozen",
            "ls -q -a --color never",
            "diff calm --stat -- src",
            "apply --mine --theirs=Cargo.lock -n",
            "rm a b --force",
            "-C x run true",
        ] {
            let typed: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let whole = Cli::try_parse_from(["agar".into()].iter().chain(&typed)).unwrap();
            if let Some(alone) = read(&typed) {
                assert_eq!(format!("{alone:?}"), format!("{whole:?}"), "{line}");
            } else {
                assert!(line.starts_with('-'), "{line} was not read alone");
            }
        }
    }

    #[test]
    fn help_and_mistakes_are_left_to_the_whole_grammar() {
        for line in [
            "run",
            "run --help",
            "run -h true",
            "ls --bogus",
            "rum true",
            "",
        ] {
            let typed: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert!(read(&typed).is_none(), "{line}");
        }
    }
}
