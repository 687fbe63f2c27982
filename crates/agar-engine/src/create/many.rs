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
    let crowd = Crowd {
        request,
        ground: Ground::lay(engine, engine.here()?, &request.options, choice)?,
        made,
        left: AtomicU32::new(count - 1),
        failed: OnceLock::new(),
    };
    let engines = engines(engine, count)?;
    if crowd.make(engines.first().unwrap_or(engine), 1, alias.as_ref()) {
        let crowd = &crowd;
        std::thread::scope(|scope| {
            for engine in engines {
                scope.spawn(move || crowd.work(&engine));
            }
        });
    }
    look_after(engine, engine.here()?);
    crowd.failed.into_inner().map_or(Ok(()), Err)
}

/// Those that are to be made.
struct Crowd<'a> {
    request: &'a CreateRequest,
    ground: Ground,
    made: &'a (dyn Fn(CreateAnswer) -> bool + Sync),
    left: AtomicU32,
    /// The first reason why not all of them could be made, which is the one that is told.
    failed: OnceLock<EngineError>,
}

impl Crowd<'_> {
    /// Makes what is left, a handful at a time, until there is a reason not to go on.
    fn work(&self, engine: &Engine) {
        let fewer = |left: u32| (left > 0).then(|| left.saturating_sub(HANDFUL));
        let draw = || (self.left).fetch_update(Ordering::SeqCst, Ordering::SeqCst, fewer);
        while let Ok(left) = draw() {
            if !self.make(engine, left.min(HANDFUL), None) {
                self.left.store(0, Ordering::SeqCst);
            }
        }
    }

    /// Makes so many and tells of each, whatever became of the one before. Whether to go on.
    fn make(&self, engine: &Engine, count: u32, alias: Option<&String>) -> bool {
        let created = self.create(engine, count, alias);
        let mut go_on = true;
        for created in created.unwrap_or_else(|error| vec![Err(error)]) {
            go_on &= match created {
                Ok(answer) => (self.made)(answer),
                Err(error) => {
                    drop(self.failed.set(error));
                    false
                }
            };
        }
        go_on
    }

    fn create(
        &self,
        engine: &Engine,
        count: u32,
        alias: Option<&String>,
    ) -> Result<Vec<Result<CreateAnswer, EngineError>>, EngineError> {
        let (mut drafts, mut expected) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let (here, keeper) = engine.here_raising(&self.request.options)?;
            let options = (&self.request.options, alias.cloned());
            let id = engine.new_sandbox_id();
            drafts.push(self.ground.draft(engine, here, options, id)?);
            expected.push(keeper);
        }
        let here = engine.here()?;
        Ok(Laid::new(engine, here, drafts)?.raise(engine, here, expected))
    }
}

/// How many a worker makes at a time: their records are written together, and their jails go up side by
/// side.
const HANDFUL: u32 = 4;

/// The kernel makes no more jails at once than a few processors can ask for.
const WORKERS_MAX: usize = 8;

/// One for each worker. What one of them freezes or waits for is not the progress of all, and what is
/// worth doing afterwards is worth doing once.
fn engines(engine: &Engine, wanted: u32) -> Result<Vec<Engine>, EngineError> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let mut surroundings = engine.surroundings().clone().for_many();
    surroundings.progress = Arc::new(Quiet);
    surroundings.background = None;
    (0..processors.min(WORKERS_MAX).min(wanted as usize))
        .map(|_| Engine::open(surroundings.clone()))
        .collect()
}
