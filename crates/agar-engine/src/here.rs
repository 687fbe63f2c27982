//! Where the caller stands: the project, agar's state for it, and the store.

use crate::Engine;
use crate::failure::EngineError;
use crate::upkeep::Due;
use crate::whereabouts::{self, Directory};
use crate::{sweep, upkeep};
use agar_core::id::{ProjectId, SandboxId};
use agar_jail::client::{Keeper, TalkError};
use agar_sandbox::project::{self, MountTable, Project, StateDir};
use agar_sandbox::trash::Trash;
use agar_store::{OpenError, Place, Reader, Repository, Store, StoreError, Writer};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, StatxFlags};
use std::cell::{Ref, RefCell};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// The name of the variable that puts agar's state elsewhere.
const STATE_VARIABLE: &str = "AGAR_STATE";

/// The longest path a socket can have, with room for the zero byte.
const SOCKET_PATH_MAX: usize = 107;

/// The caller's project and the state that agar keeps for it.
#[derive(Debug)]
pub(crate) struct Here {
    pub(crate) state: StateDir,
    project: Option<Known>,
    around: project::Surroundings,
    store: RefCell<Store>,
}

/// A project that agar knows by name.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) id: ProjectId,
    pub(crate) found: Project,
    /// What its directory is.
    pub(crate) directory: Directory,
}

impl Here {
    /// Finds the project around the caller, opens agar's state for it, and clears away what a crash
    /// left behind. `placed` hears where the state lies before anything in it is read.
    pub(crate) fn open(
        engine: &Engine,
        placed: impl FnOnce(&StateDir),
    ) -> Result<Self, EngineError> {
        let around = around(engine)?;
        let cwd = &engine.surroundings().cwd;
        // Listing and removing work everywhere, also where no project can be.
        let found = project::discover(cwd, &around).ok();
        let state = match &found {
            Some(project) => StateDir::place(project, &around)?,
            None => StateDir::open(&preferred_state(engine, &around), around.uid)?,
        };
        placed(&state);
        let mut store = open_store(&state)?;
        let project = match found {
            Some(found) => {
                let place = place(&found);
                let record = store.project(&place, engine.new_project_id(), engine.now())?;
                Some(Known {
                    id: record.id,
                    found,
                    directory: Directory::from(&place),
                })
            }
            None => None,
        };
        let here = Self {
            state,
            project,
            around,
            store: RefCell::new(store),
        };
        sweep::sweep(engine, &here)?;
        upkeep::when_due(engine, &here);
        Ok(here)
    }

    /// The caller's project, or why there is none.
    pub(crate) fn project(&self, engine: &Engine) -> Result<&Known, EngineError> {
        match &self.project {
            Some(known) => Ok(known),
            None => Err(project::discover(&engine.surroundings().cwd, &self.around)
                .err()
                .map_or_else(
                    || EngineError::Invalid("the project appeared just now; try again".to_owned()),
                    EngineError::from,
                )),
        }
    }

    /// The caller's project, if there is one.
    pub(crate) fn known(&self) -> Option<&Known> {
        self.project.as_ref()
    }

    /// The id of the caller's project, if there is one.
    pub(crate) fn project_id(&self) -> Option<ProjectId> {
        self.project.as_ref().map(|known| known.id)
    }

