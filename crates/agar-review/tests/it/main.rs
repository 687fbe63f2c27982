//! Reports as the tools really write them, and as nobody should.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test whose sample cannot be read must stop there"
)]

mod hostile;
mod judging;
mod samples;

use agar_review::{Format, Report, Unreadable};

/// Reads a sample from the folder of fixtures.
fn sample(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::File::open(&path)
        .and_then(|mut file| {
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut file, &mut bytes)?;
            Ok(bytes)
        })
        .unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn read(format: Format, name: &str) -> Result<Report, Unreadable> {
    Report::read(format, &sample(name))
}

/// Every sample, with the format it has.
const SAMPLES: [(&str, Format); 18] = [
    ("pytest-junit.xml", Format::Junit),
    ("nextest-junit.xml", Format::Junit),
    ("surefire-junit.xml", Format::Junit),
    ("flaky-junit.xml", Format::Junit),
    ("node.tap", Format::Tap),
    ("prove.tap", Format::Tap),
    ("cut.tap", Format::Tap),
    ("libtest.txt", Format::Libtest),
    ("libtest-abort.txt", Format::Libtest),
    ("nextest.txt", Format::Nextest),
    ("pytest-default.txt", Format::Pytest),
    ("pytest-verbose.txt", Format::Pytest),
    ("pytest-quiet.txt", Format::Pytest),
    ("go.txt", Format::Go),
    ("go-verbose.txt", Format::Go),
    ("go.jsonl", Format::GoJson),
    ("jest.json", Format::Jest),
    ("vitest.json", Format::Jest),
];
