//! Which lines of an output say what went wrong.
//!
//! The rules are those of the tool chains' own formats; what they agree on is that a message stands
//! after a location and a word for "error". The location goes: it is where, not what.

use crate::text;
use serde::{Deserialize, Serialize};

/// No more of an output than its end is looked at.
const OUTPUT_MAX: usize = 256 * 1024;

/// No more lines than this are taken.
const LINES_MAX: usize = 24;

/// A tool chain whose form a line has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tool {
    /// rustc, cargo.
    Rust,
    /// pytest, Python itself.
    Python,
    /// npm, jest, tsc.
    Node,
    /// go.
    Go,
    /// javac, Maven, Gradle.
    Java,
    /// gcc, clang, ld, make.
    Native,
    /// psql and its kin.
    Database,
}

/// What stands before a message and says nothing.
const PREFIXES: [&str; 16] = [
    "npm ERR!",
    "npm error",
    "[ERROR]",
    "[error]",
    "ERROR:",
    "Error:",
    "error:",
    "FATAL:",
    "fatal:",
    "E ",
    "> ",
    "● ",
    "psql:",
    "bash:",
    "sh:",
    "/bin/sh:",
];

/// Messages that only say that there were messages.
const ECHOES: [&str; 22] = [
    "could not compile",
    "aborting due to",
    "build failed",
    "previous error",
    "test failed, to rerun",
    "failed to execute goal",
    "a complete log of this run",
    "recipe for target",
    "process didn't exit",
    "for more information",
    "to see the full stack trace",
    "re-run maven",
    "exit status",
    "help:",
    "compilation failure",
    "errors occurred",
    "some tests failed",
    "lifecycle script",
    "code elifecycle",
    "full log",
    "short test summary",
    "with_backtrace",
];

/// Phrases that only an error says.
const PHRASES: [&str; 22] = [
    "undefined reference to",
    "command not found",
    "no such file or directory",
    "permission denied",
    "cannot find symbol",
    "does not exist",
    "is not a function",
    "unresolved import",
    "segmentation fault",
    "panicked at",
    "cannot find module",
    "not assignable to",
    "already exists",
    "invalid input syntax",
    "violates",
    "connection refused",
    "out of memory",
    "timed out",
    "could not resolve",
    "unable to resolve",
    "peer dep",
    "incompatible",
];

/// The messages of an output, without their locations, in order.
pub(crate) fn error_lines(output: &str) -> Vec<String> {
    let output = strip_ansi(text::clip_end(output, OUTPUT_MAX));
    let mut lines: Vec<String> = Vec::new();
    let mut after_panic = false;
    for line in output.lines() {
        let line = text::clip(line, 2000).trim_end();
        let message = if after_panic {
            Some(line.trim().to_owned())
        } else {
            message(line)
        };
        // Since Rust 1.73 the message of a panic stands on the line after its place.
        after_panic = line.contains(" panicked at ") && line.ends_with(':');
        if after_panic {
            continue;
        }
        let Some(message) = message.filter(|message| !message.is_empty() && !echoes(message))
        else {
            continue;
        };
        if !lines.contains(&message) {
            lines.push(message);
        }
        if lines.len() == LINES_MAX {
            break;
        }
    }
    lines
}

/// Whether a message only says that there were others: `could not compile …`.
pub fn echoes(message: &str) -> bool {
    let lower = message.to_lowercase();
    ECHOES.iter().any(|echo| lower.contains(echo))
}

/// The message of a line, if it is one.
fn message(line: &str) -> Option<String> {
    // pytest's summary: `FAILED tests/test_a.py::test_b - ValueError: …`
    if let Some(rest) = line.strip_prefix("FAILED ").or(line.strip_prefix("ERROR "))
        && let Some((_, message)) = rest.split_once(" - ")
    {
        return Some(message.to_owned());
    }
    if explains(line) {
        return None;
    }
    let (mut rest, mut marked, mut in_go) = (line.trim_start(), false, false);
    // A mark may stand before a location, after it, or both: `psql:a.sql:7: ERROR: …`.
    for _ in 0..3 {
        let (after, tool) = without_location(rest);
        let (after, was_marked) = without_prefix(after);
        in_go = in_go || tool == Some(Tool::Go);
        marked = marked || was_marked;
        rest = after.trim();
    }
    if rest.is_empty() {
        return None;
    }
    let lower = rest.to_lowercase();
    let named = names_error(rest);
    let phrase = PHRASES.iter().any(|phrase| lower.contains(phrase));
    (marked || named || phrase || in_go).then(|| rest.to_owned())
}

