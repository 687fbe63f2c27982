//! C15: what a project's own files say cannot weaken its walls without a person's approval of
//! exactly that text, and what a sandbox writes cannot change the policy it runs under.

use crate::AGAR;
use agar_testkit::World;

const LOOSE: &str = "network = \"host\"\n";

/// Whether a command inside sees more than the loopback.
fn has_network(world: &World) -> bool {
    let outcome = world.agar(["run", "--", "/bin/cat", "/proc/net/dev"]);
    outcome.code() == 0
        && outcome
            .stdout
            .lines()
            .filter(|line| line.contains(':'))
            .count()
            > 1
}

#[test]
fn a_loosening_setting_waits_for_approval() {
    let world = World::with_repository(AGAR);
    world.write("agar.toml", LOOSE);
    let refused = world.agar(["run", "--", "/bin/true"]);
    assert!(
        !has_network(&world),
        "the project opened its own network: {refused}"
    );
    assert!(
        refused.stderr.contains("approve"),
        "the way out is not named: {refused}"
    );
}

#[test]
fn an_approval_is_of_one_text_only() {
    let world = World::with_repository(AGAR);
    world.write("agar.toml", LOOSE);
    let asked = world.agar(["approve", "--json"]).success();
    let answer: serde_json::Value = serde_json::from_str(&asked.stdout).unwrap();
    let hash = answer["hash"].as_str().unwrap();
    assert!(!has_network(&world), "asking is not approving");
    world.agar(["approve", "--hash", hash]).success();
    assert!(has_network(&world));
    world.write("agar.toml", format!("{LOOSE}unmask = [\"~/.ssh\"]\n"));
    assert!(!has_network(&world));
}

#[test]
fn a_sandbox_that_changes_the_settings_does_not_change_its_walls() {
    let world = World::with_repository(AGAR);
    world.agar(["create", "--name", "calm-test"]).success();
    let script = format!(
        "printf '{}' >agar.toml; mkdir -p ~/.config/agar; printf '{}' >~/.config/agar/config.toml",
        LOOSE.replace('\n', "\\n"),
        LOOSE.replace('\n', "\\n")
    );
    world
        .agar(["exec", "calm-test", "--", "/bin/sh", "-c", &script])
        .success();
    let seen = world
        .agar(["exec", "calm-test", "--", "/bin/cat", "/proc/net/dev"])
        .success();
    assert_eq!(
        seen.stdout
            .lines()
            .filter(|line| line.contains(':'))
            .count(),
        1,
        "{seen}"
    );
    assert!(!world.has("agar.toml"));
    world.agar(["rm", "--all", "--force"]).success();
}
