//! The one place that reads the process's own surroundings.
//!
//! Variables, ids, the current directory and what the streams are: read here, once, and handed on
//! as data, so that everything below can be called with any surroundings a test likes.

use crate::args::Colour;
use crate::commands::upkeep::Later;
use crate::report::Failure;
use crate::ui::palette::Palette;
use crate::ui::{Form, Input, Terminals, Ui, terminal};
use agar_core::fault::Kind;
use agar_core::seam::{Clock, Entropy, Timestamp};
use agar_engine::{Progress, Surroundings};
use std::ffi::{OsStr, OsString};
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Names of the variables that agar itself reads, each with what it is for.
///
/// Settings have `AGAR_*` variables of their own, named after their keys.
pub const VARIABLES: [(&str, &str); 10] = [
    ("NO_COLOR", "no colours, whatever the terminal"),
    ("CLICOLOR_FORCE", "colours also into a pipe"),
    ("TERM", "`dumb` means no colours and no pager"),
    ("AGAR_PAGER", "shows long answers; before `PAGER`"),
    (
        "PAGER",
        "shows long answers; `less` if unset, `cat` for none",
    ),
    ("VISUAL", "the editor for conflicts; before `EDITOR`"),
    ("EDITOR", "the editor for conflicts; `vi` if unset"),
    ("SHELL", "the shell that `explore` and `exec` start"),
    ("AGAR_AGENT", "the agent's name, as `--agent`"),
    (
        "XDG_CONFIG_HOME",
        "where the user's settings live; also XDG_STATE_HOME, XDG_RUNTIME_DIR",
    ),
];

/// The process's surroundings, as data.
#[derive(Debug, Clone)]
pub struct Environment {
    variables: Vec<(OsString, OsString)>,
    /// Which streams are terminals.
    pub terminals: Terminals,
}

impl Environment {
    /// Reads the variables and looks at the streams.
    pub fn read() -> Self {
        Self {
            variables: std::env::vars_os().collect(),
            terminals: Terminals {
                stdin: match std::io::stdin().is_terminal() {
                    true if terminal::is_ours() => Input::Keyboard,
                    true => Input::Elsewhere,
                    false => Input::Stream,
                },
                stdout: std::io::stdout().is_terminal(),
                stderr: std::io::stderr().is_terminal(),
            },
        }
    }

    /// The surroundings for the engine, as if agar had been started in `directory`.
    pub fn surroundings(
        &self,
        directory: Option<&Path>,
        progress: Arc<dyn Progress>,
    ) -> Result<Surroundings, Failure> {
        let cwd = std::env::current_dir().map_err(|error| {
            Failure::because(Kind::NotFound, "cannot find the current directory", &error)
        })?;
        let cwd = match directory {
            Some(directory) => fs_err::canonicalize(cwd.join(directory)).map_err(|error| {
                Failure::because(Kind::NotFound, "there is no such directory", &error)
            })?,
            None => cwd,
        };
        let uid = rustix::process::getuid().as_raw();
        let gid = rustix::process::getgid().as_raw();
        let home = if self.text("HOME").is_some() {
            PathBuf::new()
        } else {
            home_of(uid)
        };
        let world = Arc::new(World);
        Ok(Surroundings {
            progress,
            background: Some(Arc::new(Later)),
            ..Surroundings::new(
                (uid, gid),
                (cwd, home),
                self.variables.clone(),
                (world.clone(), world),
            )
        })
    }

    /// The streams, as this environment and the flags want them.
    pub fn ui(&self, form: Form, colour: Colour, verbose: bool) -> Ui {
        let dumb = self.text("TERM").is_some_and(|term| term == "dumb");
        let forced = self.text("CLICOLOR_FORCE").is_some_and(|v| v != "0");
        let palette = |terminal: bool| match colour {
            Colour::Always => Palette::Colour,
            Colour::Auto if self.text("NO_COLOR").is_some() => Palette::Plain,
            Colour::Auto if forced || (terminal && !dumb) => Palette::Colour,
            Colour::Auto | Colour::Never => Palette::Plain,
        };
        Ui {
            form,
            verbose,
            terminals: self.terminals,
            out: palette(self.terminals.stdout),
            err: palette(self.terminals.stderr),
            pager: self.pager().filter(|_| !dumb),
        }
    }

