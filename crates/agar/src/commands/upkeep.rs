//! `agar upkeep`: what agar does when nobody waits.

use crate::DONE;
use crate::context::Context;
use crate::report::Failure;
use agar_engine::Background;
use agar_engine::upkeep::{Due, UpkeepRequest, upkeep};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Freeze the project for next time and empty a portion of the trash
///
/// Started by agar itself after a `try` or `run` that would have been better served.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct UpkeepArgs {
    /// Only fold the log of the store
    #[arg(long)]
    log: bool,
}

/// Does it, apart from the terminal that it was started from.
pub fn run(args: &UpkeepArgs, context: &Context) -> Result<u8, Failure> {
    // Already leading a session is as good.
    let _ = rustix::process::setsid();
    let due = if args.log { Due::Log } else { Due::Everything };
    upkeep(&context.engine()?, &UpkeepRequest { due })?;
    Ok(DONE)
}

/// Starts this program again, for upkeep.
#[derive(Debug, Clone, Copy)]
pub struct Later;

impl Background for Later {
    fn start(&self, directory: &Path, due: Due) {
        // It ends by itself, usually after this process; without it the next start is slower.
        drop(start(directory, due));
    }
}

/// Starts it, if that works.
pub(super) fn start(directory: &Path, due: Due) -> Option<Child> {
    let program = std::env::current_exe().ok()?;
    let only = match due {
        Due::Everything => None,
        Due::Log => Some("--log"),
    };
    Command::new(program)
        .arg("-C")
        .arg(directory)
        .arg("upkeep")
        .args(only)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .ok()
}
