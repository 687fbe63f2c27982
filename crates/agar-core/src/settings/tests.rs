//! What settings promise.

use super::*;
use crate::limits::Limits;
use crate::size::Bytes;
use crate::walls::{Monitor, Network, Tier};
use proptest::prelude::*;
use std::path::PathBuf;

fn person(values: &[(Key, &str)]) -> Layer {
    layer(Source::Person, values)
}

fn project(values: &[(Key, &str)]) -> Layer {
    layer(Source::Project, values)
}

fn layer(source: Source, values: &[(Key, &str)]) -> Layer {
    let mut layer = Layer::new(source);
    for (key, text) in values {
        let origin = Origin::Project {
            path: PathBuf::from("agar.toml"),
        };
        layer.set_text(*key, text, origin).unwrap();
    }
    layer
}

fn settings(layers: &[Layer]) -> Settings {
    resolve(Who::Person, layers).settings
}

#[test]
fn every_default_is_a_value_of_its_key() {
    for &key in Key::ALL {
        let text = key.default_text();
        let mut layer = Layer::new(Source::Person);
        if !text.is_empty() {
            layer.set_text(key, text, Origin::Default).unwrap();
        }
    }
}

#[test]
fn the_default_is_the_safe_one() {
    let settings = settings(&[]);
    assert_eq!(settings.tier, Tier::Full);
    assert_eq!(settings.network, Network::None);
    assert_eq!(settings.monitor, Monitor::Executions);
    assert!(!settings.nested && !settings.apply_commit);
    assert!(settings.env.is_empty() && settings.unmask.is_empty());
    assert_eq!(settings.limits, Limits::person());
    assert_eq!(settings.cleanup.idle_ms, Some(3_600_000));
    assert_eq!(settings.max_concurrent_sandboxes, 5);
    assert_eq!(resolve(Who::Agent, &[]).settings.limits, Limits::agent());
}

#[test]
fn the_later_layer_wins() {
    let user = person(&[(Key::LimitsMemory, "1G"), (Key::Base, "live")]);
    let flags = person(&[(Key::LimitsMemory, "2G")]);
    let settings = settings(&[user, flags]);
    assert_eq!(settings.limits.memory_bytes, Some(Bytes(2 << 30)));
    assert_eq!(settings.base, BaseChoice::Live);
}

#[test]
fn none_lifts_a_limit() {
    let flags = person(&[(Key::LimitsMemory, "none"), (Key::LimitsCpu, "none")]);
    let limits = resolve(Who::Agent, &[flags]).settings.limits;
    assert_eq!((limits.memory_bytes, limits.cpu_percent), (None, None));
    assert_eq!(limits.timeout_ms, Limits::agent().timeout_ms);
}

#[test]
fn a_project_loosens_nothing_unapproved() {
    let loose = [
        (Key::Tier, "none"),
        (Key::Network, "host"),
        (Key::Monitor, "off"),
        (Key::Nested, "true"),
        (Key::Unmask, "~/.ssh"),
        (Key::Env, "MY_TOKEN"),
        (Key::OldWays, "no_landlock"),
    ];
    let resolved = resolve(Who::Person, &[project(&loose)]);
    assert_eq!(resolved.settings, settings(&[]));
    assert_eq!(resolved.held_back.len(), loose.len());

    let approved = layer(Source::ApprovedProject, &loose);
    let resolved = resolve(Who::Person, &[approved]);
    assert_eq!(resolved.held_back, []);
    assert_eq!(resolved.settings.tier, Tier::None);
    assert_eq!(resolved.settings.network, Network::Host);
    assert!(resolved.settings.nested);
}

#[test]
fn a_project_tightens_as_it_likes() {
    let user = person(&[
        (Key::Network, "host"),
        (Key::Tier, "landlock"),
        (Key::Nested, "true"),
    ]);
    let file = project(&[
        (Key::Network, "none"),
        (Key::Tier, "full"),
        (Key::Nested, "false"),
        (Key::Mask, "secrets/x"),
        (Key::LimitsTimeout, "5m"),
    ]);
    let resolved = resolve(Who::Person, &[user, file]);
    assert_eq!(resolved.held_back, []);
    assert_eq!(resolved.settings.network, Network::None);
    assert_eq!(resolved.settings.tier, Tier::Full);
    assert!(!resolved.settings.nested);
    assert_eq!(resolved.settings.mask, ["secrets/x"]);
    assert_eq!(resolved.settings.limits.timeout_ms, Some(300_000));
}

#[test]
fn a_project_may_repeat_what_the_person_allowed() {
    let allow = "crates.io, *.npmjs.org:443";
    let user = person(&[(Key::Network, allow), (Key::Env, "MY_TOKEN")]);
    let same = project(&[(Key::Network, "crates.io"), (Key::Env, "MY_TOKEN")]);
    let resolved = resolve(Who::Person, &[user.clone(), same]);
    assert_eq!(resolved.held_back, []);
    let more = project(&[(Key::Network, "crates.io, evil.example")]);
    assert_eq!(resolve(Who::Person, &[user, more]).held_back.len(), 1);
}

#[test]
fn commands_of_other_tools_wait_for_approval() {
    let mut hints = Layer::new(Source::Project);
    let origin = Origin::Hint {
        path: PathBuf::from(".cursor/worktrees.json"),
    };
    let commands = Raw::List(vec!["npm ci".to_owned()]);
    hints.set(Key::Setup, &commands, origin).unwrap();
    let resolved = resolve(Who::Person, &[hints.clone()]);
    assert_eq!(resolved.settings.setup, [] as [&str; 0]);
    assert_eq!(resolved.held_back.len(), 1);
    hints.source = Source::ApprovedProject;
    let settings = settings(&[hints]);
    assert_eq!(settings.setup, ["npm ci"]);
}

