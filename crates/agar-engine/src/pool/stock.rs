//! What a pool holds: which kinds of jail were asked for of late, and those that wait to be used.

/// Kinds of jail that are kept ready at once.
const KINDS_MAX: usize = 4;

/// Everything in a pool. `T` is one jail that waits, `W` what it takes to build one.
#[derive(Debug)]
pub(super) struct Stock<W, T> {
    /// Jails that may wait at once, of all kinds.
    most: usize,
    /// The kind that was asked for last comes first.
    kinds: Vec<Kind<W, T>>,
    /// Jails that are of no use any more, to be taken down.
    spent: Vec<T>,
}

#[derive(Debug)]
struct Kind<W, T> {
    key: String,
    wish: W,
    ready: Vec<T>,
    /// The last attempt to build one failed; not tried again until somebody asks.
    fails: bool,
}

impl<W: Clone, T> Stock<W, T> {
    pub(super) const fn new(most: usize) -> Self {
        Self {
            most,
            kinds: Vec::new(),
            spent: Vec::new(),
        }
    }

    /// Somebody asks for a jail of this kind: takes one if one waits, and remembers to have more.
    pub(super) fn take(&mut self, key: &str, wish: &W) -> Option<T> {
        let at = self.kinds.iter().position(|kind| kind.key == key);
        let mut kind = match at {
            Some(at) => self.kinds.remove(at),
            None => Kind {
                key: key.to_owned(),
                wish: wish.clone(),
                ready: Vec::new(),
                fails: false,
            },
        };
        kind.fails = false;
        // The one that waits longest.
        let taken = (!kind.ready.is_empty()).then(|| kind.ready.remove(0));
        self.kinds.insert(0, kind);
        while self.kinds.len() > KINDS_MAX.min(self.most.max(1)) {
            let forgotten = self.kinds.pop().into_iter();
            self.spent.extend(forgotten.flat_map(|kind| kind.ready));
        }
        self.trim();
        taken
    }

    /// How many of each kind wait at most.
    fn share(&self) -> usize {
        self.most / self.kinds.len().max(1)
    }

    fn trim(&mut self) {
        let share = self.share();
        for kind in &mut self.kinds {
            let beyond = kind.ready.len().min(share);
            self.spent.extend(kind.ready.drain(beyond..));
        }
    }

    /// What is to be built next.
    pub(super) fn next(&self) -> Option<(String, W)> {
        let share = self.share();
        let lacks = |kind: &&Kind<W, T>| !kind.fails && kind.ready.len() < share;
        let kind = self.kinds.iter().find(lacks)?;
        Some((kind.key.clone(), kind.wish.clone()))
    }

    /// A jail was built.
    pub(super) fn add(&mut self, key: &str, built: T) {
        match self.kinds.iter_mut().find(|kind| kind.key == key) {
            Some(kind) => kind.ready.push(built),
            // Nobody wants it any more.
            None => self.spent.push(built),
        }
        self.trim();
    }

    /// A jail could not be built.
    pub(super) fn failed(&mut self, key: &str) {
        if let Some(kind) = self.kinds.iter_mut().find(|kind| kind.key == key) {
            kind.fails = true;
        }
    }

    /// A jail turned out to be of no use.
    pub(super) fn spend(&mut self, jail: T) {
        self.spent.push(jail);
    }

    /// Gives up the jails that are too old.
    pub(super) fn expire(&mut self, is_old: impl Fn(&T) -> bool) {
        for kind in &mut self.kinds {
            self.spent
                .extend(kind.ready.extract_if(.., |jail| is_old(jail)));
        }
    }

    /// Gives up everything.
    pub(super) fn end(&mut self) {
        let kinds = self.kinds.drain(..);
        self.spent.extend(kinds.flat_map(|kind| kind.ready));
    }

    /// What is to be taken down.
    pub(super) fn spent(&mut self) -> Vec<T> {
        std::mem::take(&mut self.spent)
    }

    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.kinds.iter().map(|kind| kind.ready.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds whatever is lacking.
    fn fill(stock: &mut Stock<(), u32>) {
        let mut number = 0;
        while let Some((key, ())) = stock.next() {
            number += 1;
            stock.add(&key, number);
        }
    }

    #[test]
    fn nothing_is_built_that_nobody_asked_for() {
        let stock: Stock<(), u32> = Stock::new(4);
        assert_eq!(stock.next(), None);
    }

    #[test]
    fn all_kinds_together_stay_within_the_bound() {
        for most in 0..10 {
            let mut stock = Stock::new(most);
            for key in ["a", "b", "a", "c", "d", "e", "f", "a"] {
                stock.take(key, &());
                fill(&mut stock);
                assert!(stock.len() <= most, "{stock:?}");
                assert!(stock.kinds.len() <= KINDS_MAX);
                stock.spent();
            }
        }
    }

    #[test]
    fn the_kind_that_was_not_asked_for_longest_is_given_up() {
        let mut stock = Stock::new(4);
        for key in ["a", "b", "c", "d"] {
            stock.take(key, &());
        }
        fill(&mut stock);
        assert_eq!(stock.take("a", &()), Some(4));
        assert_eq!(stock.take("e", &()), None);
        assert_eq!(stock.spent(), [3], "b was");
        assert_eq!(stock.take("c", &()), Some(2));
    }

    #[test]
    fn what_cannot_be_built_is_tried_again_only_when_asked_for() {
        let mut stock: Stock<(), u32> = Stock::new(2);
        stock.take("a", &());
        stock.failed("a");
        assert_eq!(stock.next(), None);
        stock.take("a", &());
        assert_eq!(stock.next(), Some(("a".to_owned(), ())));
    }

    #[test]
    fn what_is_given_up_is_taken_down() {
        let mut stock = Stock::new(2);
        stock.take("a", &());
        fill(&mut stock);
        stock.expire(|jail| *jail == 1);
        assert_eq!((stock.spent(), stock.len()), (vec![1], 1));
        stock.end();
        assert_eq!((stock.spent(), stock.len()), (vec![2], 0));
        stock.add("a", 3);
        assert_eq!(stock.spent(), [3], "built for nobody");
    }
}
