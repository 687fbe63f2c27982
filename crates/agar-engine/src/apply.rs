//! Carries a sandbox's changes into the real project.

mod left_out;
mod repository;

use crate::blueprint::Blueprint;
use crate::here::Here;
use crate::turn::Turn;
use crate::{Engine, EngineError, SandboxView};
use crate::{changes, experiment, find, promotion, raise, snapshot, view, whereabouts};
use agar_core::id::PromotionId;
use agar_sandbox::change::git::Repository as Inside;
use agar_sandbox::change::{Change, ChangeSet};
use agar_sandbox::git::{Committed, GitError};
use agar_sandbox::promote::{self, Item, Label, Proposal, Standing};
use agar_store::{Fact, Sandbox};
use repository::Repository;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Whose version wins where both sides changed the same lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The project's, as it is now.
    Mine,
    /// The sandbox's.
    Theirs,
    /// Both, with conflict markers around them.
    Markers,
}

/// Where the changes go.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "to")]
pub enum Destination {
    /// The work tree.
    #[default]
    WorkTree,
    /// The work tree, and a git commit of exactly these changes.
    Commit {
        /// Its message; one is made from the command if left out.
        message: Option<String>,
    },
    /// A git branch, without touching the work tree.
    Branch {
        /// Its name.
        name: String,
        /// The commit's message.
        message: Option<String>,
    },
}

/// Asks for changes to be applied.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ApplyRequest {
    /// Its alias, id or a unique beginning; may be left out when there is only one.
    pub sandbox: Option<String>,
    /// Only these paths and what is below them, relative to the project; everything if empty.
    pub paths: Vec<String>,
    /// Paths outside the project, and masked ones, that were named.
    pub outside: Vec<String>,
    /// Whose version wins in every conflict that `choices` does not name.
    pub side: Option<Side>,
    /// Whose version wins, by path.
    pub choices: BTreeMap<String, Side>,
    /// Only these hunks of these paths, by their numbers in the plan. Other paths are whole.
    pub hunks: BTreeMap<String, Vec<usize>>,
    /// The plan that the numbers of hunks were read from, as a dry run named it. If it is not what
    /// would be done now, nothing is.
    pub plan: Option<String>,
    /// Where the changes go.
    pub destination: Destination,
    /// Say what would happen, write nothing.
    pub dry_run: bool,
    /// End what runs in the sandbox first.
    pub stop: bool,
    /// What the person thinks of it, for memory.
    pub feedback: Option<String>,
}

/// What happens to one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Merge {
    /// Only the sandbox changed it.
    Clean,
    /// Both changed it, in different places.
    Merged,
    /// Both made it the same.
    Same,
    /// Both changed the same lines, and somebody chose.
    Chosen,
    /// Both changed the same lines, and nobody chose.
    Conflict,
    /// It was left out.
    Skipped,
}

/// One part of a file's change, for a choice by hunk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HunkView {
    /// Its number within the file, from 1.
    pub number: usize,
    /// Whether the person changed the same lines.
    #[serde(default)]
    pub conflict: bool,
    /// Its text, as in a unified diff.
    pub text: String,
}

/// One path of an application.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppliedFile {
    /// The path, relative to the project.
    pub path: String,
    /// What happens to it.
    pub merge: Merge,
    /// Why, in words for a person: `you and the sandbox both changed lines 40-52`.
    pub reason: Option<String>,
    /// Its hunks, in a dry run.
    pub hunks: Vec<HunkView>,
}

/// What was applied, or would be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApplyAnswer {
    /// The sandbox.
    pub sandbox: SandboxView,
    /// Whether anything was written.
    pub applied: bool,
    /// The promotion, to undo it by name.
    pub promotion: Option<PromotionId>,
    /// What the plan goes by, in a dry run: it changes with the sandbox, the base and the project.
    #[serde(default)]
    pub plan: Option<String>,
    /// Every path.
    pub files: Vec<AppliedFile>,
    /// The commit that was made.
    pub commit: Option<String>,
    /// References that carry the commits made inside.
    pub references: Vec<String>,
    /// Things a person should know.
    pub notes: Vec<String>,
}