#[test]
fn each_value_says_where_it_came_from() {
    let resolved = resolve(Who::Person, &[project(&[(Key::Base, "live")])]);
    let line = |name| {
        let found = resolved.lines.iter().find(|line| line.key == name);
        found.unwrap().clone()
    };
    assert_eq!(line("base").value, "live");
    assert_eq!(line("base").origins[0].to_string(), "agar.toml");
    assert_eq!(line("tier").origins, [Origin::Default]);
    assert_eq!(resolved.lines.len(), Key::ALL.len());
}

#[test]
fn values_are_read_as_people_write_them() {
    let read = |key: Key, text: &str| {
        let mut layer = Layer::new(Source::Person);
        layer.set_text(key, text, Origin::Default)?;
        Ok::<_, NotAValue>(layer.get(key).unwrap().show(key.kind()))
    };
    for (key, text, shown) in [
        (Key::LimitsMemory, "512", "512 MB"),
        (Key::LimitsMemory, "1.5G", "1.5 GB"),
        (Key::LimitsTimeout, "300", "300 s"),
        (Key::LimitsTimeout, "1.5m", "90 s"),
        (Key::LimitsTimeout, "250ms", "250 ms"),
        (Key::LimitsCpu, "50%", "50 %"),
        (Key::LimitsCpu, "none", "none"),
        (Key::GraduationMinConfidence, "0.75", "0.75"),
        (Key::Nested, "yes", "true"),
        (Key::Network, "crates.io", "allow crates.io"),
    ] {
        assert_eq!(read(key, text).unwrap(), shown, "{key} = {text}");
    }
    for (key, text) in [
        (Key::LimitsCpu, "0"),
        (Key::LimitsCpu, "fast"),
        (Key::LimitsTimeout, "5 parsecs"),
        (Key::GraduationMinConfidence, "1.1"),
        (Key::Env, "LD_PRELOAD"),
        (Key::Env, "A=B"),
        (Key::Mask, "~/.."),
        (Key::Nested, "maybe"),
    ] {
        assert!(read(key, text).is_err(), "{key} = {text}");
    }
    let slip = read(Key::Tier, "ful").unwrap_err();
    assert_eq!(slip.suggestion.as_deref(), Some("full"));
}

#[test]
fn a_mistyped_key_is_recognised() {
    assert_eq!(Key::suggest("netwrok"), Some("network"));
    assert_eq!(Key::suggest("memory"), Some("limits.memory"));
    assert_eq!(Key::suggest("limits.memroy"), Some("limits.memory"));
    assert_eq!(Key::suggest("colour"), None);
}

#[test]
fn every_seed_key_has_one_of_ours_with_the_same_default() {
    let agent = resolve(Who::Agent, &[]);
    for seed in SEED {
        let same_default = matches!(seed.seed, "networkIsolation" | "monitoring");
        let raw = match seed.default {
            "true" => Raw::Boolean(true),
            "false" => Raw::Boolean(false),
            text => Raw::Text(text.to_owned()),
        };
        if same_default {
            continue;
        }
        let value = Value::read(seed.ours.kind(), &raw).unwrap();
        let ours = agent.lines.iter().find(|line| line.key == seed.ours.name());
        assert_eq!(
            ours.unwrap().value,
            value.show(seed.ours.kind()),
            "{}",
            seed.seed
        );
    }
}

#[test]
fn the_reference_names_every_key_of_ours_and_of_the_seed() {
    let text = reference();
    for &key in Key::ALL {
        assert!(text.contains(&format!("| `{key}` |")), "{key}");
    }
    for seed in SEED {
        assert!(
            text.contains(&format!("| `{}` |", seed.seed)),
            "{}",
            seed.seed
        );
    }
}

#[test]
fn variables_have_one_name_each() {
    let names: std::collections::BTreeSet<String> =
        Key::ALL.iter().map(|key| key.variable()).collect();
    assert_eq!(names.len(), Key::ALL.len());
    assert_eq!(Key::LimitsMemory.variable(), "AGAR_LIMITS_MEMORY");
}

proptest! {
    #[test]
    fn no_text_makes_a_value_panic(text: String, index in 0..Key::ALL.len()) {
        let mut layer = Layer::new(Source::Person);
        drop(layer.set_text(Key::ALL[index], &text, Origin::Default));
    }

    #[test]
    fn an_unapproved_project_never_ends_up_looser(
        texts in prop::collection::vec((0..Key::ALL.len(), prop::sample::select(vec![
            "none", "host", "landlock", "off", "files", "true", "false", "~/.ssh", "A_TOKEN",
            "crates.io", "7",
        ])), 0..12),
    ) {
        let mut file = Layer::new(Source::Project);
        for (index, text) in texts {
            drop(file.set_text(Key::ALL[index], text, Origin::Default));
        }
        let before = settings(&[]);
        let after = settings(&[file]);
        prop_assert!(after.tier >= before.tier);
        prop_assert!(after.monitor >= before.monitor);
        prop_assert_eq!(after.network, before.network);
        prop_assert_eq!(after.unmask, before.unmask);
        prop_assert_eq!(after.env, before.env);
        prop_assert_eq!(after.old_ways, before.old_ways);
        prop_assert_eq!(after.nested, before.nested);
    }
}
