//! Amounts of bytes, read and written the way people say them.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A number of bytes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl Bytes {
    /// That many binary megabytes.
    pub const fn mib(count: u64) -> Self {
        Self(count << 20)
    }
}

/// The text is not an amount of bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a size; write for example 512M or 2G")]
pub struct NotASize(pub String);

impl FromStr for Bytes {
    type Err = NotASize;

    /// Reads `512M`, `2G`, `1.5GiB`, `100 MB` or a plain number of bytes. Units are binary.
    fn from_str(text: &str) -> Result<Self, NotASize> {
        let wrong = || NotASize(text.to_owned());
        let trimmed = text.trim();
        let split = trimmed
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(split);
        let shift = match unit.trim().to_ascii_lowercase().as_str() {
            "" | "b" => 0,
            "k" | "kb" | "kib" => 10,
            "m" | "mb" | "mib" => 20,
            "g" | "gb" | "gib" => 30,
            "t" | "tb" | "tib" => 40,
            _ => return Err(wrong()),
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() || fraction.contains('.') || fraction.len() > 6 {
            return Err(wrong());
        }
        let whole: u64 = whole.parse().map_err(|_| wrong())?;
        let whole = whole.checked_mul(1 << shift).ok_or_else(wrong)?;
        if fraction.is_empty() {
            return Ok(Self(whole));
        }
        let part: u64 = fraction.parse().map_err(|_| wrong())?;
        let scale = 10_u64.pow(u32::try_from(fraction.len()).map_err(|_| wrong())?);
        let part = u128::from(part) * (1_u128 << shift) / u128::from(scale);
        let part = u64::try_from(part).map_err(|_| wrong())?;
        whole.checked_add(part).map(Self).ok_or_else(wrong)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(&str, u32); 4] = [("TB", 40), ("GB", 30), ("MB", 20), ("KB", 10)];
        let fits = |&&(_, shift): &&(&str, u32)| self.0 >= 1 << shift;
        let Some((unit, shift)) = UNITS.iter().find(fits) else {
            return write!(f, "{} B", self.0);
        };
        let tenths = (u128::from(self.0) * 10) >> shift;
        if tenths >= 100 || tenths % 10 == 0 {
            write!(f, "{} {unit}", tenths / 10)
        } else {
            write!(f, "{}.{} {unit}", tenths / 10, tenths % 10)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, bytes) in [
            ("0", 0),
            ("512M", 512 << 20),
            ("2g", 2 << 30),
            ("1.5 GiB", 3 << 29),
            ("10 MB", 10 << 20),
        ] {
            assert_eq!(text.parse(), Ok(Bytes(bytes)), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_size_is_refused() {
        for text in [
            "",
            "M",
            "-1",
            "1.2.3G",
            "9999999999999T",
            "5 parsecs",
            ".5G",
        ] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_written_short() {
        assert_eq!(Bytes(999).to_string(), "999 B");
        assert_eq!(Bytes(1536).to_string(), "1.5 KB");
        assert_eq!(Bytes::mib(512).to_string(), "512 MB");
    }
}
