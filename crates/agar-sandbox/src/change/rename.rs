//! Deleted here and added there: one rename.
//!
//! First by equal content, then, for text, by how many bytes of whole lines the two have in common,
//! which is git's measure. Both are bounded: a rename that is not found is two changes instead of
//! one, so giving up costs clarity and never correctness.

use super::{Action, Change, Side, content, lines};
use crate::layer::Kind;
use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::ffi::OsStrExt as _;

/// How much is hashed in search of equal contents.
const HASHED_BYTES_MAX: u64 = 1 << 30;

/// How many pairs of texts are compared.
const PAIRS_MAX: usize = 40_000;

/// The longest text that is compared with others.
const TEXT_BYTES_MAX: u64 = 1 << 20;

/// How alike two texts must be, in percent.
const SIMILARITY_MIN: u64 = 50;

/// A deletion and an addition, by their positions, that are one rename.
struct Pair {
    deleted: usize,
    added: usize,
    similarity: u8,
}

/// Joins deletions and additions of the same content into renames.
pub(super) fn join(changes: &mut Vec<Change>, text_bytes_max: u64) {
    let mut deleted: Vec<usize> = positions(changes, &Action::Deleted);
    let mut added: Vec<usize> = positions(changes, &Action::Added);
    if deleted.is_empty() || added.is_empty() {
        return;
    }
    let mut pairs = same(changes, &deleted, &added);
    let gone: HashSet<usize> = pairs.iter().map(|pair| pair.deleted).collect();
    let taken: HashSet<usize> = pairs.iter().map(|pair| pair.added).collect();
    deleted.retain(|at| !gone.contains(at));
    added.retain(|at| !taken.contains(at));
    pairs.extend(alike(changes, &deleted, &added, text_bytes_max));
    apply(changes, &pairs);
}

/// The changes of one action that could be half of a rename.
fn positions(changes: &[Change], action: &Action) -> Vec<usize> {
    let fits = |change: &Change| {
        change.action == *action
            && !change.masked
            && side(change).is_some_and(|side| {
                matches!(side.kind, Kind::File | Kind::Symlink) && side.size > 0
            })
    };
    (0..changes.len())
        .filter(|at| fits(&changes[*at]))
        .collect()
}

fn side(change: &Change) -> Option<&Side> {
    change.before.as_ref().or(change.after.as_ref())
}

/// Pairs of equal content.
fn same(changes: &[Change], deleted: &[usize], added: &[usize]) -> Vec<Pair> {
    let lengths = |side_of: &[usize]| -> HashSet<(Kind, u64)> {
        let key = |at: &usize| side(&changes[*at]).map(|side| (side.kind, side.size));
        side_of.iter().filter_map(key).collect()
    };
    let (old, new) = (lengths(deleted), lengths(added));
    let mut budget = HASHED_BYTES_MAX;
    let mut fingerprints = |at: usize| {
        let side = side(&changes[at])?;
        let key = (side.kind, side.size);
        // Only what has a counterpart of its length is worth reading.
        (old.contains(&key) && new.contains(&key)).then_some(())?;
        fingerprint(side, &mut budget)
    };
    let mut sources: HashMap<blake3::Hash, Vec<usize>> = HashMap::new();
    for at in deleted {
        if let Some(hash) = fingerprints(*at) {
            sources.entry(hash).or_default().push(*at);
        }
    }
    let mut pairs = Vec::new();
    for at in added {
        let Some(candidates) = fingerprints(*at).and_then(|hash| sources.get_mut(&hash)) else {
            continue;
        };
        let name = changes[*at].path.file_name();
        let best = candidates
            .iter()
            .position(|from| changes[*from].path.file_name() == name)
            .or(if candidates.is_empty() { None } else { Some(0) });
        if let Some(best) = best {
            pairs.push(Pair {
                deleted: candidates.remove(best),
                added: *at,
                similarity: 100,
            });
        }
    }
    pairs
}

