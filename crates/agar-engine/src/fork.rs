//! Makes sandboxes that begin as a snapshot of another one.

use crate::alive::{Mark, Stay};
use crate::answer::SnapshotView;
use crate::blueprint::Blueprint;
use crate::create::COUNT_MAX;
use crate::here::Here;
use crate::snapshot::settled;
use crate::travel::{self, Wish};
use crate::turn::Turn;
use crate::{Engine, EngineError, SandboxView};
use crate::{draft, find, layers, view, whereabouts};
use agar_core::id::SandboxId;
use agar_core::snapshot::SnapshotKind;
use agar_core::state::{Event, State};
use agar_core::walls::BaseKind;
use agar_sandbox::snapshot::{self, Shelf};
use agar_sandbox::stack::{Role, Stack};
use agar_store::{NewSandbox, Sandbox, Snapshot};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Asks for forks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ForkRequest {
    /// `calm-fern@name`; without a name the sandbox as it is now.
    pub source: Option<String>,
    /// How many.
    pub count: u32,
    /// A name, for one fork.
    pub alias: Option<String>,
    /// A few words about them.
    pub note: Option<String>,
}

impl Default for ForkRequest {
    fn default() -> Self {
        Self {
            source: None,
            count: 1,
            alias: None,
            note: None,
        }
    }
}

/// The forks are there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ForkAnswer {
    /// The snapshot that they begin as.
    pub snapshot: SnapshotView,
    /// Each of them. Their jails are put up by their first commands.
    pub forks: Vec<SandboxView>,
}

/// Makes sandboxes that share every layer with a snapshot, and see nothing of each other.
pub fn fork(engine: &Engine, request: &ForkRequest) -> Result<ForkAnswer, EngineError> {
    if request.count == 0 || request.count > COUNT_MAX {
        return Err(EngineError::Invalid(format!(
            "from 1 to {COUNT_MAX} forks can be made at once"
        )));
    }
    if request.alias.is_some() && request.count > 1 {
        return Err(EngineError::Invalid(
            "a name can be given to one fork only".to_owned(),
        ));
    }
    let here = engine.here()?;
    let (sandbox, name) = travel::split(request.source.as_deref().unwrap_or_default());
    let parent = find::sandbox(here, sandbox)?;
    of_sandbox(engine, here, request, (&parent, name))
        .map_err(|error| find::unless_removed(here, &parent, error))
}

fn of_sandbox(
    engine: &Engine,
    here: &Here,
    request: &ForkRequest,
    (parent, name): (&Sandbox, Option<&str>),
) -> Result<ForkAnswer, EngineError> {
    let snapshot = match name {
        Some(_) => travel::find(here, parent, name)?,
        None => now(engine, here, parent)?,
    };
    loop {
        let parent = here.read(|store| store.sandbox(parent.id))?;
        let snapshot = here.read(|store| store.snapshot(snapshot.id))?;
        let forking = Forking {
            engine,
            here,
            request,
            blueprint: Blueprint::of(&parent)?,
            shelves: travel::shelves(&parent.alias, &snapshot)?,
            parent: &parent,
            snapshot: &snapshot,
        };
        // Its layers may be joined meanwhile, and then their parts may go.
        if let Some(forks) = forking.make_all()? {
            return Ok(ForkAnswer {
                snapshot: view::snapshot(&parent, &snapshot),
                forks,
            });
        }
    }
}

/// The sandbox as it is now: its last snapshot if nothing was written since, else a new one.
fn now(engine: &Engine, here: &Here, parent: &Sandbox) -> Result<Snapshot, EngineError> {
    let _turn = Turn::take(&here.sandbox(parent.id))?;
    let parent = settled(engine, here, parent)?;
    if let Some(snapshot) = travel::shown_by(here, &parent, &Blueprint::of(&parent)?)?
        && snapshot.sandbox == parent.id
    {
        return Ok(snapshot);
    }
    let wish = Wish {
        name: None,
        note: None,
        kind: SnapshotKind::BeforeFork,
    };
    Ok(travel::take(engine, here, &parent, &wish)?.snapshot)
}

struct Forking<'a> {
    engine: &'a Engine,
    here: &'a Here,
    request: &'a ForkRequest,
    parent: &'a Sandbox,
    blueprint: Blueprint,
    snapshot: &'a Snapshot,
    shelves: Vec<Shelf>,
}

