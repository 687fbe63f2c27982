//! Links the program that people run without shared libraries.
//!
//! Looking for, mapping and relocating three libraries takes a quarter of the time in which a
//! sandbox is made and used. Only where the C library is there to be linked, which the keeper's
//! program needs anyway, and only as people get it: tests and their tools are linked as ever.
#![expect(
    clippy::disallowed_methods,
    reason = "cargo talks to build scripts through the environment"
)]

use std::env;
use std::error::Error;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the compiler asks the linker for by name, in either form.
const LIBRARIES: [&str; 6] = ["c", "m", "rt", "dl", "pthread", "util"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let wanted = env::var("PROFILE")? == "release"
        && env::var("CARGO_CFG_TARGET_ENV")? == "gnu"
        && env::var("HOST")? == env::var("TARGET")?;
    let place = PathBuf::from(env::var("OUT_DIR")?).join("archives");
    if wanted && gather(&place)? {
        println!("cargo::rustc-link-arg-bins=-L{}", place.display());
        println!("cargo::rustc-link-arg-bins=-static-pie");
    }
    Ok(())
}

/// A directory in which the linker finds archives and no shared library: it takes the first of
/// either in the first directory that has one. Whether all of them are here.
fn gather(place: &Path) -> Result<bool, Box<dyn Error>> {
    match fs::remove_dir_all(place) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
        Ok(()) | Err(_) => {}
    }
    fs::create_dir_all(place)?;
    for library in LIBRARIES {
        let name = format!("lib{library}.a");
        let Some(archive) = find(&name)? else {
            return Ok(false);
        };
        symlink(archive, place.join(name))?;
    }
    // The shared form of the unwinder is asked for; its archive has another name.
    fs::write(place.join("libgcc_s.a"), "GROUP ( -lgcc_eh -lgcc -lc )\n")?;
    Ok(true)
}

fn find(name: &str) -> Result<Option<PathBuf>, Box<dyn Error>> {
    let answer = Command::new("cc")
        .arg(format!("-print-file-name={name}"))
        .output();
    let Ok(answer) = answer else {
        return Ok(None);
    };
    let path = PathBuf::from(String::from_utf8(answer.stdout)?.trim());
    Ok((answer.status.success() && path.is_absolute() && path.exists()).then_some(path))
}
