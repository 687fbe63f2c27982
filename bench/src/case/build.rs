//! A real build, inside against outside.

use super::{agar, outside};
use crate::measure::{Contestant, in_turns, timed};
use crate::table::{Row, compared};
use agar_testkit::World;
use anyhow::Result;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// How many modules the built program has.
const MODULES: usize = 20;

/// A `cargo build` from nothing of a program without dependencies.
pub(crate) fn run() -> Result<Vec<Row>> {
    let world = project()?;
    let path = format!("{}:/usr/bin:/bin", toolchain()?.join("bin").display());
    let cargo = ["cargo", "build", "--quiet", "--offline"];
    let inside = |base: &str| -> Result<Duration> {
        let flag = format!("--base={base}");
        let mut words = vec!["run", "--rm", flag.as_str(), "--"];
        words.extend(cargo);
        timed(agar(&world, &words).env("PATH", &path))
    };
    let without = || -> Result<Duration> {
        drop(fs_err::remove_dir_all(world.project().join("target")));
        let took = timed(outside(&world, "cargo", &cargo[1..]).env("PATH", &path))?;
        drop(fs_err::remove_dir_all(world.project().join("target")));
        Ok(took)
    };
    let measured = in_turns(
        5,
        vec![
            Contestant::new("outside", without),
            Contestant::new("inside, live", || inside("live")),
            Contestant::new("inside, frozen", || inside("frozen")),
        ],
    )?;
    let mut rows = compared("build", &measured).into_iter();
    let outside = rows.next();
    Ok(outside
        .into_iter()
        .chain(rows.map(|row| row.ratio_at_most(1.1)))
        .collect())
}

fn project() -> Result<World> {
    let world = World::new(super::AGAR);
    world.write(
        "Cargo.toml",
        "[package]\nname = \"built\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n",
    );
    let mut main = String::new();
    for module in 0..MODULES {
        let mut text = String::new();
        for function in 0..40 {
            writeln!(
                text,
                "pub fn f{function}(v: &[u64]) -> Vec<String> {{ v.iter().filter(|n| **n % {} == 0)\
                 .map(|n| format!(\"{{n}}-{function}\")).collect() }}",
                function + 2
            )?;
        }
        world.write(format!("src/m{module}.rs"), text);
        writeln!(main, "mod m{module};")?;
    }
    writeln!(
        main,
        "fn main() {{ let v: Vec<u64> = (0..100).collect(); let mut n = 0;"
    )?;
    for module in 0..MODULES {
        writeln!(main, "n += m{module}::f{}(&v).len();", module % 40)?;
    }
    writeln!(main, "println!(\"{{n}}\"); }}")?;
    world.write("src/main.rs", main);
    Ok(world)
}

/// The compiler's own directory, so that no wrapper in somebody's home is needed.
fn toolchain() -> Result<PathBuf> {
    let output = Command::new("rustc")
        .args(["--print", "sysroot"])
        .output()?;
    Ok(PathBuf::from(
        String::from_utf8_lossy(&output.stdout).trim(),
    ))
}
