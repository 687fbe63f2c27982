//! The machine and its settings.

use super::ANYTHING;

use agar_core::walls::Tier;
use agar_engine::approve::ApproveAnswer;
use agar_engine::config::{ConfigAnswer, SettingView};
use agar_engine::doctor::{DoctorAnswer, Finding, Health};
use agar_engine::init::InitAnswer;
use serde_json::json;

/// A healthy machine.
pub fn doctor() -> DoctorAnswer {
    let finding = |name: &str, detail: &str, health, fix: Option<&str>| Finding {
        name: name.to_owned(),
        detail: detail.to_owned(),
        health,
        fix: fix.map(ToOwned::to_owned),
    };
    DoctorAnswer {
        findings: vec![
            finding(
                "namespaces",
                "user mount pid net ipc uts cgroup",
                Health::Ok,
                None,
            ),
            finding(
                "reflink",
                "not on ext4; first freeze copies",
                Health::Note,
                None,
            ),
            finding(
                "tmux",
                "not installed",
                Health::Weaker,
                Some("sudo apt-get install tmux"),
            ),
        ],
        tier: Some(Tier::Full),
        ready_us: Some(2_130),
        tries: 5,
    }
}

pub(super) fn doctors() -> [DoctorAnswer; 2] {
    let hopeless = DoctorAnswer {
        tier: None,
        ready_us: None,
        tries: 0,
        ..doctor()
    };
    [doctor(), hopeless]
}

/// Two settings.
pub fn config() -> ConfigAnswer {
    let setting = |key: &str, value: &str, origin: &str| SettingView {
        key: key.to_owned(),
        value: json!(value),
        origin: origin.to_owned(),
    };
    ConfigAnswer {
        settings: vec![
            setting("limits.memory", "512M", "/home/ana/src/shop/agar.toml"),
            setting("network.mode", "none", "default"),
        ],
        files: vec!["/home/ana/src/shop/agar.toml".to_owned()],
        unapproved: vec!["network.mode".to_owned()],
    }
}

pub(super) fn configs() -> [ConfigAnswer; 2] {
    let mut open = config();
    open.settings.truncate(1);
    for setting in &mut open.settings {
        setting.value = json!(ANYTHING);
    }
    [config(), open]
}

pub(super) fn approve() -> ApproveAnswer {
    ApproveAnswer {
        path: "/home/ana/src/shop/agar.toml".to_owned(),
        hash: "4f1c".to_owned(),
        loosens: vec!["network = host".to_owned()],
        approved: false,
    }
}

/// A settings file.
pub fn init() -> InitAnswer {
    InitAnswer {
        path: "/home/ana/src/shop/agar.toml".to_owned(),
        kinds: vec!["cargo".to_owned()],
        checks: vec!["cargo test".to_owned()],
        text: "# agar\n".to_owned(),
        written: true,
    }
}