impl Forking<'_> {
    /// Makes the directories of all, then records all in one transaction: with the snapshot still
    /// there, or not at all. Nothing if its layers are others by then.
    fn make_all(&self) -> Result<Option<Vec<SandboxView>>, EngineError> {
        let mut made: Vec<(Mark, NewSandbox, Blueprint)> = Vec::new();
        let outcome = (0..self.request.count)
            .try_for_each(|_| {
                let (id, blueprint) = self.draft();
                let mark = Mark::leave(self.here.state.path(), id, Stay::OneRun)
                    .map_err(EngineError::io("mark the sandbox as alive"))?;
                let new = self.new_sandbox(id, &blueprint)?;
                made.push((mark, new, blueprint));
                let Some((_, new, blueprint)) = made.last() else {
                    return Ok(());
                };
                self.make(&self.here.sandbox(new.id), blueprint)
            })
            .and_then(|()| self.record_all(&made));
        let views = match outcome {
            Ok(Some(records)) => {
                let views = records.iter().zip(&made);
                let views =
                    views.map(|(record, (_, _, parts))| view::sandbox_with(record, parts, 0));
                Ok(Some(views.collect()))
            }
            other => {
                for (_, new, _) in &made {
                    self.here.throw_away(&self.here.sandbox(new.id))?;
                }
                other.map(|_| None)
            }
        };
        for (mark, _, _) in made {
            mark.remove();
        }
        views
    }

    fn record_all(
        &self,
        made: &[(Mark, NewSandbox, Blueprint)],
    ) -> Result<Option<Vec<Sandbox>>, EngineError> {
        self.here.write(|store| {
            // Whoever gave the parent up looked for its forks after that was on record.
            if store.read().sandbox(self.parent.id)?.state == State::Collected {
                let alias = self.parent.alias.clone();
                return Ok(Err(EngineError::Removed { alias }));
            }
            // Whoever removed it meanwhile took its layers.
            if store.read().snapshot(self.snapshot.id)?.stacks != self.snapshot.stacks {
                return Ok(Ok(None));
            }
            let mut records = Vec::new();
            for (_, new, blueprint) in made {
                let entropy = &*self.engine.surroundings().entropy;
                let at = self.engine.now();
                store.create_sandbox(new, entropy, at)?;
                draft::say_choices(store, new, blueprint, at)?;
                store.advance_sandbox(new.id, Event::Finish, at)?;
                records.push(store.read().sandbox(new.id)?);
            }
            Ok(Ok(Some(records)))
        })?
    }

    fn draft(&self) -> (SandboxId, Blueprint) {
        let id = self.engine.new_sandbox_id();
        let directory = self.here.sandbox(id);
        let copied = self.blueprint.copy.is_some();
        let stacks: Vec<Stack> = self
            .shelves
            .iter()
            .enumerate()
            .map(|(tree, keep)| {
                let cloned = copied || !keep.role.can_be_kept();
                let skipped = usize::from(cloned);
                Stack {
                    role: keep.role,
                    target: keep.target.clone(),
                    upper: directory.join(format!("upper-{tree}")),
                    work: directory.join(format!("work-{tree}")),
                    kept: keep.kept.iter().skip(skipped).cloned().collect(),
                    lowers: keep.lowers.clone(),
                }
            })
            .collect();
        let mut blueprint = self.blueprint.clone();
        if let Some(copy) = &mut blueprint.copy {
            let project = stacks.iter().find(|stack| stack.role == Role::Project);
            if let Some(project) = project {
                copy.project.clone_from(&project.upper);
            }
            copy.temporary = directory.join("tmp");
        }
        blueprint.stacks = stacks;
        if (self.parent.base, self.snapshot.base) == (BaseKind::Live, BaseKind::Frozen) {
            blueprint.live_since = Some(self.parent.created);
        }
        (id, blueprint)
    }

    fn make(&self, directory: &Path, blueprint: &Blueprint) -> Result<(), EngineError> {
        let failed = || EngineError::io("make the sandbox's directory");
        for path in [directory.to_owned(), directory.join("runs")] {
            snapshot::make_private(&path).map_err(failed())?;
        }
        if let Some(copy) = &blueprint.copy {
            snapshot::make_private(&copy.temporary).map_err(failed())?;
        }
        for (stack, keep) in blueprint.stacks.iter().zip(&self.shelves) {
            let cloned = blueprint.copy.is_some() || !keep.role.can_be_kept();
            if let Some(layer) = keep.kept.first().filter(|_| cloned) {
                snapshot::clone_layer(layer, &stack.upper)?;
            } else {
                let laid = whereabouts::laid(self.here, blueprint, stack);
                layers::make_upper(&laid).map_err(failed())?;
            }
        }
        Ok(())
    }

    fn new_sandbox(&self, id: SandboxId, blueprint: &Blueprint) -> Result<NewSandbox, EngineError> {
        let parent = self.parent;
        Ok(NewSandbox {
            id,
            alias: self.request.alias.clone(),
            project: parent.project,
            tier: parent.tier,
            network: parent.network.clone(),
            base: self.snapshot.base,
            generation: self.snapshot.generation,
            stacks: blueprint.to_text()?,
            limits: parent.limits,
            identity: parent.identity,
            note: self.request.note.clone().or_else(|| parent.note.clone()),
            parent: Some(parent.id),
            origin: Some((self.snapshot.id, parent.depth + 1)),
        })
    }
}
