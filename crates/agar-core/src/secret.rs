//! What a secret looks like, by its name and by its shape.
//!
//! One set of rules serves everything that must not keep or pass on a secret: the argv and notes in
//! the store, and the environment of a sandbox. They are rules of thumb: they err towards hiding
//! where a name says "token", and towards showing where only the shape could tell.

mod shape;
mod span;

use std::borrow::Cow;

pub use shape::looks_secret;

/// What stands in place of a secret.
pub const REDACTED: &str = "[redacted]";

/// Words that make the name of a variable, flag or field the name of a secret.
const SECRET_WORDS: [&str; 20] = [
    "token",
    "tokens",
    "secret",
    "secrets",
    "password",
    "passwd",
    "passphrase",
    "apikey",
    "accesskey",
    "privatekey",
    "secretkey",
    "authtoken",
    "credential",
    "credentials",
    "auth",
    "authorization",
    "bearer",
    "cookie",
    "cookies",
    "dsn",
];

/// Words that make a following `key` harmless.
const HARMLESS_KEYS: [&str; 8] = [
    "public",
    "pub",
    "primary",
    "foreign",
    "cache",
    "sort",
    "partition",
    "host",
];

/// Whether a variable, flag or field of this name holds a secret.
///
/// The name is taken apart at dashes, underscores and capitals, so `GITHUB_TOKEN`, `api-key` and
/// `authToken` are secrets and `TOKENIZERS`, `AUTHOR` and `PWD` are not.
pub fn names_secret(name: &str) -> bool {
    let words = words(name);
    let (last, before) = match words.as_slice() {
        [] => return false,
        [.., before, last] => (last.as_str(), Some(before.as_str())),
        [last] => (last.as_str(), None),
    };
    let by_last_word = match last {
        "pass" => true,
        "pwd" => before.is_some(),
        "key" => before.is_some_and(|word| !HARMLESS_KEYS.contains(&word)),
        _ => false,
    };
    by_last_word
        || words
            .iter()
            .any(|word| SECRET_WORDS.contains(&word.as_str()))
}

/// The words of a name, in small letters.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut open = false;
    let mut small_before = false;
    for c in name.chars() {
        if !c.is_alphanumeric() {
            open = false;
            small_before = false;
            continue;
        }
        if !open || (c.is_uppercase() && small_before) {
            words.push(String::new());
            open = true;
        }
        small_before = !c.is_uppercase();
        if let Some(word) = words.last_mut() {
            word.extend(c.to_lowercase());
        }
    }
    words
}

/// How often what was redacted is looked at again. Once is nearly always enough.
const LOOKS_MAX: usize = 8;

/// The text without what looks like a secret, or is called one.
///
/// What takes the place of one secret can be the value of another name, `://=token::@`, so it is looked
/// at again until nothing changes: to redact what was redacted changes nothing.
pub fn redact(text: &str) -> Cow<'_, str> {
    let Some(mut clean) = redacted_once(text) else {
        return Cow::Borrowed(text);
    };
    for _ in 0..LOOKS_MAX {
        match redacted_once(&clean) {
            Some(again) if again != clean => clean = again,
            Some(_) | None => break,
        }
    }
    Cow::Owned(clean)
}

fn redacted_once(text: &str) -> Option<String> {
    let spans = span::secrets(text);
    if spans.is_empty() {
        return None;
    }
    let mut clean = String::with_capacity(text.len());
    let mut from = 0;
    for span in spans {
        clean.push_str(&text[from..span.start]);
        clean.push_str(REDACTED);
        from = span.end;
    }
    clean.push_str(&text[from..]);
    Some(clean)
}

/// The command without secrets: also without the value after a flag that is called one.
pub fn redact_argv<S: AsRef<str>>(argv: &[S]) -> Vec<String> {
    let mut clean = Vec::with_capacity(argv.len());
    let mut before = "";
    for argument in argv {
        let argument = argument.as_ref();
        clean.push(redact_argument(before, argument));
        before = argument;
    }
    clean
}

