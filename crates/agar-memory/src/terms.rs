//! What an experiment can be found by: words, commands, files, context, errors; as small hashes.
//!
//! Only hashes and counts are kept, so that the index holds no text to forget.

use crate::experiment::Suggestion;
use serde_json::Value;
use std::collections::BTreeMap;

/// No more of a text than this is looked at.
const TEXT_MAX: usize = 64 * 1024;

/// No more different terms than this are kept, the first ones.
const TERMS_MAX: usize = 192;

/// Words that say nothing about a change.
const STOP: [&str; 44] = [
    "a", "an", "and", "are", "as", "at", "be", "by", "can", "do", "for", "from", "has", "have",
    "i", "if", "in", "into", "is", "it", "its", "me", "my", "not", "of", "on", "or", "our",
    "please", "so", "that", "the", "their", "then", "there", "this", "to", "was", "we", "when",
    "will", "with", "you", "your",
];

/// The part of a suggestion that a term is of. What one side says nothing about cannot tell the two
/// apart, so likeness is measured over the parts that both have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// What is proposed, in words.
    Text,
    /// The commands that would run.
    Command,
    /// The files it is about.
    File,
    /// Everything else that was said.
    Context,
}

impl Part {
    const ALL: [Self; 4] = [Self::Text, Self::Command, Self::File, Self::Context];

    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Text => 0,
            Self::Command => 1,
            Self::File => 2,
            Self::Context => 3,
        }
    }

    /// A set that holds nothing but this one.
    pub(crate) const fn bit(self) -> u8 {
        1 << self.code()
    }
}

/// A count is kept in the bits below, the part in those above.
const COUNT_BITS: u8 = 6;
const COUNT_MAX: u8 = (1 << COUNT_BITS) - 1;

/// One term and how often it occurs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Term {
    pub(crate) hash: u32,
    pub(crate) count: u8,
    /// Where it occurs.
    pub(crate) part: Part,
    /// How much it told apart when it was stored, of 255; zero for what is only for finding.
    pub(crate) told: u8,
}

impl Term {
    /// How much the count weighs.
    pub(crate) fn weight(self) -> f64 {
        1.0 + f64::from(self.count.max(1)).ln()
    }

    /// How much it told apart when it was stored, from 0 to 1.
    pub(crate) fn telling(self) -> f64 {
        f64::from(self.told) / 255.0
    }
}

/// The terms of one document, sorted by hash.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Terms(Vec<Term>);

impl Terms {
    pub(crate) fn iter(&self) -> impl Iterator<Item = Term> + '_ {
        self.0.iter().copied()
    }

    /// The terms of a suggestion.
    pub(crate) fn of(suggestion: &Suggestion) -> Self {
        let mut draft = Draft::default();
        draft.text(Part::Text, &suggestion.text);
        for command in &suggestion.commands {
            draft.command(command);
        }
        for file in suggestion.files.iter().take(32) {
            draft.add(Part::File, "f", file);
        }
        for (key, value) in suggestion
            .strategy
            .iter()
            .map(|value| ("strategy", value))
            .chain(suggestion.problem.iter().map(|value| ("problem", value)))
        {
            draft.add(Part::Context, "k", &format!("{key}={value}"));
        }
        for (key, value) in &suggestion.context {
            draft.context(key, value);
        }
        draft.finish()
    }

    /// The terms of plain text.
    pub(crate) fn of_text(text: &str) -> Self {
        let mut draft = Draft::default();
        draft.text(Part::Text, text);
        draft.finish()
    }

    /// The hash under which everything that showed an error is found.
    pub(crate) fn error(fingerprint: &str) -> u32 {
        hash("e", fingerprint)
    }

    /// The hash under which everything that changed a file is found.
    pub(crate) fn file(path: &str) -> u32 {
        hash("f", path)
    }

    /// The same with further terms that are only for finding.
    pub(crate) fn with(mut self, hashes: impl Iterator<Item = u32>) -> Self {
        for hash in hashes {
            if let Err(at) = self.0.binary_search_by_key(&hash, |term| term.hash) {
                let finding_only = Term {
                    hash,
                    count: 1,
                    part: Part::File,
                    told: 0,
                };
                self.0.insert(at, finding_only);
            }
        }
        self
    }

    /// The same, each with how much it tells apart now.
    pub(crate) fn told(mut self, telling: impl Fn(u32) -> f64) -> Self {
        for term in &mut self.0 {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "clamped to the range of a byte"
            )]
            let told = (telling(term.hash) * 255.0).round().clamp(1.0, 255.0) as u8;
            term.told = told;
        }
        self
    }

    /// Six bytes a term.
    pub(crate) fn pack(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.0.len() * 6);
        for term in &self.0 {
            bytes.extend_from_slice(&term.hash.to_le_bytes());
            bytes.push(term.part.code() << COUNT_BITS | term.count.min(COUNT_MAX));
            bytes.push(term.told);
        }
        bytes
    }

    /// Back from bytes. What does not fit is left out.
    pub(crate) fn unpack(bytes: &[u8]) -> Self {
        Self(
            bytes
                .chunks_exact(6)
                .map(|chunk| Term {
                    hash: u32::from_le_bytes([chunk[0], chunk[1], chunk[2], chunk[3]]),
                    count: chunk[4] & COUNT_MAX,
                    part: Part::ALL[usize::from(chunk[4] >> COUNT_BITS)],
                    told: chunk[5],
                })
                .collect(),
        )
    }
}

