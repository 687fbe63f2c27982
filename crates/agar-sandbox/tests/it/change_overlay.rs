//! Change sets against the kernel: random work on a real overlay, compared tree by tree.
//!
//! The work is a shell script run in a user namespace of its own, over a mount with the options
//! that the jail uses. The merged tree is copied out from inside, and the change set must be
//! exactly what a plain comparison of the two trees finds.

use crate::overlay::{self, World};
use agar_sandbox::change::{Action, Change, ChangeSet, unified};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// The paths that bases and work are made of: nested, odd, and in each other's way.
const PATHS: [&[u8]; 16] = [
    b"a",
    b"b",
    b"c.txt",
    b"d",
    b"d/a",
    b"d/b",
    b"d/e",
    b"d/e/f",
    b"d/e/g",
    b"h/i/j",
    b"h/i",
    b"sp ace/q\"uote",
    b"new\nline",
    b"\xff\xfe",
    "größe".as_bytes(),
    b"-dash\\back",
];

/// What a tree holds at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    File { mode: u32, text: Vec<u8> },
    Directory { mode: u32 },
    Link { target: PathBuf },
    Fifo { mode: u32 },
}

type Tree = BTreeMap<PathBuf, Node>;

/// One piece of work, as a line of shell.
#[derive(Debug, Clone)]
enum Op {
    Write(usize, String),
    Append(usize, String),
    Rewrite(usize),
    Delete(usize),
    Rename(usize, usize),
    Chmod(usize, u32),
    Link(usize, usize),
    HardLink(usize, usize),
    Recreate(usize, String),
    Fifo(usize),
    MakeDirectory(usize),
    Touch(usize),
}

fn text() -> impl Strategy<Value = String> {
    // Few distinct lines, so that diffs, renames and equal contents all happen.
    let line = prop_oneof!["[a-d]{0,3}", Just("carriage\r".to_owned())];
    (proptest::collection::vec(line, 0..8), any::<bool>()).prop_map(|(lines, ended)| {
        let text = lines.join("\n");
        if ended { text + "\n" } else { text }
    })
}

fn op() -> impl Strategy<Value = Op> {
    let path = || 0..PATHS.len();
    let mode = prop_oneof![Just(0o644_u32), Just(0o755), Just(0o700), Just(0o600)];
    prop_oneof![
        (path(), text()).prop_map(|(at, text)| Op::Write(at, text)),
        (path(), text()).prop_map(|(at, text)| Op::Append(at, text)),
        path().prop_map(Op::Rewrite),
        path().prop_map(Op::Delete),
        (path(), path()).prop_map(|(from, to)| Op::Rename(from, to)),
        (path(), mode).prop_map(|(at, mode)| Op::Chmod(at, mode)),
        (path(), path()).prop_map(|(at, target)| Op::Link(at, target)),
        (path(), path()).prop_map(|(from, to)| Op::HardLink(from, to)),
        (path(), text()).prop_map(|(at, text)| Op::Recreate(at, text)),
        path().prop_map(Op::Fifo),
        path().prop_map(Op::MakeDirectory),
        path().prop_map(Op::Touch),
    ]
}

/// A path or text in single quotes.
fn quoted(bytes: &[u8]) -> Vec<u8> {
    let mut quoted = vec![b'\''];
    for byte in bytes {
        match byte {
            b'\'' => quoted.extend(b"'\\''"),
            byte => quoted.push(*byte),
        }
    }
    quoted.push(b'\'');
    quoted
}

/// Pieces of a shell line; a path or a text is quoted, a word is not.
struct Line(Vec<u8>);

impl Line {
    fn word(mut self, word: &str) -> Self {
        self.0.extend(word.as_bytes());
        self.0.push(b' ');
        self
    }

    fn quoted(mut self, bytes: &[u8]) -> Self {
        self.0.extend(quoted(bytes));
        self.0.push(b' ');
        self
    }

    fn at(self, path: usize) -> Self {
        self.quoted(&[b"./", PATHS[path]].concat())
    }

    /// Makes the directories above a path.
    fn above(self, path: usize) -> Self {
        let path = Path::new(OsStr::from_bytes(PATHS[path]));
        let parent = path.parent().unwrap().as_os_str().as_bytes();
        self.word("mkdir -p")
            .quoted(&[b"./", parent].concat())
            .word(";")
    }