fn redact_argument(before: &str, argument: &str) -> String {
    let flag = before.strip_prefix('-').filter(|flag| !flag.contains('='));
    let Some(flag) = flag.map(|flag| flag.trim_start_matches('-')) else {
        return redact(argument).into_owned();
    };
    if names_secret(flag) && !argument.starts_with('-') {
        return REDACTED.to_owned();
    }
    // `curl -u name:password`
    match argument.split_once(':') {
        Some((user, password))
            if matches!(flag, "u" | "user") && !user.is_empty() && !password.is_empty() =>
        {
            format!("{user}:{REDACTED}")
        }
        _ => redact(argument).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Made up, and put together here so that no scanner takes this file for a leak.
    fn github() -> String {
        format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8")
    }

    #[test]
    fn names_are_judged_by_their_words() {
        for name in [
            "GITHUB_TOKEN",
            "api-key",
            "npm_config__authToken",
            "AWS_SECRET_ACCESS_KEY",
            "DB_PASS",
            "DB_PWD",
            "password",
            "Authorization",
            "CARGO_REGISTRY_TOKEN",
            "SIGNING_KEY",
        ] {
            assert!(names_secret(name), "{name}");
        }
        for name in [
            "PWD",
            "OLDPWD",
            "TOKENIZERS_PARALLELISM",
            "GIT_AUTHOR_NAME",
            "SSH_ASKPASS",
            "KEYBOARD",
            "key",
            "PUBLIC_KEY",
            "",
            "___",
        ] {
            assert!(!names_secret(name), "{name}");
        }
    }

    #[test]
    fn what_is_called_a_secret_is_not_kept() {
        for (text, clean) in [
            (
                "export API_TOKEN=abc; make",
                "export API_TOKEN=[redacted]; make",
            ),
            ("--password=hunter2", "--password=[redacted]"),
            (
                r#"{"apiKey": "abc def", "a": 1}"#,
                r#"{"apiKey": "[redacted]", "a": 1}"#,
            ),
            ("Authorization: Bearer abc.def", "Authorization: [redacted]"),
            (
                "curl -H 'Authorization: Basic Zm9v' x",
                "curl -H 'Authorization: [redacted]' x",
            ),
            ("https://me:pw@host/x", "https://me:[redacted]@host/x"),
            ("TOKEN=$TOKEN ./run", "TOKEN=$TOKEN ./run"),
        ] {
            assert_eq!(redact(text), clean);
        }
    }

    #[test]
    fn what_has_the_shape_of_a_secret_is_not_kept() {
        let text = format!("clone with {} please", github());
        assert_eq!(redact(&text), "clone with [redacted] please");
        let pem =
            "-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n-----END OPENSSH PRIVATE KEY-----\nrest";
        assert_eq!(redact(pem), "[redacted]\nrest");
    }

    #[test]
    fn ordinary_text_is_left_alone() {
        for text in [
            "cargo test --all-targets",
            "git checkout 3f786850e387550fdab836ed7e6dc881de23001b",
            "/home/me/src/auth.rs:12:3",
            "npm install --save-dev typescript@5.4.2",
            "token bucket: a rate limiter",
            "https://example.org:8080/path?x=1",
        ] {
            assert!(matches!(redact(text), Cow::Borrowed(_)), "{text}");
        }
    }

    #[test]
    fn the_value_after_a_secret_flag_is_not_kept() {
        let argv = ["curl", "--token", "abc", "-u", "me:pw", "--flag", "plain"];
        assert_eq!(
            redact_argv(&argv),
            [
                "curl",
                "--token",
                REDACTED,
                "-u",
                "me:[redacted]",
                "--flag",
                "plain"
            ]
        );
    }

    #[test]
    fn what_takes_the_place_of_a_secret_may_be_the_value_of_another_name() {
        let once = redact("://=token::@");
        assert_eq!(redact(&once), once);
    }

    proptest! {
        #[test]
        fn redacting_twice_is_redacting_once(text in "(token|key|=|:|\"|'| |//|@|[a-z0-9$]{1,4}|\u{e9}){0,24}") {
            let once = redact(&text).into_owned();
            prop_assert_eq!(redact(&once), once.as_str());
        }

        #[test]
        fn a_token_never_survives(before in "[ -~]{0,20}", after in "[ -~]{0,20}") {
            let text = format!("{before} {} {after}", github());
            prop_assert!(!redact(&text).contains(&github()));
        }

        #[test]
        fn no_text_makes_it_panic(text: String) {
            drop(redact(&text));
            looks_secret(&text);
            names_secret(&text);
        }
    }
}
