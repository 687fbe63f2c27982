//! Change sets of hand-made layers: each mark, each kind, each edge.

mod hostile;
mod telling;

use super::*;
use rustix::fs::{CWD, FileType, Mode, XattrFlags, mknodat, setxattr};
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use tempfile::TempDir;

/// A sandbox with hand-made layers.
struct Bench {
    directory: TempDir,
    role: Role,
    target: PathBuf,
    lowers: usize,
}

impl Bench {
    fn new() -> Self {
        Self::with(Role::Project, "/home/ann/shop", 1)
    }

    fn with(role: Role, target: &str, lowers: usize) -> Self {
        let directory = TempDir::new().unwrap();
        fs_err::create_dir(directory.path().join("upper")).unwrap();
        for lower in 0..lowers {
            fs_err::create_dir(directory.path().join(lower.to_string())).unwrap();
        }
        Self {
            directory,
            role,
            target: target.into(),
            lowers,
        }
    }

    fn stack(&self) -> Stack {
        Stack {
            role: self.role,
            target: self.target.clone(),
            upper: self.directory.path().join("upper"),
            work: self.directory.path().join("work"),
            kept: Vec::new(),
            lowers: (0..self.lowers)
                .map(|lower| self.directory.path().join(lower.to_string()))
                .collect(),
        }
    }

