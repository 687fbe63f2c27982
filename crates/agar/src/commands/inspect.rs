//! `agar inspect`: everything agar knows about one sandbox.

use crate::DONE;
use crate::context::Context;
use crate::report::Failure;
use crate::ui::human;
use crate::ui::palette::{Palette, Tone};
use crate::ui::table::{Cell, Table};
use agar_core::limits::Limits;
use agar_core::run::End;
use agar_core::size::Bytes;
use agar_core::text::printable;
use agar_engine::RunView;
use agar_engine::inspect::{InspectAnswer, InspectRequest, inspect, origin};

/// Show everything about one sandbox
///
/// Its base and what stays live below it, what it was forked from, its walls and limits, its layers
/// and its runs; with `--json` its journal, too.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = "\
Examples:
  agar inspect calm-fern
  agar inspect --json | jq .masks")]
pub struct InspectArgs {
    /// The sandbox
    #[arg(value_name = "SANDBOX")]
    pub sandbox: Option<String>,
}

/// Shows it.
pub fn run(args: &InspectArgs, context: &Context) -> Result<u8, Failure> {
    let request = InspectRequest {
        sandbox: args.sandbox.clone(),
    };
    let engine = context.engine()?;
    let answer = inspect(&engine, &request)?;
    let origin = match &answer.sandbox.lineage {
        Some(lineage) => Some(origin(&engine, lineage)?),
        None => None,
    };
    context.ui.answer(&answer, |answer, palette| {
        words(answer, origin.as_deref(), palette)
    })?;
    Ok(DONE)
}

/// `origin` names what it was forked from.
fn words(answer: &InspectAnswer, origin: Option<&str>, palette: Palette) -> String {
    let mut text = facts(answer, origin).render(palette);
    if !answer.stacks.is_empty() {
        text.push('\n');
        let mut table = Table::new(&["PART", "COVERS", "CHANGES IN"]);
        for stack in &answer.stacks {
            table.row(vec![
                printable(&stack.role).into_owned().into(),
                printable(&stack.target).into_owned().into(),
                printable(&stack.upper).into_owned().into(),
            ]);
        }
        text.push_str(&table.render(palette));
    }
    if !answer.runs.is_empty() {
        text.push('\n');
        let mut table = Table::new(&["RUN", "ENDED", "TOOK", "COMMAND"]);
        for run in &answer.runs {
            table.row(vec![
                run.number.to_string().into(),
                ended(run),
                human::duration(run.usage.wall_ms).into(),
                printable(&run.command).into_owned().into(),
            ]);
        }
        text.push_str(&table.render(palette));
    }
    text
}

fn facts(answer: &InspectAnswer, origin: Option<&str>) -> Table {
    let sandbox = &answer.sandbox;
    let mut table = Table::default();
    let mut fact = |name: &str, value: String| {
        table.row(vec![Cell::toned(Tone::Dim, name), value.into()]);
    };
    fact("name", sandbox.alias.clone());
    fact("id", sandbox.id.to_string());
    fact("state", sandbox.state.to_string());
    fact("project", printable(&sandbox.project_path).into_owned());
    if let (Some(origin), Some(lineage)) = (origin, &sandbox.lineage) {
        let origin = printable(origin);
        fact("forked from", format!("{origin}, depth {}", lineage.depth));
    }
    let generation = sandbox.base.generation;
    let generation = generation.map_or_else(String::new, |n| format!(", generation {n}"));
    fact("base", format!("{}{generation}", sandbox.base.kind.word()));
    if !sandbox.base.live_below.is_empty() {
        fact(
            "live below",
            printable(&sandbox.base.live_below.join(", ")).into_owned(),
        );
    }
    fact("tier", sandbox.tier.to_string());
    fact("network", sandbox.network.word().to_owned());
    fact("limits", limits(&sandbox.limits));
    fact("made", sandbox.created_at.to_string());
    if let Some(agent) = &sandbox.agent {
        fact("agent", printable(agent).into_owned());
    }
    if let Some(note) = &sandbox.note {
        fact("note", printable(note).into_owned());
    }
    fact(
        "masked",
        human::count(answer.masks.len() as u64, "path", "paths"),
    );
    fact(
        "on disk",
        format!(
            "{} in {}",
            Bytes(answer.disk_bytes),
            printable(&answer.directory)
        ),
    );
    for warning in &sandbox.warnings {
        fact("warning", printable(warning).into_owned());
    }
    table
}

fn limits(limits: &Limits) -> String {
    let parts: Vec<String> = [
        limits.cpu_percent.map(|percent| format!("cpu {percent} %")),
        limits.memory_bytes.map(|bytes| format!("memory {bytes}")),
        limits.processes.map(|count| format!("processes {count}")),
        limits.disk_bytes.map(|bytes| format!("disk {bytes}")),
        limits
            .timeout_ms
            .map(|millis| format!("time {}", human::duration(millis))),
        limits.output_bytes.map(|bytes| format!("output {bytes}")),
    ]
    .into_iter()
    .flatten()
    .collect();
    if parts.is_empty() {
        return "the machine's".to_owned();
    }
    parts.join(" · ")
}

fn ended(run: &RunView) -> Cell {
    match &run.end {
        None => Cell::toned(Tone::Good, "running"),
        Some(End::Exited { code: 0 }) => Cell::toned(Tone::Good, "exit 0"),
        Some(End::Exited { code }) => Cell::toned(Tone::Bad, format!("exit {code}")),
        Some(End::Signaled { signal }) => Cell::toned(Tone::Bad, format!("signal {signal}")),
        Some(End::NotFound) => Cell::toned(Tone::Bad, "not found"),
        Some(End::NotExecutable { .. }) => Cell::toned(Tone::Bad, "not executable"),
        Some(End::Stopped { breach }) => {
            Cell::toned(Tone::Warn, format!("{} limit", breach.resource))
        }
        Some(End::Lost) => Cell::toned(Tone::Bad, "lost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::examples;

    #[test]
    fn a_sandbox_is_told_in_facts_parts_and_runs() {
        insta::assert_snapshot!(words(&examples::inspect(), None, Palette::Plain), @"
        name        calm-fern
        id          01a0c450-6c00-7101-8101-010101010101
        state       finished
        project     /home/ana/src/shop
        base        frozen, generation 3
        live below  target
        tier        full
        network     none
        limits      cpu 50 % · memory 512 MB · processes 1024 · disk 100 MB · time 5 m · output 64 MB
        made        2026-09-21T14:13:20.000Z
        masked      1 path
        on disk     28 KB in /home/ana/.local/state/agar/sandboxes/x

        PART     COVERS              CHANGES IN
        project  /home/ana/src/shop  /home/ana/.local/state/agar/sandboxes/x/stacks/0/upper

        RUN  ENDED         TOOK    COMMAND
        1    exit 0        14.2 s  cargo update
        1    signal 9      14.2 s  cargo update
        1    memory limit  14.2 s  cargo update
        1    memory limit  14.2 s  cargo update
        1    not found     14.2 s  cargo update
        1    running       14.2 s  cargo update
        ");
    }
    #[test]
    fn a_fork_says_what_it_was_forked_from() {
        let mut answer = examples::inspect();
        answer.sandbox.lineage = Some(agar_engine::LineageView {
            parent: answer.sandbox.id,
            snapshot: None,
            depth: 2,
        });
        let told = words(&answer, Some("dim-reed@s1"), Palette::Plain);
        assert!(
            told.contains("\nforked from  dim-reed@s1, depth 2\n"),
            "{told}"
        );
    }
}
