//! Measures what a promotion costs: plan, apply and undo of 10 and of 1,000 merged files.
//!
//! `cargo run -p agar-sandbox --example promotion_cost -- [directory]`; the directory decides which
//! filesystem is measured. For comparison, the same files are written plainly, without any promise.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measurement prints, and stops when it cannot measure"
)]

use agar_core::id::PromotionId;
use agar_core::seam::Timestamp;
use agar_sandbox::merge::Selection;
use agar_sandbox::promote::{Fate, Faults, Label, Promotions, Proposal, compare};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Notes how long each sort of effect took.
struct Stopwatch {
    last: RefCell<Instant>,
    spent: RefCell<BTreeMap<&'static str, Duration>>,
}

impl Faults for Stopwatch {
    fn after(&self, effect: &'static str) -> Fate {
        let now = Instant::now();
        let spent = now - self.last.replace(now);
        *self.spent.borrow_mut().entry(effect).or_default() += spent;
        Fate::Go
    }
}

fn main() {
    let spent = RefCell::new(BTreeMap::new());
    let directory = std::env::args_os()
        .nth(1)
        .map_or_else(std::env::temp_dir, PathBuf::from);
    for (files, rounds) in [(10, 40), (1000, 5)] {
        let mut times: [Vec<Duration>; 6] = Default::default();
        for round in 0..rounds {
            let world = tempfile::tempdir_in(&directory).unwrap();
            let measured = measure(world.path(), files, round, &spent);
            for (list, time) in times.iter_mut().zip(measured) {
                list.push(time);
            }
        }
        println!("{files} files, each merged, {rounds} rounds: p50 / p90 / max in ms");
        for (name, list) in ["one sync", "plain", "plan", "apply", "plan undo", "undo"]
            .iter()
            .zip(&mut times)
        {
            list.sort();
            let at = |part: usize| list[(list.len() - 1) * part / 100].as_secs_f64() * 1000.0;
            println!("  {name:10} {:8.2} {:8.2} {:8.2}", at(50), at(90), at(100));
        }
        println!("  of an apply, on average:");
        for (effect, time) in spent.take() {
            let average = time.as_secs_f64() * 1000.0 / f64::from(rounds);
            println!("    {effect:32} {average:8.3}");
        }
    }
}

fn text(first: &str, last: &str, file: usize) -> String {
    let body: Vec<String> = (0..200)
        .map(|line| format!("line {line} of file {file}\n"))
        .collect();
    format!("{first}\n{}{last}\n", body.concat())
}

fn label(round: u8, nth: u8) -> Label {
    let at = Timestamp::from_millis(u64::from(nth));
    Label {
        id: PromotionId::new(at, [round; 10]),
        at,
        title: "measured".to_owned(),
    }
}

fn measure(
    world: &Path,
    files: usize,
    round: u8,
    spent: &RefCell<BTreeMap<&'static str, Duration>>,
) -> [Duration; 6] {
    for (side, first, last) in [
        ("base", "1", "9"),
        ("mine", "one", "9"),
        ("theirs", "1", "nine"),
        ("plain", "1", "9"),
    ] {
        for file in 0..files {
            let path = world
                .join(side)
                .join(format!("src/d{}/f{file}.rs", file % 5));
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(path, text(first, last, file)).unwrap();
        }
    }
    let mine = world.join("mine");
    let promotions = Promotions::at(&world.join("state/promotions"));
    let items = compare(&world.join("base"), &world.join("theirs")).unwrap();
    let timed = |work: &mut dyn FnMut()| {
        let start = Instant::now();
        work();
        start.elapsed()
    };
    let unjournalled = timed(&mut || {
        for file in 0..files {
            let path = world.join(format!("plain/src/d{}/f{file}.rs", file % 5));
            fs_err::write(path, text("one", "nine", file)).unwrap();
        }
    });
    let mut proposal = None;
    let plan = timed(&mut || {
        let planned = Proposal::prepare(&mine, items.clone(), &Selection::default());
        proposal = Some(planned.unwrap());
    });
    let (first, second) = (label(round, 1), label(round, 2));
    let sync = timed(&mut || {
        let mut file = fs_err::File::create(world.join("synced")).unwrap();
        std::io::Write::write_all(&mut file, b"one\n").unwrap();
        file.sync_all().unwrap();
    });
    let watch = Stopwatch {
        last: RefCell::new(Instant::now()),
        spent: RefCell::new(spent.take()),
    };
    let apply = timed(&mut || {
        let proposal = proposal.as_ref().unwrap();
        promotions.apply_with(proposal, &first, &watch).unwrap();
    });
    spent.replace(watch.spent.take());
    assert!(
        fs_err::read_to_string(mine.join("src/d0/f0.rs"))
            .unwrap()
            .ends_with("nine\n")
    );
    let plan_undo = timed(&mut || {
        let planned = promotions.undo(first.id, &mine, &Selection::default());
        proposal = Some(planned.unwrap());
    });
    let undo = timed(&mut || {
        promotions
            .apply(proposal.as_ref().unwrap(), &second)
            .unwrap();
    });
    [sync, unjournalled, plan, apply, plan_undo, undo]
}
