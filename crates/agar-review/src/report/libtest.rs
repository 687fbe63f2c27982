//! What `cargo test` prints.

use super::by_line::{ByLine, by_line};
use super::text::leading_number;
use super::{Report, Status};

/// Reads every line.
pub(super) fn read(text: &str) -> Report {
    by_line::<Reader>(text)
}

#[derive(Debug, Default)]
struct Reader {
    report: Report,
    /// The program under way: tests of two programs may share a name.
    program: String,
    /// Tests announced and not yet accounted for by a result line.
    open: bool,
    /// The test whose output is being shown, with what it said so far.
    saying: Option<(String, String)>,
    /// A test whose result stands on a later line, after what it printed.
    pending: Option<String>,
    announced: u64,
    seen: u64,
}

impl ByLine for Reader {
    fn line(&mut self, line: &str) {
        let trimmed = line.trim();
        if let Some(name) = running_program(trimmed) {
            self.end_program();
            self.program = name;
        } else if let Some(count) = announced(line) {
            self.end_program();
            (self.announced, self.seen, self.open) = (count, 0, true);
        } else if trimmed.starts_with("test result: ") && self.open {
            self.tell();
            self.open = false;
        } else if let Some(name) = line
            .strip_prefix("---- ")
            .and_then(|rest| rest.strip_suffix(" ----"))
        {
            self.tell();
            let name = name.trim_end_matches(" stdout").trim_end_matches(" stderr");
            self.saying = Some((name.to_owned(), String::new()));
        } else if line == "failures:" {
            self.tell();
        } else if let Some((_, said)) = &mut self.saying {
            if said.len() < super::MESSAGE_CHARS_MAX && !is_noise(trimmed) {
                said.push_str(line);
                said.push('\n');
            }
        } else if self.open {
            self.result(line);
        }
    }

    fn finish(mut self) -> Report {
        self.end_program();
        self.report
    }
}

impl Reader {
    fn result(&mut self, line: &str) {
        // A test that prints has its result on a line of its own, or at the end of what it printed.
        if let Some(name) = self.pending.take() {
            match status(line.trim_end()) {
                Some(status) => return self.add(&name, status),
                None => self.pending = Some(name),
            }
        }
        let Some(rest) = line.strip_prefix("test ") else {
            return;
        };
        let Some((name, ending)) = rest.split_once(" ... ") else {
            if let Some(name) = rest.strip_suffix(" ...") {
                self.pending = Some(name.to_owned());
            }
            return;
        };
        match status(ending.trim_end()) {
            Some(status) => self.add(name, status),
            None => self.pending = Some(name.to_owned()),
        }
    }

    fn add(&mut self, name: &str, status: Status) {
        self.seen += 1;
        let name = self.named(name);
        self.report.add(&name, status, None);
    }

    /// The name with its program, and without what the tool adds to it.
    fn named(&self, name: &str) -> String {
        let name = name.trim_end_matches(" - should panic");
        if self.program.is_empty() {
            return name.to_owned();
        }
        format!("{} {name}", self.program)
    }

    fn tell(&mut self) {
        if let Some((name, said)) = self.saying.take() {
            let name = self.named(&name);
            self.report.explain(&name, &said);
        }
    }

    /// A program that announced tests and never summed them up was ended from outside.
    fn end_program(&mut self) {
        self.tell();
        if let Some(name) = self.pending.take() {
            self.add(&name, Status::Failed);
        }
        if self.open {
            let missing = self.announced.saturating_sub(self.seen);
            let name = self.named("(ended early)");
            let message = format!("{missing} of {} tests have no result", self.announced);
            self.report.add(&name, Status::Failed, Some(&message));
            self.report.cut(message);
            self.open = false;
        }
    }
}

/// `Running tests/it.rs (target/debug/deps/it-0123456789abcdef)` and `Doc-tests shop`.
fn running_program(line: &str) -> Option<String> {
    if let Some(name) = line.strip_prefix("Doc-tests ") {
        return Some(format!("{} (doc)", name.trim()));
    }
    let rest = line.strip_prefix("Running ")?;
    let (source, path) = rest.split_once(" (")?;
    let file = path.strip_suffix(')')?.rsplit('/').next()?;
    // The hash differs between two builds of one program.
    let name = match file.rsplit_once('-') {
        Some((name, hash)) if hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit()) => {
            name
        }
        Some(_) | None => file,
    };
    let bin = source.starts_with("unittests src/main.rs") || source.contains("/bin/");
    Some(if bin {
        format!("{name} (bin)")
    } else {
        name.to_owned()
    })
}

/// `running 4 tests`
fn announced(line: &str) -> Option<u64> {
    let (count, rest) = leading_number(line.strip_prefix("running ")?)?;
    matches!(rest.trim_end(), " test" | " tests").then_some(count)
}

fn status(ending: &str) -> Option<Status> {
    let ending = ending.split(" <").next().unwrap_or(ending);
    if ending == "ok" || ending.starts_with("bench:") {
        return Some(Status::Passed);
    }
    if ending == "FAILED" || ending.starts_with("FAILED (") {
        return Some(Status::Failed);
    }
    (ending == "ignored" || ending.starts_with("ignored,")).then_some(Status::Skipped)
}

/// Lines of a panic that say where agar's reader should not look for a reason.
fn is_noise(line: &str) -> bool {
    line.starts_with("note: ") || line == "stack backtrace:"
}