/// The hash of a file's content or a link's target, and of which of the two it is.
fn fingerprint(side: &Side, budget: &mut u64) -> Option<blake3::Hash> {
    match side.kind {
        Kind::File => {
            *budget = budget.checked_sub(side.size)?;
            content::hash(&side.place).ok()
        }
        Kind::Symlink => {
            let target = side.target.as_deref().map(OsStr::as_bytes)?;
            Some(blake3::hash(&[b"link\0", target].concat()))
        }
        Kind::Directory | Kind::Fifo | Kind::Socket | Kind::Device => None,
    }
}

/// Pairs of similar text, the most similar first.
fn alike(changes: &[Change], deleted: &[usize], added: &[usize], text_bytes_max: u64) -> Vec<Pair> {
    if deleted.len().saturating_mul(added.len()) > PAIRS_MAX {
        return Vec::new();
    }
    let bytes_max = text_bytes_max.min(TEXT_BYTES_MAX);
    let profiles = |side_of: &[usize]| -> Vec<(usize, Profile)> {
        let profile = |at: &usize| Some((*at, Profile::of(side(&changes[*at])?, bytes_max)?));
        side_of.iter().filter_map(profile).collect()
    };
    let (old, new) = (profiles(deleted), profiles(added));
    let mut scored = BTreeSet::new();
    for (from, before) in &old {
        for (to, after) in &new {
            let score = before.similarity(after);
            let other_name = changes[*from].path.file_name() != changes[*to].path.file_name();
            if score >= SIMILARITY_MIN {
                scored.insert((Reverse(score), other_name, *from, *to));
            }
        }
    }
    let (mut gone, mut taken) = (HashSet::new(), HashSet::new());
    let mut pairs = Vec::new();
    for (Reverse(score), _, from, to) in scored {
        if gone.contains(&from) || taken.contains(&to) {
            continue;
        }
        gone.insert(from);
        taken.insert(to);
        pairs.push(Pair {
            deleted: from,
            added: to,
            // Equal content has been paired already.
            similarity: u8::try_from(score.min(99)).unwrap_or(99),
        });
    }
    pairs
}

/// How many bytes a text has in each of its lines.
struct Profile {
    size: u64,
    lines: HashMap<u64, u64>,
}

impl Profile {
    fn of(side: &Side, bytes_max: u64) -> Option<Self> {
        if side.kind != Kind::File || side.size > bytes_max {
            return None;
        }
        let bytes = side.place.read(bytes_max).ok().flatten()?;
        if content::is_binary(&bytes) {
            return None;
        }
        let mut profile = HashMap::new();
        for line in lines::split(&bytes) {
            let mut hasher = DefaultHasher::new();
            line.hash(&mut hasher);
            *profile.entry(hasher.finish()).or_insert(0) += lines::len(line.len());
        }
        Some(Self {
            size: lines::len(bytes.len()),
            lines: profile,
        })
    }

    /// The bytes in common, in percent of the longer text.
    fn similarity(&self, other: &Self) -> u64 {
        let (longer, shorter) = (self.size.max(other.size), self.size.min(other.size));
        if longer == 0 || shorter * 100 / longer < SIMILARITY_MIN {
            return 0;
        }
        let (few, many) = if self.lines.len() <= other.lines.len() {
            (self, other)
        } else {
            (other, self)
        };
        let shared = |(line, bytes): (&u64, &u64)| {
            many.lines
                .get(line)
                .map_or(0, |others| (*others).min(*bytes))
        };
        few.lines.iter().map(shared).sum::<u64>() * 100 / longer
    }
}

/// Rewrites the changes: the addition becomes the rename, the deletion goes.
fn apply(changes: &mut Vec<Change>, pairs: &[Pair]) {
    for pair in pairs {
        let from = &changes[pair.deleted];
        let action = Action::Renamed {
            from: from.path.clone(),
            from_absolute: from.absolute.clone(),
            similarity: pair.similarity,
        };
        let before = from.before.clone();
        let to = &mut changes[pair.added];
        to.action = action;
        to.before = before;
    }
    let gone: HashSet<usize> = pairs.iter().map(|pair| pair.deleted).collect();
    let mut at = 0;
    changes.retain(|_| {
        at += 1;
        !gone.contains(&(at - 1))
    });
}
