//! The page as a person meets it: a real Chromium on the real server, one scenario a test.
//!
//! The scenarios are in `crates/agar-server/browser/scenarios`. Each gets a project and a home of
//! its own, like any other test, and starts the server itself.

use agar_testkit::{World, skip, world};
use std::path::{Path, PathBuf};
use std::time::Duration;

const NODE: &str = "/usr/bin/node";
const CHROMIUM: &str = "/usr/bin/chromium";

/// How long a scenario may take.
const PATIENCE: Duration = Duration::from_mins(4);

/// Where the scenarios are.
fn directory() -> PathBuf {
    let crates = match std::env::var_os(world::SOURCE_VARIABLE) {
        Some(copy) => PathBuf::from(copy).join("crates"),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join(".."),
    };
    crates.join("agar-server/browser")
}

/// What stands in the way of opening a browser here.
fn lacking() -> Option<String> {
    let missing = [NODE, CHROMIUM]
        .into_iter()
        .find(|program| !Path::new(program).exists());
    if let Some(program) = missing {
        return Some(format!("no {program}"));
    }
    let packages = directory().join("node_modules/playwright-core");
    let found = packages.join("package.json").exists();
    (!found).then(|| format!("no {}; `npm ci` makes it", packages.display()))
}

/// A directory with a short name: the sockets of a browser take no other.
fn short() -> std::io::Result<tempfile::TempDir> {
    tempfile::Builder::new()
        .prefix("agar-browser-")
        .tempdir_in("/tmp")
}

/// Runs a scenario in a world of its own.
#[track_caller]
fn run(name: &str, short: &Path) {
    let world: World = crate::world::repository();
    let pictures = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../browser");
    world
        .invoke(NODE)
        .arg(directory().join("run.js"))
        .arg(name)
        .env("AGAR", world.program())
        .env("AGAR_CHROMIUM", CHROMIUM)
        .env("AGAR_PICTURES", pictures)
        .env("TMPDIR", short)
        .patience(PATIENCE)
        .run()
        .success();
}

/// A test for each scenario: its name is the rule, the file is what a person does.
macro_rules! scenarios {
    ($($rule:ident => $file:literal,)*) => {
        $(
            #[test]
            fn $rule() {
                if let Some(reason) = lacking() {
                    skip!("browser", "{reason}");
                }
                run($file, short().unwrap().path());
            }
        )*
    };
}

scenarios! {
    the_link_opens_every_view => "opening",
    a_suggestion_is_tried_compared_applied_and_remembered => "seed-flow",
    the_set_up_is_seen_step_by_step => "setting-up",
    a_failed_experiment_leaves_main_alone_and_a_lesson => "failing",
    a_conflict_is_settled_hunk_by_hunk => "conflict",
    a_run_goes_on_while_the_page_is_loaded_again => "reloading",
    two_tabs_see_the_same => "two-tabs",
    the_page_outlives_the_server_and_misses_nothing => "restarting",
    what_comes_from_a_sandbox_is_text => "hostile",
    everything_can_be_done_by_keyboard_on_a_narrow_screen => "keyboard",
    applying_directly_goes_through_a_sandbox => "directly",
    every_view_is_accessible_light_and_dark_wide_and_narrow => "accessible",
    changes_are_told_apart_and_states_are_true => "changes",
    sandboxes_are_listed_forked_and_discarded_from_the_page => "dashboard",
    panels_show_what_is_known_and_forget_it => "panels",
    the_terminal_is_the_one_that_attach_shows_and_survives_a_reload => "terminal",
    a_button_in_another_page_offers_and_does_nothing_else => "embedding",
}
