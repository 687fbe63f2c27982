//! Builds the keeper's program and leaves it where `program.rs` embeds it.
//!
//! Cargo has no stable way to depend on a binary, so this runs cargo once more, for the same
//! package, with its own profile and target directory, statically linked.
#![expect(
    clippy::disallowed_methods,
    reason = "cargo talks to build scripts through the environment"
)]

use std::env;
use std::error::Error;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::process::Command;

/// Set for the inner build, which must not build itself again.
const INNER: &str = "AGAR_KEEPER_INNER";

/// Without the second, everything that another crate defines is reached through a table that has to be
/// filled in at every start: 12 KiB of memory for every sandbox.
const FLAGS: [&str; 2] = ["-Ctarget-feature=+crt-static", "-Crelocation-model=pie"];

fn main() -> Result<(), Box<dyn Error>> {
    for watched in [
        "src",
        "build.rs",
        "Cargo.toml",
        "../agar-core/src",
        "../../Cargo.lock",
    ] {
        println!("cargo::rerun-if-changed={watched}");
    }
    println!("cargo::rerun-if-env-changed={INNER}");
    let out = env::var("OUT_DIR")?;
    let out = Path::new(&out);
    let program = if env::var_os(INNER).is_some() {
        Vec::new()
    } else {
        build(out)?
    };
    std::fs::write(out.join("keeper"), &program)?;
    let mut hasher = DefaultHasher::new();
    program.hash(&mut hasher);
    println!("cargo::rustc-env=AGAR_KEEPER_MARK={:016x}", hasher.finish());
    Ok(())
}

fn build(out: &Path) -> Result<Vec<u8>, Box<dyn Error>> {
    let target = env::var("TARGET")?;
    let directory = out.join("target");
    let status = Command::new(env::var("CARGO")?)
        .args(["build", "--package", "agar-jail", "--bin", "agar-keeper"])
        .args(["--profile", "keeper", "--features", "keeper"])
        .args(["--target", &target])
        .arg("--target-dir")
        .arg(&directory)
        .env(INNER, "1")
        .env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\u{1f}"))
        // A wrapper such as clippy's would check the program instead of building it.
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env_remove("RUSTC_WRAPPER")
        .env_remove("RUSTFLAGS")
        .status()?;
    if !status.success() {
        return Err("the keeper's program could not be built".into());
    }
    Ok(std::fs::read(
        directory.join(target).join("keeper").join("agar-keeper"),
    )?)
}
