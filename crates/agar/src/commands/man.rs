//! `agar man`: manual pages, for packagers.

use crate::DONE;
use crate::args::Cli;
use crate::context::Context;
use crate::reference;
use crate::report::Failure;
use agar_core::fault::Kind;
use clap::CommandFactory as _;
use std::io;
use std::path::{Path, PathBuf};

/// Write the manual pages
///
/// One page for agar and one for each command, into a directory; or the first one to stdout.
#[derive(Debug, Clone, clap::Args)]
pub struct ManArgs {
    /// The directory for the pages, which is made if need be
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub out: Option<PathBuf>,

    /// Print this generated file of docs/reference instead
    #[arg(long, value_name = "FILE", conflicts_with = "out")]
    pub reference: Option<String>,
}

/// Writes them.
pub fn run(args: &ManArgs, context: &Context) -> Result<u8, Failure> {
    let command = Cli::command();
    if let Some(directory) = &args.out {
        pages(directory, command).map_err(|error| {
            Failure::because(Kind::Invalid, "cannot write the manual pages", &error)
        })?;
        return Ok(DONE);
    }
    if let Some(wanted) = &args.reference {
        let file = reference::files()
            .into_iter()
            .find(|(path, _)| path == wanted);
        let (_, text) =
            file.ok_or_else(|| Failure::new(Kind::NotFound, format!("{wanted} is not generated")))?;
        context.ui.show(&text)?;
        return Ok(DONE);
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut page)
        .map_err(|error| Failure::writing(&error))?;
    context.ui.show_bytes(&page)?;
    Ok(DONE)
}

fn pages(directory: &Path, command: clap::Command) -> io::Result<()> {
    fs_err::create_dir_all(directory)?;
    clap_mangen::generate_to(command, directory)
}
