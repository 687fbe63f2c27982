//! Secrets that give themselves away by their shape.

use super::span;

/// Beginnings that issuers put on their tokens, with the fewest characters that follow.
#[rustfmt::skip]
const PREFIXES: [(&str, usize); 30] = [
    ("ghp_", 30), ("gho_", 30), ("ghu_", 30), ("ghs_", 30), ("ghr_", 30), ("github_pat_", 20),
    ("glpat-", 16), ("glptt-", 16), ("sk-", 20), ("sk_live_", 16), ("rk_live_", 16),
    ("xoxb-", 16), ("xoxp-", 16), ("xoxa-", 16), ("xoxr-", 16), ("xoxs-", 16), ("xapp-", 16),
    ("AIza", 30), ("ya29.", 16), ("npm_", 30), ("pypi-", 40), ("hf_", 24), ("SG.", 30),
    ("dop_v1_", 32), ("shpat_", 24), ("hvs.", 20), ("AGE-SECRET-KEY-1", 30), ("cio", 32),
    ("dckr_pat_", 20), ("gsk_", 32),
];

/// Letters and digits of a key id at Amazon.
const AMAZON_ID: usize = 16;

/// Whether one word has the shape of a token.
pub(super) fn is_token(word: &str) -> bool {
    let prefixed = PREFIXES.iter().any(|(prefix, rest)| {
        word.strip_prefix(prefix)
            .is_some_and(|tail| tail.len() >= *rest && tail.bytes().any(|b| b.is_ascii_digit()))
    });
    prefixed || is_amazon_id(word) || is_web_token(word)
}

fn is_amazon_id(word: &str) -> bool {
    ["AKIA", "ASIA"].iter().any(|prefix| {
        word.strip_prefix(prefix).is_some_and(|tail| {
            tail.len() == AMAZON_ID
                && tail
                    .bytes()
                    .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
        })
    })
}

/// A JSON web token: three parts, of which the first two are JSON in base 64.
fn is_web_token(word: &str) -> bool {
    let mut parts = word.split('.');
    let json = |part: Option<&str>| part.is_some_and(|part| part.starts_with("eyJ"));
    json(parts.next()) && json(parts.next()) && parts.next().is_some_and(|part| part.len() >= 8)
}

/// Whether a value, as of an environment variable, looks like a secret whatever its name.
pub fn looks_secret(value: &str) -> bool {
    !span::secrets(value).is_empty() || is_random(value)
}

/// Long, of one piece, and with letters of both sizes and digits well mixed: nobody typed that.
fn is_random(value: &str) -> bool {
    const FEWEST: usize = 32;
    // A path, a list or a sentence is made of pieces that people read.
    if value.len() < FEWEST || !value.bytes().all(is_base_64) {
        return false;
    }
    let kinds = |value: &str| {
        let changes = value
            .as_bytes()
            .windows(2)
            .filter(|pair| class(pair[0]) != class(pair[1]))
            .count();
        changes * 3 >= value.len()
    };
    value.bytes().any(|b| b.is_ascii_lowercase())
        && value.bytes().any(|b| b.is_ascii_uppercase())
        && value.bytes().any(|b| b.is_ascii_digit())
        && kinds(value)
}

const fn is_base_64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'=' | b'_' | b'-')
}

const fn class(byte: u8) -> u8 {
    if byte.is_ascii_lowercase() {
        0
    } else if byte.is_ascii_uppercase() {
        1
    } else if byte.is_ascii_digit() {
        2
    } else {
        3
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issued_tokens_are_recognised() {
        for (prefix, rest) in PREFIXES {
            let tail: String = "a1B2c3D4e5".chars().cycle().take(rest).collect();
            assert!(looks_secret(&format!("{prefix}{tail}")), "{prefix}");
        }
        assert!(looks_secret(&format!("AKIA{}", "ABCDEFGH23456789")));
        assert!(looks_secret(&format!(
            "eyJ{}.eyJ{}.{}",
            "hbGci", "zdWIi", "c2lnbmF0dXJl"
        )));
    }

    #[test]
    fn a_random_value_is_taken_for_a_secret_and_a_readable_one_is_not() {
        assert!(looks_secret("q8Zr2LkP0vXw7Yt3Bn5Mc1Hd9Gf4Js6A"));
        for value in [
            "/home/me/.cargo",
            "https://proxy.golang.org,direct",
            "3f786850e387550fdab836ed7e6dc881de23001b",
            "x86_64-unknown-linux-gnu",
            "/nix/store/0c5b5xzb3s5rsmrvbf9vbzpaz8sn4n5c-openssl-3.0.12",
            "ANormalCamelCaseValueWithoutRandomness1",
        ] {
            assert!(!looks_secret(value), "{value}");
        }
    }
}
