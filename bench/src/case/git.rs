//! `git status` of a repository of five thousand files, inside against outside.

use super::{agar, clear, need, outside, world_of};
use crate::measure::{Contestant, in_turns, timed};
use crate::table::{Row, compared};
use anyhow::Result;
use std::process::Command;

/// Its time, twenty at a time, and how many files it opens.
pub(crate) fn run() -> Result<Vec<Row>> {
    need("strace", "strace")?;
    let world = world_of(5_000)?;
    world.git(["init", "--quiet", "--initial-branch=main"]);
    world.git(["add", "--all"]);
    world.git(["commit", "--quiet", "--message=begin"]);
    world
        .agar(["create", "--name=bench-git", "--base=frozen"])
        .success();
    let exec = ["exec", "bench-git", "--"];
    let many = "for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do git status --porcelain; done";
    let inside: Vec<&str> = exec
        .iter()
        .copied()
        .chain(["/bin/sh", "-c", many])
        .collect();
    // The first may refresh what it knows of the files.
    timed(&mut agar(&world, &inside))?;
    let measured = in_turns(
        10,
        vec![
            Contestant::command("outside, 20 times", || {
                outside(&world, "/bin/sh", &["-c", many])
            }),
            Contestant::command("inside, 20 times", || agar(&world, &inside)),
        ],
    )?;
    let mut rows = compared("git", &measured);
    let count = "strace -f -qq -e trace=openat -o /dev/stderr git status --porcelain 2>&1 >/dev/null | grep -c openat";
    let opens = |command: &mut Command| -> Result<f64> {
        let output = command.output()?;
        Ok(String::from_utf8_lossy(&output.stdout)
            .trim()
            .parse()
            .unwrap_or(f64::NAN))
    };
    let counted: Vec<&str> = exec
        .iter()
        .copied()
        .chain(["/bin/sh", "-c", count])
        .collect();
    let without = opens(&mut outside(&world, "/bin/sh", &["-c", count]))?;
    let within = opens(&mut agar(&world, &counted))?;
    rows.push(Row::value("git", "opens outside", without, "opens"));
    rows.push(
        Row::value("git", "opens inside", within, "opens")
            .beside(without)
            .ratio_at_most(1.1),
    );
    clear(&world);
    Ok(rows)
}
