//! Paths and arguments on the wire.
//!
//! The keeper is told what to do in JSON, and JSON has no bytes. A path that is UTF-8 travels as
//! itself; any other as hexadecimal behind a mark that no path can begin with.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ffi::{OsStr, OsString};
use std::fmt::{self, Write as _};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// No path and no argument holds a zero byte.
const MARK: char = '\0';

/// A string of bytes that the kernel hands out: a path, an argument, a variable.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Raw(OsString);

impl Raw {
    /// As the system's own string type.
    pub fn as_os_str(&self) -> &OsStr {
        &self.0
    }

    /// As a path.
    pub fn as_path(&self) -> &Path {
        Path::new(&self.0)
    }

    /// Gives the string away.
    pub fn into_os_string(self) -> OsString {
        self.0
    }
}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&agar_core::text::printable_bytes(self.0.as_bytes()))
    }
}

impl<T: Into<OsString>> From<T> for Raw {
    fn from(text: T) -> Self {
        Self(text.into())
    }
}

impl From<Raw> for PathBuf {
    fn from(raw: Raw) -> Self {
        Self::from(raw.0)
    }
}

impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.to_str() {
            Some(text) if !text.starts_with(MARK) => serializer.serialize_str(text),
            Some(_) | None => {
                let mut text = String::from(MARK);
                for byte in self.0.as_bytes() {
                    // Writing to a string cannot fail.
                    let _ = write!(text, "{byte:02x}");
                }
                serializer.serialize_str(&text)
            }
        }
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let Some(digits) = text.strip_prefix(MARK) else {
            return Ok(Self(text.into()));
        };
        let wrong = || serde::de::Error::custom("not a byte string");
        let bytes = digits
            .as_bytes()
            .chunks(2)
            .map(|pair| {
                let pair = std::str::from_utf8(pair).map_err(|_| wrong())?;
                u8::from_str_radix(pair, 16).map_err(|_| wrong())
            })
            .collect::<Result<Vec<u8>, D::Error>>()?;
        Ok(Self(OsString::from_vec(bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_survive_the_journey() {
        for bytes in [&b"/home/a b"[..], b"", b"\xff\xfe", "größe\n".as_bytes()] {
            let raw = Raw::from(OsString::from_vec(bytes.to_vec()));
            let text = serde_json::to_string(&raw).unwrap();
            assert_eq!(serde_json::from_str::<Raw>(&text).unwrap(), raw);
        }
    }
}
