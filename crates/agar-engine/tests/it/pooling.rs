//! Jails that stand before anybody asks for them.

use crate::desk::Desk;
use crate::travelling::Yard;
use agar_core::state::State;
use agar_engine::create::CreateRequest;
use agar_engine::list::{ListRequest, list};
use agar_engine::pool::{Pool, Pooled};
use agar_engine::{Engine, SandboxOptions};
use agar_testkit::{keepers, leaks, wait};

/// Jails that wait at most.
const MOST: usize = 2;

fn pool_of(engine: &Engine) -> Pool {
    Pool::start(engine.surroundings().clone(), MOST).unwrap()
}

fn named(alias: &str) -> CreateRequest {
    CreateRequest {
        alias: Some(alias.to_owned()),
        ..CreateRequest::default()
    }
}

fn create(yard: &Yard, pool: &Pool, alias: &str) -> Pooled {
    pool.create(&yard.engine, &named(alias)).unwrap()
}

/// Asks for a first sandbox, and waits until the pool expects more.
fn warm(yard: &Yard) -> Pool {
    let pool = pool_of(&yard.engine);
    assert!(!create(yard, &pool, "first").was_ready);
    fill(&pool);
    pool
}

fn fill(pool: &Pool) {
    wait::until("the pool is full", || pool.ready() == MOST);
}

/// Asks for a sandbox, which must not get a jail that stood before. The pool may have built another one
/// by the time that all of those were looked at.
fn create_apart(yard: &Yard, pool: &Pool, (alias, stood): (&str, &[String])) {
    let id = create(yard, pool, alias).created.sandbox.id.to_string();
    assert!(!stood.contains(&id), "{alias} has a jail that stood before");
}

#[test]
fn nothing_waits_before_somebody_asked() {
    let yard = Yard::new();
    let pool = pool_of(&yard.engine);
    assert_eq!(pool.ready(), 0);
    drop(pool);
    assert_eq!(yard.desk.left_in_state("sandboxes"), 0);
}

#[test]
fn a_sandbox_from_the_pool_is_like_any_other_and_outlives_the_pool() {
    let yard = Yard::new();
    let pool = warm(&yard);
    let pooled = create(&yard, &pool, "calm-fern");
    assert!(pooled.was_ready);
    assert_eq!(pooled.created.sandbox.alias, "calm-fern");
    assert_eq!(pooled.created.sandbox.state, State::Running);
    assert_eq!(yard.say("calm-fern", "cat file; echo x > made"), "base\n");
    drop(pool);
    assert_eq!(yard.state("calm-fern"), State::Running);
    yard.snapshot("calm-fern", "one");
    yard.say("calm-fern", "rm made");
    yard.restore("calm-fern@one");
    assert_eq!(yard.say("calm-fern", "ls"), "file\nmade\nsrc\n");
    let listed = list(&yard.engine, &ListRequest::default()).unwrap();
    assert_eq!(listed.sandboxes.len(), 2, "those that were asked for");
}

#[test]
fn a_pool_that_ends_leaves_only_what_was_asked_for() {
    let yard = Yard::new();
    let pool = warm(&yard);
    assert_eq!(yard.desk.left_in_state("sandboxes"), 1 + MOST);
    drop(pool);
    assert_eq!(yard.desk.left_in_state("sandboxes"), 1);
    assert_eq!(yard.desk.left_in_state("alive"), 1);
    yard.remove("first");
    leaks::assert_gone(yard.desk.root());
}

#[test]
fn a_jail_over_an_older_base_is_not_handed_out() {
    let yard = Yard::new();
    let pool = warm(&yard);
    let stood = yard.desk.names_in_state("sandboxes");
    yard.desk.write("file", "newer\n");
    create_apart(&yard, &pool, ("second", &stood));
    assert_eq!(yard.say("second", "cat file"), "newer\n");
    fill(&pool);
    assert!(create(&yard, &pool, "third").was_ready);
    assert_eq!(yard.say("third", "cat file"), "newer\n");
}

