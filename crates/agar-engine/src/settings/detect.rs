//! What sort of project this is, and how it is checked.
//!
//! Told by the files at its top, without running anything. The commands are those that people of
//! each ecosystem type; a script that the project itself names comes first.

use super::jsonc;
use agar_core::settings::Check;
use agar_review::Format;
use serde_json::Value;
use std::path::Path;

/// An ecosystem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProjectKind {
    /// Rust.
    Cargo,
    /// JavaScript or TypeScript, with any of its package managers.
    Npm,
    /// Python.
    Python,
    /// Go.
    Go,
    /// Java with Maven.
    Maven,
    /// Java or Kotlin with Gradle.
    Gradle,
    /// Elixir.
    Elixir,
    /// Anything with a makefile.
    Make,
}

impl ProjectKind {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Cargo => "cargo",
            Self::Npm => "npm",
            Self::Python => "python",
            Self::Go => "go",
            Self::Maven => "maven",
            Self::Gradle => "gradle",
            Self::Elixir => "elixir",
            Self::Make => "make",
        }
    }

    /// Directories with what it builds or downloads.
    pub const fn bulk(self) -> &'static [&'static str] {
        match self {
            Self::Cargo | Self::Maven => &["target"],
            Self::Npm => &["node_modules"],
            Self::Python => &[".venv"],
            Self::Gradle => &[".gradle", "build"],
            Self::Elixir => &["deps", "_build"],
            Self::Go | Self::Make => &[],
        }
    }
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detected {
    /// The ecosystem.
    pub kind: ProjectKind,
    /// Its checks, cheapest first.
    pub checks: Vec<Check>,
}

/// Says how projects of one kind are checked, where this is one.
type Finder = fn(&Top<'_>) -> Option<Vec<Check>>;

/// Looks at the files at the top of a project.
pub fn detect(project: &Path) -> Vec<Detected> {
    let top = Top(project);
    let mut found = Vec::new();
    let finders: [(ProjectKind, Finder); 8] = [
        (ProjectKind::Cargo, cargo),
        (ProjectKind::Npm, npm),
        (ProjectKind::Python, python),
        (ProjectKind::Go, go),
        (ProjectKind::Maven, maven),
        (ProjectKind::Gradle, gradle),
        (ProjectKind::Elixir, elixir),
        (ProjectKind::Make, make),
    ];
    for (kind, find) in finders {
        if let Some(checks) = find(&top) {
            found.push(Detected { kind, checks });
        }
    }
    name_apart(&mut found);
    found
}

/// The top of a project.
struct Top<'a>(&'a Path);

impl Top<'_> {
    fn has(&self, name: &str) -> bool {
        self.0.join(name).exists()
    }

    fn first<'n>(&self, names: &[&'n str]) -> Option<&'n str> {
        names.iter().copied().find(|name| self.has(name))
    }

    fn text(&self, name: &str) -> Option<String> {
        fs_err::read_to_string(self.0.join(name)).ok()
    }
}

fn check(name: &str, run: &str) -> Check {
    Check::new(name, run)
}

/// A check that prints what each test did.
fn tests(name: &str, run: &str, format: Format) -> Check {
    Check {
        report: Some("-".to_owned()),
        format: Some(format.word().to_owned()),
        ..Check::new(name, run)
    }
}

/// Where two ecosystems have a check of the same name, each says whose it is.
fn name_apart(found: &mut [Detected]) {
    let names: Vec<String> = found
        .iter()
        .flat_map(|detected| detected.checks.iter().map(|check| check.name.clone()))
        .collect();
    for detected in found {
        for check in &mut detected.checks {
            if names.iter().filter(|name| **name == check.name).count() > 1 {
                check.name = format!("{}-{}", detected.kind.word(), check.name);
            }
        }
    }
}

fn cargo(top: &Top<'_>) -> Option<Vec<Check>> {
    let manifest = top.text("Cargo.toml")?;
    let all = if manifest.contains("[workspace]") {
        " --workspace"
    } else {
        ""
    };
    let test = if top.has(".config/nextest.toml") {
        tests("test", &format!("cargo nextest run{all}"), Format::Nextest)
    } else {
        let run = format!("cargo test{all} --no-fail-fast");
        tests("test", &run, Format::Libtest)
    };
    Some(vec![
        check("build", &format!("cargo check{all} --all-targets")),
        test,
    ])
}

