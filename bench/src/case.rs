//! The benchmarks, one file each, and what they share.

pub(crate) mod apply;
pub(crate) mod build;
pub(crate) mod cold;
pub(crate) mod create;
pub(crate) mod crowd;
#[cfg(feature = "evolve")]
pub(crate) mod evolve;
pub(crate) mod exec;
pub(crate) mod freeze;
pub(crate) mod git;
pub(crate) mod idle;
pub(crate) mod memory;
pub(crate) mod page;
pub(crate) mod pool;
pub(crate) mod rate;
pub(crate) mod serve;
pub(crate) mod size;
pub(crate) mod travel;

use agar_testkit::World;
use anyhow::{Context as _, Result};
use std::path::Path;
use std::process::Command;

/// The command, as the test kit finds it.
const AGAR: &str = "agar";

/// A world whose project has this many small files in directories of a hundred.
pub(crate) fn world_of(files: usize) -> Result<World> {
    let world = World::new(AGAR);
    fill(&world.project(), files)?;
    Ok(world)
}

/// Fills the directory with small files.
pub(crate) fn fill(directory: &Path, files: usize) -> Result<()> {
    for number in 0..files {
        let place = directory.join(format!("d{}", number / 100));
        if number % 100 == 0 {
            fs_err::create_dir_all(&place)?;
        }
        fs_err::write(place.join(format!("f{number}")), format!("file {number}\n"))?;
    }
    Ok(())
}

/// The command with these words, not yet started.
pub(crate) fn agar(world: &World, words: &[&str]) -> Command {
    world.command(words).into_command()
}

/// A program in the world's environment, outside any sandbox.
pub(crate) fn outside(world: &World, program: &str, words: &[&str]) -> Command {
    world.invoke(program).args(words).into_command()
}

/// The usual peer: a read-only view of the machine in namespaces of its own, no copy-on-write.
pub(crate) fn bubblewrap(world: &World, words: &[&str]) -> Command {
    let flags = [
        "--ro-bind",
        "/",
        "/",
        "--unshare-all",
        "--dev",
        "/dev",
        "--proc",
        "/proc",
        "--",
    ];
    world.invoke("bwrap").args(flags).args(words).into_command()
}

/// Installs a package for a peer, where we may.
pub(crate) fn need(program: &str, package: &str) -> Result<()> {
    let found = |program: &str| {
        Command::new("/bin/sh")
            .args(["-c", &format!("command -v {program}")])
            .output()
            .is_ok_and(|output| output.status.success())
    };
    if found(program) {
        return Ok(());
    }
    let install = format!("apt-get install --yes --quiet --no-install-recommends {package}");
    for prefix in ["", "sudo -n "] {
        let line =
            format!("{prefix}{install} || ({prefix}apt-get update --quiet && {prefix}{install})");
        let done = Command::new("/bin/sh")
            .args(["-c", &line])
            .env("DEBIAN_FRONTEND", "noninteractive")
            .output();
        if done.is_ok_and(|output| output.status.success()) && found(program) {
            return Ok(());
        }
    }
    anyhow::bail!("install {package} first: sudo {install}")
}

/// Removes every sandbox of the world.
pub(crate) fn clear(world: &World) {
    drop(world.agar(["rm", "--all", "--force"]));
}

/// What a file of numbers in `/proc` says, in KiB.
pub(crate) fn kib(path: &str, key: &str) -> Result<f64> {
    let text = fs_err::read_to_string(path)?;
    let line = text.lines().find(|line| line.starts_with(key));
    let line = line.with_context(|| format!("{path} has no {key}"))?;
    let number = line.split_whitespace().nth(1).context("a number follows")?;
    Ok(number.parse()?)
}

/// More than this in two seconds is still coming back.
const RETURNING_KIB: f64 = 2048.0;

/// Memory that is available. What lies free in the processors' own lists is not in the kernel's sum,
/// and comes and goes by a hundred megabytes.
pub(crate) fn available() -> Result<f64> {
    let zones = fs_err::read_to_string("/proc/zoneinfo")?;
    let lists = zones
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("count:"));
    let mut pages = 0.0;
    for count in lists {
        pages += count.trim().parse::<f64>()?;
    }
    let page = u32::try_from(rustix::param::page_size())?;
    Ok(kib("/proc/meminfo", "MemAvailable:")? + pages * f64::from(page) / 1024.0)
}

/// Memory that is available, once the kernel has taken back what those before had.
pub(crate) fn available_at_rest() -> Result<f64> {
    let mut before = available()?;
    loop {
        std::thread::park_timeout(std::time::Duration::from_secs(2));
        let now = available()?;
        if now - before < RETURNING_KIB {
            return Ok(now);
        }
        before = now;
    }
}
