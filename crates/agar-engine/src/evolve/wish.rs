//! What a search is asked to do, as people write it.
//!
//! The same document is kept with the search, with everything that it named from elsewhere put in:
//! a search that is taken up again reads nothing but its own record. It is kept as TOML, in which
//! numbers come back with the bits they went in with.

use super::failure::EvolveError;
use agar_core::seam::Clock;
use agar_evolve::search::Plan;
use agar_evolve::task::{Answers, Bench, Point, Regression, Task};
use agar_evolve::{Code, Incubator, Limits, Rules, Settings, Tree};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

/// A search as people ask for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wish {
    /// Its name; that of the file if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What to breed for.
    pub task: TaskWish,
    /// How to go about it.
    #[serde(default)]
    pub search: Plan,
    /// The walls around each run.
    #[serde(default)]
    pub limits: LimitsWish,
}

/// The walls around each run of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LimitsWish {
    /// Instructions.
    pub instructions: u64,
    /// Bytes that may be answered.
    pub output_bytes: u32,
}

impl Default for LimitsWish {
    fn default() -> Self {
        Self {
            instructions: 10_000_000,
            output_bytes: 1 << 16,
        }
    }
}

/// What to breed for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum TaskWish {
    /// A formula for points.
    Regression {
        /// The formula that the points are taken from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<String>,
        /// Where the points begin.
        #[serde(default = "minus_five")]
        from: f64,
        /// Where they end.
        #[serde(default = "five")]
        to: f64,
        /// How many.
        #[serde(default = "twenty_one")]
        points: usize,
        /// A table of points instead, one a line, the value last; `#` begins a comment.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data: Option<String>,
        /// The table itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        table: Option<String>,
        /// How far off an answer of a solution may be.
        #[serde(default = "millionth")]
        tolerance: f64,
    },
    /// Questions with one right answer each, for modules that export `evaluate`.
    Answers {
        /// Questions and answers.
        cases: Vec<Case>,
        /// Files of modules to begin with, in WebAssembly or its text format.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        modules: Vec<String>,
        /// The modules themselves, in hexadecimal digits.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        code: Vec<String>,
    },
}

/// A question and its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The question.
    pub question: String,
    /// The answer.
    pub answer: String,
}

const fn minus_five() -> f64 {
    -5.0
}

const fn five() -> f64 {
    5.0
}

const fn twenty_one() -> usize {
    21
}

const fn millionth() -> f64 {
    1e-6
}

impl Wish {
    /// A search for this formula.
    pub fn for_formula(target: &str) -> Self {
        Self {
            name: Some("formula".to_owned()),
            task: TaskWish::Regression {
                target: Some(target.to_owned()),
                from: minus_five(),
                to: five(),
                points: twenty_one(),
                data: None,
                table: None,
                tolerance: millionth(),
            },
            search: Plan::default(),
            limits: LimitsWish::default(),
        }
    }

    /// Reads an evolve file, and what it names.
    pub fn read(path: &Path) -> Result<Self, EvolveError> {
        let text = read(path)?;
        let mut wish = Self::parse(&text).map_err(|why| EvolveError::NotAFile {
            path: path.to_owned(),
            why,
        })?;
        wish.task.gather(path.parent().unwrap_or(Path::new(".")))?;
        if wish.name.is_none() {
            let stem = path
                .file_stem()
                .map(|stem| stem.to_string_lossy().into_owned());
            wish.name = stem;
        }
        Ok(wish)
    }

    /// Reads the text of an evolve file.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| error.to_string().trim().to_owned())
    }

    /// The whole of it as text.
    pub(super) fn text(&self) -> Result<String, EvolveError> {
        toml::to_string(self).map_err(|error| EvolveError::Task(error.to_string()))
    }

    /// The name it goes by: letters, digits and dashes.
    pub(super) fn name(&self) -> String {
        let wanted = self.name.as_deref().unwrap_or("search");
        let name: String = wanted
            .chars()
            .map(|letter| {
                if letter.is_ascii_alphanumeric() {
                    letter.to_ascii_lowercase()
                } else {
                    '-'
                }
            })
            .take(40)
            .collect();
        let name = name.trim_matches('-');
        if name.is_empty() {
            "search".to_owned()
        } else {
            name.to_owned()
        }
    }

    /// The task, as the host sees it.
    pub(super) fn make_task(&self) -> Result<Arc<dyn Task>, EvolveError> {
        self.search.check()?;
        self.task.make(self.search.seed)
    }

    /// Where candidates are tried.
    pub(super) fn bench(&self, clock: Arc<dyn Clock>) -> Bench {
        Bench {
            incubator: Incubator::new(&Settings::default(), clock),
            rules: Rules::default(),
            limits: Limits {
                instructions: self.limits.instructions,
                output_bytes: self.limits.output_bytes,
                ..Limits::default()
            },
        }
    }
}

fn read(path: &Path) -> Result<String, EvolveError> {
    fs_err::read_to_string(path).map_err(|source| EvolveError::Unreadable {
        path: path.to_owned(),
        source,
    })
}

