//! Living individuals by name: spawned, loaded, run, watched and collected.
//!
//! The substrate without a brain. Every verb of the seed is here under its name; each works on one
//! individual or, as `batch_…`, on many at once with a result for each. Individuals belong to
//! populations, know their generation and parent, and carry the fitness that somebody recorded for
//! them. The dish breeds nothing and believes nothing: it keeps apart, counts and cleans up.
//!
//! A dish is shared by reference. Each individual has a lock of its own, so that a long run of one
//! is nobody else's trouble; the list is locked only to look somebody up.

mod batch;
mod collect;
mod fitness;
mod library;
mod population;
mod post;
mod seat;
mod shadow;

pub use self::collect::{Collected, Tending};
pub use self::fitness::Recorded;
pub use self::population::{NotFound, Population};
pub use self::post::Delivered;
pub use self::shadow::{Comparison, Shadow, ShadowVerdict};

use self::library::Library;
use self::seat::{Members, Name, Seat};

use crate::cell::{Cell, Condition, History, Info, RollbackState, Spec, Swap, SwapError};
use crate::event::{Event, Watch};
use crate::failure::CellError;
use crate::genome::{Genome, GenomeError, Rules};
use crate::incubator::Incubator;
use crate::limits::Limits;
use crate::process::{Counted, Launcher, Places};
use crate::search::Origin;
use crate::tree::Tree;
use agar_core::fault::{Fault, Kind};
use agar_core::seam::Timestamp;
use std::collections::BTreeMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// What a dish goes by; the defaults are the seed's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DishSettings {
    /// Milliseconds between two collections.
    pub gc_interval_ms: u64,
    /// Generations whose dead are kept.
    pub gc_retain_generations: u32,
    /// Pages of 64 KiB that one genome may have: 64 MB.
    pub memory_pages_max: u32,
    /// Programs of process cells that may run at once.
    pub processes_max: u32,
    /// Messages that may wait for one individual.
    pub mailbox: u32,
    /// The longest that one run may take, where no limit says otherwise.
    pub run_timeout: Duration,
}

impl Default for DishSettings {
    fn default() -> Self {
        Self {
            gc_interval_ms: 60_000,
            gc_retain_generations: 3,
            memory_pages_max: 1_024,
            processes_max: 50,
            mailbox: 1_000,
            run_timeout: Duration::from_secs(30),
        }
    }
}

