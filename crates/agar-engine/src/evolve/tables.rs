//! What a search is given from elsewhere, read: points, instances, modules.

use super::failure::EvolveError;
use agar_evolve::Rules;
use agar_evolve::task::{Instance, Point, Regression};

/// Instances in the form of the OR-Library: how many, then for each a name, its capacity, the number
/// of its items and the fewest bins known, and the items.
pub(super) fn bins(table: &str) -> Result<Vec<Instance>, EvolveError> {
    let wrong =
        || EvolveError::Task("the held-out file is not in the OR-Library's form".to_owned());
    let mut words = table.split_whitespace();
    let count: usize = words
        .next()
        .and_then(|word| word.parse().ok())
        .ok_or_else(wrong)?;
    let mut instances = Vec::new();
    for _ in 0..count {
        let mut number = |name: bool| {
            let word = words.next()?;
            if name {
                Some(0)
            } else {
                word.parse::<usize>().ok()
            }
        };
        let head = (number(true), number(false), number(false), number(false));
        let (Some(_), Some(capacity @ 1..=10_000), Some(length), Some(_)) = head else {
            return Err(wrong());
        };
        let items: Option<Vec<usize>> = (0..length).map(|_| number(false)).collect();
        let items = items.ok_or_else(wrong)?;
        if items.iter().any(|item| *item == 0 || *item > capacity) {
            return Err(wrong());
        }
        instances.push(Instance { capacity, items });
    }
    Ok(instances)
}

/// A table of points, of which every fourth is held out.
pub(super) fn regression(table: &str, tolerance: f64) -> Result<Regression, EvolveError> {
    let mut points = Vec::new();
    for (index, line) in table.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        let cells: Vec<&str> = line
            .split([',', ';', '\t', ' '])
            .filter(|cell| !cell.is_empty())
            .collect();
        if cells.is_empty() {
            continue;
        }
        let numbers: Result<Vec<f64>, _> = cells.iter().map(|cell| cell.trim().parse()).collect();
        match numbers {
            Ok(mut at) if at.len() >= 2 && at.iter().all(|number| number.is_finite()) => {
                let value = at.pop().unwrap_or_default();
                points.push(Point { at, value });
            }
            // A heading is what the first line may be.
            Err(_) if points.is_empty() && index == 0 => {}
            Ok(_) | Err(_) => {
                let why = format!("line {} of the data is no point", index + 1);
                return Err(EvolveError::Task(why));
            }
        }
    }
    let arguments = points.first().map_or(0, |point: &Point| point.at.len());
    if points.len() < 4 || points.iter().any(|point| point.at.len() != arguments) {
        let why = "the data needs at least 4 points, all of as many numbers";
        return Err(EvolveError::Task(why.to_owned()));
    }
    let arguments = u16::try_from(arguments)
        .map_err(|_| EvolveError::Task("the points have too many numbers".to_owned()))?;
    let (held_out, training): (Vec<_>, Vec<_>) = points
        .into_iter()
        .enumerate()
        .partition(|(index, _)| index % 4 == 3);
    let strip = |points: Vec<(usize, Point)>| -> Vec<Point> {
        points.into_iter().map(|(_, point)| point).collect()
    };
    Ok(Regression::new(
        arguments,
        &strip(training),
        &strip(held_out),
        tolerance,
    ))
}

/// A module from its binary or its text form.
pub(super) fn module(bytes: &[u8]) -> Result<Vec<u8>, EvolveError> {
    if bytes.starts_with(b"\0asm") {
        return Ok(bytes.to_vec());
    }
    let text = std::str::from_utf8(bytes).map_err(|_| {
        EvolveError::Task("a module is neither WebAssembly nor its text".to_owned())
    })?;
    agar_evolve::Genome::from_wat(text, &Rules::default())
        .map(|genome| genome.wasm().to_vec())
        .map_err(|error| EvolveError::Task(error.to_string()))
}

pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

pub(super) fn unhex(digits: &str) -> Result<Vec<u8>, EvolveError> {
    let wrong = || EvolveError::Task("the code is not in hexadecimal digits".to_owned());
    if !digits.is_ascii() || !digits.len().is_multiple_of(2) {
        return Err(wrong());
    }
    let pairs = digits.as_bytes().chunks(2);
    pairs
        .map(|pair| {
            let pair = std::str::from_utf8(pair).map_err(|_| wrong())?;
            u8::from_str_radix(pair, 16).map_err(|_| wrong())
        })
        .collect()
}
