//! Fitness over generations, in letters and as a drawing.

use agar_engine::evolve::Census;
use std::fmt::Write as _;

const WIDE: usize = 64;
const HIGH: usize = 12;

/// What is drawn of a generation.
struct Sample {
    best: f64,
    median: f64,
}

/// The best and the median of each generation that has any, with the lowest and the highest.
fn samples(generations: &[Census]) -> Option<(Vec<Sample>, f64, f64)> {
    let samples: Vec<Sample> = generations
        .iter()
        .filter_map(|census| {
            Some(Sample {
                best: census.best?,
                median: census.median?,
            })
        })
        .collect();
    let all = || {
        samples
            .iter()
            .flat_map(|sample| [sample.best, sample.median])
    };
    let low = all().fold(f64::MAX, f64::min);
    let high = all().fold(f64::MIN, f64::max);
    (!samples.is_empty()).then_some((samples, low, high))
}

/// From zero at the lowest to one at the highest.
fn share(value: f64, low: f64, high: f64) -> f64 {
    if high > low {
        (value - low) / (high - low)
    } else {
        1.0
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a share of a small whole number"
)]
fn step(share: f64, steps: usize) -> usize {
    (share.clamp(0.0, 1.0) * (steps - 1) as f64).round() as usize
}

/// A drawing of letters: `*` the best, `.` the median of each generation.
pub(super) fn letters(generations: &[Census]) -> String {
    let Some((samples, low, high)) = samples(generations) else {
        return "nobody has a score yet\n".to_owned();
    };
    let wide = samples.len().min(WIDE);
    let mut rows = vec![vec![' '; wide]; HIGH];
    for column in 0..wide {
        let at = column * samples.len() / wide;
        let Some(sample) = samples.get(at.max((column + 1) * samples.len() / wide - 1)) else {
            continue;
        };
        for (value, sign) in [(sample.median, '.'), (sample.best, '*')] {
            let row = HIGH - 1 - step(share(value, low, high), HIGH);
            if let Some(place) = rows.get_mut(row).and_then(|row| row.get_mut(column)) {
                *place = sign;
            }
        }
    }
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        let label = match index {
            0 => format!("{high:>12.6}"),
            _ if index + 1 == HIGH => format!("{low:>12.6}"),
            _ => " ".repeat(12),
        };
        let line: String = row.iter().collect();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{label} | {}", line.trim_end());
    }
    let last = generations.last().map_or(0, |census| census.generation);
    let _ = writeln!(
        text,
        "{:>12}   generation 0 to {last}   * best   . median",
        ""
    );
    text
}

/// The same as SVG.
#[expect(clippy::cast_precision_loss, reason = "generations are few")]
pub(super) fn svg(generations: &[Census]) -> String {
    let (wide, high_px) = (640.0, 320.0);
    let mut text = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 680 360\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"680\" height=\"360\" fill=\"white\"/>\n",
    );
    if let Some((samples, low, high)) = samples(generations) {
        let line = |value: fn(&Sample) -> f64, colour: &str| {
            let last = samples.len().saturating_sub(1).max(1) as f64;
            let points: Vec<String> = samples
                .iter()
                .enumerate()
                .map(|(index, sample)| {
                    let x = 20.0 + wide * index as f64 / last;
                    let y = 20.0 + high_px * (1.0 - share(value(sample), low, high));
                    format!("{x:.1},{y:.1}")
                })
                .collect();
            format!(
                "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" points=\"{}\"/>\n",
                points.join(" ")
            )
        };
        text.push_str(&line(|sample| sample.median, "#999"));
        text.push_str(&line(|sample| sample.best, "#060"));
        let _ = writeln!(
            text,
            "<text x=\"20\" y=\"14\">{high:.6}</text><text x=\"20\" y=\"355\">{low:.6} \
             (best: green, median: grey)</text>"
        );
    }
    text.push_str("</svg>\n");
    text
}
