//! Directories of the base, renamed by the handler where the kernel will not.

use super::{options, watched};
use crate::child::isolated;
use rustix::fs::rename;
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A directory for layers. The kernel leaves directories in it that even their owner may not enter.
struct Scene(tempfile::TempDir);

impl Scene {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        for path in [
            "work/work",
            "work/work/incompat",
            "work/work/incompat/volatile",
        ] {
            let mode = std::fs::Permissions::from_mode(0o700);
            drop(fs_err::set_permissions(self.path().join(path), mode));
        }
    }
}

/// An overlay over `lower`, in a mount namespace that ends with the process.
struct Layers {
    merged: PathBuf,
    upper: PathBuf,
}

fn overlay(directory: &Path) -> Layers {
    let path = |name: &str| {
        let path = directory.join(name);
        fs_err::create_dir_all(&path).unwrap();
        path
    };
    let layers = Layers {
        merged: path("merged"),
        upper: path("upper"),
    };
    let (lower, work) = (path("lower"), path("work"));
    let (user, group) = (rustix::process::getuid(), rustix::process::getgid());
    let root = user.is_root();
    let flags = if root { 0 } else { libc::CLONE_NEWUSER };
    // SAFETY: the forked child has one thread, and nothing shares its namespaces.
    assert_eq!(unsafe { libc::unshare(flags | libc::CLONE_NEWNS) }, 0);
    if !root {
        fs_err::write("/proc/self/setgroups", "deny").unwrap();
        let map = |id: u32| format!("{id} {id} 1");
        fs_err::write("/proc/self/uid_map", map(user.as_raw())).unwrap();
        fs_err::write("/proc/self/gid_map", map(group.as_raw())).unwrap();
    }
    mount_change(
        "/",
        MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
    )
    .unwrap();
    let options = format!(
        "userxattr,volatile,lowerdir={},upperdir={},workdir={}",
        lower.display(),
        layers.upper.display(),
        work.display()
    );
    let options = std::ffi::CString::new(options).unwrap();
    mount(
        "overlay",
        &layers.merged,
        "overlay",
        MountFlags::empty(),
        &*options,
    )
    .unwrap();
    layers
}

fn fill(lower: &Path) {
    fs_err::create_dir_all(lower.join("base/sub/empty")).unwrap();
    fs_err::create_dir_all(lower.join("full/of")).unwrap();
    fs_err::create_dir_all(lower.join("hollow")).unwrap();
    fs_err::write(lower.join("base/file"), "content").unwrap();
    fs_err::write(lower.join("base/sub/program"), "#!").unwrap();
    let mode = std::fs::Permissions::from_mode(0o751);
    fs_err::set_permissions(lower.join("base/sub/program"), mode.clone()).unwrap();
    fs_err::set_permissions(lower.join("base/sub"), mode).unwrap();
    symlink("file", lower.join("base/link")).unwrap();
    symlink("/nowhere", lower.join("base/sub/broken")).unwrap();
    symlink("of", lower.join("full/link")).unwrap();
}

/// Everything below a directory: path, kind, mode, content or target, modification time.
fn picture(root: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    let mut pending = vec![root.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs_err::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let metadata = path.symlink_metadata().unwrap();
            let content = if metadata.is_dir() {
                pending.push(path.clone());
                String::new()
            } else if metadata.is_symlink() {
                fs_err::read_link(&path).unwrap().display().to_string()
            } else {
                fs_err::read_to_string(&path).unwrap()
            };
            let name = path.strip_prefix(root).unwrap().display().to_string();
            let time = (metadata.mtime(), metadata.mtime_nsec());
            lines.push(format!("{name} {:o} {content} {time:?}", metadata.mode()));
        }
    }
    lines.sort();
    lines
}

#[test]
fn a_base_directory_is_renamed_with_all_that_it_holds() {
    let directory = Scene::new();
    fill(&directory.path().join("lower"));
    isolated(|| {
        let layers = overlay(directory.path());
        let merged = &layers.merged;
        let before = picture(&merged.join("base"));
        let plain = rename(merged.join("base"), merged.join("moved"));
        assert_eq!(plain, Err(Errno::XDEV));
        watched(options(), || {
            fs_err::rename(merged.join("base"), merged.join("hollow")).unwrap();
        });
        assert!(!merged.join("base").exists());
        assert_eq!(picture(&merged.join("hollow")), before);
        let names: Vec<String> = fs_err::read_dir(&layers.upper)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().display().to_string())
            .filter(|name| name.starts_with(".agar"))
            .collect();
        assert!(names.is_empty(), "left behind: {names:?}");
    });
}

