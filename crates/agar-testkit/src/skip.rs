//! A test that cannot run here says so, and is counted.
//!
//! The test command compares the number of skips with the number written down for the mode it runs
//! in (`xtask/expected-skips.toml`): a claim that stops being tested must not go unnoticed.

use std::io::Write as _;

/// Names the file that the test command collects skips in.
pub const FILE_VARIABLE: &str = "AGAR_TEST_SKIPS";

/// Ends the test, saying which claim or rule was not tried and why.
///
/// ```no_run
/// # use agar_testkit::skip;
/// fn the_rule() {
///     if !std::path::Path::new("/dev/kvm").exists() {
///         skip!("C9", "no /dev/kvm");
///     }
/// }
/// ```
#[macro_export]
macro_rules! skip {
    ($claim:expr, $($reason:tt)+) => {{
        $crate::skip::report($claim, &format!($($reason)+));
        return;
    }};
}

/// Records a skip. Use [`skip!`](crate::skip!), which also ends the test.
pub fn report(claim: &str, reason: &str) {
    // One word, so that the two can be told apart.
    let claim = claim.replace(char::is_whitespace, "-");
    let line = format!("agar-skip: {claim} {}\n", reason.replace('\n', " "));
    // Through the print macro, so that the test harness captures it with the test's own output.
    #[expect(clippy::print_stdout, reason = "a skipped test says so")]
    {
        print!("{line}");
    }
    let Some(path) = std::env::var_os(FILE_VARIABLE) else {
        return;
    };
    let mut file = fs_err::OpenOptions::new()
        .append(true)
        .create(true)
        .open(std::path::PathBuf::from(path))
        .expect("the file for skips opens");
    // One write: lines of concurrent tests must not mix.
    file.write_all(line.as_bytes())
        .expect("a skip is written down");
}
