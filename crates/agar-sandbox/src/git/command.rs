//! Running git so that only the person's own words and configuration steer it.

use super::{Checkout, GitError, Hooks};
use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Variables that say who the person is, where programs are, and how to sign.
const KEPT: [&str; 16] = [
    "PATH",
    "HOME",
    "XDG_CONFIG_HOME",
    "USER",
    "LOGNAME",
    "EMAIL",
    "TZ",
    "GNUPGHOME",
    "GPG_TTY",
    "SSH_AUTH_SOCK",
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_DATE",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_DATE",
];

/// Settings that would start programs or work in the background.
const CALM: [&str; 8] = [
    "core.fsmonitor=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "protocol.allow=never",
    "core.splitIndex=false",
    "core.untrackedCache=false",
    "advice.detachedHead=false",
];

/// One call of git, to be completed with arguments.
#[derive(Debug)]
pub(super) struct Call {
    command: Command,
    verb: &'static str,
    input: Vec<u8>,
}

impl Checkout<'_> {
    /// A call of git in the repository.
    pub(super) fn git(&self, verb: &'static str) -> Call {
        self.git_with(verb, Hooks::Off)
    }

    /// The same, with a say about hooks.
    pub(super) fn git_with(&self, verb: &'static str, hooks: Hooks) -> Call {
        let mut command = Command::new("git");
        command.env_clear().envs(
            self.environment
                .iter()
                .filter(|(name, _)| KEPT.iter().any(|kept| *name == **kept))
                .map(|(name, value)| (name, value)),
        );
        command
            .env("LC_ALL", "C")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_EDITOR", "false")
            .arg("--no-pager");
        if hooks == Hooks::Off {
            command.args(["-c", "core.hooksPath=/dev/null"]);
        }
        for setting in CALM {
            command.args(["-c", setting]);
        }
        command.current_dir(&self.git.top).arg(verb);
        Call {
            command,
            verb,
            input: Vec::new(),
        }
    }

    /// A path of the project as git knows it: relative to the top level.
    pub(super) fn path_in_git(&self, path: &Path) -> PathBuf {
        match self.root.strip_prefix(&self.git.top) {
            Ok(prefix) => prefix.join(path),
            Err(_) => path.to_path_buf(),
        }
    }
}

impl Call {
    /// A call of git in a repository of agar's own.
    pub(super) fn bare(directory: &Path, verb: &'static str, path: Option<&OsStr>) -> Self {
        let mut command = Command::new("git");
        command
            .env_clear()
            .envs(path.map(|path| ("PATH", path)))
            .env("HOME", directory)
            .env("LC_ALL", "C")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_NO_LAZY_FETCH", "1")
            .args(["--no-pager", "-c", "core.hooksPath=/dev/null"])
            .args(["-c", "protocol.allow=never", "--git-dir"])
            .arg(directory)
            .arg(verb)
            .current_dir(directory);
        Self {
            command,
            verb,
            input: Vec::new(),
        }
    }

    pub(super) fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    pub(super) fn args<'a>(mut self, arguments: impl IntoIterator<Item = &'a str>) -> Self {
        self.command.args(arguments);
        self
    }

    pub(super) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Uses another index than the work tree's.
    pub(super) fn index(self, index: &Path) -> Self {
        self.env("GIT_INDEX_FILE", index)
    }

    pub(super) fn input(mut self, input: Vec<u8>) -> Self {
        self.input = input;
        self
    }

    /// Runs it; tells its output and whether it succeeded.
    pub(super) fn output(mut self) -> Result<Output, GitError> {
        let mut child = self
            .command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(not_run)?;
        let (stdin, input) = (child.stdin.take(), self.input);
        std::thread::scope(|scope| {
            // If git does not listen, its answer tells.
            scope.spawn(move || stdin.map(|mut stdin| stdin.write_all(&input)));
            child.wait_with_output().map_err(not_run)
        })
    }

    /// Runs it; gives what it printed, or the error it made.
    pub(super) fn run(self) -> Result<Vec<u8>, GitError> {
        let verb = self.verb;
        let output = self.output()?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let said = String::from_utf8_lossy(&output.stderr);
        if said.contains("Please tell me who you are") || said.contains("empty ident name") {
            return Err(GitError::Identity);
        }
        let line = said.lines().map(str::trim).find(|line| !line.is_empty());
        let line = line.unwrap_or("it did not say why");
        let line = line
            .strip_prefix("fatal: ")
            .or(line.strip_prefix("error: "))
            .unwrap_or(line);
        Err(GitError::Failed {
            verb,
            message: agar_core::text::printable(line).into_owned(),
        })
    }

    /// Runs it; gives the first line it printed.
    pub(super) fn line(self) -> Result<String, GitError> {
        let output = self.run()?;
        let text = String::from_utf8_lossy(&output);
        Ok(text.lines().next().unwrap_or_default().to_owned())
    }

    /// Runs it; gives the first line it printed, or nothing if it failed.
    pub(super) fn try_line(self) -> Result<Option<String>, GitError> {
        let output = self.output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let line = text.lines().next().filter(|line| !line.is_empty());
        Ok(line.filter(|_| output.status.success()).map(str::to_owned))
    }
}

fn not_run(source: io::Error) -> GitError {
    if source.kind() == io::ErrorKind::NotFound {
        return GitError::Missing;
    }
    GitError::Io {
        doing: "run git",
        source,
    }
}

/// The caller's `PATH`.
pub(super) fn search_path(environment: &[(OsString, OsString)]) -> Option<&OsStr> {
    let found = environment.iter().find(|(name, _)| name == "PATH");
    found.map(|(_, value)| value.as_os_str())
}