/// Whether it is one of pytest's lines that show how an assertion came to fail: `E  +  where …`,
/// the lines of a difference. They name values, not errors.
fn explains(line: &str) -> bool {
    let shown = line.strip_prefix("E ").map(str::trim_start);
    shown.is_some_and(|shown| {
        shown.starts_with(['+', '-', '?'])
            || [
                "At index ",
                "Full diff",
                "Use -v",
                "Omitting ",
                "Differing ",
                "Left contains",
                "Right contains",
            ]
            .iter()
            .any(|start| shown.starts_with(start))
    })
}

/// Whether the line begins with the name of an error: `error[E0277]: …`, `TypeError: …`.
fn names_error(line: &str) -> bool {
    let line = line
        .strip_prefix("Caused by: ")
        .or(line.strip_prefix("Uncaught "))
        .or(line.strip_prefix("Exception in thread \"main\" "))
        .unwrap_or(line);
    let Some((head, _)) = line.split_once(':') else {
        let bare = line.trim_end();
        return bare.len() < 80
            && !bare.contains(' ')
            && (bare.ends_with("Error") || bare.ends_with("Exception"));
    };
    let head = head.trim();
    let last = head.rsplit(['.', ' ']).next().unwrap_or(head);
    let is_code =
        head.starts_with("error[") || head.starts_with("error TS") || head == "fatal error";
    let is_name = !head.contains(' ')
        && (last.ends_with("Error") || last.ends_with("Exception") || last == "panic");
    let is_word = ["error", "fatal", "panic"].contains(&head.to_lowercase().as_str());
    is_code || is_name || is_word
}

/// The line without the words that only mark it as an error, and whether there were some.
fn without_prefix(line: &str) -> (&str, bool) {
    let mut rest = line;
    let mut marked = false;
    loop {
        let before = rest;
        for prefix in PREFIXES {
            if let Some(after) = rest.strip_prefix(prefix) {
                rest = after.trim_start();
                marked = marked || !matches!(prefix, "> " | "● ");
            }
        }
        if rest == before {
            return (rest, marked);
        }
    }
}

/// The line without a location at its start, and whose form that location has.
fn without_location(line: &str) -> (&str, Option<Tool>) {
    let end = line.find([' ', '\t']).unwrap_or(line.len()).min(line.len());
    let word = &line[..end];
    let rest = line[end..].trim_start();
    let Some(tool) = tool_of(word) else {
        return (line, None);
    };
    let has_line = word.contains(':') && word.bytes().any(|b| b.is_ascii_digit())
        || word.contains('(')
        || word.ends_with(':');
    if !has_line {
        return (line, None);
    }
    let rest = rest.strip_prefix("- ").unwrap_or(rest);
    (rest, Some(tool))
}

/// Whose file a location names.
fn tool_of(word: &str) -> Option<Tool> {
    let path = word
        .split(['(', '['])
        .next()
        .unwrap_or(word)
        .trim_end_matches(':');
    let path = path.split(':').next().unwrap_or(path);
    let (_, ending) = path.rsplit_once('.')?;
    match ending {
        "rs" | "toml" => Some(Tool::Rust),
        "py" | "pyx" => Some(Tool::Python),
        "js" | "jsx" | "ts" | "tsx" | "mjs" | "cjs" | "vue" => Some(Tool::Node),
        "go" => Some(Tool::Go),
        "java" | "kt" | "scala" | "gradle" => Some(Tool::Java),
        "sql" => Some(Tool::Database),
        "c" | "cc" | "cpp" | "cxx" | "h" | "hpp" | "o" | "S" => Some(Tool::Native),
        _ => None,
    }
}

/// The text without the colours of a terminal.
fn strip_ansi(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\u{1b}' {
            clean.push(c);
        } else if chars.next() == Some('[') {
            // The sequence ends with its first letter.
            chars.by_ref().find(char::is_ascii_alphabetic);
        }
    }
    clean
}
