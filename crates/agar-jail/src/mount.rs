//! The mount calls, each a line long and each with its step named.
//!
//! Everything here changes only the mount namespace of the calling process, which is a new one.

use crate::place::Place;
use crate::plan::LayerApi;
use crate::wire::Raw;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, MountPropagationFlags, MoveMountFlags,
    OpenTreeFlags, fsconfig_create, fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen,
    mount_change, move_mount, open_tree,
};
use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A step that failed.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) step: String,
    pub(crate) errno: i32,
}

/// Names a step, for the reader of the error.
pub(crate) trait During<T> {
    fn during(self, step: impl FnOnce() -> String) -> Result<T, Failed>;
}

impl<T> During<T> for Result<T, Errno> {
    fn during(self, step: impl FnOnce() -> String) -> Result<T, Failed> {
        self.map_err(|errno| Failed {
            step: step(),
            errno: errno.raw_os_error(),
        })
    }
}

impl<T> During<T> for io::Result<T> {
    fn during(self, step: impl FnOnce() -> String) -> Result<T, Failed> {
        self.map_err(|error| Failed {
            step: step(),
            errno: error.raw_os_error().unwrap_or(libc::EIO),
        })
    }
}

/// Cuts every tie between this mount namespace and the one it was copied from.
pub(crate) fn make_private() -> Result<(), Failed> {
    mount_change(
        "/",
        MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
    )
    .during(|| "cut the ties to the host's mounts".into())
}

/// A detached clone of a tree.
pub(crate) fn clone_tree(path: &Path) -> Result<OwnedFd, Failed> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    open_tree(CWD, path, flags).during(|| format!("clone the tree at {}", path.display()))
}

/// The attributes of `mount_setattr(2)`, in the kernel's layout.
#[repr(C)]
struct MountAttr {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

/// Makes a detached tree read-only, all the way down.
pub(crate) fn read_only(tree: BorrowedFd<'_>) -> Result<(), Failed> {
    let attributes = MountAttr {
        set: u64::from(MountAttrFlags::MOUNT_ATTR_RDONLY.bits()),
        clear: 0,
        propagation: 0,
        user_namespace: 0,
    };
    let flags = libc::AT_EMPTY_PATH | libc::AT_RECURSIVE;
    // SAFETY: the path is an empty C string, the structure is laid out as mount_setattr(2) expects
    // and outlives the call, and its true size is passed.
    let code = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            rustix::fd::AsRawFd::as_raw_fd(&tree),
            c"".as_ptr(),
            flags,
            &raw const attributes,
            size_of::<MountAttr>(),
        )
    };
    if code == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
    .during(|| "make a tree read-only".into())
}

/// Puts a detached mount in its place.
pub(crate) fn attach(mount: BorrowedFd<'_>, target: &Place) -> Result<(), Failed> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(mount, "", target, "", flags)
        .during(|| format!("mount on {}", target.path().display()))
}

/// A fresh filesystem of a kind, configured and not yet in place.
pub(crate) fn fresh(
    kind: &str,
    options: &[(&str, &str)],
    attributes: MountAttrFlags,
) -> Result<OwnedFd, Failed> {
    let step = || format!("make a fresh {kind}");
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC).during(step)?;
    for (key, value) in options {
        fsconfig_set_string(&context, *key, *value).during(step)?;
    }
    fsconfig_create(&context).during(step)?;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes).during(step)
}

/// The layers of an overlay, already in the order the kernel wants.
#[derive(Debug)]
pub(crate) struct Layers<'a> {
    pub(crate) upper: Option<(&'a Raw, &'a Raw)>,
    pub(crate) lowers: Vec<&'a Path>,
}

/// Mounts an overlay.
///
/// Always `userxattr`, so that root and an ordinary user leave the same marks in a layer, and always
/// `volatile`, so that taking a sandbox down does not sync the host's filesystem.
pub(crate) fn overlay(layers: &Layers<'_>, target: &Place, api: LayerApi) -> Result<(), Failed> {
    match api {
        LayerApi::Fsconfig => overlay_by_fsconfig(layers, target),
        LayerApi::Options => overlay_by_options(layers, target),
    }
}

fn overlay_by_fsconfig(layers: &Layers<'_>, target: &Place) -> Result<(), Failed> {
    let step = || format!("lay the layers of {}", target.path().display());
    let context = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC).during(step)?;
    for lower in &layers.lowers {
        fsconfig_set_string(&context, "lowerdir+", *lower).during(step)?;
    }
    if let Some((upper, work)) = layers.upper {
        fsconfig_set_string(&context, "upperdir", upper.as_path()).during(step)?;
        fsconfig_set_string(&context, "workdir", work.as_path()).during(step)?;
        fsconfig_set_flag(&context, "volatile").during(step)?;
    }
    fsconfig_set_flag(&context, "userxattr").during(step)?;
    fsconfig_create(&context).during(step)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NODEV | MountAttrFlags::MOUNT_ATTR_NOSUID;
    let mount = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes).during(step)?;
    attach(mount.as_fd(), target)
}

fn overlay_by_options(layers: &Layers<'_>, target: &Place) -> Result<(), Failed> {
    let step = || {
        let target = target.path().display();
        format!("lay the layers of {target} by mount options")
    };
    let mut options = b"userxattr,lowerdir=".to_vec();
    for (index, lower) in layers.lowers.iter().enumerate() {
        if index > 0 {
            options.push(b':');
        }
        escape(lower, b"\\:,", &mut options);
    }
    if let Some((upper, work)) = layers.upper {
        options.extend_from_slice(b",volatile,upperdir=");
        escape(upper.as_path(), b"\\,", &mut options);
        options.extend_from_slice(b",workdir=");
        escape(work.as_path(), b"\\,", &mut options);
    }
    // The kernel reads one page of options.
    if options.len() >= 4096 {
        return Err(Errno::TOOBIG).during(step);
    }
    let options = CString::new(options)
        .map_err(|_| Errno::INVAL)
        .during(step)?;
    let flags = MountFlags::NODEV | MountFlags::NOSUID;
    rustix::mount::mount(
        "overlay",
        target.through_descriptor(),
        "overlay",
        flags,
        Some(options.as_c_str()),
    )
    .during(step)
}

fn escape(path: &Path, special: &[u8], out: &mut Vec<u8>) {
    for &byte in path.as_os_str().as_bytes() {
        if special.contains(&byte) {
            out.push(b'\\');
        }
        out.push(byte);
    }
}

/// Binds a file or directory, without what is mounted below it, read-only.
pub(crate) fn bind(source: &Place, target: &Place) -> Result<(), Failed> {
    let tree = clone_one(source)?;
    read_only(tree.as_fd())?;
    attach(tree.as_fd(), target)
}

/// Makes an empty file in a directory, to mount something on.
pub(crate) fn touch(directory: &Place, name: &str) -> Result<(), Failed> {
    let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    openat(directory, name, flags, Mode::from_raw_mode(0o666))
        .map(drop)
        .during(|| format!("make {}", directory.path().join(name).display()))
}

/// A detached clone of one file or directory, without what is mounted below it.
pub(crate) fn clone_one(source: &Place) -> Result<OwnedFd, Failed> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH;
    open_tree(source, "", flags).during(|| format!("clone {}", source.path().display()))
}
