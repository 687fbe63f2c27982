//! Comparing and classifying contents without holding whole files in memory.

use crate::layer::Place;
use std::io::{self, Read};

/// How much of a file git looks at to tell text from the rest.
const SNIFFED_BYTES: usize = 8000;

/// Whether bytes look like something other than text: they hold a zero near their beginning.
pub(super) fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(SNIFFED_BYTES).any(|byte| *byte == 0)
}

/// Whether two files hold the same bytes.
pub(super) fn same(one: &Place, other: &Place) -> io::Result<bool> {
    let (mut one, mut other) = (one.open()?, other.open()?);
    let (mut left, mut right) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        let from_one = fill(&mut one, &mut left)?;
        let from_other = fill(&mut other, &mut right)?;
        if left[..from_one] != right[..from_other] {
            return Ok(false);
        }
        if from_one < left.len() {
            return Ok(true);
        }
    }
}

/// A hash of a file's bytes.
pub(super) fn hash(place: &Place) -> io::Result<blake3::Hash> {
    let mut file = place.open()?;
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let count = fill(&mut file, &mut buffer)?;
        hasher.update(&buffer[..count]);
        if count < buffer.len() {
            return Ok(hasher.finalize());
        }
    }
}

/// Reads until the buffer is full or the file ends.
fn fill(file: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
