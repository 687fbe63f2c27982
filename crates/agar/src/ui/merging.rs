//! What happens to each path when changes are applied or taken back.

use super::block::{self, Block};
use agar_core::text::printable;
use agar_engine::apply::{AppliedFile, Merge};

/// Paths that need no attention are named up to this many.
const NAMED: usize = 10;

/// The paths, those that need a person first.
pub fn paths(files: &[AppliedFile]) -> Block {
    let mut block = Block::new();
    let width = files
        .iter()
        .map(|file| printable(&file.path).chars().count())
        .max()
        .unwrap_or(0);
    let (conflicts, quiet): (Vec<_>, Vec<_>) =
        files.iter().partition(|file| file.merge == Merge::Conflict);
    let hidden = quiet.len().saturating_sub(NAMED);
    for file in conflicts.into_iter().chain(quiet.into_iter().take(NAMED)) {
        let path = printable(&file.path);
        let text = match &file.reason {
            Some(reason) => format!("{path:width$}   {}", printable(reason)),
            None => path.into_owned(),
        };
        block.push(label(file.merge), text);
    }
    if hidden > 0 {
        block.push_more(format!("and {hidden} more"));
    }
    block
}

const fn label(merge: Merge) -> block::Label {
    match merge {
        Merge::Clean => block::CLEAN,
        Merge::Merged => block::MERGED,
        Merge::Same => block::SAME,
        Merge::Chosen => block::CHOSEN,
        Merge::Conflict => block::CONFLICT,
        Merge::Skipped => block::SKIPPED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::palette::Palette;

    #[test]
    fn conflicts_come_first_and_say_why() {
        let file = |path: &str, merge, reason: Option<&str>| AppliedFile {
            path: path.to_owned(),
            merge,
            reason: reason.map(ToOwned::to_owned),
            hunks: Vec::new(),
        };
        let files = [
            file("Cargo.lock", Merge::Clean, None),
            file(
                "src/lib.rs",
                Merge::Merged,
                Some("your edit (line 12) kept, sandbox edit (line 88) added"),
            ),
            file(
                "src/cart.rs",
                Merge::Conflict,
                Some("you and the sandbox both changed lines 40-52"),
            ),
        ];
        insta::assert_snapshot!(paths(&files).render(Palette::Plain), @r"
        conflict  src/cart.rs   you and the sandbox both changed lines 40-52
        clean     Cargo.lock
        merged    src/lib.rs    your edit (line 12) kept, sandbox edit (line 88) added
        ");
    }
}