    fn print(self, text: &str) -> Self {
        self.word("printf %s").quoted(text.as_bytes())
    }
}

fn shell(op: &Op) -> Vec<u8> {
    let line = Line(b"{ ".to_vec());
    let line = match op {
        // Writing to a FIFO would wait for its reader.
        Op::Write(path, text) => {
            let guarded = line.above(*path).word("[ -p").at(*path).word("] ||");
            guarded.print(text).word(">").at(*path)
        }
        Op::Append(path, text) => {
            let guarded = line.word("[ -f").at(*path).word("] &&");
            guarded.print(text).word(">>").at(*path)
        }
        Op::Rewrite(path) => {
            let copied = line
                .word("[ -f")
                .at(*path)
                .word("] && cp")
                .at(*path)
                .word("../same");
            copied.word("&& cat ../same >").at(*path)
        }
        Op::Delete(path) => line.word("rm -rf").at(*path),
        Op::Rename(from, to) => line.above(*to).word("mv -fT").at(*from).at(*to),
        // A directory keeps the bits that let us look into it.
        Op::Chmod(path, mode) => {
            let guarded = line
                .word("{ [ -f")
                .at(*path)
                .word(&format!("] || [ {mode:o} -ge 700 ]; }}"));
            guarded.word(&format!("&& chmod {mode:o}")).at(*path)
        }
        Op::Link(path, target) => line
            .above(*path)
            .word("ln -sfT")
            .quoted(PATHS[*target])
            .at(*path),
        Op::HardLink(from, to) => line.above(*to).word("ln -fT").at(*from).at(*to),
        Op::Recreate(path, text) => {
            let made = line
                .word("rm -rf")
                .at(*path)
                .word("; mkdir -p")
                .at(*path)
                .word("&&");
            made.print(text)
                .word(">")
                .quoted(&[b"./", PATHS[*path], b"/a"].concat())
        }
        Op::Fifo(path) => line.word("mkfifo").at(*path),
        Op::MakeDirectory(path) => line.word("mkdir -p").at(*path),
        Op::Touch(path) => line.word("touch -d 2001-01-01").at(*path),
    };
    // The script goes on whatever fails: impossible work is part of the test.
    line.word("; } 2>/dev/null\n").0
}

fn tree(root: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for item in fs_err::read_dir(root.join(&folder)).unwrap() {
            let path = folder.join(item.unwrap().file_name());
            let node = node(&root.join(&path));
            if matches!(node, Node::Directory { .. }) {
                folders.push(path.clone());
            }
            tree.insert(path, node);
        }
    }
    tree
}

fn node(path: &Path) -> Node {
    let status = fs_err::symlink_metadata(path).unwrap();
    let mode = status.permissions().mode() & 0o7777;
    let kind = status.file_type();
    if kind.is_dir() {
        Node::Directory { mode }
    } else if kind.is_symlink() {
        Node::Link {
            target: fs_err::read_link(path).unwrap(),
        }
    } else if kind.is_fifo() {
        Node::Fifo { mode }
    } else {
        Node::File {
            mode,
            text: fs_err::read(path).unwrap(),
        }
    }
}

/// The plain comparison: what happened to each path, in a word.
fn difference(base: &Tree, now: &Tree) -> BTreeMap<PathBuf, &'static str> {
    let mut found = BTreeMap::new();
    for path in base.keys().chain(now.keys()) {
        let word = match (base.get(path), now.get(path)) {
            (Some(was), Some(is)) if was == is => continue,
            (Some(was), Some(is)) => compare(was, is),
            (Some(_), None) => "deleted",
            (None, _) => "added",
        };
        found.insert(path.clone(), word);
    }
    found
}

fn compare(was: &Node, is: &Node) -> &'static str {
    match (was, is) {
        (Node::File { text: old, .. }, Node::File { text: new, .. }) if old != new => "modified",
        (Node::Link { .. }, Node::Link { .. }) => "modified",
        (Node::File { .. }, Node::File { .. })
        | (Node::Directory { .. }, Node::Directory { .. })
        | (Node::Fifo { .. }, Node::Fifo { .. }) => "mode_changed",
        _ => "type_changed",
    }
}

