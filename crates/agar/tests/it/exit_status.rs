//! The exit statuses that scripts rely on.

use crate::world::{assert_told, plain, repository, told};

#[test]
fn run_passes_the_commands_own_status() {
    let world = plain();
    for code in [0, 1, 3, 42, 255] {
        let script = format!("exit {code}");
        let outcome = world.agar(["run", "--", "sh", "-c", &script]);
        assert_eq!(outcome.code(), code, "{}", outcome.stderr);
        assert_eq!(outcome.stderr, "", "agar says nothing of its own");
    }
}

#[test]
fn run_ends_as_container_tools_do() {
    let world = plain();
    world.write("data", "not a program\n");
    let cases: [(&[&str], i32); 5] = [
        (&["run", "--", "no-such-program"], 127),
        (&["run", "--", "./data"], 126),
        (&["run", "--bogus", "--", "true"], 125),
        (&["run"], 125),
        (&["run", "--", "sh", "-c", "kill -9 $$"], 137),
    ];
    for (words, code) in cases {
        assert_eq!(world.agar(words).code(), code, "{words:?}");
    }
}

#[test]
fn exec_passes_the_commands_own_status() {
    let world = plain();
    let name = world.agar(["create"]).success().stdout;
    let name = name.trim();
    assert_eq!(
        world
            .agar(["exec", name, "--", "sh", "-c", "exit 9"])
            .code(),
        9
    );
    assert_eq!(world.agar(["exec", "--", "sh", "-c", "exit 8"]).code(), 8);
    assert_eq!(
        world.agar(["exec", "no-such-box", "--", "true"]).code(),
        125
    );
    world.agar(["rm", "--force"]).success();
}

#[test]
fn a_limit_ends_a_run_by_name() {
    let world = plain();
    let outcome = world.agar(["run", "--timeout", "200ms", "--", "sleep", "1000"]);
    assert_told!(told(&world, &outcome), @"
    --- stderr
    stopped  time limit [TIME] reached
    hint     raise it with `--timeout 30m`, or set limits.timeout in agar.toml
    --- exit 5
    ");
}

#[test]
fn a_try_that_fails_exits_with_one() {
    let world = repository();
    assert_eq!(world.agar(["try", "--", "sh", "-c", "exit 42"]).code(), 1);
    assert_eq!(world.agar(["try", "--", "true"]).code(), 0);
    assert_eq!(
        world.agar(["try", "--discard", "--", "touch", "x"]).code(),
        0
    );
    assert!(!world.has("x"));
}

#[test]
fn a_wrong_request_exits_with_two() {
    let world = plain();
    for words in [
        &["nonsense"][..],
        &["try"],
        &["ls", "--bogus"],
        &["try", "--yes", "--keep", "--", "true"],
        &["cp", "a", "b"],
        &["try", "--memory", "lots", "--", "true"],
    ] {
        let outcome = world.agar(words);
        assert_eq!(outcome.code(), 2, "{words:?}: {}", outcome.stderr);
        assert!(outcome.stderr.starts_with("error  "), "{}", outcome.stderr);
    }
}

#[test]
fn what_is_not_there_exits_with_three() {
    let world = plain();
    for words in [
        &["diff"][..],
        &["logs", "no-such-box"],
        &["inspect", "no-such-box"],
        &["-C", "no/such/directory", "ls"],
        &["schema", "nonsense"],
    ] {
        let outcome = world.agar(words);
        assert_eq!(outcome.code(), 3, "{words:?}: {}", outcome.stderr);
    }
}

#[test]
fn a_wrong_command_line_says_what_can_be_typed() {
    let world = plain();
    let outcome = world.agar(["diff", "--bogus"]);
    assert_told!(told(&world, &outcome), @"
    --- stderr
    error  unexpected argument '--bogus' found
    hint   to pass '--bogus' as a value, use '-- --bogus'
    usage  agar diff [OPTIONS] [SANDBOX] [-- <PATH>...]
    --- exit 2
    ");
    let outcome = world.agar(["dif"]);
    assert_told!(told(&world, &outcome), @"
    --- stderr
    error  unrecognized subcommand 'dif'
    usage  agar [OPTIONS] <COMMAND>
    hint   did you mean `agar diff`?
    --- exit 2
    ");
    for (slip, meant) in [("tyr", "agar try"), ("memory serach", "agar memory search")] {
        let outcome = world.agar(slip.split(' '));
        let hint = format!("did you mean `{meant}`?");
        assert!(outcome.stderr.contains(&hint), "{slip}: {outcome}");
    }
    let outcome = world.agar(["run"]);
    assert_told!(told(&world, &outcome), @"
    --- stderr
    error  the following required arguments were not provided: <COMMAND>...
    usage  agar run <COMMAND>...
    --- exit 125
    ");
}

#[test]
fn a_limit_of_nothing_is_refused_by_name() {
    let world = plain();
    for flag in ["memory", "cpu", "disk", "processes", "output"] {
        let outcome = world.agar(["create", &format!("--{flag}"), "0"]);
        let said = &outcome.stderr;
        assert_eq!(outcome.code(), 2, "{flag}: {said}");
        assert!(said.contains(flag) && said.contains('0'), "{flag}: {said}");
    }
    let line = r#"{"argv": ["true"], "limits": {"memory_bytes": 0}}"#;
    let told = world.command(["batch", "-"]).stdin(line).run().stdout;
    assert!(told.contains("a limit of 0 for `memory`"), "{told}");
    assert!(told.contains(r#""code":"invalid""#), "{told}");
    assert_eq!(world.agar(["ls", "-q"]).success().stdout, "");
}
