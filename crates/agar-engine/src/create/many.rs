//! Many sandboxes at once, all alike.
//!
//! The first is made alone: it freezes the project where that is needed, and what would stand in
//! everybody's way is said once. The others are made by as many workers as there are processors, each
//! with an engine of its own, as if it were another process.

use super::{CreateAnswer, CreateRequest, create};
use crate::{Engine, EngineError, Quiet, Step};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many can be asked for at once.
pub(crate) const COUNT_MAX: u32 = 1000;

/// Those that were made, and what stood in the way of the rest.
#[derive(Debug, Default)]
pub struct Many {
    /// Each of them.
    pub made: Vec<CreateAnswer>,
    /// Why there are not as many as were wanted.
    pub failed: Option<EngineError>,
}

/// Makes so many sandboxes from the caller's project. Those that were made before one failed are
/// kept.
pub fn create_many(
    engine: &Engine,
    request: &CreateRequest,
    count: u32,
) -> Result<Many, EngineError> {
    if count == 0 || count > COUNT_MAX {
        return Err(EngineError::Invalid(format!(
            "from 1 to {COUNT_MAX} sandboxes can be made at once"
        )));
    }
    if request.alias.is_some() && count > 1 {
        return Err(EngineError::Invalid(
            "a name can be given to one sandbox only".to_owned(),
        ));
    }
    let many = Mutex::new(Many {
        made: vec![create(engine, request)?],
        failed: None,
    });
    let engines = engines(engine, count - 1)?;
    let left = AtomicU32::new(count - 1);
    let progress = &engine.surroundings().progress;
    let work = |engine: Engine| {
        while draw(&left) {
            match create(&engine, request) {
                Ok(answer) => {
                    let mut many = held(&many);
                    many.made.push(answer);
                    progress.step(Step {
                        doing: "making sandboxes",
                        done: many.made.len() as u64,
                        total: Some(u64::from(count)),
                    });
                }
                Err(error) => {
                    left.store(0, Ordering::SeqCst);
                    held(&many).failed.get_or_insert(error);
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for engine in engines {
            scope.spawn(|| work(engine));
        }
    });
    progress.end();
    Ok(many.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// One for each worker. What one of them freezes or waits for is not the progress of all.
fn engines(engine: &Engine, wanted: u32) -> Result<Vec<Engine>, EngineError> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let mut surroundings = engine.surroundings().clone();
    surroundings.progress = Arc::new(Quiet);
    (0..processors.min(wanted as usize))
        .map(|_| Engine::open(surroundings.clone()))
        .collect()
}

/// Whether there is one more to make.
fn draw(left: &AtomicU32) -> bool {
    let one_less = |left: u32| left.checked_sub(1);
    left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less)
        .is_ok()
}

fn held(many: &Mutex<Many>) -> MutexGuard<'_, Many> {
    many.lock().unwrap_or_else(PoisonError::into_inner)
}
