//! `JUnit` XML.
//!
//! There is no schema that everybody keeps to. What all writers agree on: `testcase` elements with a
//! `name` and mostly a `classname`, and inside them `failure`, `error` or `skipped`. Document types
//! are skipped and entities beyond the five of XML itself are left as they stand, so that no report
//! can expand.

use super::{Format, Report, Status, Unreadable};
use quick_xml::Reader;
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};

/// Deeper documents are not reports.
const DEPTH_MAX: usize = 64;

/// Reads the whole document.
pub(super) fn read(text: &str) -> Result<Report, Unreadable> {
    let mut reader = Reader::from_str(text);
    let mut case = Cases::default();
    loop {
        let event = reader
            .read_event()
            .map_err(|error| malformed(&error.to_string()))?;
        match event {
            Event::Start(start) => case.open(&start)?,
            Event::Empty(start) => {
                case.open(&start)?;
                case.close();
            }
            Event::End(_) => case.close(),
            Event::Text(text) => case.text(&text),
            Event::CData(text) => case.text(&text),
            Event::GeneralRef(reference) => case.text(&referred(&reference)),
            Event::Decl(_) | Event::Comment(_) | Event::PI(_) | Event::DocType(_) => {}
            Event::Eof => break,
        }
    }
    if case.path.is_empty() && case.seen_root {
        Ok(case.report)
    } else if case.seen_root {
        case.report.cut("the document ends in the middle");
        Ok(case.report)
    } else {
        Err(malformed("it has no element"))
    }
}

fn malformed(why: &str) -> Unreadable {
    Unreadable::Malformed {
        format: Format::Junit,
        why: super::text::clip(why, 200),
    }
}

/// What stands for a character, or the reference itself where it stands for anything else.
fn referred(reference: &BytesRef<'_>) -> String {
    if let Ok(Some(letter)) = reference.resolve_char_ref() {
        return letter.to_string();
    }
    let name: &str = reference;
    match resolve_xml_entity(name) {
        Some(text) => text.to_owned(),
        None => format!("&{name};"),
    }
}

/// What an element means to a reader of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Element {
    Suite,
    Case,
    Failure,
    Skipped,
    Other,
}

#[derive(Debug, Default)]
struct Cases {
    report: Report,
    path: Vec<Element>,
    suites: Vec<String>,
    case: Option<Case>,
    seen_root: bool,
    message: String,
}

#[derive(Debug)]
struct Case {
    name: String,
    status: Status,
    message: Option<String>,
}

impl Cases {
    fn open(&mut self, start: &BytesStart<'_>) -> Result<(), Unreadable> {
        self.seen_root = true;
        if self.path.len() >= DEPTH_MAX {
            return Err(malformed("its elements are nested too deeply"));
        }
        let element = match start.local_name().as_ref() {
            "testsuite" => Element::Suite,
            "testcase" => Element::Case,
            "failure" | "error" => Element::Failure,
            "skipped" => Element::Skipped,
            _ => Element::Other,
        };
        match element {
            Element::Suite => self.suites.push(attribute(start, "name")),
            Element::Case => self.case = Some(self.begin(start)),
            Element::Failure => {
                self.message = attribute(start, "message");
                self.fail();
                if !self.message.is_empty() {
                    self.message.push('\n');
                }
            }
            Element::Skipped => {
                if let Some(case) = self.case.as_mut().filter(|it| it.status != Status::Failed) {
                    case.status = Status::Skipped;
                }
            }
            Element::Other => {}
        }
        self.path.push(element);
        Ok(())
    }

    fn begin(&self, start: &BytesStart<'_>) -> Case {
        let name = attribute(start, "name");
        let class = attribute(start, "classname");
        let class = if class.is_empty() {
            self.suites.last().cloned().unwrap_or_default()
        } else {
            class
        };
        let name = match (class.is_empty(), name.is_empty()) {
            (true, _) => name,
            (false, true) => class,
            (false, false) => format!("{class}::{name}"),
        };
        // What `mvn` and others write for a test that nobody ran.
        let status = match attribute(start, "status").as_str() {
            "skipped" | "disabled" | "notrun" => Status::Skipped,
            _ => Status::Passed,
        };
        Case {
            name,
            status,
            message: None,
        }
    }

    /// A failure of the test around it, or of the suite itself when it could not even be set up.
    fn fail(&mut self) {
        if let Some(case) = &mut self.case {
            case.status = Status::Failed;
        } else {
            let suite = self.suites.last().cloned().unwrap_or_default();
            self.report.add(&suite, Status::Failed, Some(&self.message));
        }
    }

    fn text(&mut self, text: &str) {
        let room = super::MESSAGE_CHARS_MAX.saturating_mul(2);
        if self.path.last() == Some(&Element::Failure) && self.message.len() < room {
            self.message.push_str(text);
        }
    }

    fn close(&mut self) {
        match self.path.pop() {
            Some(Element::Suite) => {
                self.suites.pop();
            }
            Some(Element::Failure) => {
                let message = std::mem::take(&mut self.message);
                if let Some(case) = &mut self.case {
                    case.message.get_or_insert(message);
                }
            }
            Some(Element::Case) => {
                if let Some(case) = self.case.take() {
                    self.report
                        .add(&case.name, case.status, case.message.as_deref());
                }
            }
            Some(Element::Skipped | Element::Other) | None => {}
        }
    }
}

/// The value of an attribute, with the five entities of XML resolved and all others left alone.
fn attribute(start: &BytesStart<'_>, name: &str) -> String {
    let found = start
        .attributes()
        .with_checks(false)
        .filter_map(Result::ok)
        .find(|attribute| attribute.key.as_ref() == name);
    let Some(found) = found else {
        return String::new();
    };
    let raw = found.value.into_owned();
    quick_xml::escape::unescape_with(&raw, resolve_xml_entity)
        .map_or_else(|_| raw.clone(), std::borrow::Cow::into_owned)
}
