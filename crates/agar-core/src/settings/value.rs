//! The values: read from a file or from text, checked, and written as one would type them.

use super::check::Check;
use super::key::{Key, Kind};
use crate::environment;
use crate::mask::Pattern;
use crate::size::Bytes;
use crate::walls::{Monitor, Network, Tier};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a person wants a sandbox to start from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BaseChoice {
    /// Frozen where that is quick, else live.
    #[default]
    Auto,
    /// A picture of the project.
    Frozen,
    /// The directory itself.
    Live,
}

impl BaseChoice {
    /// Every choice.
    pub const ALL: [Self; 3] = [Self::Auto, Self::Frozen, Self::Live];

    /// The word for it, everywhere.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Frozen => "frozen",
            Self::Live => "live",
        }
    }
}

/// What becomes of a kept sandbox whose command broke a limit or was denied a system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnBreach {
    /// It stays as the command left it.
    #[default]
    Keep,
    /// It returns to what it was before the command.
    Restore,
}

impl OnBreach {
    /// Every choice.
    pub const ALL: [Self; 2] = [Self::Keep, Self::Restore];

    /// The word for it, everywhere.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Restore => "restore",
        }
    }
}

/// A checked value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// A tier.
    Tier(Tier),
    /// What to start from.
    Base(BaseChoice),
    /// What may be reached.
    Network(Network),
    /// What is recorded.
    Monitor(Monitor),
    /// What becomes of a sandbox after a breach.
    OnBreach(OnBreach),
    /// Percent, bytes, a count or milliseconds, by the key's kind.
    Number(u64),
    /// No limit.
    Unlimited,
    /// A share in hundredths of a percent: whole numbers compare, hash and replay alike everywhere.
    Share(u16),
    /// Yes or no.
    Flag(bool),
    /// Names, patterns or commands.
    Names(Vec<String>),
    /// Declared checks.
    Checks(Vec<Check>),
}

/// A value as a file holds it, before anybody knows what it is for.
#[derive(Debug, Clone, PartialEq)]
pub enum Raw {
    /// Text.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// A number.
    Float(f64),
    /// Yes or no.
    Boolean(bool),
    /// A list of texts.
    List(Vec<String>),
    /// `{ allow = [names] }`
    Allow(Vec<String>),
    /// Checks, already read.
    Checks(Vec<Check>),
    /// Anything else, by what it is called.
    Other(&'static str),
}

/// The value does not fit its key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{wanted}, not {found}")]
pub struct NotAValue {
    /// What would fit.
    pub wanted: String,
    /// What was there.
    pub found: String,
    /// What was probably meant.
    pub suggestion: Option<String>,
}

impl NotAValue {
    fn new(wanted: &str, found: &Raw) -> Self {
        let found = match found {
            Raw::Text(text) => format!("`{}`", text.chars().take(60).collect::<String>()),
            Raw::Integer(number) => number.to_string(),
            Raw::Float(number) => number.to_string(),
            Raw::Boolean(flag) => flag.to_string(),
            Raw::List(_) => "a list".to_owned(),
            Raw::Allow(_) => "a list of names".to_owned(),
            Raw::Checks(_) => "checks".to_owned(),
            Raw::Other(what) => (*what).to_owned(),
        };
        Self {
            wanted: wanted.to_owned(),
            found,
            suggestion: None,
        }
    }

    fn suggesting(mut self, found: &Raw, words: &[&'static str]) -> Self {
        if let Raw::Text(text) = found {
            let near = crate::suggest::nearest(text, words.iter().copied());
            self.suggestion = near.map(str::to_owned);
        }
        self
    }
}

impl Value {
    /// Checks a raw value for a key of this kind.
    pub fn read(kind: Kind, raw: &Raw) -> Result<Self, NotAValue> {
        match kind {
            Kind::Tier => word(raw, &Tier::ALL, Tier::word).map(Self::Tier),
            Kind::Base => word(raw, &BaseChoice::ALL, BaseChoice::word).map(Self::Base),
            Kind::Monitor => word(raw, &Monitor::ALL, Monitor::word).map(Self::Monitor),
            Kind::OnBreach => word(raw, &OnBreach::ALL, OnBreach::word).map(Self::OnBreach),
            Kind::Network => network(raw).map(Self::Network),
            Kind::Percent => number(raw, "a percentage such as 50", percent),
            Kind::Size => number(raw, "a size such as 512M or 2G", megabytes),
            Kind::Count => number(raw, "a whole number", |text| text.parse().ok()),
            Kind::Span => number(raw, "a time such as 30s, 5m or 2h", milliseconds),
            Kind::Share => share(raw).map(Self::Share),
            Kind::Flag => flag(raw).map(Self::Flag),
            Kind::Names | Kind::Commands => names(raw).map(Self::Names),
            Kind::Checks => {
                if let Raw::Checks(checks) = raw {
                    return Ok(Self::Checks(checks.clone()));
                }
                Err(NotAValue::new("write checks as [[check]] tables", raw))
            }
        }
    }

