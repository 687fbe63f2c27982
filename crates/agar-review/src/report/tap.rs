//! The Test Anything Protocol, versions 12 to 14, with subtests.

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
    /// The names announced by `# Subtest:`, with their indentation.
    within: Vec<(usize, String)>,
    /// How many tests the outermost plan promises.
    planned: Option<u64>,
    seen: u64,
    /// The test that a block of diagnostics belongs to, and the indentation of that block.
    explained: Option<(String, usize)>,
}

impl ByLine for Reader {
    fn line(&mut self, line: &str) {
        let trimmed = line.trim_start_matches(' ');
        let indent = line.len() - trimmed.len();
        if self.diagnostics(trimmed, indent) {
            return;
        }
        if let Some(reason) = trimmed.strip_prefix("Bail out!") {
            let name = format!("bail out: {}", reason.trim());
            self.report.add(&name, Status::Failed, None);
            self.report.cut("the run bailed out");
        } else if let Some(name) = trimmed.strip_prefix("# Subtest:") {
            self.within.retain(|(at, _)| *at < indent);
            self.within.push((indent, name.trim().to_owned()));
        } else if let Some(rest) = trimmed.strip_prefix("1..") {
            if indent == 0 {
                self.planned = leading_number(rest).map(|(count, _)| count);
            }
        } else if let Some(rest) = result(trimmed, "not ok") {
            self.test(rest, indent, Status::Failed);
        } else if let Some(rest) = result(trimmed, "ok") {
            self.test(rest, indent, Status::Passed);
        }
    }

    fn finish(mut self) -> Report {
        match self.planned {
            Some(planned) if planned != self.seen => {
                let why = format!("{planned} tests were planned and {} were seen", self.seen);
                self.report.cut(why);
            }
            None if !self.report.tests.is_empty() => self.report.cut("there is no plan"),
            Some(_) | None => {}
        }
        self.report.drop_parents(SEPARATOR, |_| 0);
        self.report
    }
}

impl Reader {
    fn test(&mut self, rest: &str, indent: usize, status: Status) {
        if indent == 0 {
            self.seen += 1;
        }
        let rest = rest.trim_start();
        let (number, rest) = match leading_number(rest) {
            Some((number, rest)) => (Some(number), rest),
            None => (None, rest),
        };
        let (description, directive) = split_directive(rest);
        let description = description.trim().trim_start_matches('-').trim();
        let status = match directive.to_ascii_lowercase() {
            word if word.starts_with("skip") || word.starts_with("todo") => Status::Skipped,
            _ => status,
        };
        // A test that announced itself as a subtest is in the list already.
        self.within.retain(|(at, _)| *at < indent);
        let mut path: Vec<&str> = self.within.iter().map(|(_, name)| name.as_str()).collect();
        let numbered;
        path.push(if description.is_empty() {
            numbered = format!("test {}", number.unwrap_or(self.seen));
            &numbered
        } else {
            description
        });
        let name = path.join(SEPARATOR);
        self.report.add(&name, status, None);
        if status == Status::Failed {
            self.explained = Some((name, 0));
        }
    }

    /// Takes in the block of YAML below a failed test.
    fn diagnostics(&mut self, trimmed: &str, indent: usize) -> bool {
        let Some((name, block)) = &mut self.explained else {
            return false;
        };
        if *block == 0 {
            if trimmed.trim_end() == "---" && indent > 0 {
                *block = indent;
                return true;
            }
            // Older writers explain themselves in comments.
            if let Some(comment) = trimmed.strip_prefix("# ").filter(|it| !is_heading(it)) {
                let (name, comment) = (name.clone(), comment.to_owned());
                self.report.explain(&name, &comment);
                return true;
            }
            self.explained = None;
            return false;
        }
        if trimmed.trim_end() == "..." && indent == *block {
            self.explained = None;
            return true;
        }
        let said = trimmed
            .strip_prefix("error:")
            .or_else(|| trimmed.strip_prefix("message:"));
        if let Some(said) = said {
            let (name, said) = (
                name.clone(),
                said.trim().trim_matches(['\'', '"']).to_owned(),
            );
            self.report.explain(&name, &said);
        }
        true
    }
}

/// Between the names of a test and of what it is part of.
const SEPARATOR: &str = " > ";

fn is_heading(comment: &str) -> bool {
    comment.starts_with("Subtest:") || comment.starts_with("tests ")
}

/// What follows `ok` or `not ok`, where it is that word and not the beginning of another.
fn result<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    let rest = line.strip_prefix(word)?;
    (rest.is_empty() || rest.starts_with(' ')).then_some(rest)
}

/// The description and, after an unescaped `#`, the directive.
fn split_directive(text: &str) -> (&str, &str) {
    let mut escaped = false;
    for (at, letter) in text.char_indices() {
        match letter {
            '\\' => escaped = !escaped,
            '#' if !escaped => return (&text[..at], text[at + 1..].trim_start()),
            _ => escaped = false,
        }
    }
    (text, "")
}