#[test]
fn a_rename_that_must_fail_fails_as_the_kernel_would() {
    let directory = Scene::new();
    fill(&directory.path().join("lower"));
    isolated(|| {
        let merged = &overlay(directory.path()).merged;
        let before = picture(merged);
        watched(options(), || {
            for (from, to, expected) in [
                ("base", "full", Errno::NOTEMPTY),
                ("base", "base/sub/inside", Errno::INVAL),
                ("base", "full/link", Errno::NOTDIR),
                ("missing", "new", Errno::NOENT),
                ("base", "missing/new", Errno::NOENT),
            ] {
                let refused = rename(merged.join(from), merged.join(to));
                assert_eq!(refused, Err(expected), "{from} to {to}");
            }
            let flags = rustix::fs::RenameFlags::NOREPLACE;
            let replaced = rustix::fs::renameat_with(
                rustix::fs::CWD,
                merged.join("base"),
                rustix::fs::CWD,
                merged.join("hollow"),
                flags,
            );
            assert_eq!(replaced, Err(Errno::EXIST));
        });
        assert_eq!(picture(merged), before);
    });
}

#[test]
fn a_tree_too_deep_to_move_is_left_as_it_was() {
    let directory = Scene::new();
    let deep: PathBuf = std::iter::repeat_n("d", 300).collect();
    fs_err::create_dir_all(directory.path().join("lower/base").join(&deep)).unwrap();
    isolated(|| {
        let merged = &overlay(directory.path()).merged;
        watched(options(), || {
            let refused = rename(merged.join("base"), merged.join("moved"));
            assert_eq!(refused, Err(Errno::XDEV));
        });
        assert!(merged.join("base").join(&deep).is_dir());
        let names = fs_err::read_dir(merged).unwrap().count();
        assert_eq!(names, 1, "something was left beside it");
    });
}

#[test]
fn relative_paths_and_descriptors_are_those_of_the_process() {
    let directory = Scene::new();
    fill(&directory.path().join("lower"));
    isolated(|| {
        let merged = &overlay(directory.path()).merged;
        watched(options(), || {
            let status = Command::new("perl")
                .current_dir(merged.join("base"))
                .args(["-e", "rename('sub/', '../full/new') or die $!"])
                .status()
                .unwrap();
            assert!(status.success());
            let from = rustix::fs::open(
                merged.join("full"),
                rustix::fs::OFlags::PATH,
                rustix::fs::Mode::empty(),
            )
            .unwrap();
            rustix::fs::renameat(&from, "of", rustix::fs::CWD, merged.join("of")).unwrap();
        });
        assert!(merged.join("full/new/program").exists());
        assert!(merged.join("of").is_dir());
        assert!(!merged.join("full/of").exists() && !merged.join("base/sub").exists());
    });
}

#[test]
fn the_handlers_own_descriptors_cannot_be_named() {
    let directory = Scene::new();
    fill(&directory.path().join("lower"));
    isolated(|| {
        let merged = &overlay(directory.path()).merged;
        // The thread behind the filter shares the process of the handler here, so its own
        // descriptors are the handler's; the path must still not be followed.
        let held = fs_err::File::open(merged.join("base")).unwrap();
        let number = std::os::fd::AsRawFd::as_raw_fd(&held);
        watched(options(), || {
            let path = format!("/proc/self/fd/{number}/sub");
            let refused = rename(&path, merged.join("stolen"));
            assert_eq!(refused, Err(Errno::XDEV));
        });
        assert!(merged.join("base/sub").is_dir());
    });
}

#[test]
fn git_moves_a_base_directory() {
    let directory = Scene::new();
    let lower = directory.path().join("lower");
    fs_err::create_dir_all(lower.join("src/deep")).unwrap();
    for number in 0..50 {
        fs_err::write(lower.join(format!("src/deep/{number}")), "x").unwrap();
    }
    let git = |root: &Path, arguments: &[&str]| {
        let output = Command::new("git")
            .current_dir(root)
            .args([
                "-c",
                "user.name=a",
                "-c",
                "user.email=a@b",
                "-c",
                "gc.auto=0",
            ])
            .args(arguments)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    git(&lower, &["init", "-q"]);
    git(&lower, &["add", "."]);
    git(&lower, &["commit", "-qm", "first"]);
    isolated(|| {
        let merged = &overlay(directory.path()).merged;
        watched(options(), || {
            git(merged, &["mv", "src", "lib"]);
        });
        let status = git(merged, &["status", "--short"]);
        assert_eq!(status.lines().count(), 50);
        assert!(status.lines().all(|line| line.starts_with("R  src/deep/")));
    });
}
