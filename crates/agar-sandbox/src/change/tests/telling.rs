//! How changes are told: as a diff, a table and JSON.

use super::*;

#[test]
fn the_json_keeps_its_shape() {
    let bench = Bench::new();
    bench
        .base("a", "one\ntwo\n")
        .upper("a", "one\n2\nthree\n")
        .base("b", "x")
        .whiteout("b");
    fs_err::os::unix::fs::symlink("a", bench.at("upper", "link")).unwrap();
    let json = serde_json::to_value(bench.changes()).unwrap();
    let file = |size| serde_json::json!({"kind": "file", "mode": "0644", "size": size});
    let expected = serde_json::json!({
        "project": [
            {
                "path": "a", "action": "modified", "role": "project", "masked": false,
                "binary": false, "lines": {"added": 2, "removed": 1},
                "before": file(8), "after": file(12),
            },
            {
                "path": "b", "action": "deleted", "role": "project", "masked": false,
                "binary": false, "lines": {"added": 0, "removed": 1},
                "before": file(1), "after": null,
            },
            {
                "path": "link", "action": "added", "role": "project", "masked": false,
                "binary": false, "lines": {"added": 1, "removed": 0},
                "before": null,
                "after": {"kind": "symlink", "mode": "0777", "size": 1, "target": "a"},
            },
        ],
        "outside": [], "bulk": [], "repositories": [], "unread": [],
    });
    assert_eq!(json, expected);
}

#[test]
fn a_missing_newline_and_carriage_returns_survive_the_diff() {
    let bench = Bench::new();
    bench.base("a", "one\r\ntwo").upper("a", "one\r\n2\r\n");
    assert_eq!(
        diff(&bench.changes().project[0]),
        "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n one\r\n-two\n\
         \\ No newline at end of file\n+2\r\n"
    );
}

#[test]
fn what_is_not_text_or_too_large_is_said_and_not_shown() {
    let bench = Bench::new();
    bench
        .base("a", "x\0")
        .upper("a", "y\0")
        .upper("big", &"line\n".repeat(100));
    let set = bench.compute(&Options {
        text_bytes_max: 100,
        ..Options::default()
    });
    assert!(set.project[0].binary && !set.project[1].binary);
    assert_eq!((set.project[0].lines, set.project[1].lines), (None, None));
    let (binary, big) = (&set.project[0], &set.project[1]);
    assert_eq!(
        diff(binary),
        "diff --git a/a b/a\nBinary files a/a and b/a differ\n"
    );
    let notice = unified(big, 3, 100).unwrap().notice;
    assert_eq!(notice, Some(Notice::TooLarge));
}

#[test]
fn the_table_counts_lines_and_leaves_directories_out() {
    let bench = Bench::new();
    bench
        .base("a", "1\n2\n")
        .upper("a", "1\n")
        .upper("d/b", "1\n2\n3");
    let set = bench.changes();
    let stat = set.stat();
    let total = stat::Total {
        files: 2,
        added: 3,
        removed: 1,
    };
    assert_eq!((stat.rows.len(), stat.total), (2, total));
}

#[test]
fn a_diff_for_the_terminal_spells_control_characters_out() {
    let bench = Bench::new();
    bench.upper("a", "\tcolour \u{1b}[31m\r\n");
    let change = &bench.changes().project[0];
    let shown = unified(change, 3, 100).unwrap().printable();
    assert!(shown.ends_with("+\tcolour \\e[31m\\r\n"), "{shown}");
}

#[test]
fn patch_takes_the_diff_too() {
    let bench = Bench::new();
    let text = (0..30).fold(String::new(), |text, n| text + &format!("line {n}\n"));
    bench
        .base("sp ace/a", &text)
        .upper("sp ace/a", &text.replace("line 3\n", ""));
    bench
        .base("gone", "x\n")
        .whiteout("gone")
        .upper("made/b", "y");
    let patch: String = bench.changes().project.iter().map(diff).collect();
    fs_err::write(bench.directory.path().join("patch"), patch).unwrap();
    let status = std::process::Command::new("patch")
        .args(["-s", "-p1", "-i", "../patch"])
        .current_dir(bench.directory.path().join("0"))
        .status();
    match status {
        // Not every machine has it; that `git apply` takes the diff is tried on all.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return,
        status => assert!(status.unwrap().success()),
    }
    let base = bench.directory.path().join("0");
    assert_eq!(fs_err::read(base.join("made/b")).unwrap(), b"y");
    assert!(!base.join("gone").exists());
    let edited = fs_err::read_to_string(base.join("sp ace/a")).unwrap();
    assert_eq!(edited, text.replace("line 3\n", ""));
}
