//! A small command that agar itself runs in a sandbox: whatever writes there does so inside, where a
//! hostile name or link leads nowhere else.

use crate::exec::{ExecRequest, exec};
use crate::here::Here;
use crate::relay::{NoControls, Sink, Source, Streams};
use crate::{Command, Engine, EngineError, raise};
use agar_core::run::End;
use agar_store::Sandbox;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// How a chore ended, and what it complained about.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) end: Option<End>,
    said: Vec<u8>,
}

/// Runs a shell script with these words, in a jail that is put up for it where there is none.
pub(crate) fn run(
    (engine, here): (&Engine, &Here),
    (record, root): (&Sandbox, &Path),
    (script, words): (&str, &[&OsStr]),
    stdin: Source<'_>,
) -> Result<Done, EngineError> {
    let mut argv: Vec<OsString> = ["sh", "-c", script, "sh"].map(OsString::from).into();
    argv.extend(words.iter().map(|&word| word.to_owned()));
    let request = ExecRequest {
        sandbox: Some(record.id.to_string()),
        command: Command {
            argv,
            cwd: Some(root.to_owned()),
            ..Command::default()
        },
        ..ExecRequest::default()
    };
    let (mut said, mut nobody) = (Vec::new(), NoControls);
    let streams = Streams {
        stdin,
        stderr: Sink::Buffer(&mut said),
        ..Streams::unheard(&mut nobody)
    };
    let answer = exec(engine, &request, streams)?;
    if answer.started {
        raise::down(engine, here, record)?;
    }
    Ok(Done {
        end: answer.run.end,
        said,
    })
}

impl Done {
    /// The error of a chore that did not do what it was for.
    pub(crate) fn failed(&self, doing: &'static str, record: Sandbox) -> EngineError {
        let said = String::from_utf8_lossy(&self.said);
        EngineError::Inside {
            doing,
            alias: record.alias,
            said: agar_core::text::printable(said.trim_end()).into_owned(),
        }
    }
}