/// Code to load, in the form it is in.
#[derive(Debug, Clone, Copy)]
pub enum Source<'a> {
    /// A WebAssembly module.
    Wasm(&'a [u8]),
    /// Its text form.
    Wat(&'a str),
    /// An expression.
    Tree(&'a Tree),
    /// JavaScript.
    JavaScript(&'a str),
}

/// Where an individual comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Birth {
    /// The generation.
    pub generation: u32,
    /// The parent, by name.
    pub parent_id: Option<String>,
    /// How it was made.
    pub mutation_type: Origin,
}

impl Default for Birth {
    fn default() -> Self {
        Self {
            generation: 0,
            parent_id: None,
            mutation_type: Origin::Seed,
        }
    }
}

/// All that can be said of an individual without running it.
#[derive(Debug, Clone, PartialEq)]
pub struct SandboxInfo {
    /// Its name.
    pub id: String,
    /// The cell's side.
    pub cell: Info,
    /// The generation it belongs to.
    pub generation: u32,
    /// Its parent.
    pub parent_id: Option<String>,
    /// How it was made.
    pub mutation_type: Origin,
    /// How many ancestors in a row it has.
    pub lineage_depth: u32,
    /// What somebody recorded of its fitness.
    pub fitness: Option<Recorded>,
}

/// What individuals take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResourceUsage {
    /// Bytes of memory.
    pub memory: u64,
    /// Instances that live: one, or none of one that sleeps.
    pub process_count: u64,
    /// Messages that wait.
    pub message_queue: usize,
    /// Milliseconds since it was made.
    pub uptime_ms: u64,
}

/// A verb of the dish failed.
#[derive(Debug, thiserror::Error)]
pub enum DishError {
    /// Nobody has that name.
    #[error("there is no individual `{0}` in the dish")]
    SandboxNotFound(String),
    /// Somebody has it.
    #[error("the dish already has an individual `{0}`")]
    AlreadyExists(String),
    /// The code was refused.
    #[error("the code cannot be loaded")]
    ParseFailed(#[from] GenomeError),
    /// The run failed.
    #[error("the run failed")]
    Crashed(#[from] CellError),
    /// The swap failed; the old version goes on.
    #[error("the code cannot be swapped in")]
    Swap(#[from] SwapError),
}

impl Fault for DishError {
    fn kind(&self) -> Kind {
        match self {
            Self::SandboxNotFound(_) => Kind::NotFound,
            Self::AlreadyExists(_) => Kind::Conflict,
            Self::ParseFailed(error) => error.kind(),
            Self::Crashed(error) => error.kind(),
            Self::Swap(error) => error.kind(),
        }
    }
}

/// One individual of the dish.
#[derive(Debug)]
struct Member {
    /// Whether it was taken out; whoever still had it in hand finds nobody.
    is_gone: bool,
    cell: Cell,
    birth: Birth,
    lineage_depth: u32,
    fitness: Option<Recorded>,
}

/// Living individuals by name.
#[derive(Debug)]
pub struct Dish {
    incubator: Incubator,
    settings: DishSettings,
    rules: Rules,
    library: Library,
    places: Arc<Places>,
    members: RwLock<Members>,
    populations: Mutex<BTreeMap<String, Population>>,
    collected_at: Mutex<Option<Timestamp>>,
    watch: Arc<dyn Watch>,
}

/// A lock whose holder panicked still guards something whole: each change is one step.
fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whoever sits there, unless he was taken out since.
fn occupied<'a>(id: &str, seat: &'a Seat) -> Result<MutexGuard<'a, Member>, DishError> {
    let member = seat.held();
    if member.is_gone {
        return Err(DishError::SandboxNotFound(id.to_owned()));
    }
    Ok(member)
}

impl Dish {
    /// An empty dish.
    pub fn new(incubator: Incubator, settings: DishSettings, watch: Arc<dyn Watch>) -> Self {
        Self {
            incubator,
            settings,
            rules: Rules {
                memory_pages_max: settings.memory_pages_max,
                ..Rules::default()
            },
            library: Library::default(),
            places: Places::new(settings.processes_max),
            members: RwLock::default(),
            populations: Mutex::default(),
            collected_at: Mutex::default(),
            watch,
        }
    }

    /// The limits that an individual gets where nobody says otherwise.
    pub fn limits(&self) -> Limits {
        Limits {
            wall: Some(self.settings.run_timeout),
            mailbox: self.settings.mailbox,
            ..Limits::default()
        }
    }

    /// The launcher, for process cells of this dish: no more of their programs run at once than its
    /// settings allow, and whoever would be one more is refused with [`Room::Processes`] before
    /// anything is started. A swap needs a place for the new program beside the old one's; who sleeps
    /// needs none.
    ///
    /// [`Room::Processes`]: crate::Room::Processes
    pub fn launcher(&self, launcher: Arc<dyn Launcher>) -> Arc<dyn Launcher> {
        let places = Arc::clone(&self.places);
        Arc::new(Counted { launcher, places })
    }

    /// How many programs of process cells run.
    pub fn processes(&self) -> u32 {
        self.places.taken()
    }

    fn genome(&self, source: Source<'_>) -> Result<Genome, GenomeError> {
        self.library.get(source, &self.rules)
    }

    fn members(&self) -> std::sync::RwLockReadGuard<'_, Members> {
        self.members.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn members_mut(&self) -> std::sync::RwLockWriteGuard<'_, Members> {
        self.members.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn seat(&self, id: &str) -> Result<Seat, DishError> {
        let members = self.members();
        let seat = members.get(id).inspect(|seat| seat.fetch()).cloned();
        seat.ok_or_else(|| DishError::SandboxNotFound(id.to_owned()))
    }

    /// Does something with an individual while nobody else does.
    fn with<T>(&self, id: &str, act: impl FnOnce(&mut Member) -> T) -> Result<T, DishError> {
        let seat = self.seat(id)?;
        let done = act(&mut *occupied(id, &seat)?);
        Ok(done)
    }

    /// Makes an individual of this code.
    pub fn create(&self, id: &str, source: Source<'_>, birth: Birth) -> Result<(), DishError> {
        if self.members().contains_key(id) {
            return Err(DishError::AlreadyExists(id.to_owned()));
        }
        let genome = self.genome(source)?;
        let spec = Spec {
            limits: self.limits(),
            ..Spec::default()
        };
        let cell = self.incubator.create(&genome, spec)?;
        let parent = birth.parent_id.as_deref();
        let depth = parent.and_then(|parent| self.with(parent, |it| it.lineage_depth).ok());
        let member = Member {
            cell,
            birth,
            lineage_depth: depth.map_or(0, |depth| depth + 1),
            fitness: None,
            is_gone: false,
        };
        match self.members_mut().entry(Name::from(id)) {
            Entry::Occupied(_) => Err(DishError::AlreadyExists(id.to_owned())),
            Entry::Vacant(place) => {
                place.insert(Seat::new(member));
                Ok(())
            }
        }
    }

    /// Ends an individual. A run under way ends first.
    pub fn destroy(&self, id: &str) -> Result<(), DishError> {
        let removed = self.members_mut().remove(id);
        let seat = removed.ok_or_else(|| DishError::SandboxNotFound(id.to_owned()))?;
        seat.held().is_gone = true;
        Ok(())
    }

    /// Begins an individual anew, without its state, in the same version.
    pub fn restart(&self, id: &str) -> Result<(), DishError> {
        Ok(self.with(id, |member| member.cell.restart())??)
    }

    /// What can be said of an individual without running it.
    pub fn info(&self, id: &str) -> Result<SandboxInfo, DishError> {
        self.with(id, |member| SandboxInfo {
            id: id.to_owned(),
            cell: member.cell.info(),
            generation: member.birth.generation,
            parent_id: member.birth.parent_id.clone(),
            mutation_type: member.birth.mutation_type,
            lineage_depth: member.lineage_depth,
            fitness: member.fitness.clone(),
        })
    }

    /// Everybody's name, in order.
    pub fn list(&self) -> Vec<String> {
        let members = self.members();
        let mut names: Vec<String> = members.keys().map(|it| it.as_str().to_owned()).collect();
        drop(members);
        names.sort_unstable();
        names
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.members().len()
    }

    /// Whether there is nobody.
    pub fn is_empty(&self) -> bool {
        self.members().is_empty()
    }

    /// Swaps in a genome that is at hand; the state comes along. The version it became.
    pub fn hot_reload(&self, id: &str, swap: Swap<'_>) -> Result<u32, DishError> {
        Ok(self.with(id, |member| member.cell.swap(swap))??)
    }

    /// The same from code that is checked first.
    pub fn hot_reload_source(&self, id: &str, source: Source<'_>) -> Result<u32, DishError> {
        let seat = self.seat(id)?;
        let genome = self.genome(source)?;
        let version = occupied(id, &seat)?
            .cell
            .swap(Swap::to(genome, "hot_reload"));
        Ok(version?)
    }

    /// Runs something on an individual's cell, with the events of a run around it.
    pub fn run<T>(
        &self,
        id: &str,
        act: impl FnOnce(&mut Cell) -> Result<T, CellError>,
    ) -> Result<T, DishError> {
        self.run_at(id, &self.seat(id)?, act)
    }

    /// The same on whoever sits there.
    fn run_at<T>(
        &self,
        id: &str,
        seat: &Seat,
        act: impl FnOnce(&mut Cell) -> Result<T, CellError>,
    ) -> Result<T, DishError> {
        let mut member = occupied(id, seat)?;
        self.watch.event(&Event::RunStart { id });
        let began = Instant::now();
        let done = act(&mut member.cell);
        let duration_us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
        match &done {
            Ok(_) => self.watch.event(&Event::RunStop {
                id,
                duration_us,
                result: "ok",
            }),
            Err(error) => {
                self.watch.event(&Event::RunException {
                    id,
                    duration_us,
                    result: &error.to_string(),
                });
                self.killed(error);
            }
        }
        Ok(done?)
    }

    fn killed(&self, error: &CellError) {
        if matches!(error, CellError::Deadline { .. }) {
            self.watch.event(&Event::KilledTimeout);
        } else if error.kind() == Kind::Limit {
            self.watch.event(&Event::KilledResourceLimit);
        }
    }

    /// The versions of an individual's code.
    pub fn versions(&self, id: &str) -> Result<History, DishError> {
        self.with(id, |member| member.cell.history())
    }

    /// Goes back to a version that is kept. The version it became.
    pub fn rollback(&self, id: &str, version: u32, with: RollbackState) -> Result<u32, DishError> {
        Ok(self.with(id, |member| member.cell.rollback(version, with))??)
    }

    /// What an individual takes.
    pub fn resource_usage(&self, id: &str) -> Result<ResourceUsage, DishError> {
        let now = self.incubator.now();
        self.with(id, |member| {
            let info = member.cell.info();
            ResourceUsage {
                memory: info.memory,
                process_count: u64::from(info.condition == Condition::Awake),
                message_queue: info.waiting,
                uptime_ms: now.since(info.created_at),
            }
        })
    }

    /// Sets other limits from the next run on.
    pub fn update_limits(&self, id: &str, limits: Limits) -> Result<(), DishError> {
        self.with(id, |member| member.cell.set_limits(limits))
    }
}
