//! `agar ps`: what runs inside.

use crate::DONE;
use crate::context::Context;
use crate::report::Failure;
use crate::ui::palette::{Palette, Tone};
use crate::ui::table::{Cell, Table};
use crate::ui::{Form, human};
use agar_core::size::Bytes;
use agar_core::text::printable;
use agar_engine::processes::{ProcessesAnswer, ProcessesRequest, processes};

/// List the processes inside one sandbox, or all of them
///
/// PID is the number inside, HOST the number on this machine.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = "\
Examples:
  agar ps
  agar ps calm-fern --json")]
pub struct PsArgs {
    /// The sandbox; every one of this project if left out
    #[arg(value_name = "SANDBOX")]
    pub sandbox: Option<String>,

    /// Of every project, not only this one
    #[arg(short = 'a', long = "all", conflicts_with = "sandbox")]
    pub everywhere: bool,
}

/// Lists them.
pub fn run(args: &PsArgs, context: &Context) -> Result<u8, Failure> {
    let request = ProcessesRequest {
        sandbox: args.sandbox.clone(),
        everywhere: args.everywhere,
    };
    let answer = processes(&context.engine()?, &request)?;
    if answer.processes.is_empty() && context.ui.form == Form::Words {
        return Ok(DONE);
    }
    context.ui.answer(&answer, table)?;
    Ok(DONE)
}

fn table(answer: &ProcessesAnswer, palette: Palette) -> String {
    let mut table = Table::new(&["SANDBOX", "PID", "HOST", "AGE", "CPU", "MEM", "COMMAND"]);
    for process in &answer.processes {
        table.row(vec![
            Cell::toned(Tone::Name, process.sandbox.clone()),
            process.pid.to_string().into(),
            process.host_pid.to_string().into(),
            human::age(process.age_ms).into(),
            human::duration(process.cpu_ms).into(),
            Bytes(process.memory_bytes).to_string().into(),
            printable(&process.command).into_owned().into(),
        ]);
    }
    table.render(palette)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::examples;

    #[test]
    fn processes_are_shown_with_both_numbers() {
        insta::assert_snapshot!(table(&examples::processes(), Palette::Plain), @"
        SANDBOX    PID  HOST  AGE  CPU     MEM    COMMAND
        calm-fern  7    4711  9 s  120 ms  31 MB  node server.js
        ");
    }
}
