//! Joined layers show what their parts showed, on hand-made layers with every way to hide something.

use super::*;
use rustix::fs::{XattrFlags, setxattr};
use std::collections::BTreeMap;
use tempfile::TempDir;

/// Layers by name, topmost first, and a base below them.
struct Pile(TempDir);

impl Pile {
    fn new() -> Self {
        let pile = Self(TempDir::new().unwrap());
        for layer in ["top", "middle", "bottom", "base"] {
            fs_err::create_dir(pile.at(layer)).unwrap();
        }
        for path in ["kept", "a/x", "b/x", "c/x", "d/x", "e/x", "f/deep/x", "g"] {
            pile.file("base", path, "base");
        }
        pile
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn file(&self, layer: &str, path: &str, text: &str) {
        let path = self.at(layer).join(path);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, text).unwrap();
    }

    /// A device with the number zero.
    fn device(&self, layer: &str, path: &str) {
        let path = self.at(layer).join(path);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        rustix::fs::mknodat(CWD, &path, FileType::CharacterDevice, Mode::empty(), 0).unwrap();
    }

    fn mark(&self, path: &str, name: &str, value: &[u8]) {
        setxattr(self.at(path), name, value, XattrFlags::empty()).unwrap();
    }

    /// An empty file with a mark, in a directory with another.
    fn marked_file(&self, layer: &str, directory: &str, name: &str) {
        self.file(layer, &format!("{directory}/{name}"), "");
        let path = format!("{layer}/{directory}/{name}");
        self.mark(&path, "user.overlay.whiteout", b"y");
        self.mark(&format!("{layer}/{directory}"), super::super::OPAQUE, b"x");
    }

    /// Everything that layers show over the base.
    fn shown(&self, layers: &[&str]) -> BTreeMap<PathBuf, String> {
        let layers = layers.iter().chain([&"base"]).map(|layer| self.at(layer));
        let view = View::open(layers, Upper::None).unwrap();
        let mut shown = BTreeMap::new();
        let mut waiting = vec![PathBuf::new()];
        while let Some(directory) = waiting.pop() {
            for (name, entry) in view.read_dir(&directory).unwrap() {
                let path = directory.join(name);
                let is_directory = entry.kind == Kind::Directory;
                waiting.extend(is_directory.then(|| path.clone()));
                let text = || fs_err::read_to_string(entry.place.real()).unwrap();
                let text = (!is_directory).then(text);
                shown.insert(path, text.unwrap_or_else(|| "/".to_owned()));
            }
        }
        shown
    }
}

#[test]
fn every_way_to_hide_something_hides_it_when_joined() {
    let pile = Pile::new();
    // Deleted by a device, and by a marked file.
    pile.device("bottom", "a/x");
    pile.marked_file("middle", "b", "x");
    // A directory that was deleted in one layer and made again in the next, which says nothing of it.
    pile.device("bottom", "c");
    pile.file("middle", "c/y", "new");
    // An opaque one, with more on top.
    pile.file("bottom", "d/y", "new");
    pile.mark("bottom/d", super::super::OPAQUE, b"y");
    pile.file("top", "d/z", "newer");
    // A file over a directory, a directory over a file.
    pile.file("middle", "e", "file");
    pile.device("bottom", "g");
    pile.file("top", "g/y", "directory");
    // Deleted deep down, and made again.
    pile.device("bottom", "f/deep");
    pile.file("top", "f/deep/y", "again");
    let parts = ["top", "middle", "bottom"];
    let before = pile.shown(&parts);
    let names: Vec<String> = before.keys().map(|it| it.display().to_string()).collect();
    let want = "a b c c/y d d/y d/z e f f/deep f/deep/y g g/y kept";
    assert_eq!(names.join(" "), want);

    let layers: Vec<PathBuf> = parts.iter().map(|layer| pile.at(layer)).collect();
    let below = [pile.at("bottom"), pile.at("base")];
    join(&layers, &below[1..], &pile.at("joined")).unwrap();
    assert_eq!(pile.shown(&["joined"]), before);
    // Of any two that are neighbours, too.
    join(&layers[..2], &below, &pile.at("upper-two")).unwrap();
    assert_eq!(pile.shown(&["upper-two", "bottom"]), before);
    join(&layers[1..], &below[1..], &pile.at("lower-two")).unwrap();
    assert_eq!(pile.shown(&["top", "lower-two"]), before);
}

