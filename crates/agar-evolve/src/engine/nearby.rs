//! Where the parts of an instance lie, so that they can be fetched before they are needed.
//!
//! Among a hundred thousand cells nothing of one is in the processor's caches when its turn comes.
//! An engine reaches each part of an instance through another, so that the processor waits for
//! memory once for each; told of all of them at once, it waits about once.
#![expect(
    unsafe_code,
    reason = "there is no safe way to ask the processor for a line"
)]

/// Bytes that are fetched together.
const LINE: usize = 64;

/// Parts of an instance: where each begins, and how many lines of it a call touches. They are hints:
/// a place where nothing lies any more is not read, and costs what a line costs.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Nearby([(usize, usize); 4]);

impl Nearby {
    /// With this part, of so many bytes.
    pub(crate) fn with<T>(mut self, part: *const T, bytes: usize) -> Self {
        let start = part.addr() & !(LINE - 1);
        let lines = (part.addr() + bytes).saturating_sub(start).div_ceil(LINE);
        if let Some(free) = self.0.iter_mut().find(|(_, lines)| *lines == 0) {
            *free = (start, lines);
        }
        self
    }

    /// Asks for all of it.
    pub(crate) fn fetch(&self) {
        for (start, lines) in self.0 {
            for line in 0..lines {
                ask(start + line * LINE);
            }
        }
    }
}

/// Asks for all of a thing.
pub(crate) fn fetch<T>(thing: &T) {
    Spot::of(thing).fetch::<T>();
}

/// Where a thing lies, noted by someone who does not hold it: a hint like the others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spot(usize);

impl Spot {
    pub(crate) fn of<T>(thing: &T) -> Self {
        Self::at(thing)
    }

    pub(crate) fn at<T>(thing: *const T) -> Self {
        Self(thing.addr())
    }

    /// Asks for all of the `T` that lies there.
    pub(crate) fn fetch<T>(self) {
        for line in 0..size_of::<T>().div_ceil(LINE) {
            ask(self.0 + line * LINE);
        }
    }

    /// Asks for where it begins, and for what lies before that.
    pub(crate) fn fetch_around(self) {
        ask(self.0.saturating_sub(1));
        ask(self.0);
    }
}

#[cfg(target_arch = "x86_64")]
fn ask(address: usize) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch is no access: nothing is read that the program could see, nothing is
    // written, and an address that is not mapped is passed over without a fault.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::without_provenance(address)) };
}

/// Other processors have to find out for themselves.
#[cfg(not(target_arch = "x86_64"))]
const fn ask(_: usize) {}
