//! Prints what copying and walking a tree cost here. Run it with `--release`; give a directory on
//! the filesystem to be measured, and optionally a number of files.
#![expect(clippy::print_stdout, reason = "printing figures is all it does")]

use agar_sandbox::copy::{Descent, Fidelity, tree, walk};
use std::path::Path;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let place = arguments.next().ok_or("name a directory to work in")?;
    let count: usize = match arguments.next() {
        Some(text) => text.to_string_lossy().parse()?,
        None => 50_000,
    };
    let place = Path::new(&place).join("agar-figures");
    let source = place.join("source");
    if !source.exists() {
        plant(&source, count)?;
    }
    for round in 0..3 {
        let target = place.join(format!("copy-{}-{round}", std::process::id()));
        fs_err::create_dir_all(&target)?;
        let start = Instant::now();
        let done = tree(&source, &target, Fidelity::Project)?;
        println!("copy  {:>8} entries  {:?}", done.entries, start.elapsed());
        let start = Instant::now();
        let root = std::os::fd::OwnedFd::from(fs_err::File::open(&source)?.into_file());
        let listing = walk(&root, &source, &|_, _| Descent::Enter)?;
        println!("walk  {:>8} entries  {:?}", listing.len(), start.elapsed());
    }
    Ok(())
}

/// Files of a few hundred bytes to a few kilobytes, ten to a directory.
fn plant(source: &Path, count: usize) -> std::io::Result<()> {
    for number in 0..count {
        let directory = source.join(format!("d{}/e{}", number / 500, number / 10));
        fs_err::create_dir_all(&directory)?;
        let line = format!("file {number}\n");
        fs_err::write(
            directory.join(format!("f{number}.rs")),
            line.repeat(10 + number % 300),
        )?;
    }
    Ok(())
}