impl ApplyAnswer {
    /// The paths that nobody chose a side for.
    pub fn conflicts(&self) -> impl Iterator<Item = &AppliedFile> {
        self.files
            .iter()
            .filter(|file| file.merge == Merge::Conflict)
    }
}

/// Merges the sandbox's changes into the project, or says which conflicts stand in the way.
///
/// With conflicts nothing is written and `applied` is false: that is an answer, not an error.
pub fn apply(engine: &Engine, request: &ApplyRequest) -> Result<ApplyAnswer, EngineError> {
    let here = engine.here()?;
    let record = find::sandbox(here, request.sandbox.as_deref())?;
    let _span = tracing::debug_span!("apply", sandbox = %record.id).entered();
    // Before anything is ended: where the changes would go may not be the project any more.
    let blueprint = changes::kept(&record, "apply")?;
    let root = whereabouts::root_to_write(here, &blueprint, "apply")?;
    let _turn = Turn::take(&here.sandbox(record.id))?;
    let record = at_rest(engine, here, &record, request)?;
    let blueprint = whereabouts::seen_at(changes::kept(&record, "apply")?, &root);
    let _project = if request.dry_run {
        None
    } else {
        Some(promotion::begin(
            engine,
            here,
            record.project,
            &blueprint.root,
        )?)
    };
    let set = changes::whole(engine, &blueprint)?;
    let mut wanted = Wanted {
        engine,
        here,
        record: &record,
        blueprint: &blueprint,
        request,
        answer: ApplyAnswer {
            sandbox: view::sandbox(here, &record)?,
            applied: false,
            promotion: None,
            plan: None,
            files: Vec::new(),
            commit: None,
            references: Vec::new(),
            notes: promotion::where_else(here, &root),
        },
        left_out: 0,
        outstanding: 0,
        made: Vec::new(),
        on_record: None,
    };
    wanted.carry(&set)?;
    let mut answer = wanted.answer;
    let record = here.read(|store| store.sandbox(record.id))?;
    answer.sandbox = view::sandbox(here, &record)?;
    if answer.applied {
        let decision = (true, request.feedback.as_deref());
        if let Err(error) = experiment::decided(engine, here, &record, decision) {
            answer.notes.push(format!("memory was not told: {error}"));
        }
    }
    Ok(answer)
}

/// The sandbox with nothing moving in it: changes are applied as they were looked at. The caller has the
/// turn; what was read before may be of another state.
fn at_rest(
    engine: &Engine,
    here: &Here,
    record: &Sandbox,
    request: &ApplyRequest,
) -> Result<Sandbox, EngineError> {
    let record = snapshot::settled(engine, here, record)?;
    if !record.state.is_alive() || request.dry_run {
        Ok(record)
    } else if request.stop {
        raise::down_in_turn(engine, here, &record)
    } else {
        raise::down_if_idle(engine, here, (&record, "apply"))
    }
}

/// An application under way.
struct Wanted<'a> {
    engine: &'a Engine,
    here: &'a Here,
    record: &'a Sandbox,
    blueprint: &'a Blueprint,
    request: &'a ApplyRequest,
    answer: ApplyAnswer,
    /// How many changes this leaves where they are.
    left_out: u64,
    /// How many it has not carried yet. On record they count as left out, until it has: it may fail, or be
    /// killed, before.
    outstanding: u64,
    /// What it wrote.
    made: Vec<(PromotionId, PathBuf)>,
    /// How many the last promotion that it wrote says were left out.
    on_record: Option<u64>,
}

