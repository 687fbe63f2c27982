//! Random sequences of edits, snapshots, restores, forks, pauses and crashes, against a model.
//!
//! The model of a sandbox is a tree in memory, and the model of a snapshot is a copy of it. Whatever
//! happens, a sandbox shows what its model holds. A command that was killed half way did what it was
//! told or nothing; which of the two is asked of agar afterwards, and the rest must fit.

mod play;
mod step;
mod tree;

use play::Play;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

/// Sequences that are tried unless the environment asks for more.
const CASES: u32 = 10;

/// Asks for more sequences.
const CASES_VARIABLE: &str = "AGAR_TEST_MODEL_CASES";

/// Asks for other ones.
const SEED_VARIABLE: &str = "AGAR_TEST_MODEL_SEED";

#[test]
fn a_sandbox_shows_what_was_done_in_it_whatever_snapshots_forks_and_crashes_there_were() {
    let number = |name: &str| std::env::var_os(name)?.to_str()?.parse::<u32>().ok();
    let cases = number(CASES_VARIABLE).unwrap_or(CASES);
    let seed = number(SEED_VARIABLE).unwrap_or(0);
    let config = Config {
        cases,
        max_shrink_iters: 100,
        failure_persistence: None,
        ..Config::default()
    };
    let mut bytes = [0; 32];
    bytes[..4].copy_from_slice(&seed.to_le_bytes());
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let outcome = TestRunner::new_with_rng(config, random).run(&step::steps(), |steps| {
        let mut play = Play::begin();
        play.all(&steps).map_err(TestCaseError::fail)?;
        Ok(())
    });
    match outcome {
        Ok(()) => assert!(cases > 0, "no sequence was tried"),
        Err(TestError::Fail(why, steps)) => {
            let steps: Vec<String> = steps.iter().map(|step| format!("{step:?}")).collect();
            panic!("seed {seed}:\n{}\n{why}", steps.join("\n"));
        }
        Err(TestError::Abort(why)) => panic!("seed {seed}: {why}"),
    }
}