    /// Reads the store.
    pub(crate) fn read<T>(
        &self,
        work: impl FnOnce(Reader<'_>) -> Result<T, StoreError>,
    ) -> Result<T, EngineError> {
        let store: Ref<'_, Store> = self.store.borrow();
        Ok(work(store.read())?)
    }

    /// The same for work that can fail in other ways.
    pub(crate) fn reading<T>(
        &self,
        work: impl FnOnce(Reader<'_>) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        work(self.store.borrow().read())
    }

    /// What the sandbox crate wants to know of the machine.
    pub(crate) fn around(&self) -> &project::Surroundings {
        &self.around
    }

    /// What upkeep is worth asking for; `freezes` if it would freeze the project for next time.
    pub(crate) fn due(&self, freezes: bool) -> Option<Due> {
        match (freezes, self.wants_upkeep()) {
            (true, _) => Some(Due::Everything),
            (false, true) => Some(Due::Log),
            (false, false) => None,
        }
    }

    /// Whether reading the store has become slow enough for upkeep.
    pub(crate) fn wants_upkeep(&self) -> bool {
        self.store.borrow().wants_tidying()
    }

    /// Changes the store in one transaction.
    pub(crate) fn write<T>(
        &self,
        work: impl FnOnce(&Writer<'_>) -> Result<T, StoreError>,
    ) -> Result<T, EngineError> {
        Ok(self.store.borrow_mut().write(work)?)
    }

    /// The same for work that may give up what it wrote for reasons of its own.
    pub(crate) fn write_or<T, E: From<StoreError>>(
        &self,
        work: impl FnOnce(&Writer<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.store.borrow_mut().write(work)
    }

    /// Folds the store's log into its file, for when nobody waits.
    pub(crate) fn tidy(&self) -> Result<(), EngineError> {
        Ok(self.store.borrow().tidy()?)
    }

    /// Sandboxes of a project whose records hold a text.
    pub(crate) fn sandboxes_saying(
        &self,
        project: ProjectId,
        text: &str,
    ) -> Result<Vec<SandboxId>, EngineError> {
        Ok(self.store.borrow().sandboxes_saying(project, text)?)
    }

    /// Takes the words of these sandboxes out of the records; whether the log could be emptied.
    pub(crate) fn scrub(
        &self,
        project: ProjectId,
        sandboxes: &[SandboxId],
        text: Option<&str>,
    ) -> Result<bool, EngineError> {
        Ok(self.store.borrow_mut().scrub(project, sandboxes, text)?)
    }

    /// The directory of a sandbox.
    pub(crate) fn sandbox(&self, id: SandboxId) -> PathBuf {
        self.state.sandbox(id)
    }

    /// Moves something of agar's out of the way, to be deleted when nobody waits.
    pub(crate) fn throw_away(&self, path: &Path) -> Result<(), EngineError> {
        Ok(Trash::new(&self.state).discard(path)?)
    }

    /// Where the keeper of a sandbox listens.
    pub(crate) fn socket(engine: &Engine, id: SandboxId) -> PathBuf {
        let name = format!("{id}.sock");
        let fallback = || fallback_runtime(engine.surroundings().uid);
        let preferred = engine
            .surroundings()
            .runtime_dir
            .as_ref()
            .filter(|path| is_own(path, engine.surroundings().uid))
            .map(|path| path.join("agar"))
            .filter(|path| path.as_os_str().len() + 1 + name.len() <= SOCKET_PATH_MAX);
        preferred.unwrap_or_else(fallback).join(name)
    }

    /// The keeper of a sandbox whose jail is up.
    pub(crate) fn keeper(&self, engine: &Engine, id: SandboxId) -> Result<Keeper, TalkError> {
        Keeper::connect(&Self::socket(engine, id), &self.sandbox(id))
    }

    /// Where the keeper of a sandbox will listen: nobody else may put a socket there.
    pub(crate) fn make_socket(engine: &Engine, id: SandboxId) -> Result<PathBuf, EngineError> {
        let socket = Self::socket(engine, id);
        let Some(directory) = socket.parent() else {
            return Ok(socket);
        };
        make_private(directory, engine.surroundings().uid).map_err(EngineError::io(format!(
            "make {} private for the sandbox's socket",
            directory.display()
        )))?;
        Ok(socket)
    }
}

/// Where sockets lie for somebody whose session gives them no place; `doctor` tries its sandboxes
/// beside them.
pub(crate) fn fallback_runtime(uid: u32) -> PathBuf {
    PathBuf::from(format!("/tmp/agar-{uid}"))
}

/// Makes a directory that only its owner can enter, or makes sure that it is one.
///
/// It may lie where everybody can write. One that somebody else made, or a link in its place, is
/// refused; so is one in which others could have put something.
pub(crate) fn make_private(directory: &Path, uid: u32) -> io::Result<()> {
    if is_private(directory, uid) {
        return Ok(());
    }
    let made = std::fs::DirBuilder::new().mode(0o700).create(directory);
    if made.is_ok() || is_private(directory, uid) {
        return Ok(());
    }
    if close_to_others(directory, uid)? {
        return Ok(());
    }
    Err(made
        .err()
        .unwrap_or_else(|| io::ErrorKind::PermissionDenied.into()))
}

/// Closes a directory of the owner's that others can look into but never could write. Whether it is
/// one.
fn close_to_others(directory: &Path, uid: u32) -> io::Result<bool> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
    let Ok(opened) = rustix::fs::open(directory, flags, Mode::empty()) else {
        return Ok(false);
    };
    let status = rustix::fs::fstat(&opened)?;
    if status.st_uid != uid || status.st_mode & 0o7022 != 0 {
        return Ok(false);
    }
    rustix::fs::fchmod(&opened, Mode::RWXU)?;
    Ok(true)
}

fn around(engine: &Engine) -> Result<project::Surroundings, EngineError> {
    let caller = engine.surroundings();
    let mounts = fs_err::read("/proc/self/mountinfo")
        .map_err(EngineError::io("read what is mounted on this machine"))?;
    Ok(project::Surroundings {
        home: Some(caller.home.clone()),
        state_home: Some(caller.state_home.clone()),
        state_named: caller.variable(STATE_VARIABLE).map(PathBuf::from),
        uid: caller.uid,
        mounts: MountTable::parse(&mounts),
    })
}

/// On a full disk a store that nobody else has open takes some room to be opened.
fn open_store(state: &StateDir) -> Result<Store, OpenError> {
    let mut opened = Store::open(&state.store());
    while opened.is_err() && state.lend_reserve() {
        opened = Store::open(&state.store());
    }
    opened
}

fn preferred_state(engine: &Engine, around: &project::Surroundings) -> PathBuf {
    around
        .state_named
        .clone()
        .unwrap_or_else(|| engine.surroundings().state_home.join("agar"))
}

/// How the store recognises a project.
fn place(project: &Project) -> Place {
    Place {
        path: project.root.clone(),
        device: project.device,
        inode: project.inode,
        born_ns: born(&project.root),
        repository: project.git.as_ref().and_then(|git| {
            let metadata = git.common_dir.metadata().ok()?;
            Some(Repository {
                common_dir: git.common_dir.clone(),
                device: metadata.dev(),
                inode: metadata.ino(),
                within: project
                    .root
                    .strip_prefix(&git.top)
                    .map(Path::to_owned)
                    .unwrap_or_default(),
            })
        }),
    }
}

fn born(path: &Path) -> Option<i64> {
    let status = rustix::fs::statx(CWD, path, AtFlags::empty(), StatxFlags::BTIME).ok()?;
    whereabouts::born(&status)
}

fn is_own(path: &Path, uid: u32) -> bool {
    path.symlink_metadata()
        .is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == uid)
}

fn is_private(path: &Path, uid: u32) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| {
        metadata.is_dir() && metadata.uid() == uid && metadata.mode() & 0o7777 == 0o700
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn mode(path: &Path) -> u32 {
        path.symlink_metadata().unwrap().mode() & 0o7777
    }

    #[test]
    fn a_place_for_sockets_is_private_whoever_made_it() {
        let base = tempfile::tempdir().unwrap();
        let uid = rustix::process::getuid().as_raw();
        let place = base.path().join("agar");
        make_private(&place, uid).unwrap();
        assert_eq!(mode(&place), 0o700);
        // Others could look, but never write: it is closed and used.
        fs_err::set_permissions(&place, std::fs::Permissions::from_mode(0o755)).unwrap();
        make_private(&place, uid).unwrap();
        assert_eq!(mode(&place), 0o700);
    }

    #[test]
    fn a_place_that_others_had_a_hand_in_is_refused_and_left_as_it_is() {
        let base = tempfile::tempdir().unwrap();
        let uid = rustix::process::getuid().as_raw();
        let open = base.path().join("open");
        fs_err::create_dir(&open).unwrap();
        fs_err::set_permissions(&open, std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(make_private(&open, uid).is_err());
        assert_eq!(mode(&open), 0o777);
        let private = base.path().join("private");
        make_private(&private, uid).unwrap();
        assert!(make_private(&private, uid + 1).is_err(), "somebody else's");
        let link = base.path().join("link");
        fs_err::os::unix::fs::symlink(&private, &link).unwrap();
        assert!(make_private(&link, uid).is_err(), "a link");
    }
}
