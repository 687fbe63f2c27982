//! Raising a jail: the steps of a plan, in order. `docs/JAIL.md` walks the same list.
//!
//! Runs in a process that has one thread, after `clone3` put it into new namespaces and before
//! anything of the user's runs in them.

use crate::held::Held;
use crate::mount::{self, During, Failed, Layers};
use crate::place::{Links, Place};
use crate::plan::{Plan, Root, Step};
use crate::syscall;
use crate::wire::Raw;
use agar_core::walls::Network;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{CWD, FileType, Mode, OFlags, mkdirat, openat};
use rustix::io::Errno;
use rustix::mount::{MountAttrFlags, UnmountFlags};
use std::path::{Path, PathBuf};

mod fresh;

use fresh::Fresh;

/// Where layers of whiteouts are made: a filesystem in memory of the jail's own, since a mask
/// stored below the directory that it masks is refused by the kernel.
const MASK_SPACE: &str = "mask";
/// What they may hold.
const MASK_BYTES: u64 = 4 << 20;

/// The layer that hides nothing, shared by all overlays that need a second one.
const EMPTY: &str = "empty";

/// As root, before the user namespace: what only the machine's root may mount.
pub(crate) fn before(plan: &Plan) -> Result<(), Failed> {
    if plan.before.is_empty() {
        return Ok(());
    }
    syscall::unshare_mounts().during(|| "get a mount namespace".into())?;
    mount::make_private()?;
    let mut spaces = Spaces {
        fresh: Fresh::new(plan),
        masks: Masks::new(plan),
    };
    // Those inside count on it.
    spaces.fresh.stand()?;
    for step in &plan.before {
        raise(plan, step, &mut spaces)?;
    }
    Ok(())
}

/// The filesystems in memory that a tree is put together with.
struct Spaces {
    fresh: Fresh,
    masks: Masks,
}

/// A tree that is being put together.
pub(crate) struct Tree {
    root: OwnedFd,
    spaces: Spaces,
    /// How many steps are done.
    done: usize,
}

impl Tree {
    /// Inside the new namespaces: the root, and the steps of a plan. Nothing where the plan has no
    /// mounts.
    pub(crate) fn begin(plan: &Plan) -> Result<Option<Self>, Failed> {
        if matches!(plan.root, Root::Host | Root::Helper) {
            return Ok(None);
        }
        mount::make_private()?;
        let staging = plan.policy.staging.as_path();
        let root = match plan.root {
            Root::ReadOnly => {
                let tree = mount::clone_tree(Path::new("/"))?;
                mount::read_only(tree.as_fd())?;
                tree
            }
            // Cloned again, since what came from outside is locked in its place.
            Root::Staged | Root::Host | Root::Helper => mount::clone_tree(staging)?,
        };
        let spaces = Spaces {
            fresh: Fresh::inside(plan),
            masks: Masks::new(plan),
        };
        mount::attach(root.as_fd(), &Place::at(staging)?)?;
        if plan.policy.network == Network::None {
            loopback_up()?;
        }
        let mut tree = Self {
            root,
            spaces,
            done: 0,
        };
        tree.take_steps(plan)?;
        Ok(Some(tree))
    }

    /// The steps of the plan that are not done, and the move into the tree.
    ///
    /// Gives what it takes to lay layers anew later, when no path of the host leads anywhere any more.
    pub(crate) fn finish(mut self, plan: &Plan) -> Result<Held, Failed> {
        self.take_steps(plan)?;
        let held = Held::take(plan, self.spaces.masks);
        enter(&self.root)?;
        Ok(held)
    }

    fn take_steps(&mut self, plan: &Plan) -> Result<(), Failed> {
        for step in plan.steps.iter().skip(self.done) {
            raise(plan, step, &mut self.spaces)?;
        }
        self.done = plan.steps.len();
        Ok(())
    }
}

/// Makes the new tree the root, and lets go of the old one.
fn enter(root: &OwnedFd) -> Result<(), Failed> {
    rustix::process::fchdir(root).during(|| "enter the new root".into())?;
    rustix::process::pivot_root(".", ".").during(|| "make the new tree the root".into())?;
    rustix::mount::unmount(".", UnmountFlags::DETACH).during(|| "let go of the old root".into())?;
    rustix::process::chdir("/").during(|| "stand in the new root".into())
}

