//! How a path is spelt in JSON.
//!
//! A path is bytes; JSON is text. A path that is UTF-8 is written as it is. Any other would be lost
//! or refused, so it is written as an object with its bytes in base64.

use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

/// Either spelling.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Spelt<'a> {
    Text(std::borrow::Cow<'a, str>),
    Bytes { base64: String },
}

impl<'a> Spelt<'a> {
    fn of(name: &'a OsStr) -> Self {
        match name.to_str() {
            Some(text) => Self::Text(text.into()),
            None => Self::Bytes {
                base64: base64(name.as_bytes()),
            },
        }
    }

    fn read(self) -> Option<OsString> {
        match self {
            Self::Text(text) => Some(text.into_owned().into()),
            Self::Bytes { base64 } => unbase64(&base64).map(OsString::from_vec),
        }
    }
}

/// For `#[serde(with)]` on a `PathBuf`.
pub mod path {
    use super::Spelt;
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer, de::Error as _};
    use std::path::{Path, PathBuf};

    /// Writes a path.
    pub fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        Spelt::of(path.as_os_str()).serialize(serializer)
    }

    /// Reads a path.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
        Spelt::deserialize(deserializer)?
            .read()
            .map(PathBuf::from)
            .ok_or_else(|| D::Error::custom("a path is not valid base64"))
    }
}

/// For `#[serde(with)]` on a `Vec<PathBuf>`.
pub mod paths {
    use super::Spelt;
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};
    use std::path::PathBuf;

    /// Writes paths.
    pub fn serialize<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(paths.iter().map(|path| Spelt::of(path.as_os_str())))
    }

    /// Reads paths.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<PathBuf>, D::Error> {
        Vec::<Spelt<'_>>::deserialize(deserializer)?
            .into_iter()
            .map(|spelt| spelt.read().map(PathBuf::from))
            .collect::<Option<_>>()
            .ok_or_else(|| D::Error::custom("a path is not valid base64"))
    }
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The bytes in standard base64, padded.
pub fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let bits = (0..3).fold(0_usize, |bits, at| {
            bits << 8 | usize::from(chunk.get(at).copied().unwrap_or(0))
        });
        for at in 0..4 {
            let index = bits >> (18 - 6 * at) & 63;
            let letter = char::from(ALPHABET[index]);
            text.push(if at <= chunk.len() { letter } else { '=' });
        }
    }
    text
}

/// The bytes of standard base64, if that is what the text is.
pub fn unbase64(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let letters = text.trim_end_matches('=');
    if text.len() - letters.len() > 2 {
        return None;
    }
    for chunk in letters.as_bytes().chunks(4) {
        let mut bits = 0_u32;
        for at in 0..4 {
            let digit = match chunk.get(at) {
                Some(letter) => ALPHABET.iter().position(|known| known == letter)?,
                None => 0,
            };
            bits = bits << 6 | u32::try_from(digit).ok()?;
        }
        bytes.extend(&bits.to_be_bytes()[1..chunk.len()]);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn base64_is_the_standard_one() {
        assert_eq!(base64(b"agar"), "YWdhcg==");
        assert_eq!(unbase64("YWdhcg=="), Some(b"agar".to_vec()));
        assert_eq!(unbase64("YWdh!"), None);
        assert_eq!(unbase64("===="), None);
    }

    proptest! {
        #[test]
        fn bytes_survive_base64(bytes: Vec<u8>) {
            prop_assert_eq!(unbase64(&base64(&bytes)), Some(bytes));
        }

        #[test]
        fn text_that_is_not_base64_is_refused_not_fatal(text: String) {
            prop_assert!(unbase64(&text).is_none_or(|bytes| base64(&bytes).len() == text.len()));
        }
    }
}
