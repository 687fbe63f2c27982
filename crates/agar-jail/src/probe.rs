//! What this machine can do, found out by doing it.
//!
//! A kernel may know a mechanism and a policy refuse it, and the refusal may come only at the second
//! step. So each mechanism is tried for real, in a process of the keeper's program, which has one
//! thread and nothing to lose.

use crate::keeper::{CLIENT_FD, CONFIG_FD};
use crate::mount::{self, During, Failed, Layers};
use crate::place::Place;
use crate::plan::LayerApi;
use crate::syscall::{self, Fork};
use crate::wire::Raw;
use crate::{detach, landlock, program, protocol, seccomp};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{CWD, FileType, Mode, OFlags};
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

/// Asks the keeper's program to try things instead of keeping a sandbox.
pub(crate) const WORD: &str = "probe";

/// Everything that was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// Each kind of namespace, made by an unprivileged process.
    pub namespaces: Vec<Tried>,
    /// Layers laid one by one in a user namespace, with a whiteout.
    pub layers: Tried,
    /// Layers laid by mount options in a user namespace.
    pub layers_by_options: Tried,
    /// A file cloned without copying its content.
    pub reflink: Tried,
    /// The filter can ask a handler.
    pub notify: bool,
    /// The version of Landlock, zero without it.
    pub landlock: i32,
}

/// One mechanism and what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tried {
    /// What was tried.
    pub what: String,
    /// The step that failed and the kernel's reason, if one did.
    pub trouble: Option<(String, i32)>,
}

impl Tried {
    fn new(what: &str, outcome: Result<(), Failed>) -> Self {
        let trouble = outcome.err().map(|failed| (failed.step, failed.errno));
        Self {
            what: what.into(),
            trouble,
        }
    }

    /// Whether it worked.
    pub const fn works(&self) -> bool {
        self.trouble.is_none()
    }
}

impl Probe {
    /// Whether everything that the full tier stands on works.
    pub fn is_full(&self) -> bool {
        let layers = self.layers.works() || self.layers_by_options.works();
        self.namespaces.iter().all(Tried::works) && layers
    }
}

/// Tries everything. `program` is where the keeper's program is kept, `scratch` an empty directory
/// on the filesystem where layers would lie.
pub fn probe(program: &Path, scratch: &Path) -> io::Result<Probe> {
    let file = program::file(program)?;
    let memory = rustix::fs::memfd_create(c"agar-probe", rustix::fs::MemfdFlags::CLOEXEC)?;
    let mut memory = std::fs::File::from(memory);
    io::Write::write_all(&mut memory, &serde_json::to_vec(&Raw::from(scratch))?)?;
    io::Seek::rewind(&mut memory)?;
    let memory = OwnedFd::from(memory);
    let (near, far) = rustix::net::socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )?;
    let words = ["agar-keeper", WORD].map(Raw::from);
    let child = detach::spawn(&file, &words, &[(&far, CLIENT_FD), (&memory, CONFIG_FD)])?;
    drop(far);
    let mut buffer = Vec::new();
    let answer = protocol::receive::<Probe>(&near, &mut buffer);
    syscall::wait_for(child, rustix::process::WaitOptions::empty())?;
    answer?
        .map(|(probe, _)| probe)
        .ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

/// The far end: tries, and says what came of it.
pub(crate) fn main(socket: &OwnedFd, config: OwnedFd) -> io::Result<()> {
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut std::fs::File::from(config), &mut bytes)?;
    let scratch: Raw = serde_json::from_slice(&bytes)?;
    protocol::send(socket, &examine(scratch.as_path()), &[])
}

