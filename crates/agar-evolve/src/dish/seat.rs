//! Who sits where: the individuals of a dish by name.
//!
//! Among a hundred thousand nothing of one is in the processor's caches when its name is called, and
//! every step from the name to the record is a wait for memory. So there are two: the table's entry,
//! in which short names lie themselves, and the record, whose lines are asked for all at once.

use super::{Member, held};
use crate::cell::Cell;
use crate::engine::nearby::Spot;
use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

pub(super) type Members = HashMap<Name, Seat>;

/// Names up to so many bytes need no memory of their own.
const SHORT: usize = 22;

/// A name, and within the table where it is short.
#[derive(Debug, Clone)]
pub(super) enum Name {
    Short { length: u8, bytes: [u8; SHORT] },
    Long(Box<str>),
}

impl Name {
    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::Short { length, bytes } => {
                let bytes = bytes.get(..usize::from(*length)).unwrap_or_default();
                std::str::from_utf8(bytes).unwrap_or_default()
            }
            Self::Long(text) => text,
        }
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Self {
        let mut bytes = [0; SHORT];
        match (bytes.get_mut(..text.len()), u8::try_from(text.len())) {
            (Some(place), Ok(length)) => {
                place.copy_from_slice(text.as_bytes());
                Self::Short { length, bytes }
            }
            _ => Self::Long(text.into()),
        }
    }
}

// What a table asks of a key that is looked up as text: it is told apart as text is.
impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Name {}

/// Somebody's place, and where the record lies.
#[derive(Debug, Clone)]
pub(super) struct Seat {
    member: Arc<Mutex<Member>>,
    cell: Spot,
}

impl Seat {
    pub(super) fn new(member: Member) -> Self {
        let member = Arc::new(Mutex::new(member));
        let cell = Spot::of(&held(&member).cell);
        Self { member, cell }
    }

    /// Asks for what a run touches of the record itself.
    pub(super) fn fetch(&self) {
        fetch(Arc::as_ptr(&self.member), self.cell);
    }

    /// The same place, without keeping anybody in it.
    pub(super) fn reserved(&self) -> Reserved {
        Reserved {
            member: Arc::downgrade(&self.member),
            cell: self.cell,
        }
    }

    /// Whether the two are one.
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.member, &other.member)
    }

    /// Whoever sits here, once nobody else is at work with him.
    pub(super) fn held(&self) -> MutexGuard<'_, Member> {
        held(&self.member)
    }

    /// The same, if nobody is.
    pub(super) fn try_held(&self) -> Option<MutexGuard<'_, Member>> {
        self.member.try_lock().ok()
    }
}

/// A place, for as long as somebody sits there.
#[derive(Debug)]
pub(super) struct Reserved {
    member: Weak<Mutex<Member>>,
    cell: Spot,
}

impl Reserved {
    /// The place, if somebody still sits there.
    pub(super) fn seat(&self) -> Option<Seat> {
        let (member, cell) = (self.member.upgrade()?, self.cell);
        Some(Seat { member, cell })
    }

    /// Asks for what a run touches of the record itself.
    pub(super) fn fetch(&self) {
        fetch(self.member.as_ptr(), self.cell);
    }

    /// Asks for what a run touches beside the record, once that has come. Whoever is at work has
    /// asked for it already.
    pub(super) fn fetch_rest(&self) {
        if let Some(seat) = self.seat()
            && let Some(member) = seat.try_held()
        {
            member.cell.fetch();
        }
    }
}

/// Asks for the counts of those who hold it, the lock, and the cell.
fn fetch(lock: *const Mutex<Member>, cell: Spot) {
    Spot::at(lock).fetch_around();
    cell.fetch::<Cell>();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_as_text_whatever_its_length() {
        let mut known: HashMap<Name, usize> = HashMap::new();
        for length in 0..2 * SHORT {
            known.insert(Name::from("ä".repeat(length).as_str()), length);
        }
        assert_eq!(known.len(), 2 * SHORT);
        for length in 0..2 * SHORT {
            let text = "ä".repeat(length);
            assert_eq!(known.get(text.as_str()), Some(&length));
        }
        assert_eq!(known.get("a"), None);
    }
}