fn npm(top: &Top<'_>) -> Option<Vec<Check>> {
    let manifest = top.text("package.json")?;
    let manifest: Value = serde_json::from_str(&jsonc::to_json(&manifest)).unwrap_or(Value::Null);
    let runner = match top.first(&["pnpm-lock.yaml", "yarn.lock", "bun.lock", "bun.lockb"]) {
        Some("pnpm-lock.yaml") => "pnpm",
        Some("yarn.lock") => "yarn",
        Some(_) => "bun",
        None => "npm",
    };
    let mut checks = Vec::new();
    for name in ["typecheck", "lint", "build", "test"] {
        let script = manifest.pointer(&format!("/scripts/{name}"));
        let script = script.and_then(Value::as_str).unwrap_or_default();
        // What `npm init` writes when nobody said anything.
        if !script.is_empty() && !script.contains("no test specified") {
            checks.push(check(name, &format!("{runner} run {name}")));
        }
    }
    Some(checks)
}

fn python(top: &Top<'_>) -> Option<Vec<Check>> {
    top.first(&[
        "pyproject.toml",
        "setup.py",
        "setup.cfg",
        "requirements.txt",
    ])?;
    let project = top.text("pyproject.toml").unwrap_or_default();
    let asked = format!(
        "{project}{}",
        top.text("requirements.txt").unwrap_or_default()
    );
    let runner = match top.first(&["uv.lock", "poetry.lock", "pdm.lock"]) {
        Some("uv.lock") => "uv run ",
        Some("poetry.lock") => "poetry run ",
        Some(_) => "pdm run ",
        None => "",
    };
    // Nobody has activated an environment of the project in the shell that runs a check.
    let own = |program: &str| {
        let places = [".venv", "venv", "env"].map(|place| format!("{place}/bin/{program}"));
        let place = places
            .into_iter()
            .find(|place| runner.is_empty() && top.has(place));
        place.unwrap_or_else(|| format!("{runner}{program}"))
    };
    let mut checks = Vec::new();
    if asked.contains("ruff") || top.has("ruff.toml") {
        checks.push(check("lint", &format!("{} check .", own("ruff"))));
    }
    if asked.contains("mypy") || top.has("mypy.ini") {
        checks.push(check("types", &format!("{} .", own("mypy"))));
    }
    if asked.contains("pytest") || top.first(&["pytest.ini", "conftest.py"]).is_some() {
        // As a module it finds the project's own packages without their being installed.
        let run = match own("pytest") {
            run if run == format!("{runner}pytest") => format!("{run} -v"),
            run => format!("{} -m pytest -v", run.replace("/pytest", "/python")),
        };
        checks.push(tests("test", &run, Format::Pytest));
    } else if top.has("tests") {
        checks.push(check(
            "test",
            &format!("{} -m unittest discover", own("python")),
        ));
    }
    Some(checks)
}

fn go(top: &Top<'_>) -> Option<Vec<Check>> {
    top.first(&["go.mod", "go.work"])?;
    Some(vec![
        check("build", "go build ./..."),
        check("vet", "go vet ./..."),
        tests("test", "go test -json ./...", Format::GoJson),
    ])
}

fn maven(top: &Top<'_>) -> Option<Vec<Check>> {
    top.first(&["pom.xml"])?;
    let program = if top.has("mvnw") { "./mvnw" } else { "mvn" };
    Some(vec![Check {
        report: Some("target/surefire-reports/TEST-*.xml".to_owned()),
        format: Some(Format::Junit.word().to_owned()),
        ..Check::new("test", &format!("{program} -B -q test"))
    }])
}

fn gradle(top: &Top<'_>) -> Option<Vec<Check>> {
    top.first(&["build.gradle", "build.gradle.kts", "settings.gradle.kts"])?;
    let program = if top.has("gradlew") {
        "./gradlew"
    } else {
        "gradle"
    };
    Some(vec![Check {
        report: Some("build/test-results/test/TEST-*.xml".to_owned()),
        format: Some(Format::Junit.word().to_owned()),
        ..Check::new("test", &format!("{program} test"))
    }])
}

fn elixir(top: &Top<'_>) -> Option<Vec<Check>> {
    top.first(&["mix.exs"])?;
    Some(vec![
        check("build", "mix compile --warnings-as-errors"),
        check("test", "mix test"),
    ])
}

/// The targets that a makefile has, of those that mean a check.
fn make(top: &Top<'_>) -> Option<Vec<Check>> {
    let name = top.first(&["GNUmakefile", "makefile", "Makefile"])?;
    let text = top.text(name)?;
    let target = |name: &str| {
        text.lines().any(|line| {
            line.strip_prefix(name)
                .is_some_and(|rest| rest.trim_start().starts_with(':') && !rest.contains(":="))
        })
    };
    let checks = ["lint", "check", "test"]
        .into_iter()
        .filter(|name| target(name));
    let checks = checks.map(|name| check(name, &format!("make {name}")));
    Some(checks.collect())
}
