//! A sign of life for what takes over half a second.
//!
//! Work that ends sooner shows nothing, and nothing is ever shown where no person looks. There is
//! no thread: the work itself says how far it is, and that is when the line is drawn.

use agar_engine::{Progress, Step};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::fmt;
use std::io::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_millis(500);

/// Draws the engine's long work on stderr.
pub struct Meter {
    watched: bool,
    work: Mutex<Option<Work>>,
}

/// One stretch of long work.
struct Work {
    began: Instant,
    bar: Option<ProgressBar>,
}

impl Meter {
    /// A meter that draws only if somebody watches.
    pub const fn new(watched: bool) -> Self {
        Self {
            watched,
            work: Mutex::new(None),
        }
    }

    fn work(&self) -> MutexGuard<'_, Option<Work>> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress for Meter {
    fn step(&self, step: Step<'_>) {
        if !self.watched {
            return;
        }
        let mut work = self.work();
        let work = work.get_or_insert_with(|| Work {
            began: Instant::now(),
            bar: None,
        });
        if work.bar.is_none() && work.began.elapsed() >= PATIENCE {
            work.bar = Some(bar(step));
        }
        if let Some(bar) = &work.bar {
            bar.set_message(step.doing.to_owned());
            bar.set_position(step.done);
            bar.tick();
        }
    }

    fn queued(&self, position: u64, at_once: u64) {
        // Agents read this as well as people do, so it is said wherever it goes.
        let line = format!(
            "waiting  position {position} · {at_once} of agents run at once (max_concurrent_sandboxes)\n"
        );
        drop(std::io::stderr().lock().write_all(line.as_bytes()));
    }

    fn told(&self, what: &str, words: &str) {
        // Nobody asked for it, so it is said wherever it goes.
        let line = format!("{what}  {words}\n");
        drop(std::io::stderr().lock().write_all(line.as_bytes()));
    }

    fn end(&self) {
        if let Some(bar) = self.work().take().and_then(|work| work.bar) {
            bar.finish_and_clear();
        }
    }
}

fn bar(step: Step<'_>) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(step.total, ProgressDrawTarget::stderr());
    let template = match (step.total, step.done) {
        (Some(_), _) => "{spinner} {msg}  {bar:24}  {pos} of {len}  {eta} left",
        // Nothing is counted: that it goes on is all there is to say.
        (None, 0) => "{spinner} {msg}  {elapsed}",
        (None, _) => "{spinner} {msg}  {pos}  {elapsed}",
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("━╸ "));
    }
    bar
}

impl fmt::Debug for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meter")
            .field("watched", &self.watched)
            .finish_non_exhaustive()
    }
}