fn examine(scratch: &Path) -> Probe {
    let kinds = [
        ("user", 0),
        ("mount", libc::CLONE_NEWNS),
        ("pid", libc::CLONE_NEWPID),
        ("net", libc::CLONE_NEWNET),
        ("ipc", libc::CLONE_NEWIPC),
        ("uts", libc::CLONE_NEWUTS),
        ("cgroup", libc::CLONE_NEWCGROUP),
    ];
    let namespaces = kinds
        .map(|(what, kind)| Tried::new(what, in_child(libc::CLONE_NEWUSER | kind, &|| Ok(()))));
    let mounts = libc::CLONE_NEWUSER | libc::CLONE_NEWNS;
    let layers = |name: &str, api| {
        let place = scratch.join(name);
        Tried::new(name, in_child(mounts, &|| lay(&place, api)))
    };
    Probe {
        namespaces: namespaces.to_vec(),
        layers: layers("one by one", LayerApi::Fsconfig),
        layers_by_options: layers("by options", LayerApi::Options),
        reflink: Tried::new("reflink", reflink(scratch)),
        notify: seccomp::listener_is_supported(),
        landlock: landlock::version(),
    }
}

/// Does something in a child with new namespaces, ids mapped, and hears how it went.
fn in_child(namespaces: i32, body: &dyn Fn() -> Result<(), Failed>) -> Result<(), Failed> {
    let step = || "try in a child".to_owned();
    let (near, far) = rustix::net::socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )
    .during(step)?;
    match syscall::fork_into(namespaces, None).during(|| "make the namespace".into())? {
        Fork::Child => {
            let mut go = [0_u8; 1];
            let heard = rustix::net::recv(&far, &mut go[..], rustix::net::RecvFlags::empty());
            let outcome = heard.map(drop).during(step).and_then(|()| body());
            let answer: Option<(String, i32)> =
                outcome.err().map(|failed| (failed.step, failed.errno));
            let sent = protocol::send(&far, &answer, &[]);
            syscall::exit(i32::from(sent.is_err()))
        }
        Fork::Parent {
            pid,
            handle: _handle,
        } => {
            drop(far);
            let mapped = crate::keeper::map_caller(pid);
            // A child that is gone already says so by its silence.
            let _ = rustix::io::write(&near, b"g");
            let mut buffer = Vec::new();
            let heard = protocol::receive::<Option<(String, i32)>>(&near, &mut buffer);
            drop(syscall::wait_for(
                pid,
                rustix::process::WaitOptions::empty(),
            ));
            mapped?;
            match heard.during(step)? {
                Some((None, _)) => Ok(()),
                Some((Some((step, errno)), _)) => Err(Failed { step, errno }),
                None => Err(rustix::io::Errno::PIPE).during(step),
            }
        }
    }
}

/// Lays two layers over each other, hides a file and writes one.
fn lay(place: &Path, api: LayerApi) -> Result<(), Failed> {
    mount::make_private()?;
    let make = |name: &str| -> Result<PathBuf, Failed> {
        let path = place.join(name);
        std::fs::DirBuilder::new()
            .recursive(true)
            .create(&path)
            .during(|| format!("make {}", path.display()))?;
        Ok(path)
    };
    let [lower, upper, work, merged] = ["lower", "upper", "work", "merged"].map(make);
    let (lower, merged) = (lower?, merged?);
    let (upper, work) = (Raw::from(upper?), Raw::from(work?));
    mount::touch(&Place::at(&lower)?, "below")?;
    let layers = Layers {
        upper: Some((&upper, &work)),
        lowers: vec![&lower],
    };
    mount::overlay(&layers, &Place::at(&merged)?, api)?;
    rustix::fs::unlink(merged.join("below")).during(|| "hide a file in a layer".into())?;
    let hidden = rustix::fs::lstat(upper.as_path().join("below"))
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_char_device());
    if !hidden {
        return Err(rustix::io::Errno::NOENT).during(|| "find the mark of a hidden file".into());
    }
    mount::touch(&Place::at(&merged)?, "above")
}

fn reflink(scratch: &Path) -> Result<(), Failed> {
    let step = || "clone a file".to_owned();
    let open = |name: &str| {
        let flags = OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC;
        rustix::fs::openat(CWD, scratch.join(name), flags, Mode::from_raw_mode(0o600)).during(step)
    };
    let (from, to) = (open("reflink-from")?, open("reflink-to")?);
    rustix::io::write(&from, &[b'x'; 8192])
        .map(drop)
        .during(step)?;
    rustix::fs::ioctl_ficlone(to.as_fd(), from.as_fd()).during(step)
}
