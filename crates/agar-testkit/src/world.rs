//! A temporary world: a home, a state directory, a runtime directory and a project of their own.
//!
//! Worlds lie beside the build's other temporary files, and never in `/tmp`: a sandbox has a `/tmp` of
//! its own, and most projects are elsewhere. When a world is dropped it ends what was started in it
//! and fails the test if anything was left behind.

use crate::invocation::{Invocation, Outcome};
use crate::leaks;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Names the copy of the source tree that a user reads who may not read the original.
pub const SOURCE_VARIABLE: &str = "AGAR_TEST_SOURCE";

/// Names the directory for worlds, where the one beside the build cannot be used.
pub const DIRECTORY_VARIABLE: &str = "AGAR_TEST_DIRECTORY";

/// Names a directory in memory for the runtime directories of worlds, as those of a person's session are
/// in memory; without it they lie in the world.
pub const RUNTIME_VARIABLE: &str = "AGAR_TEST_RUNTIME";

/// Names the command to test, where it is not where it was built.
pub const PROGRAM_VARIABLE: &str = "AGAR_TEST_PROGRAM";

/// A home, a state directory, a runtime directory and a project, all temporary.
#[derive(Debug)]
pub struct World {
    directory: Option<TempDir>,
    runtime: Option<TempDir>,
    root: PathBuf,
    program: PathBuf,
}

impl World {
    /// A world with an empty home and a project that is not under version control, in which
    /// `program` (the test's `env!("CARGO_BIN_EXE_agar")`) is the command.
    #[track_caller]
    pub fn new(program: &str) -> Self {
        Self::new_in(&base_directory(), program)
    }

    /// The same in this directory, for a program that does not lie where tests do.
    #[track_caller]
    pub fn new_in(base: &Path, program: &str) -> Self {
        fs_err::create_dir_all(base).expect("the directory for worlds can be made");
        let temporary = |base: &Path| {
            let made = tempfile::Builder::new().prefix("world-").tempdir_in(base);
            made.expect("a world can be made")
        };
        let directory = temporary(base);
        let runtime = std::env::var_os(RUNTIME_VARIABLE);
        let root = fs_err::canonicalize(directory.path()).expect("the world has a path");
        let program =
            std::env::var_os(PROGRAM_VARIABLE).map_or_else(|| program.into(), PathBuf::from);
        let world = Self {
            directory: Some(directory),
            runtime: runtime.map(|base| temporary(Path::new(&base))),
            root,
            program,
        };
        for path in [
            world.home(),
            world.project(),
            world.runtime(),
            world.outside(),
        ] {
            fs_err::create_dir_all(&path).expect("the world has directories");
        }
        let private = std::fs::Permissions::from_mode(0o700);
        fs_err::set_permissions(world.runtime(), private)
            .expect("the runtime directory is private");
        world
    }

    /// A world whose project is a git repository with a few committed files.
    #[track_caller]
    pub fn with_repository(program: &str) -> Self {
        Self::new(program).filled()
    }

    /// The same in this directory, for a program that does not lie where tests do.
    #[track_caller]
    pub fn with_repository_in(base: &Path, program: &str) -> Self {
        Self::new_in(base, program).filled()
    }

    #[track_caller]
    fn filled(self) -> Self {
        let world = self;
        world.write("README.md", "# sample\n\nA project to try things in.\n");
        world.write("src/main.rs", "fn main() {\n    println!(\"hello\");\n}\n");
        world.write(
            "src/lib.rs",
            "//! Numbers.\n\npub fn one() -> u32 {\n    1\n}\n",
        );
        world.write("notes.txt", "first\nsecond\nthird\nfourth\nfifth\n");
        world.write(".gitignore", "target/\n");
        world.git(["init", "--quiet", "--initial-branch=main"]);
        world.git(["add", "--all"]);
        world.git(["commit", "--quiet", "--message=begin"]);
        world
    }

    /// Everything in this world.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The home directory.
    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// The project, below the home directory as most are.
    pub fn project(&self) -> PathBuf {
        self.root.join("home/project")
    }

    /// A directory outside the home, which the user may write outside a sandbox.
    pub fn outside(&self) -> PathBuf {
        self.root.join("outside")
    }

    /// The user's state directory; agar's own is `agar` in it.
    pub fn state(&self) -> PathBuf {
        self.root.join("home/.local/state")
    }

    /// The runtime directory.
    pub fn runtime(&self) -> PathBuf {
        let runtime = self.runtime.as_ref();
        runtime.map_or_else(|| self.root.join("run"), |own| own.path().to_owned())
    }