fn raise(plan: &Plan, step: &Step, spaces: &mut Spaces) -> Result<(), Failed> {
    // Each time anew, since the step before may have covered it.
    let tree = Place::at(plan.policy.staging.as_path())?;
    let Spaces { fresh, masks } = spaces;
    match step {
        Step::Overlay {
            target,
            upper,
            lowers,
            masks: hidden,
        } => {
            let mask = masks.layer(target, hidden, upper.is_none())?;
            let mask = mask.as_deref();
            // Where layers merge, the topmost one's owner and mode show: a mask that hides nothing
            // is there only because an overlay takes two layers, and goes below.
            let (above, below) = if hidden.is_empty() {
                (None, mask)
            } else {
                (mask, None)
            };
            let lowers = above
                .into_iter()
                .chain(lowers.iter().map(Raw::as_path))
                .chain(below);
            let upper = upper.as_ref().map(|(upper, work)| (upper, work));
            let layers = Layers {
                upper,
                lowers: lowers.collect(),
            };
            let target = target.as_path();
            // A project that was moved stays where it was inside, and nothing may be left there to
            // mount on. What is made for it lies in the layer of another tree.
            let place = match layers.upper {
                Some(_) => tree.make(target)?,
                None => tree.find(target, Links::Within)?,
            };
            mount::overlay(&layers, &place, plan.layers)
        }
        Step::Tree { target } => {
            let clone = mount::clone_tree(target.as_path())?;
            mount::read_only(clone.as_fd())?;
            let place = tree.find(target.as_path(), Links::Within)?;
            mount::attach(clone.as_fd(), &place)
        }
        Step::Directory { target } => tree.make(target.as_path()).map(drop),
        Step::Fresh { target, mode } => {
            fresh.lay(&tree.find(target.as_path(), Links::Within)?, *mode)
        }
        Step::Proc => proc(&tree),
        Step::Devices => devices(&tree, fresh),
        Step::EmptySys => fresh.lay_nothing(&tree.find(Path::new("/sys"), Links::Within)?),
        Step::ForbidNamespaces => forbid_namespaces(&tree),
        Step::ReadOnly { target } => match tree.seek(target.as_path(), Links::Within)? {
            Some(place) => mount::bind(&place, &place),
            None => Ok(()),
        },
        Step::Hide { target } => hide(&tree, target.as_path(), fresh),
        Step::CopyFile { target } => copy_file(&tree, target.as_path()),
    }
}

fn proc(tree: &Place) -> Result<(), Failed> {
    let flags = MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    let proc = mount::fresh("proc", &[], flags)?;
    mount::attach(proc.as_fd(), &tree.find(Path::new("/proc"), Links::Within)?)
}

/// A `/dev` with what programs need and nothing that reaches a device.
fn devices(tree: &Place, fresh: &mut Fresh) -> Result<(), Failed> {
    let find = |path: &str| tree.find(Path::new(path), Links::Within);
    fresh.lay(&find("/dev")?, 0o755)?;
    let dev = find("/dev")?;
    for name in ["null", "zero", "full", "random", "urandom", "tty"] {
        mount::touch(&dev, name)?;
        let device = Path::new("/dev").join(name);
        // Read-only: a device can be written through it, its owner and mode cannot.
        let target = tree.find(&device, Links::Within)?;
        mount::bind(&Place::at(&device)?, &target)?;
    }
    let links = [
        ("/proc/self/fd", "fd"),
        ("/proc/self/fd/0", "stdin"),
        ("/proc/self/fd/1", "stdout"),
        ("/proc/self/fd/2", "stderr"),
        ("pts/ptmx", "ptmx"),
    ];
    for (target, name) in links {
        rustix::fs::symlinkat(target, &dev, name).during(|| format!("make /dev/{name}"))?;
    }
    for name in ["pts", "shm"] {
        mkdirat(&dev, name, Mode::from_raw_mode(0o755)).during(|| format!("make /dev/{name}"))?;
    }
    let options = [("ptmxmode", "0666"), ("mode", "0620")];
    let flags = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    let pts = mount::fresh("devpts", &options, flags)?;
    mount::attach(pts.as_fd(), &find("/dev/pts")?)?;
    fresh.lay(&find("/dev/shm")?, 0o1777)
}

/// The second wall against nested user namespaces: the filter is the first.
fn forbid_namespaces(tree: &Place) -> Result<(), Failed> {
    let knobs = tree.find(Path::new("/proc/sys/user"), Links::Within)?;
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(&knobs, "max_user_namespaces", flags, Mode::empty());
    file.and_then(|file| rustix::io::write(&file, b"0").map(drop))
        .during(|| "forbid nested user namespaces".into())
}

