//! Laying the layers of a tree anew in a jail that stands.
//!
//! Only the first thread of the init may mount. The thread that takes orders wears the walls, so it
//! puts such an order on a desk and rings.

use crate::client::Remount;
use crate::held::Held;
use crate::mount::{self, During, Failed, Layers};
use crate::place::{Links, Place};
use crate::plan::Plan;
use crate::policy::Overlay;
use crate::protocol::Remounted;
use crate::syscall;
use crate::wire::Raw;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fd::{AsFd as _, AsRawFd, OwnedFd};
use rustix::io::Errno;
use rustix::mount::UnmountFlags;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Where orders for the first thread wait, with all that it waits for.
pub(super) struct Desk {
    orders: Mutex<VecDeque<Remount>>,
    bell: OwnedFd,
    deaths: OwnedFd,
}

impl Desk {
    pub(super) fn new() -> Result<Self, Failed> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        Ok(Self {
            orders: Mutex::default(),
            bell: eventfd(0, flags).during(|| "make a bell".into())?,
            deaths: syscall::child_signals().during(|| "hear of deaths".into())?,
        })
    }

    /// Leaves an order.
    pub(super) fn put(&self, order: Remount) {
        let mut orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        orders.push_back(order);
        // A counter that is not read for ever cannot be full.
        let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
    }

    /// Takes the oldest order.
    pub(super) fn take(&self) -> Option<Remount> {
        let mut orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        orders.pop_front()
    }

    /// Waits until a child may have died, an order came, or for so long.
    pub(super) fn wait(&self, patience: Option<Duration>) -> Result<(), Errno> {
        let mut fds = [
            PollFd::new(&self.deaths, PollFlags::IN),
            PollFd::new(&self.bell, PollFlags::IN),
        ];
        let limit = patience.map(|patience| Timespec {
            tv_sec: i64::try_from(patience.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(patience.subsec_nanos()),
        });
        match poll(&mut fds, limit.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
        // Emptied, whatever was in them; all the dead and all the orders are looked for anyway.
        let mut buffer = [0_u8; 1024];
        let _ = rustix::io::read(&self.deaths, &mut buffer[..]);
        let _ = rustix::io::read(&self.bell, &mut buffer[..8]);
        Ok(())
    }
}

/// How often processes that were told to die are looked for again, a millisecond apart.
const LOOKS_MAX: u32 = 5000;

/// Lays layers anew, if nothing is inside. `bury` reports and buries the dead.
pub(super) fn lay(plan: &Plan, held: &Held, order: &Remount, bury: &mut dyn FnMut()) -> Remounted {
    let ended = if order.evict { evict(bury) } else { 0 };
    let processes = syscall::count_others();
    if processes > 0 {
        return Remounted::Busy { processes };
    }
    let parts = match parts(plan, held, order) {
        Ok(parts) => parts,
        Err(failed) => return told(failed, false),
    };
    match strip(&parts) {
        Ok(()) => {}
        Err(Errno::BUSY) => return Remounted::Busy { processes },
        Err(errno) => {
            let step = "take the old layers away".into();
            let errno = errno.raw_os_error();
            return told(Failed { step, errno }, false);
        }
    }
    for part in &parts {
        if let Err(failed) = part.mount(plan) {
            return told(failed, true);
        }
    }
    Remounted::Laid { ended }
}

/// A tree that is taken away and comes back.
enum Part<'a> {
    /// With other layers.
    Anew(Opened<'a>),
    /// As it is: it stands within one that is laid anew, and would be in the way.
    AsItIs { target: &'a Raw, tree: OwnedFd },
}

/// All trees that have to be taken away for an order, the shallowest first.
fn parts<'a>(plan: &'a Plan, held: &Held, order: &'a Remount) -> Result<Vec<Part<'a>>, Failed> {
    let anew = |target: &Raw| order.overlays.iter().any(|it| it.target == *target);
    let within = |target: &Path| {
        let mut above = order.overlays.iter().map(|it| it.target.as_path());
        above.any(|above| target.starts_with(above))
    };
    let set_aside = plan.policy.overlays.iter().map(|it| &it.target);
    let set_aside = set_aside.filter(|target| within(target.as_path()) && !anew(target));
    let mut parts = order
        .overlays
        .iter()
        .map(|overlay| Opened::new(held, overlay).map(Part::Anew))
        .collect::<Result<Vec<_>, Failed>>()?;
    for target in set_aside {
        let tree = mount::clone_one(&stands(target.as_path())?)?;
        parts.push(Part::AsItIs { target, tree });
    }
    parts.sort_by_key(|part| part.target().components().count());
    // All of them before the first is taken away.
    for part in &parts {
        stands(part.target())?;
    }
    Ok(parts)
}

impl Part<'_> {
    fn target(&self) -> &Path {
        match self {
            Self::Anew(opened) => opened.target.as_path(),
            Self::AsItIs { target, .. } => target.as_path(),
        }
    }

    fn mount(&self, plan: &Plan) -> Result<(), Failed> {
        match self {
            Self::Anew(opened) => opened.mount(plan),
            Self::AsItIs { target, tree } => {
                mount::attach(tree.as_fd(), &stands(target.as_path())?)
            }
        }
    }
}

fn told(failed: Failed, lost: bool) -> Remounted {
    Remounted::Failed {
        step: failed.step,
        errno: failed.errno,
        lost,
    }
}

/// Ends everything inside and buries it. How many there were.
fn evict(bury: &mut dyn FnMut()) -> u32 {
    let mut seen = 0;
    for _ in 0..LOOKS_MAX {
        bury();
        let processes = syscall::count_others();
        seen = seen.max(processes);
        if processes == 0 {
            break;
        }
        syscall::signal_everyone(libc::SIGKILL);
        moment();
    }
    seen
}

/// The kernel takes a moment to let go of a process that was killed.
fn moment() {
    let none: &mut [PollFd<'_>] = &mut [];
    let moment = Timespec {
        tv_sec: 0,
        tv_nsec: 1_000_000,
    };
    let _ = poll(none, Some(&moment));
}

/// Where a tree stands. What ran inside may have laid a link on the way to it, and behind that another
/// mount, such as one that guards the kernel's settings.
fn stands(target: &Path) -> Result<Place, Failed> {
    Place::at(Path::new("/"))?.find(target, Links::Refused)
}

/// Takes trees away, the deepest first. That the first is busy says that something is inside after
/// all; nobody is in the others then, whatever the kernel still has to close there.
fn strip(parts: &[Part<'_>]) -> Result<(), Errno> {
    for (index, part) in parts.iter().rev().enumerate() {
        let target = part.target();
        match rustix::mount::unmount(target, UnmountFlags::NOFOLLOW) {
            Ok(()) => {}
            Err(Errno::BUSY) if index > 0 => {
                rustix::mount::unmount(target, UnmountFlags::NOFOLLOW | UnmountFlags::DETACH)?;
            }
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// The layers of one tree, open.
struct Opened<'a> {
    target: &'a Raw,
    upper: (OwnedFd, OwnedFd),
    lowers: Vec<OwnedFd>,
}

impl<'a> Opened<'a> {
    fn new(held: &Held, overlay: &'a Overlay) -> Result<Self, Failed> {
        let lowers = held
            .mask(&overlay.target)
            .into_iter()
            .chain(overlay.lowers.iter().map(Raw::as_path));
        Ok(Self {
            target: &overlay.target,
            upper: (
                held.open(overlay.upper.as_path())?,
                held.open(overlay.work.as_path())?,
            ),
            lowers: lowers
                .map(|path| held.open(path))
                .collect::<Result<_, _>>()?,
        })
    }

    fn mount(&self, plan: &Plan) -> Result<(), Failed> {
        let (upper, work) = (named(&self.upper.0), named(&self.upper.1));
        let lowers: Vec<PathBuf> = self.lowers.iter().map(named).collect();
        let (upper, work) = (Raw::from(upper), Raw::from(work));
        let layers = Layers {
            upper: Some((&upper, &work)),
            lowers: lowers.iter().map(PathBuf::as_path).collect(),
        };
        mount::overlay(&layers, &stands(self.target.as_path())?, plan.layers)
    }
}

/// A path that leads to an open directory.
fn named(directory: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd()))
}
