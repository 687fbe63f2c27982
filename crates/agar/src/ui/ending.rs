//! How a run ended and what it used, in one line.

use super::block::{self, Block, Label};
use super::{human, learning};
use crate::report;
use agar_core::limits::{Breach, Resource};
use agar_core::run::End;
use agar_core::size::Bytes;
use agar_core::text::printable;
use agar_engine::memory::Confidence;
use agar_engine::{RunView, SandboxView};
use signal_hook::consts::SIGINT;

/// Whether the person ended the run.
pub fn was_interrupted(run: &RunView) -> bool {
    run.interrupted || matches!(run.end, Some(End::Signaled { signal: SIGINT }))
}

/// The exit status that `run` and `exec` pass on.
pub fn exit(run: &RunView) -> u8 {
    let code = run.end.as_ref().map_or(125, End::exit_code);
    u8::try_from(code & 0xff).unwrap_or(u8::MAX)
}

/// The line that introduces a sandbox: `agar  calm-fern · frozen base · network none`.
pub fn heading(sandbox: &SandboxView, confidence: Option<&Confidence>) -> Block {
    let mut parts = vec![
        sandbox.alias.clone(),
        format!("{} base", sandbox.base.kind.word()),
        format!("network {}", sandbox.network.word()),
    ];
    if sandbox.tier != agar_core::walls::Tier::Full {
        parts.push(format!("tier {}", sandbox.tier));
    }
    parts.extend(confidence.map(learning::headline));
    let mut block = Block::new().line(block::AGAR, parts.join(" · "));
    if let Some(line) = confidence.and_then(learning::last_time) {
        block.push_more(line);
    }
    for warning in &sandbox.warnings {
        block.push_more(printable(warning));
    }
    block
}

/// What a reader of the records should know, where the heading is not shown.
pub fn warnings(sandbox: &SandboxView) -> Block {
    let mut block = Block::new();
    for warning in &sandbox.warnings {
        block.push(block::NOTE, printable(warning));
    }
    block
}

/// The line that says how a run ended, with its notes.
pub fn verdict(run: &RunView) -> Block {
    let mut block = Block::new();
    let (label, first) = first(run);
    let mut parts = vec![first];
    let ran = !matches!(run.end, Some(End::NotFound | End::NotExecutable { .. }));
    if ran && !matches!(run.end, Some(End::Stopped { .. })) {
        parts.push(human::duration(run.usage.wall_ms));
    }
    if ran && run.usage.memory_peak_bytes > 0 {
        parts.push(format!("{} peak", Bytes(run.usage.memory_peak_bytes)));
    }
    if run.left_running > 0 {
        parts.push(format!(
            "{} left running",
            human::count(run.left_running, "process", "processes")
        ));
    }
    block.push(label, parts.join(" · "));
    if run.output_truncated {
        block.push_more(format!("output was cut after {}", Bytes(run.output_bytes)));
    }
    if !run.denied.is_empty() {
        let calls: Vec<String> = run
            .denied
            .iter()
            .map(|denied| format!("{} ×{}", printable(&denied.call), denied.count))
            .collect();
        block.push_more(format!("the walls refused {}", calls.join(", ")));
    }
    for note in run.notes.iter().filter(|_| run.end != Some(End::NotFound)) {
        block.push_more(printable(note));
    }
    if let Some(End::Stopped { breach }) = &run.end {
        block.push(block::HINT, report::raise(breach.resource));
    }
    block
}

/// What became of a sandbox whose command went too far, where it was returned to what it was before.
pub fn taken_back(before: Option<&str>, left: Option<&str>) -> Option<Block> {
    let (before, left) = (before?, left?);
    let mut block = Block::new().line(block::RESTORED, format!("{before} · `on_breach = restore`"));
    let line = format!("as the command left it: agar restore {left}");
    block.push(block::KEPT, line);
    Some(block)
}

fn first(run: &RunView) -> (Label, String) {
    if was_interrupted(run) {
        // Ctrl-C, or a signal that asks agar to end: the record does not tell them apart.
        return (block::STOPPED, "on request".to_owned());
    }
    let program = || {
        let program = run.argv.first().map_or("", String::as_str);
        printable(program).into_owned()
    };
    match &run.end {
        None => (block::OK, "still running".to_owned()),
        Some(End::Exited { code: 0 }) => (block::OK, "exit 0".to_owned()),
        Some(End::Exited { code }) => (block::FAILED, format!("exit {code}")),
        Some(End::Signaled { signal }) => {
            (block::FAILED, format!("killed by {}", signal_name(*signal)))
        }
        Some(End::NotFound) => (
            block::FAILED,
            format!("there is no program called `{}` inside", program()),
        ),
        Some(End::NotExecutable { .. }) => {
            (block::FAILED, format!("`{}` cannot be executed", program()))
        }
        Some(End::Stopped { breach }) => (block::STOPPED, reached(breach, run.usage.wall_ms)),
        Some(End::Lost) => (block::FAILED, "the sandbox ended under it".to_owned()),
    }
}

