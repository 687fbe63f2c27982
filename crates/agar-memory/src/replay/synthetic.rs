//! A made-up stream with drift: agents that differ and improve, projects and topics that are easy
//! or hard, tasks that come back. Every line follows from the seed.

use agar_core::seam::Timestamp;
use serde_json::{Value, json};

const AGENTS: [(&str, f64, f64); 4] = [
    // Name, skill at the start, and how much it changes over the whole stream.
    ("claude", 0.5, 0.9),
    ("codex", 0.2, 0.6),
    ("copilot", -0.4, 1.2),
    ("person", 0.7, -0.8),
];

const TOPICS: [(&str, &str, f64); 12] = [
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

/// The stream for a seed: so many lines over half a year.
pub fn synthetic(seed: u64, lines: usize) -> String {
    let mut random = Random(seed | 1);
    let projects: Vec<(String, f64)> = (0..9)
        .map(|index| (format!("shop/{index}"), random.normal() * 0.7))
        .collect();
    let mut text = String::new();
    let start = 1_750_000_000_000_u64;
    let span = 182 * 86_400_000_u64;
    for index in 0..lines {
        let moment = start + span / lines as u64 * index as u64 + random.below(3_600_000);
        let line = one(&mut random, &projects, moment, (start, span));
        text.push_str(&line.to_string());
        text.push('\n');
    }
    text
}

#[expect(clippy::cast_precision_loss, reason = "a share of half a year")]
fn one(
    random: &mut Random,
    projects: &[(String, f64)],
    moment: u64,
    (start, span): (u64, u64),
) -> Value {
    let through = (moment - start) as f64 / span as f64;
    let agent = AGENTS[random.index(AGENTS.len())];
    let (project, ease) = &projects[random.index(projects.len())];
    let topic = TOPICS[random.index(TOPICS.len())];
    // Halfway through, a change of tools makes everything harder, then it slowly recovers.
    let weather = if through > 0.5 {
        -1.2 + 1.4 * (through - 0.5)
    } else {
        0.3
    };
    let odds = agent.1 + agent.2 * through + ease + topic.2 + weather;
    let success = random.share() < 1.0 / (1.0 + (-odds).exp());
    let spice: Vec<&str> = (0..3).map(|_| SPICE[random.index(SPICE.len())]).collect();
    let took = 600_000 + random.below(3 * 86_400_000);
    json!({
        "time": Timestamp::from_millis(moment).to_string(),
        "closed": Timestamp::from_millis(moment + took).to_string(),
        "text": format!("{} {}", topic.1, spice.join(" ")),
        "agent": agent.0,
        "project": project,
        "change": topic.0,
        "success": success,
    })
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
