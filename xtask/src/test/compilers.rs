//! The compilers that make genomes of C and Rust: Zig from the Python index, and a target for rustc.
//!
//! They are no part of a build, so a machine that cannot have them builds and tests all the same. What
//! is missing is said, and the tests that need it skip, as `xtask/expected-skips.toml` expects of
//! such a machine.

use crate::{program, python};
use agar_testkit::world;
use anyhow::{Context as _, Result, ensure};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The list of packages, from the top of the workspace.
const LIST: &str = "xtask/compilers/requirements.txt";

/// Where they are installed; they are run in sandboxes.
fn environment(root: &Path) -> PathBuf {
    world::seen_inside(&root.join("target/compilers"))
}

/// Where the tests find the one program of them.
fn programs(root: &Path) -> PathBuf {
    environment(root).join("programs")
}

/// What rustc needs to write WebAssembly.
const TARGET: &str = "wasm32-unknown-unknown";

/// Tries to install both; answers with the rules whose tests will have to skip.
pub(crate) fn install(root: &Path) -> Vec<&'static str> {
    let tried = [("c-compiler", zig(root)), ("rust-target", target(root))];
    let mut missing = Vec::new();
    for (rule, outcome) in tried {
        if let Err(error) = outcome {
            println!("   {rule}: {error:#}");
            missing.push(rule);
        }
    }
    missing
}

/// The search path of the tests.
pub(crate) fn path(root: &Path) -> OsString {
    let mut path = programs(root).into_os_string();
    if let Some(before) = std::env::var_os("PATH") {
        path.push(":");
        path.push(before);
    }
    path
}

fn zig(root: &Path) -> Result<()> {
    // The system's own is preferred by whoever looks for one.
    if program::find("clang").is_some() && program::find("wasm-ld").is_some() {
        return Ok(());
    }
    let python = python::install(&root.join(LIST), &environment(root))?;
    let mut find = Command::new(python);
    find.args(["-c", "import ziglang; print(ziglang.__path__[0])"]);
    let found = program::read(&mut find)?;
    let zig = Path::new(found.trim()).join("zig");
    ensure!(zig.exists(), "the package `ziglang` has no program `zig`");
    let programs = programs(root);
    fs_err::create_dir_all(&programs)?;
    let link = programs.join("zig");
    if fs_err::read_link(&link).is_ok_and(|to| to == zig) {
        return Ok(());
    }
    // There is none yet, or it leads elsewhere.
    drop(fs_err::remove_file(&link));
    Ok(fs_err::os::unix::fs::symlink(zig, link)?)
}

fn target(root: &Path) -> Result<()> {
    let there = || -> Result<bool> {
        let mut ask = Command::new("rustc");
        ask.args(["--print", "target-libdir", "--target", TARGET])
            .current_dir(root);
        Ok(Path::new(program::read(&mut ask)?.trim()).is_dir())
    };
    if there()? {
        return Ok(());
    }
    let mut add = Command::new("rustup");
    add.args(["target", "add", TARGET]).current_dir(root);
    program::run(&mut add).context("the target cannot be had")?;
    ensure!(there()?, "rustc does not see the target");
    Ok(())
}
