//! The directories of a sandbox: made, looked at, thrown away.

use crate::blueprint::{Blueprint, Copy};
use crate::failure::EngineError;
use crate::here::{Here, Known};
use crate::{Engine, travel};
use agar_core::id::SandboxId;
use agar_core::state::Event;
use agar_core::walls::Tier;
use agar_sandbox::base::{PrepareError, Prepared};
use agar_sandbox::change::{Change, ChangeSet, Copied, Options};
use agar_sandbox::copy::Fidelity;
use agar_sandbox::snapshot;
pub(crate) use agar_sandbox::snapshot::make_private;
use agar_sandbox::stack::{Role, Stack};
use agar_sandbox::trash::TrashError;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The copy-on-write trees of a new sandbox, as data.
///
/// `masks` are not made writable one by one: what is hidden stays hidden.
pub(crate) fn stacks(
    engine: &Engine,
    known: &Known,
    (base, tier): (&Prepared, Tier),
    (directory, masks): (&Path, &[PathBuf]),
) -> Vec<Stack> {
    let root = &known.found.root;
    let mut targets = vec![(Role::Project, root.clone(), base.lowers.clone())];
    for bulk in &base.bulk {
        let target = root.join(&bulk.path);
        targets.push((Role::Bulk, target.clone(), vec![target]));
    }
    if tier != Tier::Full {
        // Without layers only the project is copied; the rest of the machine cannot be written.
    } else if engine.surroundings().uid == 0 {
        targets.push((Role::Root, PathBuf::from("/"), vec![PathBuf::from("/")]));
    } else if let Some(home) = home(engine) {
        let parts = writable_parts(home, root, masks);
        let parts = parts.into_iter().take(HOME_PARTS_MAX);
        targets.extend(parts.map(|part| (Role::Home, part.clone(), vec![part])));
    }
    targets
        .into_iter()
        .enumerate()
        .map(|(index, (role, target, lowers))| {
            // Side by side: each directory costs an inode and a fraction of a millisecond.
            Stack {
                role,
                target,
                upper: directory.join(format!("upper-{index}")),
                work: directory.join(format!("work-{index}")),
                kept: Vec::new(),
                lowers,
            }
        })
        .collect()
}

/// How many copy-on-write trees a home may become that has mounts below it. The rest of it is
/// read-only.
const HOME_PARTS_MAX: usize = 128;

/// The home, or what takes its place where something is mounted below it: no overlay can be laid over
/// that, so its largest parts without mounts get one each, and files right beside a mount's parents
/// are read-only.
fn writable_parts(home: PathBuf, project: &Path, masks: &[PathBuf]) -> Vec<PathBuf> {
    let parts = agar_jail::machine::parts_around_mounts(&home);
    // Where the mounts cannot be read, the plan that is made next says so.
    let Ok(Some(mut parts)) = parts else {
        return vec![home];
    };
    let hidden = |part: &Path| masks.iter().any(|mask| part.starts_with(mask));
    let writable = |part: &Path| rustix::fs::access(part, rustix::fs::Access::WRITE_OK).is_ok();
    parts.retain(|part| !part.starts_with(project) && !hidden(part) && writable(part));
    parts
}

/// What a person should know about a home that could not be made copy-on-write as a whole.
pub(crate) fn about_home(engine: &Engine, stacks: &[Stack]) -> Option<String> {
    let home = home(engine)?;
    let parts = stacks.iter().filter(|stack| stack.role == Role::Home);
    let parts: Vec<&Stack> = parts.filter(|stack| stack.target != home).collect();
    let home = home.display();
    match parts.len() {
        0 => None,
        HOME_PARTS_MAX => Some(format!(
            "something is mounted below {home}: only {HOME_PARTS_MAX} directories of it can be written inside"
        )),
        _ => Some(format!(
            "something is mounted below {home}: what lies right in it is read-only inside"
        )),
    }
}

/// Where the copies of a tier without layers lie.
pub(crate) fn copy(tier: Tier, stacks: &[Stack], directory: &Path) -> Option<Copy> {
    let in_place = match tier {
        Tier::Full => return None,
        Tier::Helper => true,
        Tier::Landlock | Tier::None => false,
    };
    let project = stacks.iter().find(|stack| stack.role == Role::Project)?;
    Some(Copy {
        project: project.upper.clone(),
        temporary: directory.join("tmp"),
        in_place,
    })
}

/// Copies the project where there are no layers, as an upper layer that hides everything below it.
fn fill(copy: &Copy, root: &Path) -> Result<(), EngineError> {
    agar_sandbox::copy::tree(root, &copy.project, Fidelity::Project).map_err(PrepareError::from)?;
    mark_whole(copy)?;
    Copied::note(&copy.project, &copy.note()).map_err(EngineError::io(
        "write down what the copy of the project is",
    ))
}

/// Marks a copy of the project as hiding everything below it.
pub(crate) fn mark_whole(copy: &Copy) -> Result<(), EngineError> {
    snapshot::mark_opaque(&copy.project).map_err(EngineError::io("mark the copy of the project"))
}

/// The caller's home as the kernel knows it, if it is a directory of its own.
pub(crate) fn home(engine: &Engine) -> Option<PathBuf> {
    let home = engine.surroundings().home.canonicalize().ok()?;
    (home.is_dir() && home != Path::new("/")).then_some(home)
}

/// Makes the directories of a new sandbox.
pub(crate) fn make(directory: &Path, blueprint: &Blueprint) -> Result<(), EngineError> {
    make_bare(directory, blueprint)?;
    match &blueprint.copy {
        Some(copy) => fill(copy, &blueprint.root),
        None => Ok(()),
    }
}

