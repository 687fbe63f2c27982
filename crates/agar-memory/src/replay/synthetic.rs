//! Made-up streams with drift. Every line follows from the world and the seed.
//!
//! Several worlds that have little in common, so that what is good in one of them is not good by
//! having been made for it: agents that improve, an old code base on which everything gets harder,
//! outcomes that come in nightly batches, tasks that come back word for word.

use agar_core::seam::Timestamp;
use serde_json::{Value, json};

/// A line, and the chance that it had of working, which the line does not say.
#[derive(Debug, Clone, PartialEq)]
pub struct Made {
    /// The line.
    pub line: Value,
    /// Its chance.
    pub chance: f64,
}

/// How a made-up stream comes about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum World {
    /// Agents that learn fast work on nine projects for ten weeks.
    Young,
    /// A quarter in which everything gets harder at once, three times, as tools change.
    Tools,
    /// Three old projects on which everything gets harder, and an agent that comes in halfway.
    Legacy,
    /// Forty projects, words that say nothing, outcomes known the next morning, better agents every
    /// other week.
    Nightly,
    /// A hundred and fifty tasks, tried again and again by agents whose versions differ, without any
    /// project.
    Tasks,
}

impl World {
    /// Every one.
    pub const ALL: [Self; 5] = [
        Self::Young,
        Self::Tools,
        Self::Legacy,
        Self::Nightly,
        Self::Tasks,
    ];

    /// Its name.
    pub fn word(self) -> &'static str {
        match self {
            Self::Young => "young",
            Self::Tools => "tools",
            Self::Legacy => "legacy",
            Self::Nightly => "nightly",
            Self::Tasks => "tasks",
        }
    }

    fn days(self) -> u64 {
        match self {
            Self::Young => 70,
            Self::Tools => 91,
            Self::Nightly => 84,
            Self::Legacy | Self::Tasks => 60,
        }
    }

    fn projects(self) -> usize {
        match self {
            Self::Young | Self::Tools => 9,
            Self::Legacy => 3,
            Self::Nightly => 40,
            Self::Tasks => 1,
        }
    }

    /// How much the projects differ.
    fn spread(self) -> f64 {
        match self {
            Self::Young | Self::Tools => 0.7,
            Self::Legacy => 1.1,
            Self::Nightly => 1.0,
            Self::Tasks => 0.0,
        }
    }

    /// What makes everything easier or harder, from 0 at the beginning to 1 at the end.
    fn weather(self, through: f64) -> f64 {
        match self {
            Self::Young => -1.5 + 2.6 * through,
            Self::Tools => 1.0 - 0.8 * (through * 4.0).floor(),
            Self::Legacy => 1.6 - 2.8 * through,
            // Six releases, each better than the one before.
            Self::Nightly => -1.2 + 0.55 * (through * 6.0).floor(),
            Self::Tasks => -1.2 + 2.4 * through * through,
        }
    }
}

