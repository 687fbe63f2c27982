//! From what a caller asked for to a sandbox that could be made.

use crate::blueprint::Blueprint;
use crate::failure::EngineError;
use crate::here::{Here, Known};
use crate::options::SandboxOptions;
use crate::raise::{self, Expected, Walls};
use crate::surroundings::Step;
use crate::wishes::{Learning, Wishes};
use crate::{Engine, inside, layers, sweep};
use agar_core::id::SandboxId;
use agar_core::seam::Timestamp;
use agar_core::settings::OnBreach;
use agar_core::walls::{BaseKind, Identity, Network, Tier};
use agar_jail::client::{Lifetime, Raising};
use agar_sandbox::base::{Bases, BulkRule, Choice, Lock, Prepared, Progress};
use agar_store::{Fact, NewSandbox, Sandbox, StoreError, Writer};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A sandbox that could be made.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) new: NewSandbox,
    pub(crate) blueprint: Blueprint,
    /// What the settings say about learning.
    pub(crate) learning: Learning,
    /// Commands that prepare a sandbox that stays.
    pub(crate) setup: Vec<String>,
    /// What becomes of it if its command goes too far.
    pub(crate) on_breach: OnBreach,
    /// Whether freezing in the background would make the next start better.
    pub(crate) freeze_later: bool,
    /// Keeps the generation from being collected until the sandbox is on record.
    hold: Option<Lock>,
}

/// Decides everything about a new sandbox, and makes its base ready.
pub(crate) fn draft(
    engine: &Engine,
    here: &Here,
    options: &SandboxOptions,
    wanted: (Choice, Option<String>),
) -> Result<Draft, EngineError> {
    draft_as(engine, here, options, wanted, engine.new_sandbox_id())
}

/// The same for a sandbox that has its id already.
pub(crate) fn draft_as(
    engine: &Engine,
    here: &Here,
    options: &SandboxOptions,
    (choice, alias): (Choice, Option<String>),
    id: SandboxId,
) -> Result<Draft, EngineError> {
    let mut ground = Ground::lay(engine, here, options, choice)?;
    let hold = ground.base.hold.take();
    let draft = ground.draft(engine, here, (options, alias), id)?;
    Ok(Draft { hold, ..draft })
}

/// What all sandboxes have in common that are asked for in one breath: settings, base and masks.
///
/// For as long as it is there, the generation is not collected.
#[derive(Debug)]
pub(crate) struct Ground {
    settings: Wishes,
    network: Network,
    tier: Tier,
    base: Prepared,
    masks: Vec<PathBuf>,
}

impl Ground {
    /// Reads the settings and makes the base ready.
    pub(crate) fn lay(
        engine: &Engine,
        here: &Here,
        options: &SandboxOptions,
        choice: Choice,
    ) -> Result<Self, EngineError> {
        let known = here.project(engine)?;
        let settings = Wishes::of(engine, here, &options.caller)?;
        if let Some(resource) = options.limits.or(settings.limits).exhausted() {
            return Err(EngineError::Invalid(format!(
                "a limit of 0 for `{}` leaves nothing to run with",
                resource.key()
            )));
        }
        let network = options
            .network
            .clone()
            .unwrap_or_else(|| settings.network.clone());
        let choice = match options.base.or(settings.base) {
            Some(BaseKind::Frozen) => Choice::Frozen,
            Some(BaseKind::Live) => Choice::Live,
            None => choice,
        };
        let tier = options.tier.unwrap_or(settings.tier);
        let choice = match tier {
            Tier::Full => choice,
            // A copy is made either way; one is enough.
            Tier::Helper | Tier::Landlock | Tier::None => Choice::Live,
        };
        let base = prepare(engine, here, known, (choice, &settings.bulk))?;
        let masks = inside::masks(engine, here, known, (options, &settings), &network)?;
        Ok(Self {
            settings,
            network,
            tier,
            base,
            masks,
        })
    }