/// Puts nothing in the place of a path.
fn hide(tree: &Place, path: &Path, fresh: &mut Fresh) -> Result<(), Failed> {
    let place = match tree.seek(path, Links::Within) {
        Ok(Some(place)) => place,
        Ok(None) => return Ok(()),
        Err(failed) if failed.errno == libc::EACCES => return Ok(()),
        Err(failed) => return Err(failed),
    };
    let stat = rustix::fs::fstat(&place).during(|| format!("hide {}", path.display()))?;
    if FileType::from_raw_mode(stat.st_mode).is_dir() {
        fresh.lay_nothing(&place)
    } else {
        mount::bind(&Place::at(Path::new("/dev/null"))?, &place)
    }
}

/// A link of the host's may point anywhere; what it names outside is copied, not shared.
fn copy_file(tree: &Place, path: &Path) -> Result<(), Failed> {
    let Ok(content) = crate::machine::fs_err_read(path) else {
        return Ok(());
    };
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(());
    };
    let directory = tree.make(above)?;
    let step = || format!("copy {}", path.display());
    let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(&directory, name, flags, Mode::from_raw_mode(0o644)).during(step)?;
    rustix::io::write(&file, &content).map(drop).during(step)
}

/// Brings up the only network interface there is.
fn loopback_up() -> Result<(), Failed> {
    syscall::interface_up(c"lo").during(|| "bring up the loopback".into())
}

/// Layers of whiteouts. The filesystem for them is made when the first one is needed, which for root
/// is often never: it is time and memory.
pub(crate) struct Masks {
    pub(crate) space: PathBuf,
    /// Whether the filesystem is there.
    stands: bool,
    /// Each target with its layer.
    pub(crate) made: Vec<(Raw, PathBuf)>,
}

impl Masks {
    fn new(plan: &Plan) -> Self {
        Self {
            space: plan.policy.staging.as_path().with_file_name(MASK_SPACE),
            stands: false,
            made: Vec::new(),
        }
    }

    fn stand(&mut self) -> Result<(), Failed> {
        if !self.stands {
            fresh::in_memory(&self.space, MASK_BYTES)?;
            let empty = self.space.join(EMPTY);
            rustix::fs::mkdir(&empty, Mode::from_raw_mode(0o755))
                .during(|| format!("make {}", empty.display()))?;
            self.stands = true;
        }
        Ok(())
    }

    /// A layer that hides these paths; without any, an empty one if the overlay needs two layers.
    fn layer(
        &mut self,
        target: &Raw,
        hidden: &[Raw],
        needed: bool,
    ) -> Result<Option<PathBuf>, Failed> {
        if hidden.is_empty() && !needed {
            return Ok(None);
        }
        self.stand()?;
        if hidden.is_empty() {
            return Ok(Some(self.space.join(EMPTY)));
        }
        let layer = self.space.join(self.made.len().to_string());
        self.made.push((target.clone(), layer.clone()));
        like(target.as_path(), &layer)?;
        for path in hidden {
            whiteout(target.as_path(), &layer, path.as_path())?;
        }
        Ok(Some(layer))
    }
}

/// Makes a directory with the permissions of another: where layers merge, the topmost one's show.
fn like(model: &Path, directory: &Path) -> Result<(), Failed> {
    let step = || format!("mask below {}", model.display());
    let mode = rustix::fs::stat(model).map_or(0o755, |stat| stat.st_mode & 0o7777);
    match rustix::fs::mkdir(directory, Mode::from_raw_mode(0o700)) {
        Ok(()) => rustix::fs::chmod(directory, Mode::from_raw_mode(mode)).during(step),
        Err(Errno::EXIST) => Ok(()),
        Err(errno) => Err(errno).during(step),
    }
}

fn whiteout(target: &Path, layer: &Path, path: &Path) -> Result<(), Failed> {
    let parents: Vec<&Path> = path
        .ancestors()
        .skip(1)
        .filter(|p| !p.as_os_str().is_empty())
        .collect();
    for parent in parents.into_iter().rev() {
        like(&target.join(parent), &layer.join(parent))?;
    }
    let node = layer.join(path);
    match rustix::fs::mknodat(CWD, &node, FileType::CharacterDevice, Mode::empty(), 0) {
        // Masked twice, or below something that is masked.
        Ok(()) | Err(Errno::EXIST | Errno::NOTDIR) => Ok(()),
        Err(errno) => Err(errno).during(|| format!("mask {}", target.join(path).display())),
    }
}
