//! What the system must provide, installed where we may and named where we may not.

use super::system;
use crate::program;
use anyhow::{Result, bail};
use std::path::Path;
use std::process::Command;

/// Something needed, how to see that it is there, and the package that brings it.
#[derive(Debug)]
pub(crate) struct Need {
    found: Found,
    package: &'static str,
}

#[derive(Debug)]
enum Found {
    /// A program on the path.
    Program(&'static str),
    /// A file at this place.
    File(&'static str),
    /// This command works.
    Works(&'static [&'static str]),
}

const fn program(name: &'static str, package: &'static str) -> Need {
    Need {
        found: Found::Program(name),
        package,
    }
}

const fn file(path: &'static str, package: &'static str) -> Need {
    Need {
        found: Found::File(path),
        package,
    }
}

/// For the tests. The system's own interpreters, not a developer's: an ordinary user must be able
/// to start them too.
pub(crate) const FOR_TESTS: &[Need] = &[
    program("git", "git"),
    program("cc", "gcc"),
    file("/usr/include/stdlib.h", "libc6-dev"),
    file("/usr/bin/python3", "python3"),
    Need {
        found: Found::Works(&["/usr/bin/python3", "-m", "ensurepip", "--version"]),
        package: "python3-venv",
    },
    file("/usr/bin/perl", "perl-base"),
    file("/usr/bin/node", "nodejs"),
    file("/usr/bin/npm", "npm"),
    file("/usr/bin/chromium", "chromium"),
    file("/usr/bin/tmux", "tmux"),
    program("setsid", "util-linux"),
    program("setpriv", "util-linux"),
    program("useradd", "passwd"),
    program("dpkg-deb", "dpkg"),
    program("patch", "patch"),
    program("bwrap", "bubblewrap"),
];

/// Sees that everything is there: installs what is missing as root or through `sudo`, else says
/// exactly what to type.
pub(crate) fn install(needs: &[Need]) -> Result<()> {
    let missing = missing(needs);
    if missing.is_empty() {
        return Ok(());
    }
    println!("   missing: {}", missing.join(" "));
    let typed = format!(
        "apt-get install --yes --no-install-recommends {}",
        missing.join(" ")
    );
    if program::find("apt-get").is_none() {
        bail!(
            "install what gives these Debian packages: {}",
            missing.join(" ")
        );
    }
    let Some(prefix) = privilege() else {
        bail!("install what is missing: sudo {typed}");
    };
    let apt = |args: &[&str]| {
        let words: Vec<&str> = prefix
            .iter()
            .chain(&["apt-get"])
            .chain(args)
            .copied()
            .collect();
        system(words[0], &words[1..])
    };
    apt(&["update", "--quiet"])?;
    let mut args = vec!["install", "--yes", "--quiet", "--no-install-recommends"];
    args.extend(&missing);
    apt(&args)?;
    let still = self::missing(needs);
    if !still.is_empty() {
        bail!("still missing after `{typed}`: {}", still.join(" "));
    }
    Ok(())
}

fn missing(needs: &[Need]) -> Vec<&'static str> {
    let mut missing: Vec<&str> = needs
        .iter()
        .filter(|need| !need.found.holds())
        .map(|need| need.package)
        .collect();
    missing.dedup();
    missing
}

impl Found {
    fn holds(&self) -> bool {
        match self {
            Self::Program(name) => program::find(name).is_some(),
            Self::File(path) => Path::new(path).exists(),
            Self::Works(words) => Command::new(words[0])
                .args(&words[1..])
                .output()
                .is_ok_and(|output| output.status.success()),
        }
    }
}

/// What to put before a command that needs root, if we may.
fn privilege() -> Option<&'static [&'static str]> {
    if rustix::process::geteuid().is_root() {
        return Some(&[]);
    }
    let sudo = Command::new("sudo").args(["-n", "true"]).output();
    sudo.is_ok_and(|output| output.status.success())
        .then_some(&["sudo", "-n"])
}
