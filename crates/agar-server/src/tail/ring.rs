//! The last things that were told to all who follow the same, for those who are a little behind.

use super::told::Told;
use std::collections::VecDeque;
use std::sync::Arc;

/// How much is kept for those who are behind.
const BYTES_MAX: usize = 1 << 20;
/// How much is handed out at once.
const BATCH_MAX: usize = 64;

/// What was told last. Everything has a place, and places are numbered without gaps.
#[derive(Debug)]
pub(super) struct Ring {
    /// The place of the first that is still here.
    first: u64,
    told: VecDeque<Arc<Told>>,
    bytes: usize,
}

/// What there is from a place on.
#[derive(Debug)]
pub(super) enum Since {
    /// These come next.
    Told(Vec<Arc<Told>>),
    /// Nothing yet.
    Nothing,
    /// What came next is not here any more.
    Lost,
}

impl Ring {
    pub(super) const fn new() -> Self {
        Self {
            first: 0,
            told: VecDeque::new(),
            bytes: 0,
        }
    }

    /// The place of what will be told next.
    pub(super) fn end(&self) -> u64 {
        self.first + self.told.len() as u64
    }

    /// Tells something to all.
    pub(super) fn push(&mut self, told: Told) {
        self.bytes += told.size();
        self.told.push_back(Arc::new(told));
        while self.bytes > BYTES_MAX && self.told.len() > 1 {
            if let Some(oldest) = self.told.pop_front() {
                self.bytes -= oldest.size();
                self.first += 1;
            }
        }
    }

    /// What was told from a place on.
    pub(super) fn since(&self, place: u64) -> Since {
        let Some(behind) = place.checked_sub(self.first) else {
            return Since::Lost;
        };
        let behind = usize::try_from(behind).unwrap_or(usize::MAX);
        let next: Vec<_> = self.told.iter().skip(behind).take(BATCH_MAX).collect();
        if next.is_empty() {
            return Since::Nothing;
        }
        Since::Told(next.into_iter().cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::super::cursor::Cursor;
    use super::super::told::{Piece, Turn};
    use super::*;

    fn event(number: u64) -> Told {
        let data = "x".repeat(10_000);
        Told::event(number, Turn::Other, &data, &Cursor::default())
    }

    /// The numbers of everything from a place on, or nothing if some of it is lost.
    fn numbers(ring: &Ring, mut place: u64) -> Option<Vec<u64>> {
        let mut numbers = Vec::new();
        loop {
            match ring.since(place) {
                Since::Told(told) => {
                    place += told.len() as u64;
                    numbers.extend(told.iter().map(|told| match told.piece {
                        Piece::Event { number, .. } => number,
                        Piece::Output { .. } => 0,
                    }));
                }
                Since::Nothing => return Some(numbers),
                Since::Lost => return None,
            }
        }
    }

    #[test]
    fn whoever_is_a_little_behind_misses_nothing_and_whoever_is_far_behind_is_told_so() {
        let mut ring = Ring::new();
        assert!(matches!(ring.since(0), Since::Nothing));
        for number in 0..1000 {
            assert_eq!(ring.end(), number);
            ring.push(event(number));
        }
        assert_eq!(numbers(&ring, 950), Some((950..1000).collect()));
        assert_eq!(numbers(&ring, 1000), Some(vec![]));
        assert_eq!(numbers(&ring, 0), None);
        let kept = ring.told.len();
        assert!((64..200).contains(&kept), "{kept}: bounded by its size");
        let first = 1000 - kept as u64;
        assert_eq!(numbers(&ring, first), Some((first..1000).collect()));
        assert_eq!(numbers(&ring, first - 1), None);
    }
}
