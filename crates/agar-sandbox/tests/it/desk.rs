//! A project on a desk: what the tests of bases share.

use agar_core::id::ProjectId;
use agar_core::seam::Timestamp;
use agar_core::walls::BaseKind;
use agar_sandbox::base::{Bases, Choice, Prepared, Silent};
use agar_sandbox::project::{self, MountTable, Project, StateDir, Surroundings};
use agar_testkit::Tree;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A project with a state directory next to it, in a place of its own.
pub(crate) struct Desk {
    _dir: Option<tempfile::TempDir>,
    pub(crate) top: PathBuf,
    pub(crate) around: Surroundings,
    pub(crate) state: StateDir,
}

impl Desk {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        fs_err::create_dir_all(top.join("home")).unwrap();
        fs_err::create_dir_all(top.join("shop")).unwrap();
        Self {
            _dir: Some(dir),
            ..Self::at(&top)
        }
    }

    /// A desk that another process set up.
    pub(crate) fn at(top: &Path) -> Self {
        let uid = top.metadata().unwrap().uid();
        let mounts = MountTable::parse(&fs_err::read("/proc/self/mountinfo").unwrap());
        let home = Some(top.join("home"));
        let around = Surroundings {
            home,
            uid,
            mounts,
            ..Surroundings::default()
        };
        let state = StateDir::open(&top.join("state"), uid).unwrap();
        Self {
            _dir: None,
            top: top.to_owned(),
            around,
            state,
        }
    }

    pub(crate) fn id() -> ProjectId {
        ProjectId::new(Timestamp::from_millis(1), [7; 10])
    }

    pub(crate) fn shop(&self) -> PathBuf {
        self.top.join("shop")
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.shop().join(path);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, text).unwrap();
    }

    pub(crate) fn project(&self) -> Project {
        project::at(&self.shop(), &self.around).unwrap()
    }

    pub(crate) fn with_bases<T>(&self, act: impl FnOnce(Bases<'_>) -> T) -> T {
        let project = self.project();
        act(Bases::new(&project, &self.state, Self::id()))
    }

    pub(crate) fn freeze(&self) -> Prepared {
        let prepared = self.with_bases(|bases| bases.prepare(Choice::Frozen, &Silent).unwrap());
        assert_eq!(prepared.kind, BaseKind::Frozen);
        prepared
    }

    /// The layers as a real overlay shows them, copied out.
    pub(crate) fn merged(&self, prepared: &Prepared) -> Picture {
        if let [only] = prepared.lowers.as_slice() {
            return tree(only);
        }
        let place = tempfile::tempdir_in(&self.top).unwrap();
        let (mount, out) = (place.path().join("mount"), place.path().join("out"));
        fs_err::create_dir_all(&mount).unwrap();
        fs_err::create_dir_all(&out).unwrap();
        let lowers: Vec<_> = prepared
            .lowers
            .iter()
            .map(|l| l.to_str().unwrap())
            .collect();
        let script =
            r#"mount -t overlay overlay -o "ro,userxattr,lowerdir=$1" "$2" && cp -a "$2/." "$3""#;
        let status = Command::new("unshare")
            .args(["-Urm", "sh", "-c", script, "sh", &lowers.join(":")])
            .args([&mount, &out])
            .status()
            .unwrap();
        assert!(status.success());
        tree(&out)
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .args([
                "-c",
                "user.name=a",
                "-c",
                "user.email=a@b",
                "-c",
                "init.defaultBranch=main",
            ])
            .args(arguments)
            .current_dir(self.shop())
            .env("HOME", self.top.join("home"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    }
}

/// A tree with the times of what is no directory.
pub(crate) struct Picture {
    pub(crate) tree: Tree,
    pub(crate) times: BTreeMap<PathBuf, i128>,
}

impl Picture {
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        self.tree.paths().map(Path::to_owned).collect()
    }

    pub(crate) fn difference(&self, other: &Self) -> String {
        let mut difference = self.tree.difference(&other.tree);
        for (path, time) in &self.times {
            if other.times.get(path).is_some_and(|other| other != time) {
                let _ = writeln!(difference, "time of {}", path.display());
            }
        }
        difference
    }
}

/// Everything but inodes, and but the index, which is made to fit the copies.
pub(crate) fn tree(root: &Path) -> Picture {
    let tree = Tree::read_without(root, &[Path::new(".git/index")]);
    let times = tree
        .paths()
        .map(|path| (path.to_owned(), tree.get(path).unwrap().modified));
    Picture {
        times: times.collect(),
        tree: tree.clone().without_times(),
    }
}
