//! What searches answer, with every field that may be there and every one that may not.

use super::{ANYTHING, BORN, values};
use agar_engine::evolve::{
    BestAnswer, Bin, Census, EvalAnswer, EvolveAnswer, ForgetSearchAnswer, Health, IndividualView,
    LineageAnswer, PenaliseAnswer, PlotAnswer, Relative, Scored, SearchState, SearchView,
    StatusAnswer,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Everything that searches answer.
pub(super) fn all() -> Vec<(&'static str, Vec<Value>)> {
    [of_searches(), super::cells::all()].concat()
}

fn of_searches() -> Vec<(&'static str, Vec<Value>)> {
    vec![
        ("evolve-run", mapped(values(answers()))),
        ("evolve-resume", mapped(values(answers()))),
        (
            "evolve-status",
            mapped(values([
                StatusAnswer {
                    searches: searches().to_vec(),
                    census: Some(census()),
                },
                StatusAnswer {
                    searches: Vec::new(),
                    census: None,
                },
                StatusAnswer {
                    searches: Vec::new(),
                    census: Some(empty()),
                },
            ])),
        ),
        (
            "evolve-best",
            mapped(values([BestAnswer {
                name: "parabola".to_owned(),
                best: vec![individual(), unscored()],
                examined: BTreeMap::new(),
            }])),
        ),
        ("evolve-lineage", values([lineage()])),
        (
            "evolve-plot",
            mapped(values(searches().map(|search| PlotAnswer {
                search,
                generations: vec![census(), empty()],
            }))),
        ),
        ("evolve-eval", mapped(values([scored()]))),
        (
            "evolve-penalise",
            mapped(values([Some(2_810), None].map(|best| PenaliseAnswer {
                name: "parabola".to_owned(),
                individual: match best {
                    Some(_) => individual(),
                    None => unscored(),
                },
                best,
            }))),
        ),
        (
            "evolve-rm",
            values([ForgetSearchAnswer {
                removed: vec!["parabola".to_owned()],
            }]),
        ),
    ]
}

/// Maps whose keys belong to the task, and values of the caller's, promise no shape.
fn mapped(mut values: Vec<Value>) -> Vec<Value> {
    for value in &mut values {
        anything(value);
    }
    values
}

fn anything(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                if ["components", "examined", "reasons", "operators", "outside"]
                    .contains(&name.as_str())
                    || (name == "id" && field.is_string())
                {
                    *field = json!(ANYTHING);
                } else {
                    anything(field);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(anything),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn searches() -> [SearchView; 2] {
    let search = SearchView {
        name: "parabola".to_owned(),
        task: "regression".to_owned(),
        state: SearchState::Solved,
        ended: Some("solved".to_owned()),
        seed: 1,
        population: 300,
        generation: 9,
        generations: 100,
        born: 2_946,
        trials: 1_804,
        digest: "5f0c".to_owned(),
        created_at: BORN,
        changed_at: BORN,
    };
    let running = SearchView {
        state: SearchState::Running,
        ended: None,
        ..search.clone()
    };
    [search, running]
}

fn individual() -> IndividualView {
    IndividualView {
        id: 2_810,
        generation: 9,
        island: 1,
        parent_id: Some(2_533),
        parents: vec![2_533, 2_540],
        mutation_type: "crossover".to_owned(),
        operator: "crossover".to_owned(),
        lineage_depth: 9,
        score: Some(1.0),
        components: BTreeMap::from([("mean_error".to_owned(), 0.0)]),
        solved: true,
        invalid: None,
        instructions: 420,
        evaluated_at: BORN,
        kind: "tree".to_owned(),
        size: 9,
        formula: "x * x + 2 * x - 1".to_owned(),
        code: "(sub (add (mul x0 x0) (mul 2 x0)) 1)".to_owned(),
    }
}

fn unscored() -> IndividualView {
    IndividualView {
        parent_id: None,
        score: None,
        solved: false,
        invalid: Some("case 3: the answer is not a finite number".to_owned()),
        ..individual()
    }
}

fn census() -> Census {
    Census {
        generation: 9,
        born: 2_946,
        trials: 1_804,
        health: Health {
            valid: 290,
            invalid: 10,
            reasons: BTreeMap::new(),
            distinct: 211,
            not_reproducible: 0,
        },
        best: Some(1.0),
        upper: Some(0.4),
        median: Some(0.31),
        lower: Some(0.2),
        worst: Some(0.001),
        mean: Some(0.33),
        size: 12.5,
        distribution: vec![Bin {
            from: 0.5,
            to: 0.75,
            count: 290,
        }],
        operators: BTreeMap::new(),
        outside: BTreeMap::new(),
        grid: 0,
        champion: Some(2_810),
    }
}

/// A population in which nobody has a score.
fn empty() -> Census {
    Census {
        best: None,
        upper: None,
        median: None,
        lower: None,
        worst: None,
        mean: None,
        champion: None,
        ..census()
    }
}

fn answers() -> [EvolveAnswer; 3] {
    let [search, running] = searches();
    let answer = EvolveAnswer {
        search,
        best: Some(individual()),
        examined: BTreeMap::new(),
        census: Some(census()),
        history: vec![Some(0.25), None],
    };
    [
        EvolveAnswer {
            search: running,
            best: None,
            census: None,
            ..answer.clone()
        },
        EvolveAnswer {
            best: Some(unscored()),
            census: Some(empty()),
            ..answer.clone()
        },
        answer,
    ]
}

fn lineage() -> LineageAnswer {
    LineageAnswer {
        name: "parabola".to_owned(),
        of: 2_810,
        individuals: [Some(0.25), None]
            .map(|score| Relative {
                id: 17,
                generation: 0,
                parents: vec![3],
                mutation_type: "seed".to_owned(),
                operator: "seed".to_owned(),
                seed: 77,
                score,
            })
            .to_vec(),
        dot: "digraph \"parabola\" {}\n".to_owned(),
        svg: "<svg xmlns=\"http://www.w3.org/2000/svg\"></svg>\n".to_owned(),
    }
}

fn scored() -> EvalAnswer {
    let good = Scored {
        id: Some(json!("a")),
        score: Some(0.25),
        components: BTreeMap::new(),
        cases: vec![0.5],
        solved: false,
        invalid: None,
        why: None,
        instructions: 420,
    };
    let bad = Scored {
        score: None,
        invalid: Some("not_finite".to_owned()),
        why: Some("case 0: the answer is not a finite number".to_owned()),
        ..good.clone()
    };
    EvalAnswer {
        results: vec![good, bad],
    }
}