/// Name, skill at the start, and how much it changes over the whole stream.
type Agent = (&'static str, f64, f64);

const AGENTS: [Agent; 4] = [
    ("claude", 0.5, 0.9),
    ("codex", 0.2, 0.6),
    ("copilot", -0.4, 1.2),
    ("person", 0.7, -0.8),
];

/// Sort of change, words, and how easy it is.
type Topic = (&'static str, &'static str, f64);

const TOPICS: [Topic; 12] = [
    ("fix", "fix crash when cart is empty", 0.6),
    ("fix", "repair flaky login redirect", -0.7),
    ("feature", "add voucher support to checkout", -0.2),
    ("feature", "implement webhook retries with backoff", -1.1),
    ("dependency", "upgrade react and its types", -0.9),
    ("dependency", "bump patch versions of small packages", 1.4),
    ("docs", "document the deployment steps", 2.0),
    ("tests", "cover the invoice rounding rules", 0.9),
    ("refactor", "extract payment gateway interface", -0.3),
    ("migration", "migrate orders table to postgres", -1.6),
    ("performance", "cache product listing queries", 0.1),
    ("configuration", "tighten eslint rules in workspace", 0.7),
];

const SPICE: [&str; 16] = [
    "carefully",
    "quickly",
    "again",
    "staging",
    "module",
    "service",
    "handler",
    "customer",
    "report",
    "mobile",
    "legacy",
    "nightly",
    "shared",
    "worker",
    "batch",
    "export",
];

const DAY: u64 = 86_400_000;
const START: u64 = 1_750_032_000_000;

/// The stream of a world for a seed: so many lines.
pub fn synthetic(world: World, seed: u64, lines: usize) -> Vec<Made> {
    // Neighbouring seeds are far apart, and none is zero.
    let mut random = Random(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut normal = |count: usize, spread: f64| -> Vec<f64> {
        (0..count).map(|_| random.normal() * spread).collect()
    };
    let dice = Dice {
        world,
        projects: normal(world.projects(), world.spread()),
        tasks: normal(150, 1.5),
    };
    let span = world.days() * DAY;
    let mut moments: Vec<u64> = (0..lines as u64)
        .map(|index| START + span / lines as u64 * index + random.below(3_600_000))
        .collect();
    moments.sort_unstable();
    moments
        .into_iter()
        .map(|moment| dice.throw(&mut random, moment))
        .collect()
}

/// The same as text.
pub fn synthetic_text(world: World, seed: u64, lines: usize) -> String {
    text(&synthetic(world, seed, lines))
}

/// The lines of a stream.
pub(super) fn text(made: &[Made]) -> String {
    let mut text = String::new();
    for made in made {
        text.push_str(&made.line.to_string());
        text.push('\n');
    }
    text
}

/// What is drawn once for a stream.
struct Dice {
    world: World,
    projects: Vec<f64>,
    tasks: Vec<f64>,
}

impl Dice {
    #[expect(clippy::cast_precision_loss, reason = "a share of half a year")]
    fn throw(&self, random: &mut Random, moment: u64) -> Made {
        let through = (moment - START) as f64 / (self.world.days() * DAY) as f64;
        let (agent, skill) = self.agent(random, through);
        let project = random.index(self.projects.len());
        let (sort, text, ease) = self.proposal(random);
        let odds = skill + self.projects[project] + ease + self.world.weather(through);
        let chance = 1.0 / (1.0 + (-odds).exp());
        let known = match self.world {
            // At six the next morning.
            World::Nightly => (moment / DAY + 1) * DAY + DAY / 4,
            World::Tasks => moment + 60_000 + random.below(3_600_000),
            World::Young | World::Tools | World::Legacy => moment + 600_000 + random.below(3 * DAY),
        };
        let mut line = json!({
            "time": Timestamp::from_millis(moment).to_string(),
            "closed": Timestamp::from_millis(known).to_string(),
            "text": text,
            "agent": agent,
            "success": random.share() < chance,
        });
        if self.world != World::Tasks {
            line["project"] = json!(format!("shop/{project}"));
        }
        if let Some(sort) = sort {
            line["change"] = json!(sort);
        }
        Made { line, chance }
    }

    fn agent(&self, random: &mut Random, through: f64) -> (String, f64) {
        match self.world {
            World::Young | World::Tools => {
                let (name, skill, gain) = AGENTS[random.index(AGENTS.len())];
                (name.to_owned(), skill + gain * through)
            }
            World::Legacy => {
                let newcomer = through > 0.5 && random.below(3) == 0;
                let skill = if newcomer { 1.2 } else { 0.0 };
                (if newcomer { "nova" } else { "person" }.to_owned(), skill)
            }
            World::Nightly => {
                let which = random.index(3);
                (format!("bot-{which}"), [-0.5, 0.0, 0.6][which])
            }
            World::Tasks => {
                // A new version takes over each sixth of the stream.
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "from 0 to 5"
                )]
                let version = (through * 6.0) as u32;
                let which = random.index(2);
                let skill = [0.0, 0.8][which];
                (format!("model-{which}.{version}"), skill)
            }
        }
    }

    /// The sort of change, where the line says it, the words, and how easy it is.
    fn proposal(&self, random: &mut Random) -> (Option<&'static str>, String, f64) {
        let spice = |random: &mut Random| {
            let words: Vec<&str> = (0..3).map(|_| SPICE[random.index(SPICE.len())]).collect();
            words.join(" ")
        };
        match self.world {
            World::Young | World::Tools => {
                let (change, words, ease) = TOPICS[random.index(TOPICS.len())];
                (Some(change), format!("{words} {}", spice(random)), ease)
            }
            World::Legacy => {
                let (change, words, ease) = TOPICS[random.index(TOPICS.len())];
                (Some(change), words.to_owned(), 0.5 * ease)
            }
            World::Nightly => (None, format!("{} {}", spice(random), spice(random)), 0.0),
            World::Tasks => {
                let task = random.index(self.tasks.len());
                let name = format!("solve task {} {}", letters(task), SPICE[task % SPICE.len()]);
                (None, name, self.tasks[task])
            }
        }
    }
}

/// A number as a word, so that it does not look like one.
fn letters(number: usize) -> String {
    let letter = |digit: usize| char::from(b'a' + u8::try_from(digit % 26).unwrap_or(0));
    [
        letter(number / 26),
        letter(number),
        letter(number * 7),
        letter(number * 3),
    ]
    .iter()
    .collect()
}

/// A small generator (`xorshift64*`): the stream must be the same on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 11) % end
    }

    #[expect(clippy::cast_possible_truncation, reason = "below a small length")]
    fn index(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// About normal: the sum of twelve shares.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.share()).sum::<f64>() - 6.0
    }
}
