//! Sources together, on real files.

use super::*;
use agar_core::fault::{Fault as _, Kind};
use agar_core::id::ProjectId;
use agar_core::seam::Timestamp;
use agar_core::settings::{Key, Layer, Origin, Source, Who};
use agar_core::walls::{Network, Tier};
use agar_store::{Place, Store};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

struct World {
    directory: tempfile::TempDir,
    environment: Vec<(OsString, OsString)>,
    flags: Layer,
}

impl World {
    fn new(files: &[(&str, &str)]) -> Self {
        let world = Self {
            directory: tempfile::tempdir().unwrap(),
            environment: Vec::new(),
            flags: Layer::new(Source::Person),
        };
        for (name, text) in files {
            world.write(name, text);
        }
        world
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.directory.path().join(name);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, text).unwrap();
    }

    fn project(&self) -> PathBuf {
        self.directory.path().join("project")
    }

    fn read(&self) -> Result<Asked, SettingsError> {
        read(&Sources {
            user: &self.directory.path().join("config.toml"),
            project: Some(&self.project()),
            environment: &self.environment,
            flags: Some(&self.flags),
        })
    }
}

#[test]
fn nothing_anywhere_is_the_defaults() {
    let asked = World::new(&[]).read().unwrap();
    assert_eq!(asked.consent, None);
    let resolved = asked.resolve(Who::Person, false);
    assert_eq!(resolved, agar_core::settings::resolve(Who::Person, &[]));
}

#[test]
fn flags_win_over_variables_over_the_project_over_the_user() {
    let mut world = World::new(&[
        (
            "config.toml",
            "monitor = 'files'\nbase = 'live'\n[limits]\ncpu = 1\nmemory = 1",
        ),
        (
            "project/agar.toml",
            "base = 'frozen'\n[limits]\ncpu = 2\nmemory = 2",
        ),
    ]);
    world.environment = vec![
        ("AGAR_LIMITS_CPU".into(), "3".into()),
        ("AGAR_LIMITS_MEMORY".into(), "3".into()),
        ("AGAR_TIER".into(), "".into()),
    ];
    let flag = Origin::Flag {
        flag: "--memory".to_owned(),
    };
    world.flags.set_text(Key::LimitsMemory, "4", flag).unwrap();
    let resolved = world.read().unwrap().resolve(Who::Person, false);
    let shown = |key: &str| {
        let line = resolved.lines.iter().find(|line| line.key == key).unwrap();
        (line.value.clone(), line.origins[0].to_string())
    };
    let path = |name| world.directory.path().join(name).display().to_string();
    assert_eq!(shown("monitor"), ("files".to_owned(), path("config.toml")));
    assert_eq!(
        shown("base"),
        ("frozen".to_owned(), path("project/agar.toml"))
    );
    let variable = "AGAR_LIMITS_CPU".to_owned();
    assert_eq!(shown("limits.cpu"), ("3 %".to_owned(), variable));
    let flag = "--memory".to_owned();
    assert_eq!(shown("limits.memory"), ("4 MB".to_owned(), flag));
}

#[test]
fn consent_is_to_one_exact_content() {
    let world = World::new(&[("project/agar.toml", "network = 'host'")]);
    let state = tempfile::tempdir().unwrap();
    let mut store = Store::open(&state.path().join("store.db")).unwrap();
    let id = ProjectId::new(Timestamp::from_millis(1), [1; 10]);
    let place = Place {
        path: world.project(),
        device: 1,
        inode: 1,
        born_ns: None,
        repository: None,
    };
    store
        .project(&place, id, Timestamp::from_millis(1))
        .unwrap();
    let user = world.directory.path().join("config.toml");
    let project = world.project();
    let sources = Sources {
        user: &user,
        project: Some(&project),
        environment: &[],
        flags: None,
    };
    let loaded = load(&sources, Who::Person, Some((&store.read(), id))).unwrap();
    assert!(!loaded.approved);
    assert_eq!(loaded.resolved.settings.network, Network::None);
    assert_eq!(loaded.resolved.held_back[0].key, "network");

    let hash = loaded.asked.consent.unwrap().hash;
    store
        .write(|writer| writer.approve(id, &hash, SUBJECT, Timestamp::from_millis(2)))
        .unwrap();
    let loaded = load(&sources, Who::Person, Some((&store.read(), id))).unwrap();
    assert!(loaded.approved);
    assert_eq!(loaded.resolved.settings.network, Network::Host);

    world.write("project/agar.toml", "network = 'host'\ntier = 'none'");
    let loaded = load(&sources, Who::Person, Some((&store.read(), id))).unwrap();
    assert!(!loaded.approved);
    assert_eq!(loaded.resolved.settings.network, Network::None);
    assert_eq!(loaded.resolved.settings.tier, Tier::Full);
}

#[test]
fn hints_lie_below_the_projects_own_file_and_wait_for_consent() {
    let cursor = "{ \"setup-worktree\": [\"npm ci\"] }";
    let world = World::new(&[
        ("project/.cursor/worktrees.json", cursor),
        ("project/.worktreeinclude", ".env\n"),
    ]);
    let asked = world.read().unwrap();
    assert_eq!(
        asked.resolve(Who::Person, false).settings.setup,
        [] as [&str; 0]
    );
    let approved = asked.resolve(Who::Person, true).settings;
    assert_eq!(
        (approved.setup, approved.unmask),
        (vec!["npm ci".to_owned()], vec![".env".to_owned()])
    );
    let before = asked.consent.unwrap().hash;
    world.write(
        "project/.cursor/worktrees.json",
        &format!("// why\n{cursor}"),
    );
    assert_eq!(world.read().unwrap().consent.unwrap().hash, before);
    world.write("project/agar.toml", "setup = ['make deps']");
    let asked = world.read().unwrap();
    assert_ne!(asked.consent.clone().unwrap().hash, before);
    assert_eq!(
        asked.resolve(Who::Person, true).settings.setup,
        ["make deps"]
    );
}

