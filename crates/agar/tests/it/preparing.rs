//! What the settings say about how a sandbox begins.

use crate::world::{assert_told, repository, told};

fn settings(world: &agar_testkit::World, text: &str) {
    world.write("../.config/agar/config.toml", text);
}

#[test]
fn setup_commands_run_in_a_sandbox_that_stays_before_it_is_used() {
    let world = repository();
    settings(
        &world,
        "setup = ['echo one >> made; echo printed', 'cat made > twice; read line || true']",
    );
    let created = world.agar(["create", "--name", "calm-fern"]).success();
    assert_eq!(created.stdout, "calm-fern\n", "a script reads the name");
    assert!(created.stderr.contains("printed"), "{}", created.stderr);
    let inside = world.agar(["exec", "--", "cat", "made", "twice"]).success();
    assert_eq!(inside.stdout, "one\none\n");
    assert!(!world.has("made"));
    // A command that is tried once gets no preparation: it would be part of what it changed.
    world
        .agar(["run", "--", "test", "!", "-e", "made"])
        .success();
    world.agar(["rm", "--all", "--force"]).success();
}

#[test]
fn a_setup_command_that_fails_is_named_and_the_sandbox_kept() {
    let world = repository();
    settings(&world, "setup = ['exit 3', 'touch never']");
    let outcome = world.agar(["create", "--name", "calm-fern"]);
    assert_told!(told(&world, &outcome), @"
    --- stderr
    note  setup · exit 3
    error  the setup command `exit 3` failed in calm-fern, which is kept
    hint   `agar logs calm-fern` shows what it printed
    hint   `agar rm calm-fern` removes it
    --- exit 1
    ");
    world
        .agar(["exec", "--", "test", "!", "-e", "never"])
        .success();
    world.agar(["rm", "--all", "--force"]).success();
}

#[test]
fn a_projects_own_setup_runs_inside_and_that_of_another_tool_waits_for_consent() {
    let world = repository();
    let made = || {
        world.agar(["create"]).success();
        let list = world.agar(["exec", "--", "ls", "made"]).stdout;
        world.agar(["rm", "--all", "--force"]).success();
        list == "made\n"
    };
    let cursor = r#"{ "setup-worktree": ["touch made"] }"#;
    world.write(".cursor/worktrees.json", cursor);
    assert!(!made(), "nobody agreed to it");
    world.write("agar.toml", "setup = ['touch made']\n");
    assert!(made());
    assert!(!world.has("made"));
}

#[test]
fn the_settings_say_which_directories_stay_live_below_a_frozen_base() {
    let world = repository();
    world.write("big/file", "before\n");
    world.write(".gitignore", "big/\nnode_modules/\n");
    let shows_later_edit = || {
        world.write("big/file", "before\n");
        world.agar(["create"]).success();
        world.write("big/file", "after\n");
        let seen = world
            .agar(["exec", "--", "cat", "big/file"])
            .success()
            .stdout;
        world.agar(["rm", "--all", "--force"]).success();
        seen == "after\n"
    };
    assert!(!shows_later_edit(), "it is copied like everything else");
    settings(&world, "bulk = ['big']");
    assert!(shows_later_edit(), "it stays live");
    settings(&world, "bulk = []");
    assert!(!shows_later_edit(), "nothing stays live");
}
