//! A JavaScript individual from its source: made, asked once, destroyed.
//!
//! The peer is a new context in a Node that is warm: a fast engine, and no wall against anything.

use super::incubator;
use crate::measure::{Contestant, in_turns};
use crate::table::Row;
use agar_evolve::{Engines, Genome, Incubator, Rules, Spec};
use anyhow::{Context as _, Result, ensure};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// Lives in one sample, which reads as microseconds each.
const LIVES: u32 = 100;
const TENTHS: u32 = 10;

const SOURCE: &str = "
const weights = [0.2, -1.5, 3];
function score(x) { return weights.reduce((sum, weight) => sum * x + weight, 0); }
function evaluate(input) { return JSON.parse(input).map(score).join(); }
";
const INPUT: &str = "[1,2,3,4,5]";

/// Compiled and interpreted, beside Node where it is installed.
pub(crate) fn run() -> Result<Vec<Row>> {
    let genome = Genome::from_javascript(SOURCE, &Rules::default())?;
    let (light, heavy) = (incubator(Engines::Light), incubator(Engines::Heavy));
    let life = |incubator: &Incubator| -> Result<Duration> {
        let begun = Instant::now();
        for _ in 0..LIVES {
            let mut cell = incubator.create(&genome, Spec::default())?;
            let answer = cell.evaluate(INPUT.as_bytes())?;
            ensure!(answer.starts_with(b"1.7"), "it answered {answer:?}");
        }
        Ok(begun.elapsed() * TENTHS)
    };
    let mut node = Node::start().ok();
    let mut contestants = Vec::new();
    if let Some(node) = node.as_mut() {
        let name = "JavaScript life: a context of Node's, without walls";
        contestants.push(Contestant::new(name, || node.lives()));
    }
    contestants.push(Contestant::new("JavaScript life: cell, compiled", || {
        life(&heavy)
    }));
    contestants.push(Contestant::new(
        "JavaScript life: cell, interpreted",
        || life(&light),
    ));
    let measured = in_turns(20, contestants)?;
    let rows = crate::table::compared("evolve", &measured).into_iter();
    Ok(rows.map(|row| Row { unit: "µs", ..row }).collect())
}

/// A warm Node that lives as many lives for every line it reads.
struct Node {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Node {
    fn start() -> Result<Self> {
        let mut child = Command::new("node")
            .args(["-e", include_str!("script.js"), SOURCE, INPUT])
            .arg(LIVES.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take().context("no input")?;
        let output = child.stdout.take().context("no output")?;
        Ok(Self {
            child,
            input,
            output: BufReader::new(output),
        })
    }

    fn lives(&mut self) -> Result<Duration> {
        self.input.write_all(b"go\n")?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        Ok(Duration::from_nanos(line.trim().parse()?) * TENTHS)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
