//! Which tool a text is from, by what only that tool writes.

use super::Format;

/// How much of a text is looked at, from both ends.
const LOOK_BYTES: usize = 256 << 10;

/// The format that a text seems to have.
pub(super) fn sniff(bytes: &[u8]) -> Option<Format> {
    let head = super::text::plain(&bytes[..bytes.len().min(LOOK_BYTES)]);
    let tail = super::text::plain(&bytes[bytes.len().saturating_sub(LOOK_BYTES)..]);
    let start = head.trim_start();
    if start.starts_with('<') {
        return (head.contains("<testsuite") || head.contains("<testcase"))
            .then_some(Format::Junit);
    }
    if head.contains("\"testResults\":") && head.contains("{\"num") {
        return Some(Format::Jest);
    }
    let any = |check: &dyn Fn(&str) -> bool| head.lines().chain(tail.lines()).any(check);
    if any(&|line| line.starts_with("{\"Time\":") && line.contains("\"Action\":")) {
        return Some(Format::GoJson);
    }
    if any(&|line| line.starts_with("TAP version ")) {
        return Some(Format::Tap);
    }
    // Before libtest: nextest shows what libtest printed below each failure.
    if any(&|line| line.trim_start().starts_with("Nextest run ID"))
        || any(&|line| line.trim_start().starts_with("Summary [") && line.contains("tests run:"))
    {
        return Some(Format::Nextest);
    }
    if any(&|line| line.starts_with("test result: ")) || any(&is_announcement) {
        return Some(Format::Libtest);
    }
    if any(&|line| line.starts_with("ok  \t") || line.starts_with("FAIL\t"))
        || any(&|line| line.starts_with("=== RUN   Test"))
    {
        return Some(Format::Go);
    }
    if any(&|line| line.contains(" test session starts ="))
        || any(&|line| line.starts_with("FAILED ") && line.contains(".py::"))
    {
        return Some(Format::Pytest);
    }
    let planned = any(&|line| line.starts_with("1..") && line[3..].parse::<u32>().is_ok());
    let result = any(&|line| line.starts_with("ok ") || line.starts_with("not ok "));
    (planned && result).then_some(Format::Tap)
}

fn is_announcement(line: &str) -> bool {
    line.strip_prefix("running ")
        .is_some_and(|rest| rest.ends_with(" tests") || rest == "1 test")
}
