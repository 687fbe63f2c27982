//! A world with this crate's program in it, and outputs without what differs from run to run.

use agar_testkit::{Outcome, World};

/// A project that is not under version control.
pub(crate) fn plain() -> World {
    World::new(env!("CARGO_BIN_EXE_agar"))
}

/// A git repository with a few committed files.
pub(crate) fn repository() -> World {
    World::with_repository(env!("CARGO_BIN_EXE_agar"))
}

/// What was printed and how it ended, as one text for a snapshot.
pub(crate) fn told(world: &World, outcome: &Outcome) -> String {
    let mut text = outcome.stdout.clone();
    if !outcome.stderr.is_empty() {
        text.push_str("--- stderr\n");
        text.push_str(&outcome.stderr);
    }
    let code = outcome.code();
    if code != 0 {
        text.extend(["--- exit ", &code.to_string(), "\n"]);
    }
    steady(world, &text)
}

/// The text with everything that differs from run to run spelled the same.
pub(crate) fn steady(world: &World, text: &str) -> String {
    let mut text = text.replace(&*world.root().to_string_lossy(), "[WORLD]");
    for name in aliases(&text) {
        text = text.replace(&name, "[NAME]");
    }
    text
}

/// Names of sandboxes, found where agar puts them.
fn aliases(text: &str) -> Vec<String> {
    const BEFORE: [&str; 10] = [
        "kept  ",
        "agar  ",
        "discarded  ",
        "removed  ",
        " file of ",
        " files of ",
        "agar apply ",
        "agar diff ",
        "agar exec ",
        "agar attach ",
    ];
    let mut names = Vec::new();
    for marker in BEFORE {
        for (at, _) in text.match_indices(marker) {
            let rest = &text[at + marker.len()..];
            let name: String = rest
                .chars()
                .take_while(|c| c.is_ascii_lowercase() || *c == '-')
                .collect();
            if name.contains('-') && !name.starts_with('-') {
                names.push(name);
            }
        }
    }
    names
}

/// Snapshots without times, sizes of memory and the kind of base.
pub(crate) fn filters() -> Vec<(&'static str, &'static str)> {
    vec![
        (r"\d+(\.\d)? (ms|s)\b", "[TIME]"),
        (r" · [\d.]+ [KMG]B peak", ""),
        (r"(frozen|live) base", "[BASE] base"),
    ]
}

/// Compares a text with an inline snapshot, without what differs from run to run.
macro_rules! assert_told {
    ($text:expr, @$($snapshot:tt)*) => {
        insta::with_settings!({ filters => crate::world::filters() }, {
            insta::assert_snapshot!($text, @$($snapshot)*);
        });
    };
}
pub(crate) use assert_told;