    /// The command under test.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Writes a file of the project, making its directories.
    #[track_caller]
    pub fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = self.project().join(path);
        if let Some(parent) = path.parent() {
            fs_err::create_dir_all(parent).expect("the directory can be made");
        }
        fs_err::write(path, content).expect("the file can be written");
    }

    /// What a file of the project holds.
    #[track_caller]
    pub fn read(&self, path: impl AsRef<Path>) -> String {
        fs_err::read_to_string(self.project().join(path)).expect("the file can be read")
    }

    /// Whether the project has the path; a dangling link counts.
    pub fn has(&self, path: impl AsRef<Path>) -> bool {
        fs_err::symlink_metadata(self.project().join(path)).is_ok()
    }

    /// Any program in this world's environment, started in the project.
    pub fn invoke(&self, program: impl AsRef<OsStr>) -> Invocation {
        Invocation::new(program)
            .env("HOME", self.home())
            .env("USER", "tester")
            .env("SHELL", "/bin/sh")
            .env("TERM", "dumb")
            .env("XDG_STATE_HOME", self.state())
            .env("XDG_RUNTIME_DIR", self.runtime())
            .env("XDG_CONFIG_HOME", self.home().join(".config"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_NAME", "Tester")
            .env("GIT_AUTHOR_EMAIL", "tester@example.org")
            .env("GIT_COMMITTER_NAME", "Tester")
            .env("GIT_COMMITTER_EMAIL", "tester@example.org")
            .current_dir(self.project())
    }

    /// The command with these arguments, not yet started.
    pub fn command<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(&self, args: I) -> Invocation {
        self.invoke(&self.program).args(args)
    }

    /// Runs the command to its end.
    #[track_caller]
    pub fn agar<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(&self, args: I) -> Outcome {
        self.command(args).run()
    }

    /// Runs git in the project and panics unless it works.
    #[track_caller]
    pub fn git<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(&self, args: I) -> String {
        self.invoke("git").args(args).run().success().stdout
    }

    /// Runs a shell script in the project, outside any sandbox.
    #[track_caller]
    pub fn sh(&self, script: &str) -> Outcome {
        self.invoke("/bin/sh").args(["-c", script]).run()
    }

    /// Removes every sandbox of this world, then panics if anything agar made is still alive.
    #[track_caller]
    pub fn assert_nothing_left(&self) {
        let all: [OsString; 3] = ["rm".into(), "--all".into(), "--force".into()];
        drop(self.agar(all));
        leaks::assert_gone(&self.root);
    }
}

/// Sandboxes that a test kept end with its world; a leftover fails a test that passed otherwise.
impl Drop for World {
    fn drop(&mut self) {
        let holders = leaks::processes_in(&self.root);
        for holder in &holders {
            holder.kill();
        }
        if !std::thread::panicking() && !holders.is_empty() {
            // Kept sandboxes are the usual reason, and legitimate; their end is what is checked.
            leaks::assert_gone(&self.root);
        }
        // A keeper that was killed just now cannot do it, and what knows of its groups goes here.
        leaks::remove_noted_groups(&self.state().join("agar"));
        if let Some(directory) = self.directory.take() {
            leaks::remove_tree(directory.path());
        }
    }
}

/// The directory that worlds lie in.
pub fn base_directory() -> PathBuf {
    if let Some(directory) = std::env::var_os(DIRECTORY_VARIABLE) {
        return directory.into();
    }
    // target/debug/deps/it-0123 → target/tmp
    std::env::current_exe()
        .ok()
        .and_then(|path| Some(path.parent()?.parent()?.parent()?.join("tmp")))
        .map_or_else(std::env::temp_dir, |beside| seen_inside(&beside))
}

/// A directory beside the build; for a build that lies where every sandbox has a place of its own, as one
/// in `/tmp` does, a directory in the user's cache, which sandboxes see.
pub fn seen_inside(beside: &Path) -> PathBuf {
    let build = beside.parent().unwrap_or(beside);
    let build = fs_err::canonicalize(build).unwrap_or_else(|_| build.to_owned());
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    let cache = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
    match (
        OWN.iter().any(|own| build.starts_with(own)),
        cache,
        beside.file_name(),
    ) {
        (true, Some(cache), Some(name)) => cache.join("agar-tests").join(name),
        _ => beside.to_owned(),
    }
}

/// Where nothing of outside is seen inside.
const OWN: [&str; 4] = ["/tmp", "/var/tmp", "/run", "/dev"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_world_has_a_repository_of_its_own() {
        let world = World::with_repository("/bin/true");
        assert_eq!(world.git(["log", "--format=%an %s"]), "Tester begin\n");
        assert_eq!(world.git(["status", "--porcelain"]), "");
        assert!(world.agar(["anything"]).status.success());
    }

    #[test]
    fn a_build_in_a_place_that_sandboxes_have_of_their_own_has_its_worlds_elsewhere() {
        let beside = Path::new("/src/agar/target/tmp");
        assert_eq!(seen_inside(beside), beside);
        let moved = seen_inside(Path::new("/var/tmp/agar/target/tmp"));
        assert!(moved.ends_with("agar-tests/tmp"), "{}", moved.display());
    }

    #[test]
    fn a_dropped_world_is_gone() {
        let world = World::new("/bin/true");
        let root = world.root().to_owned();
        world.write("a/b/c", "1");
        assert!(world.has("a/b/c"));
        drop(world);
        assert!(!root.exists());
    }
}