    /// The value as one would type it.
    pub fn show(&self, kind: Kind) -> String {
        match self {
            Self::Tier(tier) => tier.to_string(),
            Self::Base(base) => base.word().to_owned(),
            Self::Network(Network::Allow { names }) => format!("allow {}", names.join(", ")),
            Self::Network(network) => network.word().to_owned(),
            Self::Monitor(monitor) => monitor.word().to_owned(),
            Self::OnBreach(choice) => choice.word().to_owned(),
            Self::Number(number) => show_number(*number, kind),
            Self::Unlimited => "none".to_owned(),
            Self::Share(share) => format!("{}", f64::from(*share) / 10_000.0),
            Self::Flag(flag) => flag.to_string(),
            Self::Names(names) => names.join(", "),
            Self::Checks(checks) => {
                let names: Vec<&str> = checks.iter().map(|check| check.name.as_str()).collect();
                names.join(", ")
            }
        }
    }
}

fn show_number(number: u64, kind: Kind) -> String {
    match kind {
        Kind::Size => Bytes(number).to_string(),
        Kind::Span if number.is_multiple_of(1000) => format!("{} s", number / 1000),
        Kind::Span => format!("{number} ms"),
        Kind::Percent => format!("{number} %"),
        Kind::Tier
        | Kind::Base
        | Kind::Network
        | Kind::Monitor
        | Kind::OnBreach
        | Kind::Count
        | Kind::Share
        | Kind::Flag
        | Kind::Names
        | Kind::Commands
        | Kind::Checks => number.to_string(),
    }
}

fn word<T: Copy>(
    raw: &Raw,
    all: &[T],
    word_of: impl Fn(T) -> &'static str,
) -> Result<T, NotAValue> {
    let words: Vec<&'static str> = all.iter().map(|&value| word_of(value)).collect();
    if let Raw::Text(text) = raw
        && let Some(at) = words.iter().position(|word| word == text)
    {
        return Ok(all[at]);
    }
    let wanted = format!("choose one of {}", words.join(", "));
    Err(NotAValue::new(&wanted, raw).suggesting(raw, &words))
}

fn network(raw: &Raw) -> Result<Network, NotAValue> {
    let allow = |names: &[String]| Network::Allow {
        names: names.to_vec(),
    };
    match raw {
        Raw::Text(text) if text == "none" => Ok(Network::None),
        Raw::Text(text) if text == "host" => Ok(Network::Host),
        // The seed writes `network: false`.
        Raw::Boolean(false) => Ok(Network::None),
        Raw::Allow(names) | Raw::List(names) if names.is_empty() => Ok(Network::None),
        Raw::Allow(names) | Raw::List(names) => Ok(allow(names)),
        Raw::Text(_)
        | Raw::Integer(_)
        | Raw::Float(_)
        | Raw::Boolean(true)
        | Raw::Checks(_)
        | Raw::Other(_) => Err(
            NotAValue::new("choose none, host or { allow = [names] }", raw)
                .suggesting(raw, &["none", "host"]),
        ),
    }
}

/// A number, or `none` for no limit.
fn number(
    raw: &Raw,
    wanted: &str,
    parse: impl Fn(&str) -> Option<u64>,
) -> Result<Value, NotAValue> {
    let text = match raw {
        Raw::Text(text) if text == "none" => return Ok(Value::Unlimited),
        Raw::Text(text) => text.trim().to_owned(),
        Raw::Integer(number) => number.to_string(),
        Raw::Float(number) => number.to_string(),
        Raw::Boolean(_) | Raw::List(_) | Raw::Allow(_) | Raw::Checks(_) | Raw::Other(_) => {
            return Err(NotAValue::new(&format!("write {wanted}"), raw));
        }
    };
    let number = parse(&text).filter(|&number| number <= i64::MAX.cast_unsigned());
    number
        .map(Value::Number)
        .ok_or_else(|| NotAValue::new(&format!("write {wanted}"), raw))
}

fn percent(text: &str) -> Option<u64> {
    let number = text.trim_end_matches('%').trim_end().parse().ok()?;
    (1..=100_000).contains(&number).then_some(number)
}

/// A plain number is megabytes, as in the seed.
fn megabytes(text: &str) -> Option<u64> {
    match text.parse::<u64>() {
        Ok(number) => number.checked_mul(1 << 20),
        Err(_) => text.parse::<Bytes>().ok().map(|bytes| bytes.0),
    }
}

/// A plain number is seconds, as in the seed.
fn milliseconds(text: &str) -> Option<u64> {
    let split = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let unit: u64 = match unit.trim() {
        "ms" => 1,
        "" | "s" | "sec" => 1000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if fraction.len() > 3 {
        return None;
    }
    let scale = 10_u64.pow(u32::try_from(fraction.len()).ok()?);
    let part = fraction.parse::<u64>().ok()?.checked_mul(unit)? / scale;
    whole
        .parse::<u64>()
        .ok()?
        .checked_mul(unit)?
        .checked_add(part)
}

fn share(raw: &Raw) -> Result<u16, NotAValue> {
    let number = match raw {
        Raw::Float(number) => Some(*number),
        Raw::Integer(0) => Some(0.0),
        Raw::Integer(1) => Some(1.0),
        Raw::Text(text) => text.trim().parse().ok(),
        Raw::Integer(_)
        | Raw::Boolean(_)
        | Raw::List(_)
        | Raw::Allow(_)
        | Raw::Checks(_)
        | Raw::Other(_) => None,
    };
    let found = number
        .filter(|number| (0.0..=1.0).contains(number))
        .map(|number| (number * 10_000.0).round());
    // Found by comparison: every whole number of hundredths is exact as a float.
    found
        .and_then(|wanted| (0..=10_000_u16).find(|&share| f64::from(share) >= wanted))
        .ok_or_else(|| NotAValue::new("write a number from 0 to 1", raw))
}

fn flag(raw: &Raw) -> Result<bool, NotAValue> {
    match raw {
        Raw::Boolean(flag) => Ok(*flag),
        Raw::Text(text) => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Ok(true),
            "false" | "no" | "off" | "0" => Ok(false),
            _ => Err(NotAValue::new("write true or false", raw)),
        },
        Raw::Integer(_)
        | Raw::Float(_)
        | Raw::List(_)
        | Raw::Allow(_)
        | Raw::Checks(_)
        | Raw::Other(_) => Err(NotAValue::new("write true or false", raw)),
    }
}

fn names(raw: &Raw) -> Result<Vec<String>, NotAValue> {
    match raw {
        Raw::List(names) => Ok(names.clone()),
        Raw::Text(text) if text.is_empty() => Ok(Vec::new()),
        Raw::Text(text) => Ok(vec![text.clone()]),
        Raw::Integer(_)
        | Raw::Float(_)
        | Raw::Boolean(_)
        | Raw::Allow(_)
        | Raw::Checks(_)
        | Raw::Other(_) => Err(NotAValue::new("write a list of texts", raw)),
    }
}

/// What is wrong with one entry of a list of masks or of variables.
pub(super) fn entry_fault(key: Key, entry: &str) -> Option<String> {
    if matches!(key, Key::Mask | Key::Unmask) {
        return Pattern::parse(entry).err().map(|error| error.to_string());
    }
    if key != Key::Env {
        return None;
    }
    if environment::is_never_kept(entry) {
        return Some(format!(
            "`{entry}` is never passed into a sandbox: it changes what programs load, or is a socket"
        ));
    }
    let fine = !entry.is_empty() && !entry.contains(['=', ' ', '\0']);
    (!fine).then(|| format!("`{entry}` is not the name of a variable"))
}

impl fmt::Display for BaseChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
