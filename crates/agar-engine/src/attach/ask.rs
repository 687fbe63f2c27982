//! Short commands inside, which answer a question about the terminal.

use super::Desk;
use crate::relay::{self, Controls, Ends, OutputLog, Sink};
use crate::{EngineError, Streams, drive};
use agar_jail::client::RunRequest;
use rustix::fd::AsFd as _;
use std::ffi::OsString;

/// How much it may say.
const ANSWER_BYTES_MAX: u64 = 64 << 10;

/// What a short command had to say.
pub(super) struct Said {
    pub(super) output: String,
    /// It was ended before it had said everything.
    pub(super) gave_up: bool,
}

/// The last that a short command says if it is not ended before.
const OVER: &str = "over";

/// The command, and a last word after it. How long it took tells less: its keeper measures that, and
/// what stands still meanwhile has more time.
fn saying_when_over(argv: Vec<OsString>) -> Vec<OsString> {
    let script = format!("\"$@\"; echo {OVER}");
    let shell = ["/bin/sh", "-c", &script, "sh"].map(OsString::from);
    shell.into_iter().chain(argv).collect()
}

impl Said {
    fn of(output: &[u8]) -> Self {
        let output = String::from_utf8_lossy(output);
        let whole = output.strip_suffix(&format!("{OVER}\n"));
        Self {
            gave_up: whole.is_none(),
            output: whole.unwrap_or(&output).to_owned(),
        }
    }

    /// It was never asked.
    fn nothing() -> Self {
        Self {
            output: String::new(),
            gave_up: true,
        }
    }
}

impl Desk<'_> {
    /// What a short command printed. One that does not end is ended: a tmux inside that was stopped
    /// does not answer.
    pub(super) fn ask(
        &self,
        argv: Vec<OsString>,
        patience_ms: u64,
        controls: &mut dyn Controls,
    ) -> Result<Said, EngineError> {
        let request = RunRequest {
            timeout_ms: Some(patience_ms),
            ..self.request(saying_when_over(argv), self.viewer(), None)?
        };
        let order = self.keeper.order(&request)?;
        let Some((mut running, meanwhile)) = drive::started(order, &self.keeper, controls)? else {
            return Ok(Said::nothing());
        };
        let ends = Ends {
            stdin: running.stdin.take(),
            stdout: running.stdout.take(),
            stderr: running.stderr.take(),
            terminal: None,
            // Its end counts, not that of its output: it hands that to the tmux it asks.
            done: running.done.as_fd(),
            signal: &|signal| drop(running.signal(signal)),
            resize: None,
            meanwhile,
        };
        let mut output = Vec::new();
        let streams = Streams {
            stdout: Sink::Buffer(&mut output),
            ..Streams::unheard(controls)
        };
        relay::relay(
            ends,
            streams,
            &mut OutputLog::nowhere(),
            Some(ANSWER_BYTES_MAX),
        )
        .map_err(EngineError::io("hear what the sandbox's tmux says"))?;
        running.over()?;
        Ok(Said::of(&output))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_was_ended_gave_up_and_whoever_had_nothing_to_say_did_not() {
        let said = |output: &[u8]| {
            let said = Said::of(output);
            (said.output, said.gave_up)
        };
        assert_eq!(said(b""), (String::new(), true));
        assert_eq!(said(b"sandbox_x 1\n"), ("sandbox_x 1\n".to_owned(), true));
        assert_eq!(said(b"over\n"), (String::new(), false));
        let whole = ("sandbox_x 1\n".to_owned(), false);
        assert_eq!(said(b"sandbox_x 1\nover\n"), whole);
    }

    #[test]
    fn a_command_says_when_it_is_over_whatever_came_of_it() {
        let out = |words: &[&str]| {
            let argv = saying_when_over(words.iter().map(OsString::from).collect());
            let mut command = std::process::Command::new(&argv[0]);
            command.args(&argv[1..]).output().unwrap().stdout
        };
        assert_eq!(out(&["printf", "%s\\n", "a b"]), b"a b\nover\n");
        assert_eq!(out(&["false"]), b"over\n");
    }
}
