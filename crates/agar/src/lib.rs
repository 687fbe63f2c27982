//! The command line: words, colours, questions and exit statuses over the use cases of the engine.
//!
//! It contains no rules. A command turns what was typed into a request, calls one function of
//! [`agar_engine`] and turns the answer into words, or into JSON.

pub mod args;
pub mod commands;
pub mod context;
pub mod environment;
pub mod reference;
pub mod report;
pub mod schema;
pub mod streams;
pub mod ui;

use args::Cli;
use context::Context;
use environment::Environment;
use report::Failure;
use std::ffi::OsString;
use std::process::ExitCode;
use ui::Form;

/// The exit status of a command that did what it was asked.
pub const DONE: u8 = 0;

/// The whole program.
pub fn main() -> ExitCode {
    agar_engine::hold_memory();
    let typed: Vec<OsString> = std::env::args_os().skip(1).collect();
    ExitCode::from(run(Environment::read(), typed))
}

/// Does what was typed and answers with the exit status.
fn run(environment: Environment, typed: Vec<OsString>) -> u8 {
    let words: Vec<String> = typed
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    match Cli::read(&typed) {
        Ok(cli) => {
            let form = if cli.global.json {
                Form::Json
            } else {
                Form::Words
            };
            let ui = environment.ui(form, cli.global.color, cli.global.verbose);
            let context = Context {
                ui,
                environment,
                directory: cli.global.directory,
                typed,
            };
            commands::dispatch(&cli.verb, &context).unwrap_or_else(|failure| {
                failure.tell(&context.ui, &words);
                failure.exit()
            })
        }
        Err(error) => misunderstood(&environment, &words, &error),
    }
}

/// Answers a command line that cannot be read, or that asks for help.
fn misunderstood(environment: &Environment, words: &[String], error: &clap::Error) -> u8 {
    let before_command = words.iter().take_while(|word| *word != "--");
    let json = before_command.into_iter().any(|word| word == "--json");
    let form = if json { Form::Json } else { Form::Words };
    let ui = environment.ui(form, args::Colour::Auto, false);
    if !error.use_stderr() {
        let text = match ui.out {
            ui::palette::Palette::Colour => error.render().ansi().to_string(),
            ui::palette::Palette::Plain => error.render().to_string(),
        };
        return match ui.show(&text) {
            Ok(()) => DONE,
            Err(failure) => failure.exit(),
        };
    }
    let failure = Failure::misunderstood(error, words);
    let failure = match words.first().map(String::as_str) {
        Some("run" | "exec") => failure.with_exit(commands::OWN_FAILURE),
        Some(_) | None => failure,
    };
    failure.tell(&ui, words);
    failure.exit()
}
