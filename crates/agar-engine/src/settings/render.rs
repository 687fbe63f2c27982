//! A commented `agar.toml`, from what was found in the project.

use super::detect::Detected;
use agar_core::settings::{Check, Key};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The keys worth showing to somebody who has never seen the file.
const SHOWN: [Key; 8] = [
    Key::Base,
    Key::Network,
    Key::Env,
    Key::Mask,
    Key::Bulk,
    Key::Setup,
    Key::LimitsMemory,
    Key::LimitsTimeout,
];

/// Writes a settings file for a project of these kinds. Every value in it is the default, so that
/// the file changes nothing until somebody does.
pub fn render(found: &[Detected]) -> String {
    let mut text = HEADER.to_owned();
    let (grouped, plain): (Vec<Key>, Vec<Key>) =
        SHOWN.into_iter().partition(|key| key.name().contains('.'));
    for key in plain {
        comment(&mut text, key.about());
        let _ = writeln!(text, "# {} = {}\n", key, example(key, found));
    }
    text.push_str("# [limits]\n");
    for key in grouped {
        comment(&mut text, key.about());
        let name = key.name().rsplit('.').next().unwrap_or_default();
        let _ = writeln!(text, "# {name} = {}\n", example(key, found));
    }
    checks(&mut text, found);
    text
}

const HEADER: &str = "\
# agar: how this project is tried before it is trusted. `agar config show --origin` says what is in
# force. A value that loosens the walls (tier, network, unmask, env, nested) takes effect on another
# machine only after its user approved this exact file.

";

fn comment(text: &mut String, about: &str) {
    let _ = writeln!(text, "# {about}");
}

fn checks(text: &mut String, found: &[Detected]) {
    let all: Vec<&Check> = found.iter().flat_map(|detected| &detected.checks).collect();
    text.push_str("# What must pass before a change is worth applying.\n");
    if all.is_empty() {
        text.push_str("# [[check]]\n# name = \"test\"\n# run = \"make test\"\n");
    }
    for (index, check) in all.iter().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        let _ = writeln!(
            text,
            "[[check]]\nname = {}\nrun = {}",
            quoted(&check.name),
            quoted(&check.run)
        );
        for (field, value) in [("report", &check.report), ("format", &check.format)] {
            if let Some(value) = value {
                let _ = writeln!(text, "{field} = {}", quoted(value));
            }
        }
    }
}

/// A value to start from.
fn example(key: Key, found: &[Detected]) -> String {
    if key == Key::Bulk {
        let directories: BTreeSet<&str> = found
            .iter()
            .flat_map(|detected| detected.kind.bulk())
            .copied()
            .collect();
        return list(directories);
    }
    let examples = [
        (Key::Env, list(["DATABASE_URL"])),
        (Key::Mask, list(["secrets/production.json"])),
        (Key::Setup, list(["./scripts/bootstrap"])),
        (Key::LimitsMemory, quoted("2G")),
        (Key::LimitsTimeout, quoted("10m")),
    ];
    let found = examples.into_iter().find(|(example, _)| *example == key);
    found.map_or_else(|| quoted(key.default_text()), |(_, text)| text)
}

fn list<'a>(items: impl IntoIterator<Item = &'a str>) -> String {
    let items: Vec<String> = items.into_iter().map(quoted).collect();
    format!("[{}]", items.join(", "))
}

/// A TOML string.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