#[test]
fn a_jail_of_other_settings_is_not_handed_out() {
    let yard = Yard::new();
    let pool = warm(&yard);
    let stood = yard.desk.names_in_state("sandboxes");
    let config = yard.desk.home().join(".config/agar");
    fs_err::create_dir_all(&config).unwrap();
    fs_err::write(config.join("config.toml"), "limits.processes = 77\n").unwrap();
    create_apart(&yard, &pool, ("second", &stood));
    fill(&pool);
    let stood = yard.desk.names_in_state("sandboxes");
    let secret = yard.desk.home().join(".netrc");
    fs_err::write(&secret, "password").unwrap();
    // It would show it.
    create_apart(&yard, &pool, ("third", &stood));
    assert_eq!(
        yard.say("third", "cat ~/.netrc 2>/dev/null; echo ok"),
        "ok\n"
    );
}

#[test]
fn jails_that_died_while_they_waited_are_not_handed_out() {
    let yard = Yard::new();
    let pool = warm(&yard);
    let first = list(&yard.engine, &ListRequest::default()).unwrap();
    let first = first.sandboxes[0].sandbox.id.to_string();
    let state = yard.desk.home().join(".local/state/agar");
    let mut killed = 0;
    for entry in fs_err::read_dir(state.join("sandboxes")).unwrap() {
        let entry = entry.unwrap();
        let keeper = keepers::of_sandbox(&state, &entry.path());
        if let Some(keeper) = keeper.filter(|_| entry.file_name() != *first) {
            keepers::kill(keeper);
            killed += 1;
        }
    }
    assert_eq!(killed, MOST);
    create(&yard, &pool, "second");
    create(&yard, &pool, "third");
}

#[test]
fn what_must_not_wait_does_not() {
    let yard = Yard::new();
    let pool = pool_of(&yard.engine);
    let live = |alias: &str| CreateRequest {
        options: SandboxOptions {
            base: Some(agar_core::walls::BaseKind::Live),
            ..SandboxOptions::default()
        },
        ..named(alias)
    };
    pool.create(&yard.engine, &live("one")).unwrap();
    create(&yard, &pool, "two");
    // The kind that can wait has its share, and the other one has none.
    wait::until("half of the pool is full", || pool.ready() == MOST / 2);
    assert!(!pool.create(&yard.engine, &live("three")).unwrap().was_ready);
}

/// Set in the process that is to be killed; names its desk.
const VICTIM: &str = "AGAR_TEST_POOL_VICTIM";

#[test]
fn a_pool_whose_process_is_killed_leaves_nothing_that_the_next_command_does_not_clear() {
    if let Some(root) = std::env::var_os(VICTIM) {
        let desk = Desk::at(root.into());
        let engine = desk.engine();
        let pool = pool_of(&engine);
        pool.create(&engine, &named("first")).unwrap();
        fill(&pool);
        desk.write("full", "");
        wait::until("it is killed", || false);
    }
    let yard = Yard::new();
    let test = "pooling::a_pool_whose_process_is_killed_leaves_nothing_that_the_next_command_does_not_clear";
    let mut victim = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test])
        .env(VICTIM, yard.desk.root())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    wait::until("the pool is full", || {
        yard.desk.project().join("full").exists()
    });
    victim.kill().unwrap();
    victim.wait().unwrap();
    let listed = list(&yard.desk.engine(), &ListRequest::default()).unwrap();
    assert_eq!(listed.sandboxes.len(), 1);
    assert_eq!(listed.sandboxes[0].sandbox.alias, "first");
    assert_eq!(listed.sandboxes[0].sandbox.state, State::Running);
    assert_eq!(yard.desk.left_in_state("alive"), 1);
    assert_eq!(yard.desk.left_in_state("sandboxes"), 1);
    yard.remove("first");
    leaks::assert_gone(yard.desk.root());
}
