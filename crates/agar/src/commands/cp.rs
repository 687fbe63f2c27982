//! `agar cp`: files into a sandbox, and out of it.

use crate::DONE;
use crate::context::Context;
use crate::report::Failure;
use crate::ui::block::{self, Block};
use crate::ui::{Form, human};
use agar_core::fault::{Kind, Remedy};
use agar_core::size::Bytes;
use agar_engine::copy_files::{CopyRequest, Place, copy_files};
use agar_engine::list::{ListRequest, list};
use agar_engine::{Engine, EngineError};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

/// Copy files into a sandbox, or out of it
///
/// One end is `SANDBOX:PATH`, or `:PATH` when there is only one sandbox; a path inside is absolute
/// or relative to the project. Directories are copied whole, symbolic links as links.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = "\
Examples:
  agar cp calm-fern:target/report.html .
  agar cp fixture.sql calm-fern:tests/
  agar cp :Cargo.lock /tmp/              out of the only sandbox
  agar cp ./odd:name calm-fern:          a host name with a colon, made clear by ./")]
pub struct CpArgs {
    /// From here
    #[arg(value_name = "FROM", value_hint = clap::ValueHint::AnyPath)]
    pub from: OsString,

    /// To here; into it, if it is a directory
    #[arg(value_name = "TO", value_hint = clap::ValueHint::AnyPath)]
    pub to: OsString,
}

/// Copies them.
pub fn run(args: &CpArgs, context: &Context) -> Result<u8, Failure> {
    let engine = context.engine()?;
    let request = CopyRequest {
        from: resolve(place(&args.from), &engine)?,
        to: resolve(place(&args.to), &engine)?,
    };
    match (&request.from, &request.to) {
        (Place::Host { .. }, Place::Sandbox { .. })
        | (Place::Sandbox { .. }, Place::Host { .. }) => {}
        (Place::Host { .. }, Place::Host { .. })
        | (Place::Sandbox { .. }, Place::Sandbox { .. }) => {
            return Err(Failure::new(
                Kind::Invalid,
                "exactly one end of a copy must lie in a sandbox",
            )
            .with_remedy(Remedy::Command {
                line: "agar cp calm-fern:PATH .".to_owned(),
            }));
        }
    }
    let answer = copy_files(&engine, &request)?;
    match context.ui.form {
        Form::Json => context.ui.show_json(&answer)?,
        Form::Words if context.ui.terminals.stderr => {
            let files = human::count(answer.files, "file", "files");
            let bytes = Bytes(answer.bytes);
            let line = format!("{files}, {bytes}");
            context
                .ui
                .say_block(&Block::new().line(block::COPIED, line));
        }
        Form::Words => {}
    }
    Ok(DONE)
}

/// Reads one end. A colon after a slash belongs to a host path, as with scp.
fn place(text: &OsString) -> Place {
    let bytes = text.as_bytes();
    let colon = bytes.iter().position(|&byte| byte == b':');
    let slash = bytes.iter().position(|&byte| byte == b'/');
    match colon {
        Some(colon) if slash.is_none_or(|slash| colon < slash) => Place::Sandbox {
            sandbox: String::from_utf8_lossy(&bytes[..colon]).into_owned(),
            path: PathBuf::from(OsString::from_vec(bytes[colon + 1..].to_vec())),
        },
        Some(_) | None => Place::Host { path: text.into() },
    }
}

/// Finds the only sandbox where none was named.
fn resolve(place: Place, engine: &Engine) -> Result<Place, Failure> {
    match place {
        Place::Sandbox { sandbox, path } if sandbox.is_empty() => {
            let listed = list(engine, &ListRequest::default())?.sandboxes;
            match listed.as_slice() {
                [only] => Ok(Place::Sandbox {
                    sandbox: only.sandbox.id.to_string(),
                    path,
                }),
                several => Err(EngineError::SayWhich {
                    count: several.len(),
                }
                .into()),
            }
        }
        place @ (Place::Sandbox { .. } | Place::Host { .. }) => Ok(place),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_before_a_colon_is_a_sandbox() {
        let inside = |sandbox: &str, path: &str| Place::Sandbox {
            sandbox: sandbox.to_owned(),
            path: path.into(),
        };
        let outside = |path: &str| Place::Host { path: path.into() };
        for (typed, expected) in [
            ("calm-fern:src/a", inside("calm-fern", "src/a")),
            (":src", inside("", "src")),
            ("calm-fern:", inside("calm-fern", "")),
            ("src/a", outside("src/a")),
            ("./odd:name", outside("./odd:name")),
            ("/tmp/a:b", outside("/tmp/a:b")),
        ] {
            assert_eq!(place(&typed.into()), expected, "{typed}");
        }
    }
}