impl TaskWish {
    /// The word for the sort of task.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Regression { .. } => "regression",
            Self::Answers { .. } => "answers",
        }
    }

    /// Puts in what it names from elsewhere.
    fn gather(&mut self, beside: &Path) -> Result<(), EvolveError> {
        match self {
            Self::Regression { data, table, .. } => {
                if let Some(name) = data.take() {
                    *table = Some(read(&beside.join(name))?);
                }
            }
            Self::Answers { modules, code, .. } => {
                for name in std::mem::take(modules) {
                    let path = beside.join(name);
                    let bytes = fs_err::read(&path).map_err(|source| EvolveError::Unreadable {
                        path: path.clone(),
                        source,
                    })?;
                    code.push(hex(&module(&bytes)?));
                }
            }
        }
        Ok(())
    }

    fn make(&self, seed: u64) -> Result<Arc<dyn Task>, EvolveError> {
        match self {
            Self::Regression {
                target: Some(target),
                from,
                to,
                points,
                tolerance,
                ..
            } => {
                let tree = Tree::formula(target).map_err(|source| EvolveError::Formula {
                    text: target.clone(),
                    source,
                })?;
                let sound = from < to && (2..=100_000).contains(points) && *tolerance >= 0.0;
                if !sound {
                    let why = "`from` must be below `to`, with 2 to 100000 `points` between them";
                    return Err(EvolveError::Task(why.to_owned()));
                }
                let task = Regression::of_formula(&tree, (*from, *to), *points, seed);
                Ok(Arc::new(task.with_tolerance(*tolerance)))
            }
            Self::Regression {
                table: Some(table),
                tolerance,
                ..
            } => Ok(Arc::new(regression(table, *tolerance)?)),
            Self::Regression { .. } => {
                let why = "a regression needs a `target` formula or a file of `data`";
                Err(EvolveError::Task(why.to_owned()))
            }
            Self::Answers { cases, code, .. } => {
                if cases.is_empty() || code.is_empty() {
                    let why = "`answers` needs `cases`, and `modules` to begin with";
                    return Err(EvolveError::Task(why.to_owned()));
                }
                let cases = cases.iter().map(|case| {
                    (
                        case.question.clone().into_bytes(),
                        case.answer.clone().into_bytes(),
                    )
                });
                let seeds: Result<Vec<Code>, EvolveError> = code
                    .iter()
                    .map(|digits| Ok(Code::Module(unhex(digits)?)))
                    .collect();
                Ok(Arc::new(Answers::new(cases.collect(), seeds?)))
            }
        }
    }
}

/// A table of points, of which every fourth is held out.
fn regression(table: &str, tolerance: f64) -> Result<Regression, EvolveError> {
    let mut points = Vec::new();
    for (index, line) in table.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        let cells: Vec<&str> = line
            .split([',', ';', '\t', ' '])
            .filter(|cell| !cell.is_empty())
            .collect();
        if cells.is_empty() {
            continue;
        }
        let numbers: Result<Vec<f64>, _> = cells.iter().map(|cell| cell.trim().parse()).collect();
        match numbers {
            Ok(mut at) if at.len() >= 2 && at.iter().all(|number| number.is_finite()) => {
                let value = at.pop().unwrap_or_default();
                points.push(Point { at, value });
            }
            // A heading is what the first line may be.
            Err(_) if points.is_empty() && index == 0 => {}
            Ok(_) | Err(_) => {
                let why = format!("line {} of the data is no point", index + 1);
                return Err(EvolveError::Task(why));
            }
        }
    }
    let arguments = points.first().map_or(0, |point: &Point| point.at.len());
    if points.len() < 4 || points.iter().any(|point| point.at.len() != arguments) {
        let why = "the data needs at least 4 points, all of as many numbers";
        return Err(EvolveError::Task(why.to_owned()));
    }
    let arguments = u16::try_from(arguments)
        .map_err(|_| EvolveError::Task("the points have too many numbers".to_owned()))?;
    let (held_out, training): (Vec<_>, Vec<_>) = points
        .into_iter()
        .enumerate()
        .partition(|(index, _)| index % 4 == 3);
    let strip = |points: Vec<(usize, Point)>| -> Vec<Point> {
        points.into_iter().map(|(_, point)| point).collect()
    };
    Ok(Regression::new(
        arguments,
        &strip(training),
        &strip(held_out),
        tolerance,
    ))
}

/// A module from its binary or its text form.
pub(super) fn module(bytes: &[u8]) -> Result<Vec<u8>, EvolveError> {
    if bytes.starts_with(b"\0asm") {
        return Ok(bytes.to_vec());
    }
    let text = std::str::from_utf8(bytes).map_err(|_| {
        EvolveError::Task("a module is neither WebAssembly nor its text".to_owned())
    })?;
    agar_evolve::Genome::from_wat(text, &Rules::default())
        .map(|genome| genome.wasm().to_vec())
        .map_err(|error| EvolveError::Task(error.to_string()))
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

pub(super) fn unhex(digits: &str) -> Result<Vec<u8>, EvolveError> {
    let wrong = || EvolveError::Task("the code is not in hexadecimal digits".to_owned());
    if !digits.is_ascii() || !digits.len().is_multiple_of(2) {
        return Err(wrong());
    }
    let pairs = digits.as_bytes().chunks(2);
    pairs
        .map(|pair| {
            let pair = std::str::from_utf8(pair).map_err(|_| wrong())?;
            u8::from_str_radix(pair, 16).map_err(|_| wrong())
        })
        .collect()
}
