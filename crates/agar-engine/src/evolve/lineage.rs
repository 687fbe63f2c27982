//! Who came from whom.

use super::failure::EvolveError;
use super::keep::Kept;
use crate::{Engine, EngineError};
use agar_store::evolution::IndividualRow;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Asks for ancestors.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LineageRequest {
    /// Of which search; the newest if left out.
    pub name: Option<String>,
    /// Of whom; of the best if left out.
    pub individual: Option<u64>,
    /// How many generations back.
    pub depth: Option<u32>,
}

/// One of a lineage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Relative {
    /// Its number.
    pub id: u64,
    /// The generation it was born in.
    pub generation: u32,
    /// Its parents.
    pub parents: Vec<u64>,
    /// How it came to be.
    pub mutation_type: String,
    /// What exactly was done.
    pub operator: String,
    /// The name of the stream of chance that made it.
    pub seed: u64,
    /// Its score, if it has one.
    pub score: Option<f64>,
}

/// A lineage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LineageAnswer {
    /// The search.
    pub name: String,
    /// Whose it is.
    pub of: u64,
    /// Everyone in it, the oldest first.
    pub individuals: Vec<Relative>,
    /// The same as a graph in DOT.
    pub dot: String,
    /// The same as a drawing in SVG.
    pub svg: String,
}

/// Shows the ancestors of an individual.
pub fn lineage(engine: &Engine, request: &LineageRequest) -> Result<LineageAnswer, EngineError> {
    let kept = Kept::open(engine)?;
    let row = kept.find(request.name.as_deref())?;
    let rows = kept.store.individuals(row.id)?;
    let all: BTreeMap<u64, &IndividualRow> = rows.iter().map(|it| (it.number, it)).collect();
    let of = match request.individual {
        Some(number) => number,
        None => super::keep::checkpoint(&row)?
            .and_then(|at| at.best)
            .ok_or_else(|| EvolveError::Nobody {
                name: row.name.clone(),
            })?,
    };
    if !all.contains_key(&of) {
        return Err(EvolveError::NoSuchIndividual {
            name: row.name,
            number: of,
        }
        .into());
    }
    let mut found = BTreeSet::new();
    let mut wave = vec![of];
    let mut left = request.depth.unwrap_or(u32::MAX);
    while !wave.is_empty() {
        wave.retain(|id| found.insert(*id));
        if left == 0 {
            break;
        }
        left -= 1;
        let parents = wave.iter().filter_map(|id| all.get(id));
        wave = parents.flat_map(|it| it.parents.iter().copied()).collect();
    }
    let individuals: Vec<Relative> = found
        .iter()
        .filter_map(|id| all.get(id))
        .map(|it| Relative {
            id: it.number,
            generation: it.generation,
            parents: it.parents.clone(),
            mutation_type: it.mutation_type.clone(),
            operator: it.operator.clone(),
            seed: it.seed,
            score: it.score,
        })
        .collect();
    Ok(LineageAnswer {
        dot: dot(&row.name, &individuals),
        svg: svg(&individuals),
        name: row.name,
        of,
        individuals,
    })
}

fn label(relative: &Relative) -> String {
    match relative.score {
        Some(score) => format!("{} {} {score:.4}", relative.id, relative.operator),
        None => format!("{} {}", relative.id, relative.operator),
    }
}

fn dot(name: &str, individuals: &[Relative]) -> String {
    let mut text = format!("digraph \"{name}\" {{\n  node [shape=box];\n");
    for relative in individuals {
        let _ = writeln!(text, "  {} [label=\"{}\"];", relative.id, label(relative));
    }
    for relative in individuals {
        for parent in &relative.parents {
            let _ = writeln!(text, "  {parent} -> {};", relative.id);
        }
    }
    text.push_str("}\n");
    text
}

const ROW: usize = 56;
const COLUMN: usize = 190;

/// One row a generation, from the top.
fn svg(individuals: &[Relative]) -> String {
    let mut rows: BTreeMap<u32, Vec<&Relative>> = BTreeMap::new();
    for relative in individuals {
        rows.entry(relative.generation).or_default().push(relative);
    }
    let mut places: BTreeMap<u64, (usize, usize)> = BTreeMap::new();
    for (line, (_, row)) in rows.iter().enumerate() {
        for (column, relative) in row.iter().enumerate() {
            places.insert(relative.id, (20 + column * COLUMN, 20 + line * ROW));
        }
    }
    let wide = rows.values().map(Vec::len).max().unwrap_or(0) * COLUMN + 20;
    let high = rows.len() * ROW + 20;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{wide}\" height=\"{high}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n"
    );
    for relative in individuals {
        let Some((x, y)) = places.get(&relative.id) else {
            continue;
        };
        for (px, py) in relative.parents.iter().filter_map(|id| places.get(id)) {
            let _ = writeln!(
                text,
                "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{y}\" stroke=\"#888\"/>",
                px + 85,
                py + 30,
                x + 85
            );
        }
        let _ = writeln!(
            text,
            "<rect x=\"{x}\" y=\"{y}\" width=\"170\" height=\"30\" rx=\"4\" fill=\"#eef\" \
             stroke=\"#446\"/><text x=\"{}\" y=\"{}\">{}</text>",
            x + 8,
            y + 20,
            label(relative)
        );
    }
    text.push_str("</svg>\n");
    text
}