#[test]
fn a_mistyped_variable_is_an_error_and_a_strange_one_is_not() {
    let mut world = World::new(&[]);
    let others = [
        "SOMETHING_ELSE",
        "LOG",
        "PAGER",
        "AGENT",
        "TEST",
        "SANDBOX",
        "STATE",
    ];
    world.environment = others
        .map(|name| (format!("AGAR_{name}").into(), "1".into()))
        .to_vec();
    assert!(world.read().is_ok());
    world.environment = vec![("AGAR_NETWROK".into(), "none".into())];
    let error = world.read().unwrap_err();
    assert_eq!(error.kind(), Kind::Invalid);
    assert!(error.remedy().is_some());
    world.environment = vec![("AGAR_TIER".into(), "strong".into())];
    let error = world.read().unwrap_err();
    assert!(
        error.to_string().starts_with("AGAR_TIER: choose one of"),
        "{error}"
    );
}

#[test]
fn a_file_that_cannot_be_read_is_not_taken_for_an_absent_one() {
    let world = World::new(&[("config.toml/a", "")]);
    let error = world.read().unwrap_err();
    assert!(matches!(error, SettingsError::Unreadable { .. }), "{error}");
}

fn kinds(world: &World) -> Vec<(&'static str, Vec<String>)> {
    detect(&world.project())
        .into_iter()
        .map(|found| {
            let checks = found.checks.into_iter().map(|check| check.run).collect();
            (found.kind.word(), checks)
        })
        .collect()
}

#[test]
fn each_ecosystem_is_told_by_its_files() {
    let package = r#"{ "scripts": { "test": "vitest", "lint": "eslint .", "start": "x" } }"#;
    for (files, kind, checks) in [
        (
            vec![("project/Cargo.toml", "[workspace]\nmembers = []")],
            "cargo",
            vec![
                "cargo check --workspace --all-targets",
                "cargo test --workspace --no-fail-fast",
            ],
        ),
        (
            vec![
                ("project/package.json", package),
                ("project/pnpm-lock.yaml", ""),
            ],
            "npm",
            vec!["pnpm run lint", "pnpm run test"],
        ),
        (
            vec![
                (
                    "project/pyproject.toml",
                    "[tool.pytest.ini_options]\n[tool.ruff]",
                ),
                ("project/uv.lock", ""),
            ],
            "python",
            vec!["uv run ruff check .", "uv run pytest -v"],
        ),
        (
            vec![
                ("project/requirements.txt", "pytest\nmypy\n"),
                ("project/.venv/bin/pytest", "#!"),
            ],
            "python",
            vec!["mypy .", ".venv/bin/python -m pytest -v"],
        ),
        (
            vec![("project/go.mod", "module x")],
            "go",
            vec!["go build ./...", "go vet ./...", "go test -json ./..."],
        ),
        (
            vec![("project/pom.xml", ""), ("project/mvnw", "")],
            "maven",
            vec!["./mvnw -B -q test"],
        ),
        (
            vec![("project/Makefile", "V := 1\ntest: build\n\t@x\nlint:=y\n")],
            "make",
            vec!["make test"],
        ),
        (
            vec![("project/mix.exs", "")],
            "elixir",
            vec!["mix compile --warnings-as-errors", "mix test"],
        ),
    ] {
        let expected: Vec<String> = checks.into_iter().map(str::to_owned).collect();
        assert_eq!(kinds(&World::new(&files)), vec![(kind, expected)]);
    }
}

#[test]
fn a_script_that_npm_init_wrote_is_no_check() {
    let text = r#"{ "scripts": { "test": "echo \"Error: no test specified\" && exit 1" } }"#;
    let world = World::new(&[("project/package.json", text)]);
    assert_eq!(kinds(&world), vec![("npm", Vec::new())]);
}

#[test]
fn the_written_file_is_read_and_changes_nothing_but_the_checks() {
    let package = r#"{ "scripts": { "test": "x", "build": "y" } }"#;
    for files in [
        vec![],
        vec![
            ("project/Cargo.toml", ""),
            ("project/package.json", package),
        ],
        vec![("project/Makefile", "test:\n"), ("project/go.mod", "")],
    ] {
        let world = World::new(&files);
        let found = detect(&world.project());
        let text = render(&found);
        world.write("project/agar.toml", &text);
        let resolved = world.read().unwrap().resolve(Who::Person, false);
        assert_eq!(resolved.held_back, []);
        let checks: usize = found.iter().map(|found| found.checks.len()).sum();
        assert_eq!(resolved.settings.checks.len(), checks, "{text}");
        let mut settings = resolved.settings;
        settings.checks = Vec::new();
        let defaults = agar_core::settings::resolve(Who::Person, &[]).settings;
        assert_eq!(settings, defaults);
        uncommented_is_valid(&text);
    }
}

fn is_value(line: &str) -> bool {
    line.starts_with('[') || (line.starts_with(char::is_lowercase) && line.contains(" = "))
}

/// Whoever removes the comment signs before the values gets a file that agar reads.
fn uncommented_is_valid(text: &str) {
    let uncommented: String = text
        .lines()
        .map(|line| match line.strip_prefix("# ") {
            Some(rest) if is_value(rest) => format!("{rest}\n"),
            _ => format!("{line}\n"),
        })
        .collect();
    let path = Path::new("agar.toml");
    let origin = Origin::Project {
        path: path.to_owned(),
    };
    parse(path, &uncommented, Source::Project, &origin)
        .unwrap_or_else(|error| panic!("{error}\n{uncommented}"));
}