    /// A sandbox on it.
    pub(crate) fn draft(
        &self,
        engine: &Engine,
        here: &Here,
        (options, alias): (&SandboxOptions, Option<String>),
        id: SandboxId,
    ) -> Result<Draft, EngineError> {
        let known = here.project(engine)?;
        let blueprint = self.blueprint(engine, known, options, &here.sandbox(id));
        let settings = &self.settings;
        let new = NewSandbox {
            id,
            alias: alias.or_else(|| options.alias.clone()),
            project: known.id,
            tier: self.tier,
            network: self.network.clone(),
            base: self.base.kind,
            generation: self.base.generation,
            stacks: blueprint.to_text()?,
            limits: options
                .limits
                .or(settings.limits)
                .or(options.caller.limits()),
            identity: if options.fake_root {
                Identity::FakeRoot
            } else {
                settings.identity
            },
            note: options.note.clone(),
            parent: None,
            origin: None,
        };
        Ok(Draft {
            new,
            blueprint,
            learning: settings.learning,
            setup: settings.setup.clone(),
            on_breach: settings.on_breach,
            freeze_later: self.base.freeze_later,
            hold: None,
        })
    }

    fn blueprint(
        &self,
        engine: &Engine,
        known: &Known,
        options: &SandboxOptions,
        place: &Path,
    ) -> Blueprint {
        let (settings, base) = (&self.settings, &self.base);
        let stacks = layers::stacks(engine, known, (base, self.tier), (place, &self.masks));
        let mut warnings = warnings((options, settings), &self.network, base);
        warnings.extend(layers::about_home(engine, &stacks));
        Blueprint {
            root: known.found.root.clone(),
            made_from: Some(known.directory),
            copy: layers::copy(self.tier, &stacks, place),
            stacks,
            masks: self.masks.clone(),
            nested: options.nested || settings.nested,
            monitor: options.monitor.unwrap_or(settings.monitor),
            environment: [settings.environment.clone(), options.environment.clone()].concat(),
            old_ways: settings.old_ways.clone(),
            agent: options.caller.agent().map(str::to_owned),
            warnings,
            ttl_ms: options.ttl_ms.or(settings.ttl_ms),
            minimal_git_stat: base.minimal_git_stat,
            live_since: None,
        }
    }
}

fn prepare(
    engine: &Engine,
    here: &Here,
    known: &Known,
    (choice, rule): (Choice, &BulkRule),
) -> Result<Prepared, EngineError> {
    let bases = Bases::new(&known.found, &here.state, known.id).leaving(rule.clone());
    let freezing = Freezing::of(engine);
    let prepared = bases.prepare(choice, &freezing)?;
    engine.surroundings().progress.end();
    Ok(prepared)
}

/// Passes the progress of a freeze on to the face.
pub(crate) struct Freezing(Arc<dyn crate::Progress>);

impl Freezing {
    pub(crate) fn of(engine: &Engine) -> Self {
        Self(Arc::clone(&engine.surroundings().progress))
    }
}

impl Progress for Freezing {
    fn advance(&self, done: u64, total: u64) {
        self.0.step(Step {
            doing: "freezing",
            done,
            total: Some(total),
        });
    }
}

/// What a person should know about the sandbox they get.
fn warnings(
    (options, settings): (&SandboxOptions, &Wishes),
    network: &Network,
    base: &Prepared,
) -> Vec<String> {
    let mut warnings = base.notes.clone();
    if matches!(network, Network::Host) {
        warnings.push("the host's network can be reached".to_owned());
    }
    if !settings.held_back.is_empty() {
        warnings.push(format!(
            "the project's settings wait for `agar config approve`: {}",
            settings.held_back.join(", ")
        ));
    }
    if options.nested || settings.nested {
        warnings.push("user namespaces may be made inside".to_owned());
    }
    match options.tier.unwrap_or(settings.tier) {
        tier @ (Tier::Helper | Tier::Landlock | Tier::None) => {
            warnings.push(format!("weaker walls: tier {tier}"));
        }
        Tier::Full => {}
    }
    warnings
}

