//! The dashboard shows what is counted, and everything that is.

use crate::kit::incubator;
use agar_evolve::outside::{Mutator, NoChild, Question};
use agar_evolve::search::{Plan, Search, Stop};
use agar_evolve::task::{Bench, Regression};
use agar_evolve::{Code, EVENT_NAMES, Limits, Rules, Telemetry, Tree, Watch};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

const DASHBOARD: &str = include_str!("../../../../contrib/grafana/agar-evolve.json");

#[derive(Debug)]
struct Silent;

impl Mutator for Silent {
    fn children(&self, questions: &[Question]) -> Vec<Result<Code, NoChild>> {
        questions.iter().map(|_| Err(NoChild::GivenUp)).collect()
    }
}

/// The metrics of a search in which everything happens that is counted.
fn metrics() -> String {
    let telemetry = Arc::new(Telemetry::default());
    let watch: Arc<dyn Watch> = telemetry.clone();
    let plan = Plan {
        population: 20,
        islands: 1,
        outside: 0.5,
        stop: Stop {
            generations: 6,
            solved: false,
            ..Stop::default()
        },
        ..Plan::default()
    };
    let target = Tree::formula("x^3").unwrap();
    let task = Arc::new(Regression::of_formula(&target, (-2.0, 2.0), 9, 1));
    let bench = Bench {
        incubator: incubator(),
        rules: Rules::default(),
        limits: Limits::default(),
    };
    let mut search = Search::new(plan, task, bench, watch).with_mutator(Arc::new(Silent));
    while search.ended().is_none() {
        search.step(1);
    }
    telemetry.prometheus()
}

fn expressions(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(expression)) = fields.get("expr") {
                found.push(expression.clone());
            }
            fields.values().for_each(|it| expressions(it, found));
        }
        Value::Array(items) => items.iter().for_each(|it| expressions(it, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The words of a text that begin like this.
fn words(text: &str, prefix: &str, more: fn(char) -> bool) -> BTreeSet<String> {
    text.match_indices(prefix)
        .filter_map(|(at, _)| text.get(at..))
        .map(|rest| rest.chars().take_while(|letter| more(*letter)).collect())
        .collect()
}

#[test]
fn the_dashboard_shows_every_metric_and_none_that_does_not_exist() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let mut shown = Vec::new();
    expressions(&dashboard, &mut shown);
    let shown = shown.join("\n");
    let metric = |letter: char| letter.is_ascii_lowercase() || letter == '_';
    let asked = words(&shown, "agar_evolve_", metric);
    let counted = words(&metrics(), "agar_evolve_", metric);
    assert_eq!(asked, counted);
    let event = |letter: char| letter.is_ascii_lowercase() || "._".contains(letter);
    for name in words(&shown, "sandbox.", event) {
        assert!(EVENT_NAMES.contains(&name.as_str()), "{name}");
    }
}
