//! A frozen base is the project at one moment, whatever happens to the project afterwards.

use agar_core::id::ProjectId;
use agar_core::seam::Timestamp;
use agar_core::walls::BaseKind;
use agar_sandbox::base::{Bases, BulkReason, Choice, DriftManifest, Prepared, Silent};
use agar_sandbox::project::{self, MountTable, Project, StateDir, Surroundings};
use agar_testkit::Tree;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

struct Desk {
    _dir: tempfile::TempDir,
    top: PathBuf,
    around: Surroundings,
    state: StateDir,
}

impl Desk {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        fs_err::create_dir_all(top.join("home")).unwrap();
        fs_err::create_dir_all(top.join("shop")).unwrap();
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
            _dir: dir,
            top,
            around,
            state,
        }
    }

    fn shop(&self) -> PathBuf {
        self.top.join("shop")
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.shop().join(path);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, text).unwrap();
    }

    fn project(&self) -> Project {
        project::at(&self.shop(), &self.around).unwrap()
    }

    fn with_bases<T>(&self, act: impl FnOnce(Bases<'_>) -> T) -> T {
        let project = self.project();
        let id = ProjectId::new(Timestamp::from_millis(1), [7; 10]);
        act(Bases::new(&project, &self.state, id))
    }

    fn freeze(&self) -> Prepared {
        let prepared = self.with_bases(|bases| bases.prepare(Choice::Frozen, &Silent).unwrap());
        assert_eq!(prepared.kind, BaseKind::Frozen);
        prepared
    }

    /// The layers as a real overlay shows them, copied out.
    fn merged(&self, prepared: &Prepared) -> Picture {
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

    fn git(&self, arguments: &[&str]) -> String {
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
struct Picture {
    tree: Tree,
    times: BTreeMap<PathBuf, i128>,
}

impl Picture {
    fn paths(&self) -> Vec<PathBuf> {
        self.tree.paths().map(Path::to_owned).collect()
    }

    fn difference(&self, other: &Self) -> String {
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
fn tree(root: &Path) -> Picture {
    let tree = Tree::read_without(root, &[Path::new(".git/index")]);
    let times = tree
        .paths()
        .map(|path| (path.to_owned(), tree.get(path).unwrap().modified));
    Picture {
        times: times.collect(),
        tree: tree.clone().without_times(),
    }
}

#[test]
fn the_first_generation_is_the_whole_project() {
    let desk = Desk::new();
    desk.write("src/main.rs", "fn main() {}\n");
    desk.write("a b/\u{e9}\n", "odd");
    symlink("../nowhere", desk.shop().join("src/link")).unwrap();
    fs_err::create_dir_all(desk.shop().join("empty")).unwrap();
    let mode = std::fs::Permissions::from_mode(0o550);
    std::fs::set_permissions(desk.shop().join("src/main.rs"), mode).unwrap();
    let prepared = desk.freeze();
    assert_eq!((prepared.generation, prepared.lowers.len()), (Some(0), 1));
    assert_eq!(desk.merged(&prepared).difference(&tree(&desk.shop())), "");
}

#[test]
fn nothing_changed_means_the_same_generation() {
    let desk = Desk::new();
    desk.write("a", "1");
    let first = desk.freeze();
    let second = desk.freeze();
    assert_eq!(
        (first.generation, first.lowers),
        (second.generation, second.lowers)
    );
}

#[test]
fn a_later_generation_holds_only_what_changed() {
    let desk = Desk::new();
    for name in [
        "kept",
        "dir/kept",
        "dir/edited",
        "dir/gone",
        "saved",
        "gone/deep/file",
    ] {
        desk.write(name, name);
    }
    let first = desk.freeze();
    let picture = desk.merged(&first);
    desk.write("dir/edited", "edited in place");
    desk.write("saved.tmp", "saved atomically");
    fs_err::rename(desk.shop().join("saved.tmp"), desk.shop().join("saved")).unwrap();
    fs_err::remove_file(desk.shop().join("dir/gone")).unwrap();
    fs_err::remove_dir_all(desk.shop().join("gone")).unwrap();
    desk.write("new/file", "new");
    let second = desk.freeze();
    assert_eq!(second.generation, Some(1));
    assert_eq!(desk.merged(&second).difference(&tree(&desk.shop())), "");
    assert_eq!(
        desk.merged(&first).difference(&picture),
        "",
        "the earlier one is unchanged"
    );
    let layer: Vec<_> = Tree::read(&second.lowers[0])
        .paths()
        .map(Path::to_owned)
        .collect();
    let expected = [
        "dir",
        "dir/edited",
        "dir/gone",
        "gone",
        "new",
        "new/file",
        "saved",
    ]
    .map(PathBuf::from);
    assert_eq!(layer, expected);
}

#[test]
fn what_becomes_something_else_is_shown_as_what_it_is() {
    let desk = Desk::new();
    for name in ["x/file", "y", "z/deep/er", "l/inner"] {
        desk.write(name, name);
    }
    desk.freeze();
    fs_err::remove_dir_all(desk.shop().join("x")).unwrap();
    desk.write("x", "a file now");
    fs_err::remove_file(desk.shop().join("y")).unwrap();
    desk.write("y/inside", "a directory now");
    fs_err::remove_dir_all(desk.shop().join("z")).unwrap();
    symlink("y", desk.shop().join("z")).unwrap();
    let second = desk.freeze();
    assert_eq!(desk.merged(&second).difference(&tree(&desk.shop())), "");
    // And back again, over the layer that hid them.
    fs_err::remove_file(desk.shop().join("x")).unwrap();
    desk.write("x/other", "other");
    fs_err::remove_file(desk.shop().join("z")).unwrap();
    fs_err::create_dir_all(desk.shop().join("z/deep")).unwrap();
    fs_err::remove_dir_all(desk.shop().join("l")).unwrap();
    let third = desk.freeze();
    desk.write("l/fresh", "");
    let fourth = desk.freeze();
    assert_eq!(fourth.lowers.len(), 4);
    assert_eq!(third.lowers.len(), 3);
    assert_eq!(desk.merged(&fourth).difference(&tree(&desk.shop())), "");
}

#[test]
fn random_trees_stay_themselves_through_random_edits() {
    for seed in 0..12 {
        let desk = Desk::new();
        let mut random = agar_testkit::random::Random::new(seed);
        agar_testkit::random::tree(&mut random, &desk.shop(), 40);
        let mut pictures = vec![(desk.freeze(), tree(&desk.shop()))];
        for _ in 0..5 {
            let paths = tree(&desk.shop()).paths();
            for operation in agar_testkit::random::operations(&mut random, &paths, 12) {
                operation.apply(&desk.shop());
            }
            pictures.push((desk.freeze(), tree(&desk.shop())));
        }
        for (prepared, picture) in &pictures {
            let difference = desk.merged(prepared).difference(picture);
            assert_eq!(
                difference, "",
                "seed {seed}, generation {:?}",
                prepared.generation
            );
        }
    }
}

#[test]
fn hard_links_holes_and_attributes_survive() {
    let desk = Desk::new();
    desk.write("one", "shared");
    std::fs::hard_link(desk.shop().join("one"), desk.shop().join("two")).unwrap();
    let hole = fs_err::File::create(desk.shop().join("hole")).unwrap();
    hole.set_len(64 << 20).unwrap();
    let name = c"user.agar.test";
    let flags = rustix::fs::XattrFlags::empty();
    rustix::fs::setxattr(desk.shop().join("one"), name, b"v", flags).unwrap();
    rustix::fs::setxattr(desk.shop().join("two"), c"user.overlay.opaque", b"y", flags).unwrap();
    let layer = desk.freeze().lowers.remove(0);
    let at = |name: &str| layer.join(name).metadata().unwrap();
    assert_eq!((at("one").ino(), at("one").nlink()), (at("two").ino(), 2));
    assert_eq!(at("hole").len(), 64 << 20);
    assert!(at("hole").blocks() < 1000, "holes stay holes");
    let mut value = [0; 8];
    let length = rustix::fs::getxattr(layer.join("two"), name, &mut value).unwrap();
    assert_eq!(&value[..length], b"v");
    let overlay = rustix::fs::getxattr(layer.join("one"), c"user.overlay.opaque", &mut value);
    assert!(
        overlay.is_err(),
        "a project's own overlay marks are not obeyed"
    );
}

#[test]
fn sockets_are_left_out_by_name_and_pipes_are_made_again() {
    let desk = Desk::new();
    let _listener = std::os::unix::net::UnixListener::bind(desk.shop().join("agent")).unwrap();
    let kind = rustix::fs::FileType::Fifo;
    let mode = rustix::fs::Mode::RUSR;
    rustix::fs::mknodat(rustix::fs::CWD, desk.shop().join("pipe"), kind, mode, 0).unwrap();
    let prepared = desk.freeze();
    assert_eq!(
        prepared.notes,
        ["agent is a socket and is not in the picture"]
    );
    let names = tree(&prepared.lowers[0]).paths();
    assert_eq!(names, [PathBuf::from("pipe")]);
    assert_eq!(desk.freeze().generation, prepared.generation);
    // A file in whose place a socket appears is hidden.
    desk.write("file", "");
    desk.freeze();
    fs_err::remove_file(desk.shop().join("file")).unwrap();
    let _other = std::os::unix::net::UnixListener::bind(desk.shop().join("file")).unwrap();
    let names = desk.merged(&desk.freeze()).paths();
    assert_eq!(names, [PathBuf::from("pipe")]);
}

#[test]
fn heavy_caches_stay_live_and_are_named() {
    let desk = Desk::new();
    desk.write("src/lib.rs", "");
    for number in 0..1100 {
        desk.write(&format!("web/node_modules/p{number}/index.js"), "");
    }
    desk.write("other/node_modules/small/index.js", "");
    let prepared = desk.freeze();
    let bulk: Vec<_> = prepared
        .bulk
        .iter()
        .map(|bulk| (bulk.path.as_path(), bulk.reason))
        .collect();
    assert_eq!(bulk, [(Path::new("web/node_modules"), BulkReason::Cache)]);
    let layer = &prepared.lowers[0];
    assert_eq!(
        layer.join("web/node_modules").read_dir().unwrap().count(),
        0
    );
    assert!(layer.join("other/node_modules/small/index.js").is_file());
    desk.write("web/node_modules/p1/index.js", "changed");
    assert_eq!(desk.freeze().generation, prepared.generation);
}

#[test]
fn a_directory_that_grew_into_bulk_is_emptied_in_the_next_picture() {
    let desk = Desk::new();
    desk.write("node_modules/a/index.js", "");
    desk.freeze();
    for number in 0..1100 {
        desk.write(&format!("node_modules/p{number}"), "");
    }
    let second = desk.freeze();
    assert_eq!(second.bulk.len(), 1);
    let names = desk.merged(&second).paths();
    assert_eq!(names, [PathBuf::from("node_modules")]);
}

#[test]
fn tracked_files_are_never_bulk() {
    let desk = Desk::new();
    desk.git(&["init", "-q"]);
    for number in 0..1100 {
        desk.write(&format!("vendor/p{number}"), "");
        desk.write(&format!("build/p{number}"), "");
    }
    desk.git(&["add", "vendor"]);
    let prepared = desk.freeze();
    let bulk: Vec<_> = prepared
        .bulk
        .iter()
        .map(|bulk| bulk.path.as_path())
        .collect();
    assert_eq!(bulk, [Path::new("build")]);
}

#[test]
fn git_finds_the_picture_as_clean_as_the_project_without_reading_it() {
    let desk = Desk::new();
    for number in 0..200 {
        desk.write(&format!("src/f{number}"), &number.to_string());
    }
    desk.git(&["init", "-q"]);
    desk.git(&["add", "."]);
    desk.git(&["commit", "-qm", "one"]);
    desk.write("src/f7", "modified");
    desk.write("untracked", "");
    let picture = desk.freeze();
    assert!(!picture.minimal_git_stat);
    let outside = desk.git(&["status", "--porcelain"]);
    let layer = picture.lowers[0].to_str().unwrap().to_owned();
    assert_eq!(desk.git(&["-C", &layer, "status", "--porcelain"]), outside);
    assert_eq!(outside, " M src/f7\n?? untracked\n");
    desk.git(&["-C", &layer, "fsck", "--strict"]);
    // What git would have to read again: only what it would outside.
    let stale = desk.git(&["-C", &layer, "diff-files", "--name-only"]);
    assert_eq!(stale, "src/f7\n");
    let objects = |root: &Path| Tree::read(&root.join(".git/objects")).len();
    assert_eq!(objects(&picture.lowers[0]), objects(&desk.shop()));
}

#[test]
fn the_index_fits_after_a_checkout_and_after_joining_layers() {
    let desk = Desk::new();
    desk.git(&["init", "-q"]);
    for number in 0..30 {
        desk.write(&format!("f{number}"), &number.to_string());
    }
    desk.git(&["add", "."]);
    desk.git(&["commit", "-qm", "one"]);
    for round in 0..18 {
        desk.freeze();
        desk.write(&format!("f{round}"), "again");
        desk.git(&["commit", "-qam", "more"]);
    }
    desk.git(&["checkout", "-q", "HEAD~3"]);
    let many = desk.freeze();
    assert!(many.lowers.len() > 16 && many.freeze_later);
    let number = desk
        .with_bases(|bases| bases.freeze(&Silent).unwrap())
        .unwrap();
    let joined = desk.freeze();
    assert_eq!((joined.generation, joined.lowers.len()), (Some(number), 1));
    assert_eq!(desk.merged(&joined).difference(&tree(&desk.shop())), "");
    assert_eq!(desk.merged(&many).difference(&tree(&desk.shop())), "");
    let layer = joined.lowers[0].to_str().unwrap().to_owned();
    assert_eq!(desk.git(&["-C", &layer, "diff-files", "--name-only"]), "");
    assert_eq!(desk.git(&["-C", &layer, "status", "--porcelain"]), "");
}

#[test]
fn a_linked_worktree_is_named_as_having_its_index_elsewhere() {
    let desk = Desk::new();
    desk.git(&["init", "-q"]);
    desk.git(&["commit", "-q", "--allow-empty", "-m", "one"]);
    let linked = desk.top.join("linked");
    desk.git(&["worktree", "add", "-q", linked.to_str().unwrap()]);
    let project = project::discover(&linked, &desk.around).unwrap();
    let id = ProjectId::new(Timestamp::from_millis(1), [7; 10]);
    let bases = Bases::new(&project, &desk.state, id);
    let prepared = bases.prepare(Choice::Frozen, &Silent).unwrap();
    assert!(prepared.minimal_git_stat);
    let main = desk.project();
    assert_ne!(
        bases.directory(),
        Bases::new(&main, &desk.state, id).directory()
    );
}

#[test]
fn a_damaged_manifest_is_never_trusted() {
    let desk = Desk::new();
    desk.write("a", "1");
    let first = desk.freeze();
    let manifest = first.lowers[0].parent().unwrap().join("manifest");
    let mut bytes = fs_err::read(&manifest).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs_err::write(&manifest, bytes).unwrap();
    drop(first);
    let second = desk.freeze();
    assert_eq!(second.lowers.len(), 1);
    assert_eq!(desk.merged(&second).difference(&tree(&desk.shop())), "");
}

#[test]
fn after_a_power_failure_a_generation_that_lost_data_is_made_again() {
    let desk = Desk::new();
    desk.write("a", "1");
    desk.write("b", "2");
    let first = desk.freeze();
    let again = |boot: &str| {
        desk.with_bases(|bases| {
            bases
                .during_boot(boot)
                .prepare(Choice::Frozen, &Silent)
                .unwrap()
        })
    };
    assert_eq!(
        again("next").generation,
        first.generation,
        "nothing was lost"
    );
    fs_err::OpenOptions::new()
        .write(true)
        .open(first.lowers[0].join("b"))
        .unwrap()
        .set_len(0)
        .unwrap();
    let made = again("later");
    assert_eq!(
        fs_err::read_to_string(made.lowers[0].join("b")).unwrap(),
        "2"
    );
}

#[test]
fn a_crash_while_freezing_leaves_only_what_the_next_command_clears() {
    let desk = Desk::new();
    desk.write("a", "1");
    let first = desk.freeze();
    let place = first.lowers[0].ancestors().nth(2).unwrap().to_owned();
    fs_err::create_dir_all(place.join("tmp-1/layer/half")).unwrap();
    desk.with_bases(|bases| bases.recover().unwrap());
    assert!(!place.join("tmp-1").exists());
    fs_err::create_dir_all(place.join("tmp-1/layer/half")).unwrap();
    desk.write("b", "2");
    let second = desk.freeze();
    assert!(!place.join("tmp-1").exists());
    assert_eq!(desk.merged(&second).difference(&tree(&desk.shop())), "");
}

#[test]
fn unused_generations_are_collected_and_their_needed_layers_kept() {
    let desk = Desk::new();
    for number in 0..4 {
        desk.write("a", &number.to_string());
        desk.freeze();
    }
    let held = desk.freeze();
    let collect = |used: &[u64]| {
        let used: BTreeSet<u64> = used.iter().copied().collect();
        desk.with_bases(|bases| bases.collect(&used).unwrap())
    };
    assert_eq!(collect(&[]), 0, "not while a sandbox is being made");
    drop(held);
    assert_eq!(collect(&[1]), 0, "every layer is below the newest");
    let third = desk.freeze();
    assert_eq!(desk.merged(&third).difference(&tree(&desk.shop())), "");
    assert_eq!(
        desk.with_bases(|bases| bases.layers_of(1).unwrap().lowers.len()),
        2
    );
    assert!(desk.with_bases(|bases| bases.layers_of(0).is_err()));
}

#[test]
fn a_quick_choice_freezes_a_small_project_and_lets_a_big_one_live() {
    let desk = Desk::new();
    desk.write("a", "1");
    let quick =
        |desk: &Desk| desk.with_bases(|bases| bases.prepare(Choice::Quick, &Silent).unwrap());
    assert_eq!(quick(&desk).kind, BaseKind::Frozen);
    let big = Desk::new();
    for number in 0..9000 {
        big.write(&format!("d{}/f{number}", number / 100), "");
    }
    let live = quick(&big);
    assert_eq!((live.kind, live.freeze_later), (BaseKind::Live, true));
    assert_eq!(live.lowers, [big.shop()]);
    big.with_bases(|bases| bases.freeze(&Silent).unwrap());
    assert_eq!(quick(&big).kind, BaseKind::Frozen);
}

#[test]
fn drift_names_what_changed_on_the_host() {
    let desk = Desk::new();
    for name in ["kept", "dir/edited", "dir/gone"] {
        desk.write(name, name);
    }
    let manifest = DriftManifest::take(&desk.project()).unwrap();
    let file = desk.top.join("drift");
    manifest.save(&file).unwrap();
    let manifest = DriftManifest::load(&file).unwrap();
    assert!(manifest.drift(&desk.project()).unwrap().is_none());
    desk.write("dir/edited", "edited!");
    desk.write("dir/new", "");
    fs_err::remove_file(desk.shop().join("dir/gone")).unwrap();
    let drift = manifest.drift(&desk.project()).unwrap();
    assert_eq!(
        drift.changed,
        [PathBuf::from("dir/edited"), PathBuf::from("dir/new")]
    );
    assert_eq!(drift.removed, [PathBuf::from("dir/gone")]);
    assert!(drift.touches(Path::new("dir/gone")) && !drift.touches(Path::new("kept")));
}
