//! What is on record about promotions is what is on disk, also when a process died in between.

use crate::desk::{Desk, capture};
use agar_core::id::{ProjectId, PromotionId};
use agar_core::seam::Timestamp;
use agar_engine::Command;
use agar_engine::apply::{ApplyRequest, apply};
use agar_engine::try_change::{TryRequest, try_change};
use agar_engine::undo::{UndoRequest, undo};
use agar_sandbox::merge::Selection;
use agar_sandbox::promote::{Content, Item, Label, Promotions, Proposal, Source};
use agar_store::{Promotion, PromotionState, Store};
use std::path::PathBuf;

fn tried(desk: &Desk, script: &str) {
    let request = TryRequest {
        command: Command::new(["sh", "-c", script]),
        ..TryRequest::default()
    };
    let mut output = Vec::new();
    let streams = capture(&mut output);
    try_change(&desk.engine(), &request, streams, &mut |_| {}).unwrap();
}

fn label(number: u8) -> Label {
    // Later than anything that the clock gave out.
    let at = Timestamp::from_millis(4_000_000_000_000 + u64::from(number));
    Label {
        id: PromotionId::new(at, [number; 10]),
        at,
        title: "by hand".to_owned(),
    }
}

/// What a process that dies works on.
struct Bench {
    desk: Desk,
    store: Store,
    applied: Promotion,
}

impl Bench {
    /// A project with one promotion, of `two` in `a.txt`.
    fn new() -> Self {
        let desk = Desk::new();
        desk.write("a.txt", "one\n");
        tried(&desk, "echo two > a.txt");
        let answer = apply(&desk.engine(), &ApplyRequest::default()).unwrap();
        let state = desk.home().join(".local/state/agar");
        let store = Store::open(&state.join("store.db")).unwrap();
        let applied = store.read().promotion(answer.promotion.unwrap()).unwrap();
        Self {
            desk,
            store,
            applied,
        }
    }

    fn project(&self) -> ProjectId {
        self.applied.project
    }

    fn promotions(&self) -> Promotions {
        let state = self.desk.home().join(".local/state/agar/projects");
        Promotions::at(&state.join(self.project().to_string()).join("promotions"))
    }

    fn state(&self, id: PromotionId) -> PromotionState {
        self.store.read().promotion(id).unwrap().state
    }

    /// Any command mends what a crash left.
    fn next_command(&self) {
        agar_engine::list::list(
            &self.desk.engine(),
            &agar_engine::list::ListRequest::default(),
        )
        .unwrap();
        let open = self.store.read().unsettled_promotions(self.project());
        assert_eq!(open.unwrap(), []);
    }

    fn undo(&self) {
        let answer = undo(&self.desk.engine(), &UndoRequest::default()).unwrap();
        assert!(answer.undone, "{answer:#?}");
    }
}

#[test]
fn an_apply_that_finds_nothing_to_write_leaves_nothing_to_take_back() {
    let bench = Bench::new();
    let again = apply(&bench.desk.engine(), &ApplyRequest::default()).unwrap();
    assert_eq!(again.promotion, None);
    let all = bench.store.read().promotions(bench.project()).unwrap();
    assert_eq!(all.len(), 1);
    bench.undo();
    assert_eq!(bench.desk.read("a.txt"), "one\n");
}

#[test]
fn applies_at_once_of_one_sandbox_are_one_promotion() {
    let desk = Desk::new();
    desk.write("a.txt", "one\n");
    tried(
        &desk,
        "echo two >> a.txt; for n in $(seq 50); do echo $n > f$n; done",
    );
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| apply(&desk.engine(), &ApplyRequest::default()).unwrap());
        }
    });
    assert_eq!(desk.read("a.txt"), "one\ntwo\n");
    assert!(
        undo(&desk.engine(), &UndoRequest::default())
            .unwrap()
            .undone
    );
    assert_eq!(desk.read("a.txt"), "one\n");
    assert!(!desk.project().join("f50").exists());
    undo(&desk.engine(), &UndoRequest::default()).unwrap_err();
}

#[test]
fn an_undo_that_died_before_it_was_on_record_is_recorded_by_the_next_command() {
    let mut bench = Bench::new();
    let id = bench.applied.id;
    let by = label(1);
    bench
        .store
        .write(|store| store.undo_started(id, by.id))
        .unwrap();
    let promotions = bench.promotions();
    let root = bench.desk.project();
    let back = promotions.undo(id, &root, &Selection::default()).unwrap();
    promotions.apply(&back, &by).unwrap();
    bench.next_command();
    assert_eq!(bench.state(id), PromotionState::Undone);
    assert_eq!(bench.desk.read("a.txt"), "one\n");
    // And round again.
    apply(&bench.desk.engine(), &ApplyRequest::default()).unwrap();
    assert_eq!(bench.desk.read("a.txt"), "two\n");
    bench.undo();
    assert_eq!(bench.desk.read("a.txt"), "one\n");
}

#[test]
fn an_undo_that_died_before_it_wrote_can_be_done_again() {
    let mut bench = Bench::new();
    let id = bench.applied.id;
    bench
        .store
        .write(|store| store.undo_started(id, label(1).id))
        .unwrap();
    bench.next_command();
    assert_eq!(bench.state(id), PromotionState::Applied);
    bench.undo();
    assert_eq!(bench.state(id), PromotionState::Undone);
    assert_eq!(bench.desk.read("a.txt"), "one\n");
}

#[test]
fn an_apply_that_died_is_on_record_as_what_became_of_it() {
    let mut bench = Bench::new();
    let (sandbox, at) = (bench.applied.sandbox, bench.applied.created);
    let (done, not_done) = (label(1), label(2));
    let item = Item {
        path: PathBuf::from("b.txt"),
        base: Source::Nothing,
        theirs: Source::File {
            mode: 0o644,
            content: Content::Bytes(b"b\n".to_vec().into()),
        },
        masked: false,
        from: None,
    };
    let root = bench.desk.project();
    let proposal = Proposal::prepare(&root, vec![item], &Selection::default()).unwrap();
    for label in [&done, &not_done] {
        let summary = serde_json::json!({});
        bench
            .store
            .write(|store| store.start_promotion(label.id, sandbox, &summary, at))
            .unwrap();
    }
    bench.promotions().apply(&proposal, &done).unwrap();
    bench.next_command();
    assert_eq!(bench.state(done.id), PromotionState::Applied);
    assert_eq!(bench.state(not_done.id), PromotionState::Reversed);
    bench.undo();
    assert_eq!(bench.state(done.id), PromotionState::Undone);
    assert!(!root.join("b.txt").exists());
    assert_eq!(bench.desk.read("a.txt"), "two\n");
}

#[test]
fn a_promotion_that_is_not_on_disk_is_not_the_last_one() {
    let mut bench = Bench::new();
    let phantom = label(1).id;
    let (sandbox, at) = (bench.applied.sandbox, bench.applied.created);
    let summary = serde_json::json!({});
    bench
        .store
        .write(|store| {
            store.start_promotion(phantom, sandbox, &summary, at)?;
            store.promotion_applied(phantom, &summary, at)
        })
        .unwrap();
    bench.undo();
    assert_eq!(bench.desk.read("a.txt"), "one\n");
}
