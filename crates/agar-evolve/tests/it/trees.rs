//! Expressions in cells.

use crate::kit::incubator;
use agar_evolve::{
    CellError, Genome, GenomeError, Limits, Node, Operator, Rules, Spec, Tree, Value,
};
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
        // Host arithmetic leaves the bits of a NaN open; those of a cell are checked below.
        prop_assert!(inside.to_bits() == here.to_bits() || (here.is_nan() && inside.is_nan()));
    }

    #[test]
    fn an_expression_is_its_module(tree in trees(), points in proptest::collection::vec(odd(), 2..100)) {
        let points = &points[..points.len() / 2 * 2];
        let plain = Genome::from_tree(&tree, &Rules::default()).unwrap();
        let module = Genome::from_wasm(&tree.encode().unwrap(), &Rules::default()).unwrap();
        prop_assert!(plain.tree().is_some() && module.tree().is_none());
        prop_assert_eq!(plain.id(), module.id());
        prop_assert_eq!(plain.wasm(), module.wasm());
        prop_assert_eq!(plain.facts(), module.facts());
        let incubator = incubator();
        let cost = plain.facts().functions[0].cost.unwrap();
        for points_paid in [points.len() as u64, 7] {
            let limits = Limits { instructions: cost * points_paid, ..Limits::default() };
            let mut cells = [&plain, &module].map(|genome| {
                incubator.create(genome, Spec { limits, ..Spec::default() }).unwrap()
            });
            let [here, there] = cells.each_mut().map(|cell| bits(cell.map("f", points)));
            prop_assert_eq!(here, there);
            let one = [Value::F64(points[0]), Value::F64(points[1])];
            let [here, there] = cells.each_mut().map(|cell| cell.call("f", &one));
            prop_assert_eq!(here, there);
            prop_assert_eq!(cells[0].metrics(), cells[1].metrics());
        }
    }
}

/// Numbers that tend to matter, a NaN with bits of its own among them.
fn odd() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>(),
        -4.0_f64..4.0,
        Just(0.0),
        Just(-0.0),
        Just(f64::INFINITY),
        Just(f64::NEG_INFINITY),
        Just(f64::from_bits(0xfff8_0000_dead_beef)),
    ]
}

fn bits(answers: Result<Vec<f64>, CellError>) -> Result<Vec<u64>, CellError> {
    answers.map(|answers| answers.into_iter().map(f64::to_bits).collect())
}

/// Rules that are tighter than usual are kept for expressions too.
#[test]
fn rules_hold_for_expressions() {
    let tree = Tree::parse("(add (mul x0 x0) 1)", 1).unwrap();
    for rules in [
        Rules {
            module_bytes_max: 20,
            ..Rules::default()
        },
        Rules {
            function_bytes_max: 4,
            ..Rules::default()
        },
        Rules {
            frame_slots_max: 1,
            ..Rules::default()
        },
        Rules {
            functions_max: 0,
            ..Rules::default()
        },
    ] {
        let refused = Genome::from_tree(&tree, &rules).unwrap_err();
        assert!(
            matches!(refused, GenomeError::TooLarge { .. }),
            "{refused:?}"
        );
    }
}

/// The largest expression that is taken without reading its module breaks no rule that allows as
/// much as that supposes.
#[test]
fn the_largest_small_expression_breaks_no_rule() {
    let mut nodes = vec![Node::Number(1e300); 256];
    nodes.extend([Node::Apply(Operator::Div); 255]);
    let deep = Tree::new(64, nodes).unwrap();
    let mut nodes = vec![Node::Argument(63); 4];
    nodes.push(Node::Apply(Operator::IfLess));
    while nodes.len() + 4 <= 512 {
        nodes.extend([
            Node::Number(1e300),
            Node::Number(-1e300),
            Node::Argument(63),
        ]);
        nodes.push(Node::Apply(Operator::IfLess));
    }
    let wide = Tree::new(64, nodes).unwrap();
    let rules = Rules {
        module_bytes_max: 32 << 10,
        function_bytes_max: 32 << 10,
        frame_slots_max: 1_024,
        functions_max: 1,
        items_max: 1,
        ..Rules::default()
    };
    for tree in [deep, wide] {
        assert!(Genome::from_tree(&tree, &rules).unwrap().tree().is_some());
        let module = Genome::from_wasm(&tree.encode().unwrap(), &rules).unwrap();
        assert_eq!(
            module.facts(),
            Genome::from_tree(&tree, &rules).unwrap().facts()
        );
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
    assert_eq!(error, CellError::Instructions { limit: 3 * cost });
}