/// Makes the directories of a new sandbox, with nothing in them.
pub(crate) fn make_bare(directory: &Path, blueprint: &Blueprint) -> Result<(), EngineError> {
    let stacks = &blueprint.stacks;
    make_private(directory)
        .and_then(|()| make_private(&directory.join("runs")))
        .map_err(EngineError::io("make the sandbox's directory"))?;
    for stack in stacks {
        let doing = || {
            let target = stack.target.display();
            EngineError::io(format!("make a layer for the changes to {target}"))
        };
        make_private(&stack.work).map_err(doing())?;
        make_upper(stack).map_err(doing())?;
    }
    match &blueprint.copy {
        Some(copy) => make_private(&copy.temporary)
            .map_err(EngineError::io("make a place for temporary files")),
        None => Ok(()),
    }
}

/// Makes an upper layer whose own owner, mode and time are those of what it covers. A frozen base is
/// a copy of what it was made from, down to the root's mode and time.
pub(crate) fn make_upper(stack: &Stack) -> io::Result<()> {
    let model = snapshot::model(&stack.kept, &stack.lowers).unwrap_or(&stack.target);
    snapshot::make_upper(&stack.upper, model)
}

/// Puts a fresh work directory under every stack: the kernel refuses one that was used before.
pub(crate) fn renew_work(here: &Here, stacks: &[Stack]) -> Result<(), EngineError> {
    for stack in stacks {
        here.throw_away(&stack.work)?;
        make_private(&stack.work)
            .map_err(EngineError::io("make a work directory for the sandbox"))?;
    }
    Ok(())
}

/// Whether the project changed inside, at the cost of a directory read where nothing was written.
///
/// What cannot be told counts as a change: this decides what is kept.
pub(crate) fn has_changes(blueprint: &Blueprint) -> bool {
    differs(blueprint, |role| role == Role::Project)
}

/// The same of everything that a person is shown as changed, outside the project, too.
pub(crate) fn has_changes_anywhere(blueprint: &Blueprint) -> bool {
    differs(blueprint, |role| role != Role::Bulk)
}

fn differs(blueprint: &Blueprint, counts: fn(Role) -> bool) -> bool {
    let written = written(blueprint, counts);
    if written.is_empty() {
        return false;
    }
    change_set(blueprint, &written).is_none_or(|set| {
        let told = set.repositories.iter();
        let mut told = told.filter(|it| it.deleted || it.holds_work());
        !set.unread.is_empty()
            || set.project.iter().chain(&set.outside).any(is_work)
            || told.next().is_some()
    })
}

/// Whether a change counts. What a sandbox could not see is somebody else's outside the project.
pub(crate) fn is_work(change: &Change) -> bool {
    !change.role.is_outside() || !change.masked
}

/// The trees of these roles that something was written to.
pub(crate) fn written(blueprint: &Blueprint, counts: fn(Role) -> bool) -> Vec<Stack> {
    blueprint
        .stacks
        .iter()
        .filter(|stack| counts(stack.role))
        .filter(|stack| !stack.kept.is_empty() || !is_empty(&stack.upper))
        .cloned()
        .collect()
}

/// What changed in some trees of a sandbox, path by path; nothing if that cannot be told.
pub(crate) fn change_set(blueprint: &Blueprint, stacks: &[Stack]) -> Option<ChangeSet> {
    let masked = |path: &Path| blueprint.masks.iter().any(|mask| path == mask);
    let copied = blueprint.copied();
    let options = Options {
        masked: Some(&masked),
        copied: copied.as_ref(),
        renames: false,
        lines: false,
        ..Options::default()
    };
    ChangeSet::compute(stacks, &options).ok()
}

pub(crate) fn is_empty(directory: &Path) -> bool {
    match directory.read_dir() {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// Gives up a finished sandbox for good: nothing in it is worth keeping.
pub(crate) fn collect(engine: &Engine, here: &Here, id: SandboxId) -> Result<(), EngineError> {
    refuse_foreign(&here.sandbox(id))?;
    here.write(|store| {
        let state = store.read().sandbox(id)?.state;
        if state == agar_core::state::State::Finished {
            store.advance_sandbox(id, Event::Discard, engine.now())?;
        }
        store.advance_sandbox(id, Event::Collect, engine.now())
    })?;
    travel::dispose(engine, here, id)
}

/// Refuses to throw away what lies where a sandbox was and is not one: a repository that somebody
/// put there, a link to one.
pub(crate) fn refuse_foreign(directory: &Path) -> Result<(), EngineError> {
    const OURS: [&str; 4] = ["lock", "turn", "runs", "upper-0"];
    let foreign = |reason| {
        Err(EngineError::Trash(TrashError::NotOurs {
            path: directory.to_owned(),
            reason,
        }))
    };
    let Ok(found) = directory.symlink_metadata() else {
        return Ok(());
    };
    if !found.is_dir() {
        return foreign("it is not the directory that agar made");
    }
    let has = |name: &&str| directory.join(name).symlink_metadata().is_ok();
    // Looked for by name first: to read a directory costs more the more snapshots lie in it.
    if has(&".git") || (!OURS.iter().any(has) && !is_empty(directory)) {
        return foreign("it holds what agar did not put there");
    }
    Ok(())
}

/// The bytes that a directory occupies, entered without following anything.
pub(crate) fn disk_bytes(directory: &Path) -> u64 {
    let Ok(entries) = directory.read_dir() else {
        return 0;
    };
    let mut bytes = 0;
    for entry in entries.flatten() {
        let Ok(metadata) = entry.path().symlink_metadata() else {
            continue;
        };
        bytes += metadata.blocks() * 512;
        if metadata.is_dir() {
            bytes += disk_bytes(&entry.path());
        }
    }
    bytes
}
