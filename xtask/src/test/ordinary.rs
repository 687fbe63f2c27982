//! The claims and the command again, as an ordinary user.
//!
//! Somebody who runs the tests as root, as build machines do, would otherwise never see what most
//! users see: user namespaces without privilege, no control groups, a read-only system.

use super::system;
use super::tally::{self, SkipFile, Tally};
use crate::program;
use agar_testkit::{invocation, leaks, skip, wait, world};
use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The user's name. It is made when it is missing and stays.
const USER: &str = "agar-test";

/// The crates whose integration tests are run again.
const CRATES: &[&str] = &["agar", "agar-jail", "agar-sandbox", "agar-engine"];

/// Copies the built tests where the user can read them and runs them as that user.
pub(crate) fn run(root: &Path) -> Result<Tally> {
    let user = User::find_or_make()?;
    let place = Place::make(&user)?;
    let built = built(root)?;
    let agar = built
        .iter()
        .find(|program| program.kind == "bin" && program.package == "agar");
    let agar = agar.context("the command is built")?;
    place.copy(&agar.path, "agar")?;
    for name in CRATES {
        let tests = Path::new("crates").join(name).join("tests");
        copy_tree(&root.join(&tests), &place.0.join("source").join(&tests))?;
    }
    let scenarios = Path::new("scenarios");
    copy_tree(
        &root.join(scenarios),
        &place.0.join("source").join(scenarios),
    )?;
    let skips = SkipFile::new(&place.0.join("skips"))?;
    let mut sum = Tally::default();
    for test in built.iter().filter(|program| program.kind == "test") {
        if !CRATES.contains(&test.package.as_str()) {
            continue;
        }
        let name = format!("{}-{}", test.package, test.name);
        println!("   {name}");
        let copy = place.copy(&test.path, &name)?;
        sum = sum + tally::of_harness(&mut user.command(&copy, &place, skips.path()))?;
    }
    let tally = skips.count(root, ("ordinary-again", &[]), sum)?;
    // A keeper takes an empty jail down when its client has gone, so it may be there for a moment.
    let gone = || leaks::left_in(&place.0).is_empty();
    if !wait::holds_within(Duration::from_secs(10), gone) {
        let left = leaks::left_in(&place.0);
        bail!("{tally}, but something is left behind:\n{left}");
    }
    Ok(tally)
}

/// The user that the tests run as.
#[derive(Debug)]
struct User {
    uid: u32,
    gid: u32,
    home: PathBuf,
}

impl User {
    fn find_or_make() -> Result<Self> {
        if let Some(user) = Self::find()? {
            return Ok(user);
        }
        system("useradd", &["--create-home", "--shell", "/bin/sh", USER])?;
        Self::find()?.context("useradd made the user")
    }

    fn find() -> Result<Option<Self>> {
        let list = fs_err::read_to_string("/etc/passwd")?;
        let line = list
            .lines()
            .find(|line| line.split(':').next() == Some(USER));
        let Some(line) = line else {
            return Ok(None);
        };
        let fields: Vec<&str> = line.split(':').collect();
        let [_, _, uid, gid, _, home, ..] = fields.as_slice() else {
            bail!("/etc/passwd has a strange line for {USER}");
        };
        Ok(Some(Self {
            uid: uid.parse()?,
            gid: gid.parse()?,
            home: PathBuf::from(home),
        }))
    }

    /// The test program as this user, in the user's own environment.
    fn command(&self, program: &Path, place: &Place, skips: &Path) -> Command {
        let mut command = Command::new("setpriv");
        command
            .arg(format!("--reuid={}", self.uid))
            .arg(format!("--regid={}", self.gid))
            .args(["--clear-groups", "--"])
            .arg(program)
            .args(["--quiet", "--color=never"])
            .env_clear()
            .env("PATH", invocation::PATH)
            .env("HOME", &self.home)
            .env("USER", USER)
            .env("LANG", "C.UTF-8")
            .env("RUST_BACKTRACE", "1")
            .env("TMPDIR", place.0.join("tmp"))
            .env("XDG_RUNTIME_DIR", place.0.join("runtime"))
            .env("CARGO_TARGET_TMPDIR", place.0.join("tmp"))
            .env("INSTA_UPDATE", "no")
            .env("INSTA_WORKSPACE_ROOT", place.0.join("source"))
            .env(world::SOURCE_VARIABLE, place.0.join("source"))
            .env(world::DIRECTORY_VARIABLE, place.0.join("tmp"))
            .env(world::PROGRAM_VARIABLE, place.0.join("bin/agar"))
            .env(skip::FILE_VARIABLE, skips)
            .current_dir(&place.0);
        command
    }
}

/// A directory in the user's home for this run; gone with it.
#[derive(Debug)]
struct Place(PathBuf);

impl Place {
    fn make(user: &User) -> Result<Self> {
        let place = Self(user.home.join(format!("run-{}", std::process::id())));
        fs_err::create_dir_all(place.0.join("bin"))?;
        for (name, mode) in [("tmp", 0o755), ("runtime", 0o700)] {
            let directory = place.0.join(name);
            fs_err::create_dir_all(&directory)?;
            fs_err::set_permissions(&directory, std::fs::Permissions::from_mode(mode))?;
            chown(&directory, Some(user.uid), Some(user.gid))?;
        }
        Ok(place)
    }

    fn copy(&self, from: &Path, name: &str) -> Result<PathBuf> {
        let to = self.0.join("bin").join(name);
        fs_err::copy(from, &to)?;
        fs_err::set_permissions(&to, std::fs::Permissions::from_mode(0o755))?;
        Ok(to)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        leaks::remove_tree(&self.0);
    }
}

/// Copies a directory where there is one: the snapshots that tests compare with lie in it.
fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    if !from.is_dir() {
        return Ok(());
    }
    fs_err::create_dir_all(to)?;
    for entry in fs_err::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else {
            fs_err::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// A program that cargo built.
#[derive(Debug)]
struct Built {
    package: String,
    name: String,
    kind: String,
    path: PathBuf,
}

/// The command and every test of the workspace, built now if they were not before.
fn built(root: &Path) -> Result<Vec<Built>> {
    let messages = ["--quiet", "--message-format=json"];
    let mut text = program::read(
        program::cargo(root)
            .args(["build", "--package=agar"])
            .args(messages),
    )?;
    let tests = ["test", "--workspace", "--no-run"];
    text.push_str(&program::read(
        program::cargo(root).args(tests).args(messages),
    )?);
    Ok(text
        .lines()
        .filter_map(|line| artifact(&serde_json::from_str(line).ok()?))
        .collect())
}

fn artifact(message: &Value) -> Option<Built> {
    let target = message.get("target")?;
    let kind = target.get("kind")?.get(0)?.as_str()?;
    let is_test = message.get("profile")?.get("test")?.as_bool()?;
    // A command built as its own unit-test program is neither.
    if is_test != (kind == "test") {
        return None;
    }
    let manifest = Path::new(message.get("manifest_path")?.as_str()?);
    Some(Built {
        package: manifest.parent()?.file_name()?.to_str()?.to_owned(),
        name: target.get("name")?.as_str()?.to_owned(),
        kind: kind.to_owned(),
        path: PathBuf::from(message.get("executable")?.as_str()?),
    })
}
