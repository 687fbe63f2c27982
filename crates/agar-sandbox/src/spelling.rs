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

/// For `#[serde(with)]` on a `Vec<PathBuf>` of absolute paths of which many lie side by side, as the
/// layers of a sandbox do: one that lies beside the one before is written as its name alone.
///
/// A sandbox with a hundred snapshots names a hundred layers in several records, which are written
/// again for each snapshot.
pub mod siblings {
    use super::{Spelt, base64};
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};
    use std::os::unix::ffi::OsStrExt as _;
    use std::path::{Path, PathBuf};

    fn spelt<'a>(path: &'a Path, before: Option<&Path>) -> Spelt<'a> {
        if let (Some(directory), Some(name)) = (before.and_then(Path::parent), name(path))
            && directory.join(name).as_os_str() == path.as_os_str()
        {
            return Spelt::Text(name.into());
        }
        if path.is_absolute() {
            return Spelt::of(path.as_os_str());
        }
        // As text it would be taken for a name.
        Spelt::Bytes {
            base64: base64(path.as_os_str().as_bytes()),
        }
    }

    fn name(path: &Path) -> Option<&str> {
        path.file_name()?.to_str()
    }

    /// Writes paths.
    pub fn serialize<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
        let before = std::iter::once(None).chain(paths.iter().map(|path| Some(path.as_path())));
        serializer.collect_seq(paths.iter().zip(before).map(|(path, it)| spelt(path, it)))
    }

    /// Reads paths.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<PathBuf>, D::Error> {
        let list = Vec::<Spelt<'_>>::deserialize(deserializer)?;
        let mut paths: Vec<PathBuf> = Vec::with_capacity(list.len());
        for spelt in list {
            let is_text = matches!(spelt, Spelt::Text(_));
            let path = spelt.read().map(PathBuf::from);
            let path = path.ok_or_else(|| D::Error::custom("a path is not valid base64"))?;
            // Joined with one that is absolute, nothing is left of the other.
            let directory = paths.last().and_then(|before| before.parent());
            paths.push(match directory.filter(|_| is_text) {
                Some(directory) => directory.join(path),
                None => path,
            });
        }
        Ok(paths)
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

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Layers(#[serde(with = "siblings")] Vec<std::path::PathBuf>);

    fn layers(paths: &[&[u8]]) -> Layers {
        let path = |bytes: &&[u8]| OsString::from_vec(bytes.to_vec()).into();
        Layers(paths.iter().map(path).collect())
    }

    #[test]
    fn paths_side_by_side_are_written_in_short() {
        let these = layers(&[b"/s/a/upper-1", b"/s/a/upper-2", b"/s/b/x", b"/s/b/y"]);
        let text = serde_json::to_string(&these).unwrap();
        assert_eq!(text, r#"["/s/a/upper-1","upper-2","/s/b/x","y"]"#);
        assert_eq!(serde_json::from_str::<Layers>(&text).unwrap(), these);
        let long = r#"["/s/a/upper-1","/s/a/upper-2","/s/b/x","/s/b/y"]"#;
        assert_eq!(serde_json::from_str::<Layers>(long).unwrap(), these);
    }

    proptest! {
        #[test]
        fn any_paths_survive_being_siblings(
            paths in proptest::collection::vec("/?([ab.\u{e9}]{0,2}/){0,3}[ab.\u{e9}]{0,3}", 0..6),
            odd: Vec<u8>,
        ) {
            let mut these: Vec<&[u8]> = paths.iter().map(String::as_bytes).collect();
            these.push(&odd);
            these.extend(paths.iter().map(String::as_bytes));
            let these = layers(&these);
            let text = serde_json::to_string(&these).unwrap();
            let read: Layers = serde_json::from_str(&text).unwrap();
            let bytes = |it: &Layers| -> Vec<OsString> {
                it.0.iter().map(|path| path.as_os_str().to_owned()).collect()
            };
            prop_assert_eq!(bytes(&read), bytes(&these));
        }

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