/// `memory limit 512 MB reached by cc1plus (pid 231) after 8.4 s`.
fn reached(breach: &Breach, wall_ms: u64) -> String {
    let limit = match breach.resource {
        Resource::Memory | Resource::Disk | Resource::Output => Bytes(breach.limit).to_string(),
        Resource::Time => human::duration(breach.limit),
        Resource::Cpu => format!("{} %", breach.limit),
        Resource::Processes => breach.limit.to_string(),
    };
    let culprit = breach
        .culprit
        .as_deref()
        .map_or_else(String::new, |culprit| format!(" by {}", printable(culprit)));
    let after = match breach.resource {
        Resource::Time => String::new(),
        Resource::Cpu
        | Resource::Memory
        | Resource::Processes
        | Resource::Disk
        | Resource::Output => format!(" after {}", human::duration(wall_ms)),
    };
    format!("{} limit {limit} reached{culprit}{after}", breach.resource)
}

fn signal_name(signal: i32) -> String {
    let name = match signal {
        1 => "SIGHUP",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        31 => "SIGSYS",
        other => return format!("signal {other}"),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::examples;
    use crate::ui::palette::Palette;

    fn said(change: impl FnOnce(&mut RunView)) -> String {
        let mut run = examples::run();
        run.denied.clear();
        run.notes.clear();
        run.output_truncated = false;
        run.left_running = 0;
        change(&mut run);
        verdict(&run).render(Palette::Plain)
    }

    #[test]
    fn a_good_end_is_one_line() {
        insta::assert_snapshot!(said(|_| {}), @"ok    exit 0 · 14.2 s · 212 MB peak");
    }

    #[test]
    fn a_bad_end_says_how() {
        let ends = [
            End::Exited { code: 3 },
            End::Signaled { signal: 9 },
            End::Signaled { signal: 2 },
            End::NotFound,
            End::NotExecutable { errno: 13 },
            End::Lost,
        ];
        let lines: String = ends
            .into_iter()
            .map(|end| said(|run| run.end = Some(end)))
            .collect();
        insta::assert_snapshot!(lines, @r"
        failed  exit 3 · 14.2 s · 212 MB peak
        failed  killed by SIGKILL · 14.2 s · 212 MB peak
        stopped  on request · 14.2 s · 212 MB peak
        failed  there is no program called `cargo` inside
        failed  `cargo` cannot be executed
        failed  the sandbox ended under it · 14.2 s · 212 MB peak
        ");
    }

    #[test]
    fn a_limit_names_itself_its_culprit_and_its_remedy() {
        let breach = Breach {
            resource: Resource::Memory,
            limit: 512 << 20,
            seen: 513 << 20,
            culprit: Some("cc1plus (pid 231)".to_owned()),
        };
        let said = said(|run| {
            run.end = Some(End::Stopped { breach });
            run.usage.wall_ms = 8_400;
            run.usage.memory_peak_bytes = 0;
        });
        insta::assert_snapshot!(said, @r"
        stopped  memory limit 512 MB reached by cc1plus (pid 231) after 8.4 s
        hint     raise it with `--memory 2G`, or set limits.memory in agar.toml
        ");
    }

    #[test]
    fn what_the_walls_refused_is_told() {
        let mut run = examples::run();
        run.output_truncated = true;
        run.left_running = 2;
        insta::assert_snapshot!(verdict(&run).render(Palette::Plain), @r"
        ok    exit 0 · 14.2 s · 212 MB peak · 2 processes left running
              output was cut after 4 KB
              the walls refused mount ×2
              memory is watched, not enforced
        ");
    }

    #[test]
    fn the_heading_names_what_the_walls_are() {
        let mut sandbox = examples::sandbox();
        insta::assert_snapshot!(heading(&sandbox, None).render(Palette::Plain), @"agar  calm-fern · frozen base · network none");
        sandbox.tier = agar_core::walls::Tier::Landlock;
        sandbox.warnings = vec!["no private /tmp".to_owned()];
        insta::assert_snapshot!(heading(&sandbox, None).render(Palette::Plain), @r"
        agar  calm-fern · frozen base · network none · tier landlock
              no private /tmp
        ");
    }
}
