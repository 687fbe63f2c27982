//! Pictures of every view of the page, for a person to look at.
//!
//! A project with a past of a month is made in a world of its own, served, and opened in Chromium.

use crate::program;
use crate::test::browser;
use agar_testkit::{World, world};
use anyhow::{Result, bail};
use std::path::Path;
use std::time::Duration;

/// Where they go, from the top of the workspace.
const PICTURES: &str = "target/screenshots";

/// How long all of them may take.
const PATIENCE: Duration = Duration::from_mins(20);

/// Makes them.
pub(crate) fn run(root: &Path) -> Result<()> {
    browser::install(root)?;
    program::run(program::cargo(root).args(["build", "--package", "agar", "--quiet"]))?;
    let agar = root.join("target/debug/agar");
    let Some(program) = agar.to_str() else {
        bail!("the path of the workspace is not text");
    };
    let world = World::with_repository_in(&world::seen_inside(&root.join("target/tmp")), program);
    let outcome = world
        .invoke("/usr/bin/node")
        .arg(root.join(browser::DIRECTORY).join("pictures.js"))
        .arg(root.join(PICTURES))
        .env("AGAR", program)
        .env("TMPDIR", world.outside())
        .patience(PATIENCE)
        .run()
        .success();
    print!("{}", outcome.stdout);
    Ok(())
}