    /// The person's editor.
    pub fn editor(&self) -> OsString {
        self.text("VISUAL")
            .or_else(|| self.text("EDITOR"))
            .unwrap_or_else(|| OsStr::new("vi"))
            .to_owned()
    }

    /// The person's shell.
    pub fn shell(&self) -> OsString {
        self.text("SHELL")
            .unwrap_or_else(|| OsStr::new("/bin/sh"))
            .to_owned()
    }

    /// The agent on whose behalf agar was started.
    pub fn agent(&self) -> Option<String> {
        self.text("AGAR_AGENT")
            .map(|name| name.to_string_lossy().into_owned())
    }

    /// The time now.
    pub fn now(&self) -> Timestamp {
        World.now()
    }

    fn pager(&self) -> Option<String> {
        let chosen = self.text("AGAR_PAGER").or_else(|| self.text("PAGER"));
        let pager = chosen.map_or_else(|| "less".into(), OsStr::to_string_lossy);
        if pager == "cat" {
            return None;
        }
        // As git does: leave short text on the screen, pass colours on, and let the reader's own
        // settings win.
        let less = if self.text("LESS").is_none() {
            "LESS=FRX "
        } else {
            ""
        };
        Some(format!("{less}{pager}"))
    }

    /// A variable that is set and not empty.
    fn text(&self, name: &str) -> Option<&OsStr> {
        self.variables
            .iter()
            .find(|(key, value)| key == name && !value.is_empty())
            .map(|(_, value)| value.as_os_str())
    }
}

/// The home directory in the user database, for a process without `$HOME`.
fn home_of(uid: u32) -> PathBuf {
    let users = fs_err::read_to_string("/etc/passwd").unwrap_or_default();
    users
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>())
        .find(|fields| fields.len() > 5 && fields[2].parse() == Ok(uid))
        .map_or_else(|| PathBuf::from("/"), |fields| fields[5].into())
}

/// The real clock and the kernel's random source.
#[derive(Debug)]
struct World;

impl Clock for World {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place where real time enters the program"
    )]
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let millis = since.map_or(0, |since| since.as_millis());
        Timestamp::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
    }
}

impl Entropy for World {
    fn fill(&self, bytes: &mut [u8]) {
        let mut filled = 0;
        while filled < bytes.len() {
            match rustix::rand::getrandom(
                &mut bytes[filled..],
                rustix::rand::GetRandomFlags::empty(),
            ) {
                Ok(count) => filled += count,
                Err(rustix::io::Errno::INTR) => {}
                // Linux has had the call since 3.17; without randomness names only collide sooner.
                Err(_) => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(variables: &[(&str, &str)], terminal: bool) -> Environment {
        Environment {
            variables: variables
                .iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            terminals: Terminals {
                stdin: Input::Stream,
                stdout: terminal,
                stderr: terminal,
            },
        }
    }

    #[test]
    fn colours_are_for_terminals_unless_somebody_says_otherwise() {
        let palette = |variables: &[(&str, &str)], terminal, colour| {
            with(variables, terminal).ui(Form::Words, colour, false).out
        };
        assert_eq!(palette(&[], true, Colour::Auto), Palette::Colour);
        assert_eq!(palette(&[], false, Colour::Auto), Palette::Plain);
        assert_eq!(
            palette(&[("NO_COLOR", "1")], true, Colour::Auto),
            Palette::Plain
        );
        assert_eq!(
            palette(&[("NO_COLOR", "")], true, Colour::Auto),
            Palette::Colour
        );
        assert_eq!(
            palette(&[("TERM", "dumb")], true, Colour::Auto),
            Palette::Plain
        );
        assert_eq!(
            palette(&[("CLICOLOR_FORCE", "1")], false, Colour::Auto),
            Palette::Colour
        );
        assert_eq!(
            palette(&[("NO_COLOR", "1")], false, Colour::Always),
            Palette::Colour
        );
    }

    #[test]
    fn cat_as_a_pager_means_none() {
        let pager = |variables: &[(&str, &str)]| with(variables, true).pager();
        assert_eq!(pager(&[]), Some("LESS=FRX less".to_owned()));
        assert_eq!(pager(&[("LESS", "R")]), Some("less".to_owned()));
        assert_eq!(pager(&[("PAGER", "cat")]), None);
        assert_eq!(
            pager(&[("PAGER", "more"), ("AGAR_PAGER", "most -s")]),
            Some("LESS=FRX most -s".to_owned())
        );
    }
}