    fn at(&self, layer: &str, path: impl AsRef<Path>) -> PathBuf {
        let path = self.directory.path().join(layer).join(path);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    fn base(&self, path: impl AsRef<Path>, text: &str) -> &Self {
        fs_err::write(self.at("0", path), text).unwrap();
        self
    }

    fn upper(&self, path: impl AsRef<Path>, text: &str) -> &Self {
        fs_err::write(self.at("upper", path), text).unwrap();
        self
    }

    fn whiteout(&self, path: impl AsRef<Path>) -> &Self {
        let path = self.at("upper", path);
        mknodat(CWD, path, FileType::CharacterDevice, Mode::empty(), 0).unwrap();
        self
    }

    fn mark(&self, path: &str, mark: &str, value: &str) -> &Self {
        let path = self.at("upper", path);
        let name = format!("user.overlay.{mark}");
        setxattr(path, name, value.as_bytes(), XattrFlags::empty()).unwrap();
        self
    }

    fn chmod(&self, layer: &str, path: &str, mode: u32) -> &Self {
        let mode = std::fs::Permissions::from_mode(mode);
        fs_err::set_permissions(self.at(layer, path), mode).unwrap();
        self
    }

    fn compute(&self, options: &Options<'_>) -> ChangeSet {
        ChangeSet::compute(&[self.stack()], options).unwrap()
    }

    fn changes(&self) -> ChangeSet {
        self.compute(&Options::default())
    }

    /// Each change as `letter path`.
    fn told(&self) -> Vec<String> {
        told(&self.changes().project)
    }
}

fn told(changes: &[Change]) -> Vec<String> {
    let one = |change: &Change| {
        let path = change.path.display();
        if let Action::Renamed {
            from, similarity, ..
        } = &change.action
        {
            return format!("R{similarity} {} {path}", from.display());
        }
        format!("{} {path}", change.action.letter())
    };
    changes.iter().map(one).collect()
}

fn diff(change: &Change) -> String {
    String::from_utf8(unified(change, 3, 1 << 20).unwrap().bytes).unwrap()
}

#[test]
fn nothing_written_is_nothing_changed() {
    let bench = Bench::new();
    bench.base("a", "x");
    assert!(bench.changes().is_empty());
}

#[test]
fn what_was_only_copied_up_is_not_a_change() {
    let bench = Bench::new();
    bench.base("d/a", "same").upper("d/a", "same");
    assert_eq!(bench.told(), [""; 0]);
}

#[test]
fn each_form_of_whiteout_is_a_deletion() {
    let bench = Bench::new();
    bench.base("device", "x").whiteout("device");
    bench.base("d/file", "x").upper("d/file", "");
    bench
        .mark("d", "opaque", "x")
        .mark("d/file", "whiteout", "y");
    bench
        .base("o/old", "x")
        .upper("o/new", "")
        .mark("o", "opaque", "y");
    assert_eq!(bench.told(), ["D d/file", "D device", "A o/new", "D o/old"]);
}

#[test]
fn a_whiteout_over_nothing_is_nothing() {
    let bench = Bench::new();
    bench.whiteout("a").whiteout("d/b");
    assert_eq!(bench.told(), ["A d"]);
}

#[test]
fn below_an_opaque_directory_an_unmarked_one_hides_too() {
    let bench = Bench::new();
    bench.base("d/e/old", "x").base("d/e/same", "s");
    bench.upper("d/e/same", "s").mark("d", "opaque", "y");
    assert_eq!(bench.told(), ["D d/e/old"]);
}

#[test]
fn a_deletion_seen_through_several_lowers_is_one() {
    let bench = Bench::with(Role::Project, "/p", 2);
    bench.base("d/a", "new").base("d/b", "b");
    fs_err::write(bench.at("1", "d/a"), "old").unwrap();
    fs_err::write(bench.at("1", "d/c"), "c").unwrap();
    bench.whiteout("d");
    assert_eq!(bench.told(), ["D d", "D d/a", "D d/b", "D d/c"]);
    let set = bench.changes();
    let below = set.project[0].below.unwrap();
    assert_eq!((below.files, below.bytes, below.listed), (3, 5, 3));
}

#[test]
fn a_mode_is_a_change_and_a_time_is_not() {
    let bench = Bench::new();
    bench
        .base("run", "x")
        .upper("run", "x")
        .chmod("upper", "run", 0o755);
    bench
        .base("d/keep", "")
        .upper("d/keep", "")
        .chmod("upper", "d", 0o700);
    let set = bench.changes();
    assert_eq!(told(&set.project), ["M d", "M run"]);
    assert!(
        set.project
            .iter()
            .all(|change| change.action == Action::ModeChanged)
    );
    assert_eq!(
        diff(&set.project[1]),
        "diff --git a/run b/run\nold mode 100644\nnew mode 100755\n"
    );
}

#[test]
fn permissions_that_git_does_not_record_are_noted_and_leave_no_garbage() {
    let bench = Bench::new();
    bench
        .base("key", "x")
        .upper("key", "x")
        .chmod("upper", "key", 0o600);
    let change = &bench.changes().project[0];
    assert_eq!(change.action, Action::ModeChanged);
    let diff = unified(change, 3, 100).unwrap();
    assert_eq!(
        (diff.bytes.len(), diff.notice),
        (0, Some(Notice::Permissions))
    );
}

#[test]
fn a_change_of_kind_lists_what_lay_below() {
    let bench = Bench::new();
    bench.base("d/a", "x").upper("d", "now a file");
    bench.base("f", "was a file").upper("f/b", "y");
    assert_eq!(bench.told(), ["T d", "D d/a", "T f", "A f/b"]);
}

#[test]
fn special_files_are_told_by_kind() {
    let bench = Bench::new();
    let pipe = bench.at("upper", "pipe");
    mknodat(CWD, pipe, FileType::Fifo, Mode::from(0o600), 0).unwrap();
    let socket = bench.at("upper", "socket");
    mknodat(CWD, socket, FileType::Socket, Mode::from(0o600), 0).unwrap();
    fs_err::os::unix::fs::symlink("loop", bench.at("upper", "loop")).unwrap();
    let set = bench.changes();
    let kinds: Vec<_> = set.project.iter().filter_map(Change::kind).collect();
    assert_eq!(kinds, [Kind::Symlink, Kind::Fifo, Kind::Socket]);
    let loops = set.project[0].after.as_ref().unwrap();
    assert_eq!(loops.target.as_deref(), Some(OsStr::new("loop")));
    let notice = unified(&set.project[1], 3, 100).unwrap();
    assert_eq!(notice.notice, Some(Notice::Special));
}

#[test]
fn a_moved_file_is_a_rename_and_a_moved_and_edited_one_too() {
    let bench = Bench::new();
    let text = "one line\nand another\nand a third\n";
    bench
        .base("old/a.rs", text)
        .whiteout("old/a.rs")
        .upper("new/a.rs", text);
    let long = (0..20).fold(String::new(), |text, n| text + &format!("line {n}\n"));
    bench.base("b.txt", &long).whiteout("b.txt");
    bench.upper("c.txt", &long.replace("line 7\n", "seven\n"));
    assert_eq!(
        bench.told(),
        ["R95 b.txt c.txt", "A new", "R100 old/a.rs new/a.rs"]
    );
    let set = bench.changes();
    assert_eq!(
        set.project[0].lines,
        Some(Lines {
            added: 1,
            removed: 1
        })
    );
    assert_eq!(
        diff(&set.project[2]),
        "diff --git a/old/a.rs b/new/a.rs\nsimilarity index 100%\n\
         rename from old/a.rs\nrename to new/a.rs\n"
    );
}

#[test]
fn what_the_sandbox_could_not_see_is_masked_and_never_compared() {
    let bench = Bench::with(Role::Home, "/home/ann", 1);
    bench
        .base(".ssh/id", "SECRET")
        .upper(".ssh/id", "forged")
        .mark(".ssh", "opaque", "y");
    bench
        .base("keys/id.pem", "SECRET")
        .base("keys/note", "x")
        .whiteout("keys");
    let hidden = |path: &Path| path.ends_with(".ssh") || path.ends_with("id.pem");
    let set = bench.compute(&Options {
        masked: Some(&hidden),
        ..Options::default()
    });
    let masked: Vec<_> = set.outside.iter().map(|change| change.masked).collect();
    assert_eq!(
        told(&set.outside),
        [
            "A /home/ann/.ssh",
            "A /home/ann/.ssh/id",
            "D /home/ann/keys",
            "D /home/ann/keys/id.pem",
            "D /home/ann/keys/note"
        ]
    );
    assert_eq!(masked, [true, true, false, true, false]);
    let text: String = set.outside[..3].iter().map(diff).collect();
    assert!(!text.contains("SECRET"));
    assert!(set.project.is_empty());
}

#[test]
fn bulk_is_counted_apart() {
    let bench = Bench::new();
    bench
        .upper("target/debug/a", "1234")
        .upper("src", "x")
        .base("target/old", "1")
        .whiteout("target/old");
    let bulk = |path: &Path| path.ends_with("target");
    let options = Options {
        bulk: Some(&bulk),
        ..Options::default()
    };
    let set = bench.compute(&options);
    assert_eq!(told(&set.project), ["A src"]);
    assert_eq!(set.bulk.len(), 1);
    assert_eq!(set.bulk[0].path, Path::new("target"));
    let tally = Tally {
        added: 1,
        modified: 0,
        deleted: 1,
        bytes: 4,
    };
    assert_eq!(set.bulk[0].tally, tally);
    assert!(set.bulk[0].changes.is_empty());
    let full = bench.compute(&Options {
        bulk_detail: Detail::Full,
        ..options
    });
    assert_eq!(full.bulk[0].changes.len(), 3);
}

#[test]
fn an_overlay_of_bulk_belongs_to_the_project() {
    let project = Bench::new();
    let bulk = Bench::with(Role::Bulk, "/home/ann/shop/node_modules", 1);
    bulk.upper("left-pad/index.js", "x");
    let set = ChangeSet::compute(&[project.stack(), bulk.stack()], &Options::default()).unwrap();
    assert_eq!(set.bulk[0].path, Path::new("node_modules"));
    assert_eq!(set.bulk[0].tally.added, 1);
    assert!(set.project.is_empty() && !set.is_empty());
}

#[test]
fn a_container_engines_layers_in_the_base_are_data() {
    let bench = Bench::new();
    bench.base("var/lib/layer/a", "x");
    let odd = bench.at("0", "var/lib/layer");
    setxattr(
        odd,
        "user.overlay.redirect",
        b"/elsewhere",
        XattrFlags::empty(),
    )
    .unwrap();
    bench.whiteout("var");
    assert_eq!(
        bench.told(),
        ["D var", "D var/lib", "D var/lib/layer", "D var/lib/layer/a"]
    );
}

#[test]
fn a_linked_worktrees_repository_is_the_projects_own() {
    let home = Bench::with(Role::Home, "/home/ann", 1);
    let (old, new) = ("a".repeat(40), "b".repeat(40));
    for directory in ["main/.git", "other/.git"] {
        home.base(format!("{directory}/HEAD"), "ref: refs/heads/main\n");
        home.base(format!("{directory}/refs/heads/main"), &old);
        home.upper(format!("{directory}/refs/heads/main"), &new);
    }
    let project = Bench::with(Role::Project, "/home/ann/side", 1);
    project.base(".git", "gitdir: /home/ann/main/.git/worktrees/side\n");
    let set = ChangeSet::compute(&[project.stack(), home.stack()], &Options::default()).unwrap();
    let told: Vec<_> = set
        .repositories
        .iter()
        .map(|repository| (repository.directory.to_str().unwrap(), repository.outside))
        .collect();
    assert_eq!(
        told,
        [
            ("/home/ann/main/.git", false),
            ("/home/ann/other/.git", true)
        ]
    );
    let moved = git::RefChange {
        name: "refs/heads/main".into(),
        before: Some(old),
        after: Some(new),
    };
    assert_eq!(set.repositories[0].refs, [moved]);
    assert!(set.outside.is_empty());
}