impl Draft {
    /// The id of the sandbox to be.
    pub(crate) fn id(&self) -> SandboxId {
        self.new.id
    }

    /// Lets go of what keeps the generation from being collected. The newest never is.
    pub(crate) fn let_go(&mut self) {
        drop(self.hold.take());
    }

    /// Whether a jail for the one could be a jail for the other: all that it is made of is the same.
    /// Both drafts are of the same id.
    pub(crate) fn has_jail_of(&self, other: &Self) -> bool {
        let (ours, theirs) = (&self.new, &other.new);
        let same_record = (ours.id, ours.project, ours.tier, ours.identity)
            == (theirs.id, theirs.project, theirs.tier, theirs.identity)
            && (ours.base, ours.generation) == (theirs.base, theirs.generation)
            && (&ours.network, &ours.limits) == (&theirs.network, &theirs.limits);
        let (ours, theirs) = (&self.blueprint, &other.blueprint);
        same_record
            && (&ours.root, &ours.stacks, &ours.copy)
                == (&theirs.root, &theirs.stacks, &theirs.copy)
            && (&ours.masks, &ours.old_ways) == (&theirs.masks, &theirs.old_ways)
            && (ours.nested, ours.monitor) == (theirs.nested, theirs.monitor)
    }

    /// Makes the directories, starts raising the jail of one run, and writes the records meanwhile, in
    /// this order: a record without directories would be a sandbox that cannot be looked at, and the
    /// keeper of one run ends with its client, whether there is a record or not. If anything fails,
    /// nothing is left.
    pub(crate) fn begin<T>(
        &self,
        engine: &Engine,
        here: &Here,
        expected: Expected,
        record: impl FnOnce(&Writer<'_>) -> Result<T, StoreError>,
    ) -> Result<(T, Raising), EngineError> {
        let directory = here.sandbox(self.id());
        let sandbox = (self.id(), &Walls::of_new(&self.new), &self.blueprint);
        let raised = layers::make(&directory, &self.blueprint)
            .and_then(|()| raise::begin(engine, here, sandbox, (Lifetime::OneRun, expected)));
        let begun = raised.and_then(|raising| match here.write(record) {
            Ok(recorded) => Ok((recorded, raising)),
            Err(error) => {
                raising.give_up();
                Err(error)
            }
        });
        if begun.is_err() {
            // Before the directory goes: it says where the control groups are.
            sweep::clear_outside(engine, here, self.id());
            here.throw_away(&directory)?;
        }
        begun
    }

    /// Records the sandbox, loud choices apart, with its jail about to stand.
    pub(crate) fn record(
        &self,
        engine: &Engine,
        store: &Writer<'_>,
    ) -> Result<Sandbox, StoreError> {
        let at = engine.now();
        let new = &self.new;
        let entropy = &*engine.surroundings().entropy;
        let mut record = store.create_sandbox(new, entropy, at)?;
        say_choices(store, new, &self.blueprint, at)?;
        record.state = store.advance_sandbox(new.id, agar_core::state::Event::Start, at)?;
        Ok(record)
    }
}

/// Says in the journal what weakens the walls of a new sandbox.
pub(crate) fn say_choices(
    store: &Writer<'_>,
    new: &NewSandbox,
    blueprint: &Blueprint,
    at: Timestamp,
) -> Result<(), StoreError> {
    let say = |fact: &Fact| store.append(new.project, Some(new.id), at, fact);
    if matches!(new.network, Network::Host) {
        say(&Fact::NetworkHost {
            abstract_sockets_open: agar_jail::landlock::version() < SCOPES_SOCKETS,
        })?;
    }
    if new.tier != Tier::Full {
        say(&Fact::TierWeaker { tier: new.tier })?;
    }
    if blueprint.nested {
        say(&Fact::SandboxNested {})?;
    }
    Ok(())
}

/// The version of Landlock that keeps a jail from the host's abstract sockets.
const SCOPES_SOCKETS: i32 = 6;
