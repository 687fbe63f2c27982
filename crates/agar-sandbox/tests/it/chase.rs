//! A copy that was begun while its tree changed ends as the tree does.

use agar_sandbox::copy::Chase;
use rustix::fs::XattrFlags;
use std::collections::BTreeMap;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Longer than any clock that stamps files takes to tick.
const TICK_NS: i64 = 40_000_000;

/// Where a tree and its copy lie: not in `/tmp`, which may be a filesystem that stamps nothing.
struct Place {
    home: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let base = agar_testkit::world::base_directory();
        fs_err::create_dir_all(&base).unwrap();
        let home = tempfile::tempdir_in(base).unwrap();
        for directory in ["tree", "copy"] {
            fs_err::create_dir(home.path().join(directory)).unwrap();
        }
        Self { home }
    }

    fn tree(&self, path: &str) -> PathBuf {
        self.home.path().join("tree").join(path)
    }

    fn write(&self, path: &str, text: &str) {
        fs_err::write(self.tree(path), text).unwrap();
    }

    fn begin(&self) -> Chase {
        Chase::begin(
            &self.home.path().join("tree"),
            &self.home.path().join("copy"),
        )
        .unwrap()
    }

    /// Lets so much time go by that nothing of the tree changed in the tick of the next look.
    fn settle(&self) {
        let stamp = || {
            self.write("stamp", "");
            self.tree("stamp").metadata().unwrap()
        };
        let time = |found: std::fs::Metadata| found.ctime() * 1_000_000_000 + found.ctime_nsec();
        let began = time(stamp());
        while time(stamp()) < began + TICK_NS {
            std::thread::yield_now();
        }
        fs_err::remove_file(self.tree("stamp")).unwrap();
    }

    fn ends_the_same(&self, mut chase: Chase) {
        let brought = chase.catch_up().unwrap();
        let whole = (brought.left_out, brought.unstable, brought.unreadable);
        assert_eq!(whole, (vec![], vec![], vec![]));
        let (tree, copy) = (self.home.path().join("tree"), self.home.path().join("copy"));
        let (tree, copy) = (described(&tree), described(&copy));
        let differs = |(path, line): &(&PathBuf, &String)| copy.get(*path) != Some(line);
        let lacks: Vec<_> = tree.iter().filter(differs).collect();
        assert!(lacks.is_empty(), "not in the copy: {lacks:#?}");
        assert!(copy.keys().eq(tree.keys()), "only in the copy: {copy:#?}");
    }
}

/// Every entry of a tree, with all that a copy must have.
fn described(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut all = BTreeMap::new();
    let mut inodes = BTreeMap::new();
    let mut waiting = vec![PathBuf::new()];
    while let Some(path) = waiting.pop() {
        let full = root.join(&path);
        let found = full.symlink_metadata().unwrap();
        let first = inodes.entry(found.ino()).or_insert_with(|| path.clone());
        let what = if found.is_dir() {
            let mut names: Vec<_> = fs_err::read_dir(&full).unwrap().flatten().collect();
            names.sort_by_key(fs_err::DirEntry::file_name);
            waiting.extend(names.iter().map(|name| path.join(name.file_name())).rev());
            String::new()
        } else if found.is_symlink() {
            full.read_link().unwrap().display().to_string()
        } else if found.is_file() {
            format!("{:?} of {}", fs_err::read(&full).unwrap(), first.display())
        } else {
            "special".to_owned()
        };
        let marks = marks(&full);
        let time = (found.mtime(), found.mtime_nsec());
        let line = format!("{:o} {time:?} {what} {marks:?}", found.mode());
        all.insert(path, line);
    }
    all
}

/// The marks and notes of an entry; a link has none of its own.
fn marks(path: &Path) -> Vec<String> {
    let (mut names, mut value) = ([0_u8; 1024], [0_u8; 1024]);
    let length = rustix::fs::llistxattr(path, &mut names).unwrap();
    let names = names[..length].split(|byte| *byte == 0);
    let ours = names.filter(|name| name.starts_with(b"user."));
    ours.map(|name| {
        let length = rustix::fs::lgetxattr(path, name, &mut value).unwrap();
        format!("{:?}", (String::from_utf8_lossy(name), &value[..length]))
    })
    .collect()
}

fn plant(place: &Place) {
    for directory in ["a", "a/deep", "b", "c", "marked"] {
        fs_err::create_dir(place.tree(directory)).unwrap();
    }
    for number in 0..50 {
        place.write(&format!("a/{number}"), &format!("file {number}"));
    }
    for file in ["b/one", "b/two", "c/x", "a/deep/y", "swap", "closed"] {
        place.write(file, file);
    }
    fs_err::hard_link(place.tree("b/one"), place.tree("b/same")).unwrap();
    symlink("b/one", place.tree("link")).unwrap();
    mark(place, "marked", "user.overlay.opaque", "y");
    mark(place, "b/two", "user.note", "two");
}

fn mark(place: &Place, path: &str, name: &str, value: &str) {
    rustix::fs::setxattr(
        place.tree(path),
        name,
        value.as_bytes(),
        XattrFlags::empty(),
    )
    .unwrap();
}

