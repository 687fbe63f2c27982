//! Cells that are written down and brought back are the same cells.

use crate::kit::{counter, genome, incubator, sum, tight};
use agar_evolve::{CellError, Condition, ReviveError, RollbackState, Rules, Swap};

#[test]
fn a_cell_comes_back_with_its_state_versions_messages_and_account() {
    let mut cell = incubator()
        .create(&genome(&counter(1, 1)), tight())
        .unwrap();
    cell.step(&[5]).unwrap();
    cell.swap(Swap::to(genome(&counter(2, 10)), "tenfold"))
        .unwrap();
    cell.step(&[1]).unwrap();
    cell.send(vec![2]).unwrap();
    let (metrics, info) = (cell.metrics(), cell.info());
    let dormant = cell.dormant().unwrap();
    assert_eq!(cell.metrics(), metrics);
    drop(cell);
    let mut back = incubator().revive(&dormant, &Rules::default()).unwrap();
    assert_eq!(back.condition(), Condition::Asleep);
    assert_eq!(back.metrics(), metrics);
    assert_eq!(back.info().genome, info.genome);
    assert_eq!(back.info().waiting, 1);
    assert_eq!(back.history().total_versions, 2);
    assert_eq!(back.dormant().unwrap(), dormant);
    assert_eq!(sum(&back.step(&[1]).unwrap()), 25);
    let answers = back.work(10);
    assert_eq!(answers.len(), 1);
    assert_eq!(sum(answers[0].result.as_ref().unwrap()), 45);
    assert_eq!(back.send(vec![1]).unwrap(), 2);
    back.rollback(1, RollbackState::Snapshot).unwrap();
    assert_eq!(sum(&back.step(&[1]).unwrap()), 6);
}

#[test]
fn a_crashed_cell_comes_back_crashed_and_can_be_begun_anew() {
    let text = r#"(module (global $n (mut i32) (i32.const 0))
        (func (export "f") (global.set $n (i32.const 1)) (unreachable)))"#;
    let mut cell = incubator().create(&genome(text), tight()).unwrap();
    cell.call("f", &[]).unwrap_err();
    let dormant = cell.dormant().unwrap();
    assert_eq!(dormant.image, None);
    let mut back = incubator().revive(&dormant, &Rules::default()).unwrap();
    assert_eq!(back.call("f", &[]), Err(CellError::Crashed));
    back.restart().unwrap();
    assert_eq!(back.condition(), Condition::Awake);
}

#[test]
fn what_is_damaged_is_refused() {
    let mut cell = incubator()
        .create(&genome(&counter(1, 1)), tight())
        .unwrap();
    cell.step(&[5]).unwrap();
    let whole = cell.dormant().unwrap();
    let image = whole.image.clone().unwrap();
    for length in (0..image.len()).step_by(97) {
        let mut short = whole.clone();
        short.image = image.get(..length).map(<[u8]>::to_vec);
        let refused = incubator().revive(&short, &Rules::default());
        assert!(matches!(refused, Err(ReviveError::Damaged)), "{length}");
    }
    let mut none = whole.clone();
    none.versions.clear();
    let refused = incubator().revive(&none, &Rules::default());
    assert!(matches!(refused, Err(ReviveError::NoVersion)));
    // Text would be a script, whose state looks otherwise.
    let mut text = whole.clone();
    text.versions[0].wasm = b"nonsense".to_vec();
    let refused = incubator().revive(&text, &Rules::default());
    assert!(matches!(refused, Err(ReviveError::Damaged)));
    let mut bad = whole;
    bad.versions[0].wasm = b"\0asm nonsense".to_vec();
    let refused = incubator().revive(&bad, &Rules::default());
    assert!(matches!(
        refused,
        Err(ReviveError::Genome { number: 1, .. })
    ));
}
