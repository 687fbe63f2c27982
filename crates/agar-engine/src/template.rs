//! What a suggestion needs, where nobody says: limits from its template, or from its sort.
//!
//! ```text
//! template or sort            memory   disk     time    else
//! database-migration          2 GB     1 GB     10 min
//! security-audit              an agent's                no network, files are watched
//! dependency, tests, speed    2 GB     1 GB     10 min  they install and build
//! everything else             an agent's
//! ```

use agar_core::limits::Limits;
use agar_core::size::Bytes;
use agar_core::walls::{Monitor, Network};
use agar_memory::ChangeType;
use serde_json::{Map, Value};

/// What a suggestion needs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Needs {
    /// Limits that differ from an agent's.
    pub limits: Limits,
    /// The network, where it must be so.
    pub network: Option<Network>,
    /// What to record, where it must be so.
    pub monitor: Option<Monitor>,
}

/// What installs and builds need.
const ROOMY: Limits = Limits {
    cpu_percent: None,
    memory_bytes: Some(Bytes::mib(2048)),
    processes: None,
    disk_bytes: Some(Bytes::mib(1024)),
    timeout_ms: Some(600_000),
    output_bytes: None,
};

/// What a suggestion needs, from `context.template` if it names one, else from what it says.
pub fn needs(text: &str, commands: &[String], context: &Map<String, Value>) -> Needs {
    let named = context.get("template").and_then(Value::as_str);
    let lines: Vec<Vec<String>> = commands
        .iter()
        .map(|line| line.split_whitespace().map(str::to_owned).collect())
        .collect();
    let change = match named {
        Some("database-migration") => ChangeType::Migration,
        Some("security-audit") => ChangeType::Security,
        Some(_) | None => ChangeType::infer(text, &lines, &[]),
    };
    match change {
        ChangeType::Migration
        | ChangeType::Dependency
        | ChangeType::Tests
        | ChangeType::Performance => Needs {
            limits: ROOMY,
            ..Needs::default()
        },
        ChangeType::Security => Needs {
            limits: Limits::default(),
            network: Some(Network::None),
            monitor: Some(Monitor::Files),
        },
        ChangeType::Fix
        | ChangeType::Feature
        | ChangeType::Refactor
        | ChangeType::Docs
        | ChangeType::Configuration
        | ChangeType::Other => Needs::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_named_template_wins_over_the_words() {
        let context = json!({ "template": "security-audit" });
        let context = context.as_object().cloned().unwrap_or_default();
        let found = needs("migrate the database", &[], &context);
        assert_eq!(found.network, Some(Network::None));
        assert_eq!(found.limits, Limits::default());
    }

    #[test]
    fn a_migration_gets_the_room_that_the_seed_gives_it() {
        let found = needs("Migrate from MongoDB to PostgreSQL", &[], &Map::new());
        assert_eq!(found.limits.memory_bytes, Some(Bytes::mib(2048)));
        assert_eq!(found.limits.timeout_ms, Some(600_000));
    }

    #[test]
    fn what_is_nothing_special_gets_what_an_agent_gets() {
        assert_eq!(needs("say hello", &[], &Map::new()), Needs::default());
    }
}
