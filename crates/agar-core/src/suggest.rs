//! "Did you mean": the nearest of the known words.

/// The known word nearest to what was typed, if one is near enough to have been meant.
pub fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // One slip in a short word, a third of a long one: further away is another word.
    let tolerance = (typed.chars().count() / 3).clamp(1, 3);
    known
        .into_iter()
        .map(|word| (distance(typed, word), word))
        .filter(|&(distance, _)| distance <= tolerance)
        .min()
        .map(|(_, word)| word)
}

/// How many letters must be changed, added, dropped or swapped with their neighbour.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=to.len()).collect();
    let mut previous = None;
    for (row, letter) in from.chars().enumerate() {
        let mut current = vec![row + 1];
        for (column, &wanted) in to.iter().enumerate() {
            let changed = above[column] + usize::from(letter != wanted);
            let mut best = changed.min(above[column + 1] + 1).min(current[column] + 1);
            let swapped = column > 0 && previous == Some(wanted) && to[column - 1] == letter;
            if swapped && !before.is_empty() {
                best = best.min(before[column - 1] + 1);
            }
            current.push(best);
        }
        before = std::mem::replace(&mut above, current);
        previous = Some(letter);
    }
    above[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_slip_is_recognised() {
        let known = ["network", "memory", "timeout", "mask"];
        assert_eq!(nearest("netwrok", known), Some("network"));
        assert_eq!(nearest("memmory", known), Some("memory"));
        assert_eq!(nearest("time_out", known), Some("timeout"));
        assert_eq!(nearest("msk", known), Some("mask"));
    }

    #[test]
    fn another_word_is_not_a_slip() {
        assert_eq!(nearest("colour", ["network", "memory"]), None);
        assert_eq!(nearest("", ["network"]), None);
    }

    proptest! {
        #[test]
        fn distance_is_symmetric_and_zero_only_for_the_same(a in "[a-c]{0,6}", b in "[a-c]{0,6}") {
            prop_assert_eq!(distance(&a, &b), distance(&b, &a));
            prop_assert_eq!(distance(&a, &b) == 0, a == b);
        }
    }
}