#[test]
fn a_tree_that_stays_as_it_is_is_copied_before_the_last_round() {
    let place = Place::new();
    plant(&place);
    place.settle();
    let mut chase = place.begin();
    assert_eq!(chase.catch_up().unwrap().entries, 0);
    place.ends_the_same(chase);
}

#[test]
fn whatever_changes_after_the_first_rounds_is_in_the_copy() {
    let changes: [fn(&Place); 9] = [
        |place| {
            // The same size and the same time: only the change time tells.
            let time = place.tree("a/7").metadata().unwrap().modified().unwrap();
            place.write("a/7", "FILE 7");
            let file = fs_err::File::options().write(true).open(place.tree("a/7"));
            file.unwrap().set_modified(time).unwrap();
        },
        |place| fs_err::rename(place.tree("a"), place.tree("moved")).unwrap(),
        |place| {
            fs_err::rename(place.tree("b"), place.tree("other")).unwrap();
            fs_err::rename(place.tree("c"), place.tree("b")).unwrap();
            fs_err::rename(place.tree("other"), place.tree("c")).unwrap();
        },
        |place| {
            fs_err::remove_file(place.tree("b/one")).unwrap();
            fs_err::hard_link(place.tree("b/same"), place.tree("a/third")).unwrap();
        },
        |place| {
            fs_err::remove_file(place.tree("swap")).unwrap();
            fs_err::create_dir(place.tree("swap")).unwrap();
            place.write("swap/in", "in");
            fs_err::remove_dir_all(place.tree("a/deep")).unwrap();
            place.write("a/deep", "a file now");
        },
        |place| {
            rustix::fs::removexattr(place.tree("marked"), "user.overlay.opaque").unwrap();
            mark(place, "a", "user.overlay.opaque", "y");
            rustix::fs::removexattr(place.tree("b/two"), "user.note").unwrap();
        },
        |place| {
            let closed = std::fs::Permissions::from_mode(0o500);
            fs_err::set_permissions(place.tree("a/deep"), closed).unwrap();
            let open = std::fs::Permissions::from_mode(0o755);
            fs_err::set_permissions(place.tree("closed"), open).unwrap();
        },
        |place| {
            fs_err::remove_file(place.tree("link")).unwrap();
            symlink("nowhere", place.tree("link")).unwrap();
            let file = fs_err::File::create(place.tree("sparse")).unwrap();
            file.file().write_all_at(b"end", 3 << 20).unwrap();
        },
        |place| {
            for number in 0..50 {
                fs_err::remove_file(place.tree(&format!("a/{number}"))).unwrap();
            }
        },
    ];
    for change in changes {
        for settles in [false, true] {
            let place = Place::new();
            plant(&place);
            if settles {
                place.settle();
            }
            let chase = place.begin();
            change(&place);
            place.ends_the_same(chase);
        }
    }
}

#[test]
fn a_file_that_is_open_for_writing_is_copied_again_whatever_its_stamps_say() {
    let place = Place::new();
    plant(&place);
    let writer = fs_err::File::options().write(true).open(place.tree("a/9"));
    place.settle();
    let mut chase = place.begin();
    // It may have been written through a mapping, or by a write that is not over.
    assert_eq!(chase.catch_up().unwrap().entries, 1);
    drop(writer.unwrap());
}

/// Whatever can happen to a tree, as fast as it can, until it is told to stop.
fn rage(place: &Place, over: &AtomicBool) {
    let at = |path: String| place.tree(&path);
    let mut round = 0_u32;
    while !over.load(Ordering::SeqCst) {
        round += 1;
        for number in 0..8 {
            place.write(&format!("a/{number}"), &format!("{round}"));
            drop(fs_err::rename(
                at(format!("a/{number}")),
                at(format!("b/{number}")),
            ));
            drop(fs_err::remove_file(at(format!("c/{number}"))));
            drop(fs_err::hard_link(
                at(format!("b/{number}")),
                at(format!("c/{number}")),
            ));
        }
        drop(fs_err::remove_dir_all(place.tree("a/deep")));
        drop(fs_err::create_dir(place.tree("a/deep")));
        place.write("a/deep/y", "y");
        drop(fs_err::remove_file(place.tree("swap")));
        drop(fs_err::create_dir(place.tree("swap")));
        drop(fs_err::remove_dir(place.tree("swap")));
        place.write("swap", &format!("file {round}"));
        drop(fs_err::remove_file(place.tree("link")));
        drop(symlink(format!("{round}"), place.tree("link")));
    }
}

#[test]
fn a_tree_that_changes_faster_than_it_is_copied_is_whole_once_it_stands_still() {
    let place = Place::new();
    plant(&place);
    for _ in 0..10 {
        let over = AtomicBool::new(false);
        let chase = std::thread::scope(|scope| {
            scope.spawn(|| rage(&place, &over));
            let chase = place.begin();
            over.store(true, Ordering::SeqCst);
            chase
        });
        place.ends_the_same(chase);
        fs_err::remove_dir_all(place.home.path().join("copy")).unwrap();
        fs_err::create_dir(place.home.path().join("copy")).unwrap();
    }
}
