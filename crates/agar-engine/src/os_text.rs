//! Arguments and paths as JSON text.
//!
//! The kernel's strings are bytes; JSON's are Unicode. What a remote caller sends is always
//! Unicode, and what a record shows of anything else is a faithful-looking approximation: the bytes
//! themselves never travel through JSON to be acted on again.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ffi::OsString;

pub(crate) fn serialize<S: Serializer>(words: &[OsString], to: S) -> Result<S::Ok, S::Error> {
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    words.serialize(to)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<OsString>, D::Error> {
    let words = Vec::<String>::deserialize(from)?;
    Ok(words.into_iter().map(OsString::from).collect())
}