/// The change set in the same words; a rename is a deletion and an addition.
fn words(changes: &[Change]) -> BTreeMap<PathBuf, &'static str> {
    let mut words = BTreeMap::new();
    for change in changes {
        let word = if let Action::Renamed { from, .. } = &change.action {
            words.insert(from.clone(), "deleted");
            "added"
        } else {
            change.action.word()
        };
        words.insert(change.path.clone(), word);
    }
    words
}

/// What a diff can carry of a tree: contents, links and whether a file may be executed.
fn carried(tree: Tree) -> Tree {
    tree.into_iter()
        .filter_map(|(path, node)| match node {
            Node::File { mode, text } => Some((
                path,
                Node::File {
                    mode: mode & 0o100,
                    text,
                },
            )),
            Node::Link { .. } => Some((path, node)),
            Node::Directory { .. } | Node::Fifo { .. } => None,
        })
        .collect()
}

/// Removes what git does not know and would stumble over: FIFOs and empty directories.
fn prune(directory: &Path) {
    for what in [&["-type", "p"][..], &["-type", "d", "-empty"]] {
        let mut find = Command::new("find");
        find.arg(directory).args(["-mindepth", "1"]);
        assert!(find.args(what).arg("-delete").status().unwrap().success());
    }
}

fn git_apply(directory: &Path, patch: &[u8]) {
    let mut git = Command::new("git")
        .args(["apply", "--allow-empty", "--whitespace=nowarn", "-"])
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CEILING_DIRECTORIES", directory.parent().unwrap())
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    git.stdin.take().unwrap().write_all(patch).unwrap();
    let output = git.wait_with_output().unwrap();
    assert!(
        output.status.success(),
        "{}\n{}",
        String::from_utf8_lossy(&output.stderr),
        String::from_utf8_lossy(patch)
    );
}

/// One random base and one random piece of work on it.
fn try_one(base: &[Op], work: &[Op]) {
    let world = World::new();
    world.script("base", &base.iter().flat_map(shell).collect::<Vec<u8>>());
    world.work(&work.iter().flat_map(shell).collect::<Vec<u8>>());
    let (before, after) = (tree(&world.at("base")), tree(&world.at("out")));
    let expected = difference(&before, &after);

    let plain = world.changes(false);
    assert_eq!(words(&plain.project), expected);
    assert_eq!(plain.unread, []);
    let mut sorted = plain.project.clone();
    sorted.sort_by(|a, b| a.path.cmp(&b.path));
    assert_eq!(sorted, plain.project);

    let renamed = world.changes(true);
    assert_eq!(words(&renamed.project), expected);

    // git itself stumbles over a link to itself that becomes a directory.
    if before
        .keys()
        .any(|path| is_loop(&world.at("base").join(path)))
    {
        return;
    }
    for set in [plain, renamed] {
        let copy = TempDir::new().unwrap();
        let target = copy.path().join("copy");
        let mut cp = Command::new("cp");
        cp.arg("-a").arg(world.at("base")).arg(&target);
        assert!(cp.status().unwrap().success());
        prune(&target);
        git_apply(&target, &patch(&set));
        assert_eq!(carried(tree(&target)), carried(after.clone()));
    }
}

fn is_loop(path: &Path) -> bool {
    let answer = rustix::fs::stat(path);
    answer.is_err_and(|error| error == rustix::io::Errno::LOOP)
}

fn patch(set: &ChangeSet) -> Vec<u8> {
    let diff = |change: &Change| unified(change, 3, 1 << 20).unwrap().bytes;
    set.project.iter().flat_map(diff).collect()
}

#[test]
fn a_change_set_is_the_difference_of_the_two_trees() {
    if !overlay::works() {
        agar_testkit::skip!("overlay", "no overlay in a user namespace here");
    }
    let mut runner = TestRunner::new(Config {
        cases: 32,
        failure_persistence: None,
        ..Config::default()
    });
    let ops = |count: std::ops::Range<usize>| proptest::collection::vec(op(), count);
    let outcome = runner.run(&(ops(0..16), ops(1..16)), |(base, work)| {
        try_one(&base, &work);
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}
