//! A base, and work done on it in a real overlay, mounted as the jail mounts one.
//!
//! The mount lives in a user and mount namespace that `unshare` makes, and goes with it.

use agar_sandbox::change::{ChangeSet, Options};
use agar_sandbox::stack::{Role, Stack};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// The exit status of a script whose mount was refused.
const REFUSED: i32 = 77;

/// The directories `base`, `upper`, `work`, `merged`, and `out`: a copy of what the sandbox saw.
pub(crate) struct World {
    directory: TempDir,
}

/// Whether this machine lets us mount an overlay at all.
pub(crate) fn works() -> bool {
    World::new().mounted(b"") != Some(REFUSED)
}

impl World {
    pub(crate) fn new() -> Self {
        let world = Self {
            directory: TempDir::new().unwrap(),
        };
        for name in ["base", "upper", "work", "merged"] {
            fs_err::create_dir(world.at(name)).unwrap();
        }
        world
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Runs a shell script in one of the directories.
    pub(crate) fn script(&self, place: &str, script: &[u8]) {
        assert_eq!(self.sh(Command::new("sh"), place, script), Some(0));
    }

    /// Runs a shell script in the merged directory and copies out what it sees in the end.
    pub(crate) fn work(&self, script: &[u8]) {
        assert_eq!(self.mounted(script), Some(0));
    }

    fn mounted(&self, script: &[u8]) -> Option<i32> {
        let mount = format!(
            "mount -t overlay overlay merged -o userxattr,volatile,lowerdir={},upperdir={},workdir={} \
             2>/dev/null || exit {REFUSED}\ncd merged\n",
            self.at("base").display(),
            self.at("upper").display(),
            self.at("work").display(),
        );
        let copy = b"\ncd ..; cp -a merged out || exit 78\n";
        let script = [mount.as_bytes(), script, copy].concat();
        let mut unshare = Command::new("unshare");
        unshare.args(["-Urm", "sh"]);
        self.sh(unshare, "", &script)
    }

    fn sh(&self, mut command: Command, place: &str, script: &[u8]) -> Option<i32> {
        let mut child = command
            .current_dir(self.at(place))
            .env("LC_ALL", "C")
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // A shell that gave up early does not read the rest.
        stdin.write_all(&[script, b"\nexit 0\n"].concat()).ok();
        drop(stdin);
        child.wait().unwrap().code()
    }

    pub(crate) fn stack(&self) -> Stack {
        Stack {
            role: Role::Project,
            target: "/project".into(),
            upper: self.at("upper"),
            work: self.at("work"),
            kept: Vec::new(),
            lowers: vec![self.at("base")],
        }
    }

    pub(crate) fn changes(&self, renames: bool) -> ChangeSet {
        let options = Options {
            renames,
            ..Options::default()
        };
        ChangeSet::compute(&[self.stack()], &options).unwrap()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // The kernel leaves `work/work` without any permission, and the directory could not go.
        let inner = self.at("work/work");
        if inner.exists() {
            let open = std::fs::Permissions::from_mode(0o700);
            fs_err::set_permissions(inner, open).unwrap();
        }
    }
}
