//! Dependencies between our crates point down only.

use crate::program;
use anyhow::{Context as _, Result};
use serde_json::Value;
use std::path::Path;

/// Each crate and the crates of ours that it may use; the lowest first.
const EDGES: &[(&str, &[&str])] = &[
    ("agar-core", &[]),
    ("agar-jail", &["agar-core"]),
    ("agar-store", &["agar-core"]),
    ("agar-sandbox", &["agar-core", "agar-jail"]),
    ("agar-memory", &["agar-core", "agar-store"]),
    ("agar-review", &["agar-core"]),
    ("agar-evolve", &["agar-core"]),
    (
        "agar-engine",
        &[
            "agar-core",
            "agar-jail",
            "agar-store",
            "agar-sandbox",
            "agar-memory",
            "agar-review",
            "agar-evolve",
        ],
    ),
    ("agar-server", &["agar-core", "agar-engine"]),
    ("agar", &["agar-core", "agar-engine", "agar-server"]),
    ("agar-testkit", &["agar-core"]),
    (
        "agar-bench",
        &[
            "agar-core",
            "agar-jail",
            "agar-sandbox",
            "agar-memory",
            "agar-evolve",
            "agar-engine",
            "agar-testkit",
        ],
    ),
    ("xtask", &["agar-core", "agar-testkit"]),
];

/// Complains of every edge that is not in the table.
pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    let text = program::read(program::cargo(root).args([
        "metadata",
        "--no-deps",
        "--format-version=1",
        "--quiet",
    ]))?;
    let metadata: Value = serde_json::from_str(&text).context("cargo metadata cannot be read")?;
    let packages = metadata
        .get("packages")
        .and_then(Value::as_array)
        .context("no packages")?;
    Ok(packages.iter().flat_map(complaints).collect())
}

fn complaints(package: &Value) -> Vec<String> {
    let name = text(package, "name");
    let Some((_, allowed)) = EDGES.iter().find(|(known, _)| *known == name) else {
        return vec![format!(
            "the crate {name} is not in the table of xtask/src/tidy/edges.rs"
        )];
    };
    let dependencies = package.get("dependencies").and_then(Value::as_array);
    dependencies
        .into_iter()
        .flatten()
        .filter(|dependency| dependency.get("path").is_some_and(|path| !path.is_null()))
        .filter_map(|dependency| {
            let to = text(dependency, "name");
            let for_tests = text(dependency, "kind") == "dev" && to == "agar-testkit";
            let fine = for_tests || allowed.contains(&to);
            (!fine).then(|| format!("{name} must not depend on {to}"))
        })
        .collect()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_uses_only_what_stands_before_it_in_the_table() {
        for (index, (name, allowed)) in EDGES.iter().enumerate() {
            for used in *allowed {
                let below = EDGES[..index].iter().any(|(other, _)| other == used);
                assert!(below, "{name} uses {used}, which is not below it");
            }
        }
    }

    #[test]
    fn an_edge_upwards_is_named() {
        let package = serde_json::json!({"name": "agar-core", "dependencies": [
            {"name": "agar-testkit", "kind": "dev", "path": "/x"},
            {"name": "serde", "kind": null},
            {"name": "agar-jail", "kind": null, "path": "/x"},
        ]});
        assert_eq!(
            complaints(&package),
            ["agar-core must not depend on agar-jail"]
        );
    }
}
