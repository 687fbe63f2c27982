//! Layers that mean harm, are too large, or cannot be read.

use super::*;
use agar_core::text::printable_bytes;
use std::os::unix::ffi::OsStrExt as _;

#[test]
fn hostile_names_are_told_exactly() {
    let bench = Bench::new();
    let names: [&[u8]; 5] = [
        b"a\nb",
        b"\xff\xfe",
        b"\x1b[2J",
        "\u{202e}gpj".as_bytes(),
        &[b'n'; 255],
    ];
    for name in names {
        bench.upper(OsStr::from_bytes(name), "x");
    }
    let set = bench.changes();
    let mut sorted = names;
    sorted.sort_unstable();
    let found: Vec<_> = set
        .project
        .iter()
        .map(|change| change.path.as_os_str().as_bytes())
        .collect();
    assert_eq!(found, sorted);
    let json = serde_json::to_value(&set).unwrap();
    let odd = &json["project"][4];
    assert_eq!(
        (&odd["path"], &odd["path_base64"]),
        (&"\\xff\\xfe".into(), &"//4=".into())
    );
    assert!(
        set.project.iter().all(|change| {
            !printable_bytes(change.path.as_os_str().as_bytes()).contains('\u{1b}')
        })
    );
    assert!(diff(set.get(Path::new("a\nb")).unwrap()).contains("+++ \"b/a\\nb\"\n"));
}

#[test]
fn a_hundred_thousand_deletions_are_counted_and_listed_up_to_the_limit() {
    let bench = Bench::new();
    for folder in 0..100 {
        let folder = bench
            .at("0", format!("d/{folder}/x"))
            .parent()
            .unwrap()
            .to_owned();
        let first = folder.join("0");
        fs_err::write(&first, "").unwrap();
        for file in 1..1000 {
            // Links are quicker to make than files.
            fs_err::hard_link(&first, folder.join(file.to_string())).unwrap();
        }
    }
    bench.whiteout("d");
    let set = bench.changes();
    let below = set.project[0].below.unwrap();
    assert_eq!((below.files, below.directories), (100_000, 100));
    assert_eq!(below.listed, 10_000);
    assert_eq!(set.project.len(), 10_001);
    // The sum counts what the list leaves out.
    assert!(set.stat().total.files >= 90_100);
    let all = bench.compute(&Options {
        listed_max: usize::MAX,
        lines: false,
        ..Options::default()
    });
    assert_eq!(all.project.len(), 100_101);
}

#[test]
fn a_tree_deeper_than_any_path_is_walked() {
    let bench = Bench::new();
    let upper = bench.directory.path().join("upper");
    let flags = rustix::fs::OFlags::PATH | rustix::fs::OFlags::DIRECTORY;
    let mut here = rustix::fs::open(&upper, flags, Mode::empty()).unwrap();
    for _ in 0..1500 {
        rustix::fs::mkdirat(&here, "deep", Mode::from(0o700)).unwrap();
        here = rustix::fs::openat(&here, "deep", flags, Mode::empty()).unwrap();
    }
    let set = bench.changes();
    assert_eq!(set.project.len(), 1500);
    assert_eq!(set.unread, []);
}

#[test]
fn a_layer_that_is_not_there_is_an_error_that_names_the_overlay() {
    let mut stack = Bench::new().stack();
    stack.upper = "/nowhere".into();
    let error = ChangeSet::compute(&[stack], &Options::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot tell what changed in /home/ann/shop"
    );
}

#[test]
fn what_may_not_be_read_is_named_and_the_rest_is_told() {
    if rustix::process::geteuid().is_root() {
        agar_testkit::skip!("unreadable", "root may read everything");
    }
    let bench = Bench::new();
    bench
        .upper("closed/a", "x")
        .upper("open", "y")
        .chmod("upper", "closed", 0o000);
    bench
        .base("f", "1")
        .upper("f", "2")
        .chmod("upper", "f", 0o000);
    bench
        .base("pass/g", "1")
        .upper("pass/g", "1")
        .chmod("0", "pass", 0o300);
    bench
        .base("way/h", "1")
        .upper("way/h", "1")
        .chmod("0", "way", 0o300)
        .chmod("upper", "way", 0o700);
    bench.chmod("upper", "pass", 0o300);
    let set = bench.changes();
    for (layer, path) in [
        ("upper", "closed"),
        ("upper", "pass"),
        ("0", "pass"),
        ("0", "way"),
    ] {
        bench.chmod(layer, path, 0o700);
    }
    assert_eq!(told(&set.project), ["A closed", "M f", "A open", "M way"]);
    let unread: Vec<_> = set
        .unread
        .iter()
        .map(|unread| unread.path.clone())
        .collect();
    let expected = ["closed", "f", "pass"].map(|name| Path::new("/home/ann/shop").join(name));
    assert_eq!(unread, expected);
}

#[test]
fn a_directory_swapped_for_a_link_never_leads_out_of_the_layer() {
    use rustix::fs::{RenameFlags, renameat_with};
    use std::sync::atomic::{AtomicBool, Ordering};
    let bench = Bench::new();
    let secret = TempDir::new().unwrap();
    fs_err::write(secret.path().join("stolen"), "SECRET").unwrap();
    bench.upper("d/plain", "plain");
    let (directory, link) = (bench.at("upper", "d"), bench.at("aside", "link"));
    fs_err::os::unix::fs::symlink(secret.path(), &link).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                renameat_with(CWD, &directory, CWD, &link, RenameFlags::EXCHANGE).unwrap();
            }
        });
        for _ in 0..300 {
            let set = bench.changes();
            for change in &set.project {
                assert!(!change.path.ends_with("stolen"));
                let bytes = unified(change, 3, 100).map(|diff| diff.bytes);
                assert!(!bytes.unwrap_or_default().windows(6).any(|w| w == b"SECRET"));
            }
        }
        done.store(true, Ordering::Relaxed);
    });
}
