//! Engines that stand open for requests that only look at records.
//!
//! Opening one is what a command does first: it finds the project, opens the store, and sees after
//! every sandbox that is alive whether its keeper is. That is right for whatever changes something,
//! and with hundreds of sandboxes it is most of what a look costs. So looks share engines that are
//! opened anew, by somebody nobody waits for, every half second for as long as anybody looks. Records
//! are read from the store every time; only what a crash left is noticed that much later.

use crate::app::{App, Job, Place};
use crate::refusal::Refusal;
use agar_engine::events::version;
use agar_engine::{Engine, SandboxView};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often they are opened anew.
const ANEW: Duration = Duration::from_millis(500);
/// After so many times without a look they are closed.
const IDLE_MAX: u32 = 4;
/// How many stand open at most.
const OPEN_MAX: usize = 4;

/// Engines that stand open in the server's own project.
#[derive(Debug, Default)]
pub(crate) struct Glances(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    engines: Vec<Engine>,
    /// How often they were opened anew; older ones are not taken back.
    age: u64,
    was_used: bool,
    is_attended: bool,
}

impl Glances {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One that stands open, if one does, and its age.
    fn take(&self) -> (u64, Option<Engine>) {
        let mut kept = self.kept();
        kept.was_used = true;
        (kept.age, kept.engines.pop())
    }

    /// Keeps one for the next look, unless it is too old. Whether nobody sees after them yet.
    fn give_back(&self, age: u64, engine: Engine) -> bool {
        let mut kept = self.kept();
        if age == kept.age && kept.engines.len() < OPEN_MAX {
            kept.engines.push(engine);
        } else {
            // Not while everybody waits.
            drop(kept);
            drop(engine);
            kept = self.kept();
        }
        !std::mem::replace(&mut kept.is_attended, true)
    }

    /// How many to open anew: none if nobody looked since this was asked.
    fn wanted(&self) -> usize {
        let mut kept = self.kept();
        let was_used = std::mem::take(&mut kept.was_used);
        if was_used {
            kept.engines.len().max(1)
        } else {
            0
        }
    }

    /// Puts new ones in the place of those there are, which are the answer: to be closed where
    /// nobody waits.
    fn replace(&self, engines: Vec<Engine>) -> Vec<Engine> {
        let mut kept = self.kept();
        kept.age += 1;
        kept.is_attended = !engines.is_empty();
        std::mem::replace(&mut kept.engines, engines)
    }
}

impl App {
    /// Looks at a sandbox in the project that it is a copy of. For what only reads records: the engine
    /// may have been opened a moment ago.
    pub(crate) async fn glance<T, F>(&self, name: String, job: F) -> Result<T, Refusal>
    where
        F: FnOnce(&Engine, &SandboxView) -> Result<T, Refusal> + Send + 'static,
        T: Send + 'static,
    {
        let counted = Job::begin(self);
        let app = self.clone();
        let done = tokio::task::spawn_blocking(move || {
            let _counted = counted;
            let (age, open) = app.glances.take();
            let engine = match open {
                Some(engine) => engine,
                None => app.engine(Place::default())?,
            };
            let answer = app.about(&engine, &name, job);
            // Here, so that it happens also if the client does not wait.
            if app.glances.give_back(age, engine) {
                tokio::spawn(attend(app.clone()));
            }
            answer
        });
        match done.await {
            Ok(answer) => answer,
            Err(error) => {
                (self.log)(&format!("a request failed: {error}"));
                Err(Refusal::defect())
            }
        }
    }
}

/// Opens engines anew for as long as anybody looks, and closes them then.
async fn attend(app: App) {
    let mut idle = 0;
    while idle < IDLE_MAX {
        tokio::select! {
            () = tokio::time::sleep(ANEW) => {}
            () = app.stopping() => break,
        }
        let wanted = app.glances.wanted();
        if wanted == 0 {
            idle += 1;
            continue;
        }
        idle = 0;
        let renewing = app.clone();
        let renewed = tokio::task::spawn_blocking(move || renew(&renewing, wanted));
        if !matches!(renewed.await, Ok(true)) {
            break;
        }
    }
    let last = app.glances.replace(Vec::new());
    // One that is not closed any more goes with the server.
    drop(tokio::task::spawn_blocking(move || drop(last)).await);
}

/// Opens so many; whether that worked. If not, whoever looks next hears why.
fn renew(app: &App, wanted: usize) -> bool {
    let open = |_| {
        let engine = app.engine(Place::default()).ok()?;
        version(&engine).ok().map(|_| engine)
    };
    let engines: Vec<Engine> = (0..wanted).filter_map(open).collect();
    let has_worked = !engines.is_empty();
    if has_worked {
        drop(app.glances.replace(engines));
    }
    has_worked
}
