//! Help of every command. The long form is `docs/reference/cli.md`, which is checked by itself.

use crate::world::plain;

#[test]
fn every_command_explains_itself_in_short() {
    let world = plain();
    let mut all = world.agar(["-h"]).success().stdout;
    for verb in verbs(&all) {
        let short = world.agar([verb.as_str(), "-h"]).success().stdout;
        all.extend(["\n$ agar ", &verb, " -h\n", &short]);
    }
    insta::assert_snapshot!(all);
}

#[test]
fn every_command_teaches_with_examples() {
    let world = plain();
    let short = world.agar(["-h"]).success().stdout;
    for verb in verbs(&short) {
        let inner: &[&str] = match verb.as_str() {
            "jail" => &["jail", "plan", "--help"],
            "config" => &["config", "show", "--help"],
            other => &[other, "--help"],
        };
        let long = world.agar(inner).success().stdout;
        assert!(long.contains("Examples:\n  agar "), "{verb}:\n{long}");
    }
}

#[test]
fn the_version_is_one_line() {
    let said = plain().agar(["--version"]).success().stdout;
    assert_eq!(said, format!("agar {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn manual_pages_are_written_for_every_command() {
    let world = plain();
    world.agar(["man", "--out", "pages"]).success();
    let short = world.agar(["-h"]).success().stdout;
    for verb in verbs(&short) {
        assert!(world.read(format!("pages/agar-{verb}.1")).contains(".TH"));
    }
}

#[test]
fn completion_is_valid_for_the_shells_that_are_here() {
    let world = plain();
    for shell in ["bash", "zsh", "fish"] {
        let script = world.agar(["completion", shell]).success().stdout;
        world.write(format!("completion.{shell}"), script);
        let found = world.sh(&format!("command -v {shell}")).status.success();
        if found {
            world
                .sh(&format!("{shell} -n completion.{shell}"))
                .success();
        }
    }
}

fn verbs(help: &str) -> Vec<String> {
    help.lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next())
        .map(ToOwned::to_owned)
        .collect()
}
