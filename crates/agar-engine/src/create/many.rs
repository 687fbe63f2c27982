//! Many sandboxes at once, all alike.
//!
//! They start from one picture: settings are read, the project is looked at and frozen once. The first
//! is made alone, so that what would stand in everybody's way is said once. The others are made by a few
//! workers, each with an engine of its own, as if it were another process.

use super::{CreateAnswer, CreateRequest, Laid, look_after, wanted};
use crate::draft::Ground;
use crate::{Engine, EngineError, Quiet};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

/// How many can be asked for at once.
pub(crate) const COUNT_MAX: u32 = 1000;

/// Makes so many sandboxes from the caller's project. `made` is told of each as it comes, by one
/// worker at a time or several at once, and says whether to go on. Those that were made before one
/// failed are kept.
pub fn create_many(
    engine: &Engine,
    request: &CreateRequest,
    count: u32,
    made: &(dyn Fn(CreateAnswer) -> bool + Sync),
) -> Result<(), EngineError> {
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
    let (choice, alias) = wanted(request);
    let ground = Ground::lay(engine, engine.here()?, &request.options, choice)?;
    let engines = engines(engine, count)?;
    let create = |engine: &Engine, count: u32, alias: &Option<String>| {
        let mut expected = Vec::new();
        let mut draft = |_| {
            let (here, keeper) = engine.here_raising(&request.options)?;
            expected.push(keeper);
            let options = (&request.options, alias.clone());
            ground.draft(engine, here, options, engine.new_sandbox_id())
        };
        let drafts = (0..count).map(&mut draft).collect::<Result<Vec<_>, _>>()?;
        let here = engine.here()?;
        let made = Laid::new(engine, here, drafts)?.raise(engine, here, expected);
        Ok::<_, EngineError>(made)
    };
    let failed = OnceLock::new();
    // Says whether to go on. The first reason why not is the one that is told.
    let tell = |created: Result<Vec<Result<CreateAnswer, EngineError>>, EngineError>| {
        let one = |created: Result<CreateAnswer, EngineError>| match created {
            Ok(answer) => made(answer),
            Err(error) => {
                drop(failed.set(error));
                false
            }
        };
        let mut go_on = true;
        for created in created.unwrap_or_else(|error| vec![Err(error)]) {
            // Each is told, whatever became of the one before.
            go_on &= one(created);
        }
        go_on
    };
    let first = engines.first().unwrap_or(engine);
    let left = AtomicU32::new(count - 1);
    let work = |engine: Engine| {
        while let Some(drawn) = draw(&left) {
            if !tell(create(&engine, drawn, &None)) {
                left.store(0, Ordering::SeqCst);
            }
        }
    };
    if tell(create(first, 1, &alias)) {
        std::thread::scope(|scope| {
            for engine in engines {
                scope.spawn(|| work(engine));
            }
        });
    }
    look_after(engine, engine.here()?);
    failed.into_inner().map_or(Ok(()), Err)
}

/// One for each worker. What one of them freezes or waits for is not the progress of all, and what is
/// worth doing afterwards is worth doing once.
fn engines(engine: &Engine, wanted: u32) -> Result<Vec<Engine>, EngineError> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let mut surroundings = engine.surroundings().clone().for_many();
    surroundings.progress = Arc::new(Quiet);
    surroundings.background = None;
    (0..processors.min(wanted as usize))
        .map(|_| Engine::open(surroundings.clone()))
        .collect()
}

/// How many a worker makes at a time: their records are written together, and their jails go up side by
/// side.
const HANDFUL: u32 = 4;

/// How many to make next, if there are any left.
fn draw(left: &AtomicU32) -> Option<u32> {
    let fewer = |left: u32| (left > 0).then(|| left.saturating_sub(HANDFUL));
    let before = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, fewer);
    before.ok().map(|left| left.min(HANDFUL))
}
