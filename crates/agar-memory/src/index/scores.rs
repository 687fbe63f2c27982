//! What the lists say of each document, added up.
//!
//! A table as large as what a query may read, not as what there is: a cold process must not touch a
//! number for each of a million documents to answer about a few thousand.

/// Scores by document. Open addressing, never more than half full.
#[derive(Debug, Default)]
pub(super) struct Scores {
    /// Document plus one, so that nothing is zero, and its score.
    slots: Vec<(u32, f32)>,
}

impl Scores {
    /// Forgets everything and makes room for so many additions.
    pub(super) fn clear(&mut self, additions: usize) {
        let room = (additions.max(8) * 2).next_power_of_two();
        if self.slots.len() == room {
            self.slots.fill((0, 0.0));
        } else {
            self.slots = vec![(0, 0.0); room];
        }
    }

    /// Adds to the score of a document. Beyond the room that was made, it is left out.
    pub(super) fn add(&mut self, document: usize, gain: f32) {
        let Ok(key) = u32::try_from(document + 1) else {
            return;
        };
        let mask = self.slots.len() - 1;
        // Fibonacci hashing: neighbouring documents end far apart.
        let mut at = (key.wrapping_mul(0x9e37_79b9) >> 8) as usize & mask;
        for _ in 0..self.slots.len() {
            let slot = &mut self.slots[at];
            if slot.0 == 0 || slot.0 == key {
                slot.0 = key;
                slot.1 += gain;
                return;
            }
            at = (at + 1) & mask;
        }
    }

    /// Every document that has a score.
    pub(super) fn all(&self) -> impl Iterator<Item = (f32, usize)> + '_ {
        self.slots
            .iter()
            .filter(|(key, _)| *key > 0)
            .map(|&(key, score)| (score, key as usize - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_document_has_the_sum_of_what_was_said() {
        let mut scores = Scores::default();
        scores.clear(5);
        for (document, gain) in [(7, 1.0), (1 << 24, 2.0), (7, 0.5), (0, 4.0), (8, 1.0)] {
            scores.add(document, gain);
        }
        let mut all: Vec<(usize, f32)> = scores.all().map(|(score, at)| (at, score)).collect();
        all.sort_by_key(|it| it.0);
        assert_eq!(all, [(0, 4.0), (7, 1.5), (8, 1.0), (1 << 24, 2.0)]);
        scores.clear(5);
        assert_eq!(scores.all().count(), 0);
    }

    #[test]
    fn more_than_there_is_room_for_is_left_out() {
        let mut scores = Scores::default();
        scores.clear(1);
        for document in 0..100 {
            scores.add(document, 1.0);
        }
        assert_eq!(scores.all().count(), 16);
    }
}
