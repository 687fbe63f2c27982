//! A change set in a few lines: what a person needs in order to decide.

use super::block::Block;
use super::human;
use super::palette::{Palette, Tone};
use agar_core::size::Bytes;
use agar_core::text::printable;
use agar_engine::{BulkView, ChangeKind, ChangeView, ChangedFile};

/// Paths that are named before the rest is counted.
const NAMED: usize = 10;

/// Adds the changes of a sandbox below the line before.
pub fn summarize(block: &mut Block, changes: &ChangeView, palette: Palette) {
    match changes.files.as_slice() {
        [] if changes.commits.is_empty() => block.push_more("no changes to the project"),
        [] => {}
        [only] => block.push_more(format!("1 file changed   {}", line(only, palette))),
        files => {
            let total = counts(
                Some(changes.lines_added),
                Some(changes.lines_removed),
                palette,
            );
            block.push_more(format!("{} files changed  {total}", files.len()));
            list(block, files, palette);
        }
    }
    for commit in changes.commits.iter().take(NAMED) {
        let short: String = commit.id.chars().take(8).collect();
        block.push_more(format!(
            "commit {short}  {}  ({})",
            printable(&commit.subject),
            printable(&commit.reference)
        ));
    }
    for bulk in changes.bulk.iter().take(NAMED) {
        block.push_more(palette.paint(Tone::Dim, &bulk_line(bulk)));
    }
    if !changes.unread.is_empty() {
        let many = human::count(changes.unread.len() as u64, "path", "paths");
        let first = changes.unread.first().map_or("", String::as_str);
        block.push_more(format!(
            "{many} could not be read, such as {}",
            printable(first)
        ));
    }
    if let Some(line) = outside(changes) {
        block.push_more(palette.paint(Tone::Dim, &line));
    }
}

/// Every changed path, one a line.
pub fn stat(changes: &ChangeView, palette: Palette) -> String {
    let mut text = String::new();
    for file in &changes.files {
        text.push_str(&line(file, palette));
        text.push('\n');
    }
    for file in &changes.outside {
        let outside = palette.paint(Tone::Dim, "(outside the project)");
        text.extend([&line(file, palette), "  ", &outside, "\n"]);
    }
    let total = counts(
        Some(changes.lines_added),
        Some(changes.lines_removed),
        palette,
    );
    let files = human::count(changes.files.len() as u64, "file", "files");
    text.extend([&files, " changed  ", &total, "\n"]);
    text
}

fn list(block: &mut Block, files: &[ChangedFile], palette: Palette) {
    for file in files.iter().take(NAMED) {
        block.push_more(line(file, palette));
    }
    if files.len() > NAMED {
        let rest = format!("and {} more", files.len() - NAMED);
        block.push_more(palette.paint(Tone::Dim, &rest));
    }
}

/// `Cargo.lock  +41 −38`, `old.rs → new.rs`, `plan.bin  (binary, 3 KB)`.
fn line(file: &ChangedFile, palette: Palette) -> String {
    let path = printable(&file.path);
    let size = if file.binary {
        format!("(binary, {})", Bytes(file.bytes))
    } else if file.what == "file" {
        counts(file.added, file.removed, palette)
    } else {
        format!("({})", printable(&file.what))
    };
    let line = match &file.kind {
        ChangeKind::Added => format!("{path}  {size}  {}", palette.paint(Tone::Good, "new")),
        ChangeKind::Modified => format!("{path}  {size}"),
        ChangeKind::Deleted => format!("{path}  {size}  {}", palette.paint(Tone::Bad, "deleted")),
        ChangeKind::Renamed { from } => format!("{} → {path}  {size}", printable(from)),
        ChangeKind::Mode { from, to } => format!("{path}  mode {from} → {to}"),
        ChangeKind::Retyped { from, to } => {
            format!("{path}  {} → {}", printable(from), printable(to))
        }
    };
    line.replace("    ", "  ").trim_end().to_owned()
}

fn counts(added: Option<u64>, removed: Option<u64>, palette: Palette) -> String {
    let (Some(added), Some(removed)) = (added, removed) else {
        return String::new();
    };
    format!(
        "{} {}",
        palette.paint(Tone::Good, &format!("+{added}")),
        palette.paint(Tone::Bad, &format!("−{removed}"))
    )
}

