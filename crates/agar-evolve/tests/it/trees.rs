//! Expressions in cells.

use crate::kit::incubator;
use agar_evolve::{Genome, Limits, Node, Operator, Rules, Spec, Tree};
use proptest::prelude::*;

fn trees() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        (0_u16..2).prop_map(Node::Argument),
        prop_oneof![-4.0_f64..4.0, Just(0.0), Just(-0.0), Just(1e300)].prop_map(Node::Number),
    ]
    .prop_map(|node| vec![node]);
    leaf.prop_recursive(6, 64, 4, |inner| {
        (0..Operator::ALL.len(), proptest::collection::vec(inner, 4)).prop_map(|(which, parts)| {
            let operator = Operator::ALL[which];
            let mut nodes = parts[..operator.arity()].concat();
            nodes.push(Node::Apply(operator));
            nodes
        })
    })
    .prop_map(|nodes| Tree::new(2, nodes).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn a_cell_computes_what_the_expression_says(tree in trees(), x: f64, y in -5.0_f64..5.0) {
        let genome = Genome::from_tree(&tree, &Rules::default()).unwrap();
        let mut cell = incubator().create(&genome, Spec::default()).unwrap();
        let here = tree.value(&[x, y]);
        let inside = cell.map("f", &[x, y]).unwrap()[0];
        // Host arithmetic leaves the bits of a NaN open; a cell's are canonical.
        if here.is_nan() {
            prop_assert_eq!(inside.to_bits(), 0x7ff8_0000_0000_0000);
        } else {
            prop_assert_eq!(inside.to_bits(), here.to_bits());
        }
    }
}

#[test]
fn the_cost_of_an_expression_is_known_and_charged() {
    let tree = Tree::parse("(add (mul x0 x0) 1)", 1).unwrap();
    let genome = Genome::from_tree(&tree, &Rules::default()).unwrap();
    let cost = genome.facts().functions[0].cost.unwrap();
    let limits = Limits {
        instructions: 3 * cost,
        ..Limits::default()
    };
    let spec = Spec {
        limits,
        ..Spec::default()
    };
    let mut cell = incubator().create(&genome, spec).unwrap();
    assert_eq!(cell.map("f", &[1.0, 2.0, 3.0]).unwrap(), [2.0, 5.0, 10.0]);
    assert_eq!(cell.metrics().last_instructions, 3 * cost);
    let error = cell.map("f", &[1.0, 2.0, 3.0, 4.0]).unwrap_err();
    assert_eq!(
        error,
        agar_evolve::CellError::Instructions { limit: 3 * cost }
    );
}
