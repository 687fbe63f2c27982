//! The rules of merging, on hand-made layers.

use super::*;
use rustix::fs::{CWD, FileType, Mode, XattrFlags, mknodat, setxattr};
use tempfile::TempDir;

/// A view of hand-made layers, topmost first.
struct Bench {
    directory: TempDir,
    count: usize,
}

impl Bench {
    fn new(count: usize) -> Self {
        let directory = TempDir::new().unwrap();
        for layer in 0..count {
            fs_err::create_dir(directory.path().join(layer.to_string())).unwrap();
        }
        Self { directory, count }
    }

    fn at(&self, layer: usize, path: &str) -> PathBuf {
        self.directory.path().join(layer.to_string()).join(path)
    }

    fn file(&self, layer: usize, path: &str, text: &str) -> &Self {
        let path = self.at(layer, path);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, text).unwrap();
        self
    }

    fn whiteout(&self, layer: usize, path: &str) -> &Self {
        let path = self.at(layer, path);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        mknodat(CWD, &path, FileType::CharacterDevice, Mode::empty(), 0).unwrap();
        self
    }

    fn attribute(&self, layer: usize, path: &str, name: &str, value: &str) -> &Self {
        let path = self.at(layer, path);
        setxattr(path, name, value.as_bytes(), XattrFlags::empty()).unwrap();
        self
    }

    fn view(&self) -> View {
        let roots = (0..self.count).map(|layer| self.at(layer, ""));
        View::open(roots, Upper::First).unwrap()
    }

    fn names(&self, path: &str) -> Vec<String> {
        let entries = self.view().read_dir(Path::new(path)).unwrap();
        let name = |(name, _): (std::ffi::OsString, Entry)| name.into_string().unwrap();
        entries.into_iter().map(name).collect()
    }

    fn layer_of(&self, path: &str) -> Option<usize> {
        let entry = self.view().lookup(Path::new(path)).unwrap();
        entry.map(|entry| entry.layer)
    }
}

#[test]
fn the_topmost_entry_wins_and_directories_merge() {
    let bench = Bench::new(3);
    bench
        .file(0, "d/a", "top")
        .file(1, "d/a", "mid")
        .file(1, "d/b", "mid");
    bench.file(2, "d/c", "low");
    assert_eq!(bench.names("d"), ["a", "b", "c"]);
    assert_eq!(bench.layer_of("d/a"), Some(0));
    assert_eq!(bench.layer_of("d/c"), Some(2));
    let entry = bench.view().lookup(Path::new("d/a")).unwrap().unwrap();
    assert!(entry.is_upper);
    assert_eq!(entry.place.read(10).unwrap().unwrap(), b"top");
    assert_eq!(entry.place.read(2).unwrap(), None);
}

#[test]
fn a_device_whiteout_hides_what_lies_below() {
    let bench = Bench::new(3);
    bench
        .whiteout(1, "gone")
        .file(2, "gone", "x")
        .file(2, "kept", "x");
    assert_eq!(bench.names(""), ["kept"]);
    assert_eq!(bench.layer_of("gone"), None);
}

#[test]
fn whiteouts_that_share_an_inode_are_each_a_whiteout() {
    let bench = Bench::new(2);
    bench
        .whiteout(0, "one")
        .file(1, "one", "")
        .file(1, "two", "");
    fs_err::hard_link(bench.at(0, "one"), bench.at(0, "two")).unwrap();
    assert!(bench.names("").is_empty());
}

#[test]
fn a_whiteout_file_counts_only_in_a_directory_marked_for_it() {
    let bench = Bench::new(2);
    bench
        .file(0, "d/gone", "")
        .file(1, "d/gone", "x")
        .file(0, "e/kept", "");
    bench.attribute(0, "d/gone", "user.overlay.whiteout", "y");
    bench.attribute(0, "d", "user.overlay.opaque", "x");
    bench.attribute(0, "e/kept", "user.overlay.whiteout", "y");
    bench.file(1, "d/below", "shows through: x is not y");
    assert_eq!(bench.names("d"), ["below"]);
    assert_eq!(bench.names("e"), ["kept"]);
}

