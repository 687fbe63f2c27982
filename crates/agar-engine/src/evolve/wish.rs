//! What a search is asked to do, as people write it.
//!
//! The same document is kept with the search, with everything that it named from elsewhere put in:
//! a search that is taken up again reads nothing but its own record. It is kept as TOML, in which
//! numbers come back with the bits they went in with.

mod programs;

use self::programs::{answers, lander, program};
use super::failure::EvolveError;
use super::outside::OutsideWish;
use super::tables::{bins, hex, regression};
use agar_core::seam::Clock;
use agar_evolve::search::Plan;
use agar_evolve::task::{Bench, BinPacking, CirclePacking, Regression, Sort, Task};
use agar_evolve::{Incubator, Limits, Rules, Settings, Tree};
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
    /// Who makes the share of children that `outside` in `search` says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside: Option<OutsideWish>,
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
        /// Asks a few points first, and the rest only of those who do well there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cascade: Option<Cascade>,
    },
    /// A heuristic that packs items into bins as they come: `x0` is the item, `x1` the room in a
    /// bin, `x2` what would be left of it.
    BinPacking {
        /// How the instances to breed on are drawn.
        sort: Sort,
        /// How many.
        #[serde(default = "forty")]
        instances: usize,
        /// Items in each.
        #[serde(default = "five_hundred")]
        items: usize,
        /// A file of instances to examine the best with, in the form of the OR-Library; as many
        /// more are drawn if left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        held_out: Option<String>,
        /// The instances themselves.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        held_out_table: Option<String>,
        /// Packs a few instances first, and the rest only for those who do well there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cascade: Option<Cascade>,
    },
    /// Circles in the unit square whose radii add up to the most. What evolves is where their
    /// centres begin; a program in the cell refines them.
    CirclePacking {
        /// How many.
        #[serde(default = "twenty_six")]
        circles: usize,
        /// The sum from which on it counts as solved.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        goal: Option<f64>,
    },
    /// Questions with one right answer each, for modules that export `evaluate`.
    Answers {
        /// Questions and answers.
        cases: Vec<Case>,
        /// Files of modules to begin with: WebAssembly, its text format, or JavaScript (`.js`).
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        modules: Vec<String>,
        /// The modules themselves, in hexadecimal digits.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        code: Vec<String>,
    },
    /// A game, landing on the moon, for bots: `evaluate` is told height, speed and fuel as JSON, and
    /// answers a thrust from 0 to 1.
    Lander {
        /// Files of bots to begin with, as for `answers`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        bots: Vec<String>,
        /// The bots themselves, in hexadecimal digits.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        code: Vec<String>,
        /// How many games each plays.
        #[serde(default = "eight")]
        games: usize,
        /// The score from which on it counts as solved, if every game ended in a landing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        goal: Option<f64>,
    },
}

/// A first stage that most candidates do not get past.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cascade {
    /// How many cases it has.
    pub cases: usize,
    /// The score there, below which nothing more is asked.
    pub least: f64,
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

const fn forty() -> usize {
    40
}

const fn five_hundred() -> usize {
    500
}

const fn eight() -> usize {
    8
}

const fn twenty_six() -> usize {
    26
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
                cascade: None,
            },
            search: Plan::default(),
            limits: LimitsWish::default(),
            outside: None,
        }
    }

    /// Reads an evolve file, and what it names.
    pub fn read(path: &Path) -> Result<Self, EvolveError> {
        let text = read(path)?;
        let mut wish = Self::parse(&text).map_err(|why| EvolveError::NotAFile {
            path: path.to_owned(),
            why,
        })?;
        let beside = path.parent().unwrap_or(Path::new("."));
        wish.task.gather(beside)?;
        if let Some(outside) = &mut wish.outside {
            outside.directory = Some(beside.to_owned());
            // That is for a person to say, with the command.
            outside.allowed = false;
        }
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
        match (&self.outside, self.search.outside > 0.0) {
            (Some(outside), true) => outside.check()?,
            (None, false) => {}
            (Some(_), false) => {
                let why = "`outside` in [search] is 0: say what share of children to ask for";
                return Err(EvolveError::Task(why.to_owned()));
            }
            (None, true) => {
                let why = "`outside` in [search] needs an [outside] that says whom to ask";
                return Err(EvolveError::Task(why.to_owned()));
            }
        }
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
            Self::BinPacking { .. } => "bin_packing",
            Self::CirclePacking { .. } => "circle_packing",
            Self::Answers { .. } => "answers",
            Self::Lander { .. } => "lander",
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
            Self::BinPacking {
                held_out,
                held_out_table,
                ..
            } => {
                if let Some(name) = held_out.take() {
                    *held_out_table = Some(read(&beside.join(name))?);
                }
            }
            Self::CirclePacking { .. } => {}
            Self::Answers { modules, code, .. }
            | Self::Lander {
                bots: modules,
                code,
                ..
            } => {
                for name in std::mem::take(modules) {
                    code.push(hex(&program(&beside.join(name))?));
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
                cascade,
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
                let task = task.with_tolerance(*tolerance);
                Ok(Arc::new(staged(task, *cascade)))
            }
            Self::Regression {
                table: Some(table),
                tolerance,
                cascade,
                ..
            } => Ok(Arc::new(staged(regression(table, *tolerance)?, *cascade))),
            Self::Regression { .. } => {
                let why = "a regression needs a `target` formula or a file of `data`";
                Err(EvolveError::Task(why.to_owned()))
            }
            Self::BinPacking {
                sort,
                instances,
                items,
                held_out_table,
                cascade,
                ..
            } => {
                if *instances == 0 || *items == 0 || instances.saturating_mul(*items) > 2_000_000 {
                    let why = "a bin packing needs 1 to 2000000 items in all `instances`";
                    return Err(EvolveError::Task(why.to_owned()));
                }
                let task = BinPacking::generated(*sort, *instances, *items, seed);
                let task = match cascade {
                    Some(stage) => task.with_cascade(stage.cases, stage.least),
                    None => task,
                };
                Ok(Arc::new(match held_out_table {
                    Some(table) => task.examined_with(bins(table)?),
                    None => task,
                }))
            }
            Self::CirclePacking { circles, goal } => Ok(Arc::new(packing(*circles, *goal)?)),
            Self::Answers { cases, code, .. } => Ok(Arc::new(answers(cases, code)?)),
            Self::Lander {
                code, games, goal, ..
            } => Ok(Arc::new(lander(code, *games, *goal, seed)?)),
        }
    }
}

/// The task with its first stage, if it has one.
fn staged(task: Regression, cascade: Option<Cascade>) -> Regression {
    match cascade {
        Some(stage) => task.with_cascade(stage.cases, stage.least),
        None => task,
    }
}

/// So many circles, solved from this sum on.
fn packing(circles: usize, goal: Option<f64>) -> Result<CirclePacking, EvolveError> {
    if !(1..=300).contains(&circles) {
        return Err(EvolveError::Task(
            "`circles` must be from 1 to 300".to_owned(),
        ));
    }
    let task = CirclePacking::new(circles, goal.unwrap_or(f64::MAX));
    task.map_err(|error| EvolveError::Task(error.to_string()))
}
