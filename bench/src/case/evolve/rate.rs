//! Whole lives of expressions: encode, check, load, create, evaluate at twenty points, destroy.

use super::incubator;
use crate::table::Row;
use agar_evolve::{Engines, Genome, Incubator, Node, Operator, Rules, Spec, Tree};
use anyhow::{Context as _, Result, ensure};
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Genomes of one size that both sides evaluate.
const GENOMES: usize = 2_000;
const THREADS: usize = 2;

/// Fifteen, thirty-one and sixty-three nodes, against DEAP on the same expressions.
pub(crate) fn run() -> Result<Vec<Row>> {
    let python = deap()?;
    let mut rows = Vec::new();
    for size in [15_usize, 31, 63] {
        let trees = trees(size)?;
        // Both take turns, and the best of each counts: the machine may do other things besides.
        let (mut ours, mut theirs) = (0.0_f64, 0.0_f64);
        for _ in 0..5 {
            ours = ours.max(rate(&trees)?);
            theirs = theirs.max(deap_rate(&python, &trees)?);
        }
        rows.push(Row::value(
            "evolve",
            &format!("{size} nodes: DEAP, {THREADS} processes"),
            theirs,
            "/s",
        ));
        let row = Row::value(
            "evolve",
            &format!("{size} nodes: cells, whole lives, {THREADS} threads"),
            ours,
            "/s",
        );
        rows.push(row.beside(theirs).at_least(100_000.0));
    }
    Ok(rows)
}

/// Full trees over one argument, each different.
fn trees(size: usize) -> Result<Vec<Tree>> {
    let mut random = 12_345_u64;
    let mut next = |most: u64| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % most
    };
    let operators = [Operator::Add, Operator::Sub, Operator::Mul, Operator::Div];
    (0..GENOMES)
        .map(|_| {
            let mut nodes = Vec::new();
            fill(size, &mut |leaf| {
                nodes.push(if !leaf {
                    Node::Apply(operators[usize::try_from(next(4)).unwrap_or(0)])
                } else if next(2) == 0 {
                    Node::Argument(0)
                } else {
                    #[expect(clippy::cast_precision_loss, reason = "a small number")]
                    Node::Number(next(100) as f64 / 10.0)
                });
            });
            Tree::new(1, nodes).context("not an expression")
        })
        .collect()
}

/// Calls with `true` for each leaf and `false` for each operator, operands first.
fn fill(size: usize, put: &mut impl FnMut(bool)) {
    if size < 3 {
        return put(true);
    }
    let left = (size - 1) / 2;
    fill(left, put);
    fill(size - 1 - left, put);
    put(false);
}

fn points() -> Vec<f64> {
    (0..20).map(|at| -1.0 + f64::from(at) / 10.0).collect()
}

/// Lives a second on all threads together.
fn rate(trees: &[Tree]) -> Result<f64> {
    let incubator = incubator(Engines::Automatic);
    let points = points();
    let begun = Instant::now();
    let rounds = 10;
    std::thread::scope(|scope| -> Result<()> {
        let share = trees.len().div_ceil(THREADS);
        let threads: Vec<_> = trees
            .chunks(share)
            .map(|trees| {
                scope.spawn(|| (0..rounds).try_for_each(|_| lives(&incubator, trees, &points)))
            })
            .collect();
        for thread in threads {
            thread
                .join()
                .map_err(|_| anyhow::anyhow!("a thread panicked"))??;
        }
        Ok(())
    })?;
    #[expect(clippy::cast_precision_loss, reason = "a count of lives")]
    Ok((trees.len() * rounds) as f64 / begun.elapsed().as_secs_f64())
}

fn lives(incubator: &Incubator, trees: &[Tree], points: &[f64]) -> Result<()> {
    let rules = Rules::tiny();
    let mut sum = 0.0;
    for tree in trees {
        let genome = Genome::from_tree(tree, &rules)?;
        let mut cell = incubator.create(&genome, Spec::default())?;
        let answers = cell.map("f", points)?;
        sum += answers
            .iter()
            .zip(points)
            .map(|(y, x)| (y - x * x).abs())
            .sum::<f64>();
    }
    std::hint::black_box(sum);
    Ok(())
}

const PROGRAM: &str = include_str!("deap.py");

/// Evaluations a second of as many processes as we have threads.
fn deap_rate(python: &str, trees: &[Tree]) -> Result<f64> {
    let share = trees.len().div_ceil(THREADS);
    let mut running = Vec::new();
    for trees in trees.chunks(share) {
        let mut child = Command::new(python)
            .args(["-c", PROGRAM])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut input = child.stdin.take().context("no input")?;
        for tree in trees {
            writeln!(input, "{}", python_text(tree))?;
        }
        running.push(child);
    }
    let mut sum = 0.0;
    for child in running {
        let output = child.wait_with_output()?;
        ensure!(output.status.success(), "DEAP failed");
        let rate: f64 = String::from_utf8(output.stdout)?.trim().parse()?;
        sum += rate;
    }
    Ok(sum)
}

/// `add(mul(x, x), 1.0)`, as DEAP reads it.
fn python_text(tree: &Tree) -> String {
    let mut parts: Vec<String> = Vec::new();
    for node in tree.nodes() {
        let text = match node {
            Node::Number(number) => format!("{number:?}"),
            Node::Argument(_) => "x".to_owned(),
            Node::Apply(operator) => {
                let operands = parts.split_off(parts.len().saturating_sub(operator.arity()));
                format!("{}({})", operator.name(), operands.join(", "))
            }
        };
        parts.push(text);
    }
    parts.concat()
}

/// A Python that has DEAP.
fn deap() -> Result<String> {
    let place = std::env::temp_dir().join("agar-bench-deap");
    let python = place.join("bin/python").to_string_lossy().into_owned();
    let has = |python: &str| {
        let asked = Command::new(python)
            .args(["-c", "import deap"])
            .stderr(Stdio::null())
            .status();
        asked.is_ok_and(|status| status.success())
    };
    if !has(&python) {
        let made = Command::new("python3")
            .args(["-m", "venv"])
            .arg(&place)
            .status()?;
        ensure!(made.success(), "python3 -m venv failed");
        let install = [
            python.as_str(),
            "-m",
            "pip",
            "install",
            "--quiet",
            "deap==1.4.4",
        ];
        let done = Command::new(install[0]).args(&install[1..]).status()?;
        ensure!(done.success() && has(&python), "DEAP cannot be installed");
    }
    Ok(python)
}