#[test]
fn an_opaque_directory_hides_the_directory_below() {
    let bench = Bench::new(3);
    bench
        .file(0, "d/new", "")
        .file(1, "d/old", "")
        .file(2, "d/older", "");
    bench.attribute(1, "d", "user.overlay.opaque", "y");
    assert_eq!(bench.names("d"), ["new", "old"]);
    assert_eq!(bench.layer_of("d/older"), None);
}

#[test]
fn a_file_between_directories_ends_the_merge() {
    let bench = Bench::new(3);
    bench
        .file(0, "d/new", "")
        .file(1, "d", "a file")
        .file(2, "d/old", "");
    assert_eq!(bench.names("d"), ["new"]);
}

#[test]
fn a_link_is_an_entry_and_never_a_way() {
    let bench = Bench::new(2);
    bench.file(1, "real/secret", "x");
    fs_err::os::unix::fs::symlink("real", bench.at(0, "link")).unwrap();
    fs_err::os::unix::fs::symlink("loop", bench.at(0, "loop")).unwrap();
    let view = bench.view();
    let link = view.lookup(Path::new("link")).unwrap().unwrap();
    assert_eq!(
        (link.kind, link.place.read_link().unwrap()),
        (Kind::Symlink, "real".into())
    );
    assert!(link.place.open().is_err());
    assert_eq!(view.lookup(Path::new("link/secret")).unwrap(), None);
    assert_eq!(view.lookup(Path::new("loop/x")).unwrap(), None);
}

#[test]
fn a_path_that_leaves_the_view_is_refused() {
    let bench = Bench::new(1);
    for path in ["../x", "/etc/passwd", "a/../../b", ".."] {
        let error = bench.view().lookup(Path::new(path)).unwrap_err();
        assert!(matches!(error, ViewError::Outside { .. }), "{path}");
    }
}

#[test]
fn a_fifo_does_not_hang_the_reader() {
    let bench = Bench::new(1);
    mknodat(
        CWD,
        bench.at(0, "pipe"),
        FileType::Fifo,
        Mode::from(0o600),
        0,
    )
    .unwrap();
    let pipe = bench.view().lookup(Path::new("pipe")).unwrap().unwrap();
    assert_eq!(pipe.kind, Kind::Fifo);
    assert!(pipe.place.open().is_err());
}

#[test]
fn a_feature_that_would_be_misread_is_refused() {
    let bench = Bench::new(2);
    bench
        .file(0, "moved/x", "")
        .attribute(0, "moved", "user.overlay.redirect", "/old");
    let error = bench.view().read_dir(Path::new("moved")).unwrap_err();
    assert!(matches!(error, ViewError::Foreign { .. }));
}

#[test]
fn a_path_longer_than_the_kernel_takes_is_read_all_the_same() {
    let bench = Bench::new(2);
    let name = "n".repeat(200);
    let mut here = beneath::open_root(&bench.at(1, "")).unwrap();
    let mut path = PathBuf::new();
    for _ in 0..40 {
        rustix::fs::mkdirat(&here, name.as_str(), Mode::from(0o700)).unwrap();
        let flags = rustix::fs::OFlags::PATH | rustix::fs::OFlags::DIRECTORY;
        here = rustix::fs::openat(&here, name.as_str(), flags, Mode::empty()).unwrap();
        path.push(&name);
    }
    let view = bench.view();
    assert_eq!(view.lookup(&path).unwrap().unwrap().kind, Kind::Directory);
    assert_eq!(view.lookup(&path.join("absent")).unwrap(), None);
}

#[test]
fn a_missing_layer_is_named() {
    let error = View::open(["/nowhere/at/all"], Upper::None).unwrap_err();
    assert_eq!(error.to_string(), "cannot open the layer /nowhere/at/all");
}