#[derive(Debug, Default)]
struct Draft {
    counts: BTreeMap<u32, (Part, u8)>,
}

impl Draft {
    /// Counts a term of a part. What is of another part already is not counted there again: a
    /// command that repeats words of the text must not make the text another one.
    fn add(&mut self, part: Part, field: &str, text: &str) {
        let hash = hash(field, text);
        let is_full = self.counts.len() >= TERMS_MAX;
        match self.counts.get_mut(&hash) {
            Some((known, count)) if *known == part => {
                *count = count.saturating_add(1).min(COUNT_MAX);
            }
            Some(_) if field == "w" => self.add(part, "again", text),
            None if !is_full => {
                self.counts.insert(hash, (part, 1));
            }
            Some(_) | None => {}
        }
    }

    fn text(&mut self, part: Part, text: &str) {
        each_word(text, |word| self.add(part, "w", word));
    }

    /// The program, its verb and its flags tell what a command does; the words tell on what.
    fn command(&mut self, command: &[String]) {
        if let Some(shape) = crate::command::shape(command) {
            self.add(Part::Command, "c", &shape);
        }
        for word in command.iter().skip(1).take(32) {
            self.text(Part::Command, word);
        }
    }

    fn context(&mut self, key: &str, value: &Value) {
        match value {
            Value::String(text) if text.len() <= 80 => {
                self.add(Part::Context, "k", &format!("{key}={text}"));
            }
            Value::String(text) => self.text(Part::Context, text),
            Value::Bool(flag) => self.add(Part::Context, "k", &format!("{key}={flag}")),
            Value::Number(number) => self.add(Part::Context, "k", &format!("{key}={number}")),
            Value::Array(items) => {
                for item in items.iter().take(16) {
                    self.context(key, item);
                }
            }
            Value::Object(map) => {
                for (inner, value) in map.iter().take(16) {
                    self.context(&format!("{key}.{inner}"), value);
                }
            }
            Value::Null => {}
        }
    }

    fn finish(self) -> Terms {
        Terms(
            self.counts
                .into_iter()
                .map(|(hash, (part, count))| Term {
                    hash,
                    count,
                    part,
                    told: u8::MAX,
                })
                .collect(),
        )
    }
}

/// Shows each word of a text: small letters, no stop words, no long numbers, plurals as singulars.
fn each_word(text: &str, mut show: impl FnMut(&str)) {
    let text = crate::text::clip(text, TEXT_MAX);
    let mut word = String::new();
    for c in text.chars().chain(std::iter::once(' ')) {
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
            continue;
        }
        if !word.is_empty() {
            let known = plain(&word);
            if is_telling(known) {
                show(known);
            }
            word.clear();
        }
    }
}

/// The word without its ending, roughly: `migrations`, `migrating` and `migrate` are one.
fn plain(word: &str) -> &str {
    let word = match word.strip_suffix('s') {
        Some(stem) if stem.len() > 3 && !stem.ends_with(['s', 'u', 'i']) => stem,
        _ => word,
    };
    for ending in ["ing", "ion", "ed", "e"] {
        match word.strip_suffix(ending) {
            Some(stem) if stem.len() > 3 => return stem,
            _ => {}
        }
    }
    word
}

fn is_telling(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let is_name_of_something = digits > 6 || word.len() > 32;
    !is_name_of_something && STOP.binary_search(&word).is_err()
}

/// FNV-1a, folded to 32 bits.
pub(crate) fn hash(field: &str, text: &str) -> u32 {
    let wide = hash64(field, text);
    #[expect(clippy::cast_possible_truncation, reason = "both halves are folded in")]
    let folded = (wide ^ (wide >> 32)) as u32;
    folded
}

/// FNV-1a.
pub(crate) fn hash64(field: &str, text: &str) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in field.bytes().chain(std::iter::once(0)).chain(text.bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_stop_words_can_be_searched() {
        assert!(STOP.is_sorted());
    }

    #[test]
    fn case_plural_and_punctuation_do_not_matter() {
        assert_eq!(
            Terms::of_text("Upgrade the packages!"),
            Terms::of_text("upgrade package")
        );
    }

    proptest! {
        #[test]
        fn terms_survive_being_packed(text in "[a-z ]{0,200}") {
            let terms = Terms::of_text(&text);
            prop_assert_eq!(Terms::unpack(&terms.pack()), terms);
        }

        #[test]
        fn no_text_makes_it_panic(text: String, bytes: Vec<u8>) {
            drop(Terms::of_text(&text));
            drop(Terms::unpack(&bytes));
        }
    }
}