impl Wanted<'_> {
    fn carry(&mut self, set: &ChangeSet) -> Result<(), EngineError> {
        let request = self.request;
        let selection = promotion::selection(
            &request.paths,
            request.side,
            &request.choices,
            &request.hunks,
        );
        let moved = crate::drift::Drift::of(self.record, self.blueprint);
        let items = promote::items(&set.project, &|path| moved.has(path));
        self.same_plan(&items)?;
        let proposal = Proposal::prepare(&self.blueprint.root, items.clone(), &selection)?;
        self.answer.files = promotion::files(&proposal, request.dry_run)?;
        let outside = self.outside(set)?;
        // One anywhere, and nothing is written anywhere.
        let planned = std::iter::once(&proposal).chain(&outside);
        let conflicts = planned.map(|it| it.conflicts().count()).sum();
        if request.dry_run {
            return Ok(());
        }
        if conflicts > 0 {
            return self.refuse(conflicts);
        }
        self.left_out = left_out::count(request, set, (&proposal, outside.as_ref()));
        let rest = left_out::carried(outside.as_ref());
        let is_commit = matches!(request.destination, Destination::Commit { .. });
        let repositories = left_out::repositories(set).count() as u64;
        self.outstanding = rest + u64::from(is_commit) + repositories;
        let root = &self.blueprint.root;
        match &request.destination {
            Destination::WorkTree => self.write(&proposal, root)?,
            Destination::Commit { message } => {
                let repository = Repository::of(self.engine, self.here, root)?;
                self.write(&proposal, root)?;
                let message = self.message(message.as_deref());
                let made = repository.commit(&self.written()?, &message);
                self.committed(made)?;
                self.outstanding -= 1;
            }
            Destination::Branch { name, message } => {
                let repository = Repository::of(self.engine, self.here, root)?;
                let message = self.message(message.as_deref());
                let made = repository.branch(name, &items, &message, &selection)?;
                self.answer.applied = true;
                // What is not in the branch is nowhere.
                self.left_out += made.left_out.len() as u64;
                self.committed(Ok(made))?;
            }
        }
        if let Some(outside) = outside {
            self.outstanding -= rest;
            self.write(&outside, Path::new("/"))?;
        }
        self.carry_commits(set);
        if self.on_record == Some(self.left_out) {
            return Ok(());
        }
        self.conclude()
    }

    /// Refuses to go by numbers that were read from another plan.
    fn same_plan(&mut self, items: &[Item]) -> Result<(), EngineError> {
        let request = self.request;
        if request.plan.is_none() && !request.dry_run {
            return Ok(());
        }
        let plan = promote::fingerprint(&self.blueprint.root, items)?.to_string();
        if request.plan.as_ref().is_some_and(|known| *known != plan) {
            return Err(EngineError::Replanned {
                alias: self.record.alias.clone(),
            });
        }
        self.answer.plan = request.dry_run.then_some(plan);
        Ok(())
    }

    /// The changes outside the project that were named, each by its own name.
    fn outside(&mut self, set: &ChangeSet) -> Result<Option<Proposal>, EngineError> {
        if self.request.outside.is_empty() {
            return Ok(None);
        }
        let named: Vec<String> = self
            .request
            .outside
            .iter()
            .map(|path| path.trim_start_matches('/').to_owned())
            .collect();
        let changes: Vec<Change> = set
            .outside
            .iter()
            .map(|change| {
                let mut change = change.clone();
                change.path = relative(&change.path);
                change
            })
            .collect();
        let selection = promotion::selection(
            &named,
            self.request.side,
            &self.request.choices,
            &BTreeMap::new(),
        );
        // What is outside is always live: nobody froze it.
        let created = self.record.created;
        let moved = |path: &Path| crate::drift::is_newer(&Path::new("/").join(path), created);
        let items = promote::items(&changes, &moved);
        let proposal = Proposal::prepare(Path::new("/"), items, &selection)?;
        let mut files = promotion::files(&proposal, self.request.dry_run)?;
        files.retain(|file| file.merge != Merge::Skipped);
        for file in &mut files {
            file.path.insert(0, '/');
        }
        self.answer.files.extend(files);
        Ok(Some(proposal))
    }

    /// Says in the journal why nothing was written.
    fn refuse(&mut self, conflicts: usize) -> Result<(), EngineError> {
        let reason = format!("{conflicts} paths in conflict");
        let fact = Fact::PromotionRefused {
            promotion: None,
            reason,
        };
        self.here.write(|store| {
            let at = self.engine.now();
            store.append(self.record.project, Some(self.record.id), at, &fact)?;
            Ok(())
        })
    }

    /// Writes a proposal, journalled on both sides.
    fn write(&mut self, proposal: &Proposal, root: &Path) -> Result<(), EngineError> {
        let (engine, here) = (self.engine, self.here);
        self.answer.applied = true;
        if proposal.is_empty() {
            // Nothing to write, so nothing to take back.
            return Ok(());
        }
        let label = Label {
            id: engine.new_promotion_id(),
            at: engine.now(),
            title: self.record.alias.clone(),
        };
        let summary = self.summary(root);
        here.write(|store| {
            store.start_promotion(label.id, self.record.id, &summary, engine.now())
        })?;
        let promotions = promotion::of_project(here, self.record.project);
        let applied = match promotions.apply(proposal, &label) {
            Ok(applied) => applied,
            Err(error) => {
                // What is still open is on record once it is settled.
                if matches!(promotions.standing(label.id), Ok(Standing::Nothing)) {
                    let reason = error.to_string();
                    here.write(|store| store.promotion_refused(label.id, &reason, engine.now()))?;
                }
                return Err(error.into());
            }
        };
        here.write(|store| {
            store.promotion_applied(label.id, &summary, engine.now())?;
            promotion::promote_sandbox(engine, store, self.record.id)
        })?;
        self.made.push((label.id, root.to_owned()));
        self.on_record = Some(self.left_out + self.outstanding);
        match (self.answer.promotion, applied.promotion) {
            (None, made) => self.answer.promotion = made,
            (Some(_), Some(second)) => self.answer.notes.push(format!(
                "the paths outside the project are promotion {}",
                promotion::short(second)
            )),
            (Some(_), None) => {}
        }
        Ok(())
    }

    /// What was written to the project, with every choice and every picked hunk as it came out.
    fn written(&self) -> Result<Vec<Item>, EngineError> {
        let promotions = promotion::of_project(self.here, self.record.project);
        match self.answer.promotion {
            Some(id) => Ok(promotions.changes(id)?),
            None => Ok(Vec::new()),
        }
    }

    /// What a commit says, unless somebody said it better: the command that made the change.
    fn message(&self, given: Option<&str>) -> String {
        if let Some(given) = given {
            return given.to_owned();
        }
        let last = self.here.read(|store| store.latest_run(self.record.id));
        let command = last.ok().flatten().map_or_else(
            || self.record.alias.clone(),
            |run| view::command_line(&run.argv),
        );
        format!(
            "{command}\n\nTried in agar sandbox {}.\n",
            self.record.alias
        )
    }

    /// Tells about a commit. One that failed does not undo what was written.
    fn committed(&mut self, made: Result<Committed, GitError>) -> Result<(), EngineError> {
        let made = match made {
            Ok(made) => made,
            Err(error @ GitError::Nothing) => {
                self.answer.notes.push(error.to_string());
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        self.answer.commit = Some(made.id);
        self.answer.notes.push("git hooks were not run".to_owned());
        let left_out = made
            .left_out
            .iter()
            .map(|(path, why)| format!("{} is not in the commit: {why}", view::shown(path)));
        self.answer.notes.extend(left_out);
        Ok(())
    }

    /// Brings commits made inside over, under references of their own. What was written stays written
    /// if that fails.
    fn carry_commits(&mut self, set: &ChangeSet) {
        for inside in left_out::repositories(set) {
            self.outstanding -= 1;
            match self.carry_from(inside) {
                Ok(carried) => self.answer.references.extend(carried),
                Err(error) => {
                    self.left_out += 1;
                    self.answer.notes.push(error.to_string());
                }
            }
        }
    }

    fn carry_from(&self, inside: &Inside) -> Result<Vec<String>, EngineError> {
        let repository = Repository::of(self.engine, self.here, &self.blueprint.root)?;
        Ok(repository.carry(inside, &self.record.alias)?)
    }
}

/// An absolute path as one below the root.
fn relative(path: &Path) -> PathBuf {
    path.strip_prefix("/").unwrap_or(path).to_owned()
}
