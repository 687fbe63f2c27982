//! Names: of sandboxes, and of files that mean harm.

use crate::world::{assert_told, plain, repository, told};

#[test]
fn any_unique_beginning_of_a_name_will_do() {
    let world = plain();
    for name in ["calm-fern", "calm-reed", "dim-otter"] {
        world.agar(["create", "--name", name]).success();
    }
    world.agar(["exec", "dim", "--", "true"]).success();
    world.agar(["exec", "calm-f", "--", "true"]).success();
    assert_told!(told(&world, &world.agar(["exec", "calm", "--", "true"])), @"
    --- stderr
    error  `calm` could be any of calm-fern, calm-reed
    hint   `agar ls` shows the sandboxes
    --- exit 125
    ");
    assert_told!(told(&world, &world.agar(["exec", "--", "true"])), @"
    --- stderr
    error  this project has 3 sandboxes; say which one
    hint   `agar ls` shows the sandboxes
    --- exit 125
    ");
    assert_told!(told(&world, &world.agar(["logs", "clam-fern"])), @"
    --- stderr
    error  there is no sandbox called `clam-fern`
    hint   did you mean `calm-fern`?
    --- exit 3
    ");
    world.agar(["rm", "--all", "--force"]).success();
    assert_eq!(world.agar(["ls"]).success().stdout, "");
}

#[test]
fn a_file_name_cannot_speak_to_the_terminal() {
    let world = repository();
    let script = "touch \"$(printf 'evil\\033[2J\\rname')\"; printf 'x\\033]0;t\\007\\n' > y";
    let outcome = world.agar(["try", "--keep", "--", "sh", "-c", script]);
    assert_told!(told(&world, &outcome), @r"
    --- stderr
    ok    exit 0 · [TIME]
          2 files changed  +1 −0
          evil\e[2J\rname  +0 −0  new
          y  +1 −0  new
    kept  [NAME]
    hint  apply it with `agar apply [NAME]`
          see the changes with `agar diff [NAME]`
    ");
    for words in [
        &["diff", "--stat"][..],
        &["diff", "--names"],
        &["ls"],
        &["inspect"],
    ] {
        let outcome = world.agar(words).success();
        let text = format!("{}{}", outcome.stdout, outcome.stderr);
        assert!(
            !text.contains('\x1b') && !text.contains('\r'),
            "{words:?}: {text}"
        );
    }
}

#[test]
fn completion_offers_the_names() {
    let world = plain();
    world.agar(["create", "--name", "calm-fern"]).success();
    assert_eq!(world.agar(["ls", "-q"]).success().stdout, "calm-fern\n");
    world.agar(["rm", "--force"]).success();
}

#[test]
fn a_run_and_a_try_can_be_given_a_name() {
    let world = plain();
    for verb in ["run", "try"] {
        let name = format!("{verb}-it");
        world
            .agar([verb, "--keep", "--name", &name, "--", "true"])
            .success();
        world.agar(["exec", &name, "--", "true"]).success();
        let again = world.agar([verb, "--keep", "--name", &name, "--", "true"]);
        assert_ne!(again.status.code(), Some(0), "{}", again.stderr);
        assert!(again.stderr.contains(&name), "{}", again.stderr);
    }
}
