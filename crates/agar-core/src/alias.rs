//! Two-word names that people can say, type and remember.

/// First words.
#[rustfmt::skip]
const FIRST: [&str; 150] = [
    "able", "airy", "amber", "ample", "apt", "azure", "balmy", "bare", "blue", "bold", "brave",
    "breezy", "brief", "bright", "brisk", "broad", "bronze", "calm", "candid", "chilly", "civil",
    "clean", "clear", "clever", "cool", "cosy", "crisp", "cyan", "daring", "deep", "deft", "dim",
    "dry", "dusky", "eager", "early", "easy", "even", "fair", "fast", "fine", "firm", "fleet",
    "fond", "frank", "free", "fresh", "frosty", "gentle", "glad", "gold", "good", "grand", "gray",
    "green", "hardy", "hazy", "honest", "humble", "icy", "idle", "ivory", "jade", "jolly", "keen",
    "kind", "late", "lean", "light", "lilac", "lively", "loyal", "lucid", "lucky", "lunar",
    "mellow", "merry", "mild", "misty", "modest", "neat", "new", "nimble", "noble", "north",
    "oaken", "odd", "open", "pale", "patient", "polar", "prime", "proud", "pure", "quick",
    "quiet", "rapid", "rare", "red", "ready", "rosy", "round", "royal", "ruby", "rustic", "safe",
    "sandy", "sharp", "shy", "silent", "silver", "simple", "sleek", "slim", "slow", "small",
    "smart", "smooth", "snowy", "soft", "solar", "solid", "south", "spry", "stable", "steady",
    "still", "stout", "sunny", "sure", "tall", "tame", "tart", "tender", "tidy", "tiny", "true",
    "upbeat", "vast", "velvet", "vivid", "warm", "west", "white", "wide", "wild", "wise", "witty",
    "young", "zesty",
];

/// Second words.
#[rustfmt::skip]
const SECOND: [&str; 184] = [
    "acorn", "alder", "ant", "apple", "arch", "ash", "aspen", "badger", "bay", "beach", "bean",
    "bear", "beaver", "bee", "beech", "birch", "bird", "bison", "bloom", "brook", "bud", "cedar",
    "cherry", "clay", "cliff", "cloud", "clover", "coast", "comet", "coral", "cove", "crab",
    "crane", "creek", "crow", "dale", "dawn", "deer", "delta", "dove", "drift", "duck", "dune",
    "eagle", "elk", "elm", "ember", "falcon", "fawn", "fern", "field", "finch", "fjord", "flint",
    "forest", "fox", "frog", "gale", "garden", "glade", "glen", "goat", "goose", "grain", "grass",
    "grove", "gull", "hare", "harbor", "hawk", "hazel", "heath", "heron", "hill", "holly", "iris",
    "island", "ivy", "jay", "kelp", "kite", "koala", "lagoon", "lake", "larch", "lark", "leaf",
    "lemon", "lichen", "lily", "lion", "lotus", "lynx", "maple", "marsh", "meadow", "mesa",
    "mint", "mole", "moon", "moose", "moss", "moth", "mouse", "newt", "oak", "oasis", "oat",
    "olive", "orchid", "osprey", "otter", "owl", "palm", "panda", "peach", "pear", "pebble",
    "perch", "pine", "plain", "plover", "plum", "pond", "poppy", "puffin", "quail", "rain",
    "rapids", "raven", "reed", "reef", "ridge", "river", "robin", "rook", "rose", "sage",
    "salmon", "seal", "sedge", "shell", "shore", "shrew", "sky", "sloth", "snail", "snow",
    "spark", "sparrow", "spring", "sprout", "spruce", "squid", "star", "stoat", "stone", "stork",
    "storm", "stream", "swan", "swift", "teal", "thistle", "thrush", "tide", "toad", "topaz",
    "trout", "tulip", "valley", "violet", "vole", "walnut", "wave", "weasel", "whale", "wheat",
    "willow", "wind", "wolf", "wren", "yak", "yew",
];

/// The alias for a random number: `calm-fern`.
///
/// There are some thirty thousand; the caller draws again while the one it got is in use.
pub fn alias(random: u64) -> String {
    let first = pick(&FIRST, random);
    let second = pick(&SECOND, random / FIRST.len() as u64);
    format!("{first}-{second}")
}

fn pick(words: &[&'static str], random: u64) -> &'static str {
    let index = random % words.len() as u64;
    usize::try_from(index)
        .ok()
        .and_then(|index| words.get(index))
        .copied()
        .unwrap_or("agar")
}

/// Whether the text could be an alias or the beginning of one, and so is safe as a file name.
pub fn is_alias_like(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 64
        && text
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && !text.starts_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_alias_is_two_words_of_plain_letters() {
        for random in 0..200_000 {
            let name = alias(random * 7919);
            let (first, second) = name.split_once('-').unwrap();
            assert!(
                is_alias_like(&name) && !first.is_empty() && !second.is_empty(),
                "{name}"
            );
        }
    }

    #[test]
    fn the_words_do_not_repeat() {
        let first: BTreeSet<&str> = FIRST.into_iter().collect();
        let second: BTreeSet<&str> = SECOND.into_iter().collect();
        assert_eq!((first.len(), second.len()), (FIRST.len(), SECOND.len()));
        assert!(
            first.is_disjoint(&second),
            "a name like fern-fern reads as a mistake"
        );
    }
}