/// `target/  +120 files, 31 MB (ignored)`.
fn bulk_line(bulk: &BulkView) -> String {
    let files = human::count(bulk.added + bulk.modified + bulk.deleted, "file", "files");
    let path = printable(&bulk.path);
    format!("{path}/  {files}, {} (ignored)", Bytes(bulk.bytes))
}

fn outside(changes: &ChangeView) -> Option<String> {
    let first = changes.outside.first()?;
    let many = human::count(changes.outside.len() as u64, "path", "paths");
    Some(format!(
        "outside the project: {many} changed, such as {}; not applied unless named",
        printable(&first.path)
    ))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use agar_engine::answer::CommitView;

    pub(crate) fn file(path: &str, kind: ChangeKind, added: u64, removed: u64) -> ChangedFile {
        ChangedFile {
            path: path.to_owned(),
            kind,
            what: "file".to_owned(),
            added: Some(added),
            removed: Some(removed),
            binary: false,
            bytes: 100,
        }
    }

    fn summary(changes: &ChangeView) -> String {
        let mut block = Block::new();
        summarize(&mut block, changes, Palette::Plain);
        block.render(Palette::Plain)
    }

    #[test]
    fn one_file_is_named_on_the_same_line() {
        let changes = ChangeView {
            files: vec![file("Cargo.lock", ChangeKind::Modified, 41, 38)],
            lines_added: 41,
            lines_removed: 38,
            ..ChangeView::default()
        };
        insta::assert_snapshot!(summary(&changes), @"      1 file changed   Cargo.lock  +41 −38");
    }

    #[test]
    fn every_sort_of_change_reads_as_what_it_is() {
        let mut binary = file("plan.bin", ChangeKind::Added, 0, 0);
        binary.binary = true;
        binary.bytes = 3 << 10;
        let mut directory = file("empty", ChangeKind::Added, 0, 0);
        directory.what = "directory".to_owned();
        let renamed = ChangeKind::Renamed {
            from: "old.rs".to_owned(),
        };
        let mode = ChangeKind::Mode {
            from: "644".to_owned(),
            to: "755".to_owned(),
        };
        let retyped = ChangeKind::Retyped {
            from: "file".to_owned(),
            to: "symlink".to_owned(),
        };
        let changes = ChangeView {
            files: vec![
                file("evil\x1b[2J.txt", ChangeKind::Added, 1, 0),
                file("gone.rs", ChangeKind::Deleted, 0, 9),
                file("new.rs", renamed, 0, 0),
                file("run.sh", mode, 0, 0),
                file("link", retyped, 0, 0),
                binary,
                directory,
            ],
            outside: vec![file("/home/ana/.npm/x", ChangeKind::Added, 0, 0)],
            masked: Vec::new(),
            bulk: vec![BulkView {
                path: "target".to_owned(),
                added: 120,
                modified: 0,
                deleted: 1,
                bytes: 31 << 20,
            }],
            unread: vec!["locked".to_owned()],
            commits: vec![CommitView {
                id: "0123456789abcdef".to_owned(),
                subject: "fix it".to_owned(),
                reference: "main".to_owned(),
            }],
            lines_added: 1,
            lines_removed: 9,
        };
        insta::assert_snapshot!(summary(&changes), @r"
              7 files changed  +1 −9
              evil\e[2J.txt  +1 −0  new
              gone.rs  +0 −9  deleted
              old.rs → new.rs  +0 −0
              run.sh  mode 644 → 755
              link  file → symlink
              plan.bin  (binary, 3 KB)  new
              empty  (directory)  new
              commit 01234567  fix it  (main)
              target/  121 files, 31 MB (ignored)
              1 path could not be read, such as locked
              outside the project: 1 path changed, such as /home/ana/.npm/x; not applied unless named
        ");
    }

    #[test]
    fn a_long_list_is_cut_and_says_so() {
        let changes = ChangeView {
            files: (0..14)
                .map(|n| file(&format!("f{n}"), ChangeKind::Modified, 1, 1))
                .collect(),
            ..ChangeView::default()
        };
        assert!(summary(&changes).ends_with("and 4 more\n"));
        assert_eq!(stat(&changes, Palette::Plain).lines().count(), 15);
    }
}