#[test]
fn a_whiteout_stays_only_where_something_lies_below_that_it_could_hide() {
    let pile = Pile::new();
    // Deleted in a directory of the base, in one that the run made, and in one that hides the base's.
    for path in ["a/x", "made/x", "made/deep/x", "d/y"] {
        pile.file("bottom", path, "old");
        pile.device("top", path);
    }
    pile.mark("bottom/d", super::super::OPAQUE, b"y");
    // One that the layer below deleted is not there to be merged with.
    pile.device("middle", "b");
    pile.device("top", "b/x");
    let names = |layer: &str, directory: &str| {
        let entries = fs_err::read_dir(pile.at(layer).join(directory)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect::<std::collections::BTreeSet<String>>()
    };
    let run = ["top", "bottom"].map(|layer| pile.at(layer));
    join(
        &run,
        &[pile.at("middle"), pile.at("base")],
        &pile.at("joined"),
    )
    .unwrap();
    assert_eq!(names("joined", "a"), ["x".to_owned()].into());
    assert_eq!(names("joined", "made"), ["deep".to_owned()].into());
    for without in ["made/deep", "d", "b"] {
        assert_eq!(names("joined", without), [].into(), "{without}");
    }
    // Where nothing lies below, nothing is hidden.
    join(&run, &[], &pile.at("alone")).unwrap();
    assert_eq!(names("alone", "a"), [].into());
}

#[test]
fn a_directory_that_leads_elsewhere_is_refused() {
    let pile = Pile::new();
    pile.file("bottom", "a/y", "new");
    pile.mark("bottom/a", "user.overlay.redirect", b"/elsewhere");
    let layers = ["middle", "bottom"].map(|layer| pile.at(layer));
    let error = join(&layers, &[pile.at("base")], &pile.at("joined")).unwrap_err();
    assert_eq!(error.kind(), fault::Kind::Unsupported);
}

#[test]
fn a_tree_that_is_deeper_than_a_path_can_be_long_is_joined_like_any_other() {
    let pile = Pile::new();
    let name = "n".repeat(200);
    let path: PathBuf = std::iter::repeat_n(&name, 25).collect();
    for layer in ["top", "bottom", "base"] {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut inner = rustix::fs::open(pile.at(layer), flags, Mode::empty()).unwrap();
        for _ in 0..25 {
            rustix::fs::mkdirat(&inner, name.as_str(), Mode::from(0o751)).unwrap();
            inner = rustix::fs::openat(&inner, name.as_str(), flags, Mode::empty()).unwrap();
        }
        if layer == "top" {
            let device = FileType::CharacterDevice;
            rustix::fs::mknodat(&inner, "gone", device, Mode::empty(), 0).unwrap();
        } else {
            let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
            for file in ["gone", layer] {
                drop(rustix::fs::openat(&inner, file, flags, Mode::RUSR).unwrap());
            }
        }
    }
    let run = ["top", "bottom"].map(|layer| pile.at(layer));
    join(&run, &[pile.at("base")], &pile.at("joined")).unwrap();
    let names = |layers: &[&str]| {
        let layers: Vec<PathBuf> = layers.iter().map(|layer| pile.at(layer)).collect();
        let view = View::open(&layers, Upper::Topmost(layers.len())).unwrap();
        let shown = view.read_dir(&path).unwrap();
        let names: Vec<_> = shown.into_iter().map(|(name, _)| name).collect();
        let directory = view.lookup(&path).unwrap().unwrap();
        (names, directory.mode)
    };
    assert_eq!(names(&["joined"]).0, ["bottom"]);
    assert_eq!(names(&["joined"]), names(&["top", "bottom"]));
    // The whiteout is there as well.
    assert_eq!(names(&["joined", "base"]).0, ["base", "bottom"]);
}

#[test]
fn nothing_is_put_into_a_directory_that_is_there_already() {
    let pile = Pile::new();
    pile.file("top", "new", "new");
    fs_err::create_dir(pile.at("joined")).unwrap();
    let error = join(&[pile.at("top")], &[pile.at("base")], &pile.at("joined")).unwrap_err();
    assert!(matches!(error, JoinError::Target { .. }), "{error}");
    assert_eq!(error.unjoinable(), None);
    assert_eq!(pile.at("joined").read_dir().unwrap().count(), 0);
}

#[test]
fn what_cannot_have_a_further_name_is_the_fault_of_the_layer_that_it_is_in() {
    let error = |errno: Errno| JoinError::Disk {
        layer: PathBuf::from("/layer"),
        path: PathBuf::from("file"),
        source: errno.into(),
    };
    for errno in [Errno::MLINK, Errno::NAMETOOLONG, Errno::PERM, Errno::XDEV] {
        let error = error(errno);
        assert_eq!(error.unjoinable(), Some(Path::new("/layer")), "{errno}");
    }
    // A full disk is nobody's fault, and may have room tomorrow.
    for errno in [Errno::NOSPC, Errno::DQUOT, Errno::IO] {
        assert_eq!(error(errno).unjoinable(), None, "{errno}");
    }
}
