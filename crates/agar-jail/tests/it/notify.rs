//! The notification handler on the real kernel: what it records, and which renames it completes.

use crate::child::{errno_of, isolated};
use agar_core::walls::Monitor;
use agar_jail::notify::{Event, Handler, Recorded, Recorder};
use agar_jail::seccomp::{Filter, FilterOptions, install};
use rustix::fs::rename;
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use std::os::fd::AsFd as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::channel;

/// Runs the checks in a thread behind the filter, with a handler in another, as the init does.
fn watched(options: FilterOptions, checks: impl FnOnce() + Send) -> Recorded {
    let recorder = Recorder::new();
    let (wake, _wake_end) = rustix::pipe::pipe().unwrap();
    std::thread::scope(|scope| {
        let (sender, listener) = channel();
        let checks = scope.spawn(move || {
            let listener = install(Filter::build(&options).program(), true).unwrap();
            sender.send(listener.unwrap()).unwrap();
            checks();
        });
        // Ends with the thread that it answers for.
        Handler::new(listener.recv().unwrap())
            .serve(wake.as_fd(), |event| recorder.record(event))
            .unwrap();
        checks.join().unwrap();
    });
    recorder.take()
}

fn options() -> FilterOptions {
    FilterOptions {
        monitor: Monitor::Executions,
        rename_shim: true,
        record_denied: true,
        ..FilterOptions::default()
    }
}

#[test]
fn executions_are_recorded_with_their_arguments() {
    isolated(|| {
        let recorded = watched(options(), || {
            let status = Command::new("sh")
                .args(["-c", "true; cat /dev/null; exec echo one 'two words'"])
                .stdout(std::process::Stdio::null())
                .status()
                .unwrap();
            assert!(status.success());
        });
        let lines: Vec<String> = recorded
            .executions
            .iter()
            .map(|execution| {
                let words: Vec<String> = execution
                    .arguments
                    .iter()
                    .map(ToString::to_string)
                    .collect();
                words.join(" ")
            })
            .collect();
        assert_eq!(
            lines,
            [
                "sh -c true; cat /dev/null; exec echo one 'two words'",
                "cat /dev/null",
                "echo one two words"
            ]
        );
        assert!(
            recorded
                .executions
                .iter()
                .all(|execution| execution.pid > 0)
        );
    });
}

#[test]
fn looking_for_a_program_along_the_path_is_not_an_execution() {
    isolated(|| {
        let recorded = watched(options(), || {
            let status = Command::new("/usr/bin/env")
                .env("PATH", "/nowhere:/nowhere/else:/usr/bin:/bin")
                .arg("true")
                .status()
                .unwrap();
            assert!(status.success());
            assert!(Command::new("/nowhere/at/all").status().is_err());
        });
        let programs: Vec<String> = recorded
            .executions
            .iter()
            .map(|execution| execution.program.to_string())
            .collect();
        assert_eq!(programs, ["/usr/bin/env", "/usr/bin/true"]);
    });
}

#[test]
fn scripts_are_recorded_under_their_own_name() {
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("a-script-with-a-long-name");
    fs_err::write(&script, "#!/bin/sh\nexit 7\n").unwrap();
    fs_err::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    isolated(|| {
        let recorded = watched(options(), || {
            assert_eq!(Command::new(&script).status().unwrap().code(), Some(7));
        });
        assert_eq!(recorded.executions.len(), 1);
        assert_eq!(recorded.executions[0].program.as_path(), script);
    });
}

#[test]
fn denied_calls_fail_and_are_counted() {
    isolated(|| {
        let recorded = watched(options(), || {
            for _ in 0..3 {
                assert_eq!(errno_of(libc::SYS_mount, [0; 4]), libc::EPERM);
            }
            assert_eq!(errno_of(libc::SYS_socket, [40, 1, 0, 0]), libc::EPERM);
        });
        let counts: Vec<(&str, u64)> = recorded
            .denied
            .iter()
            .map(|denied| (denied.call.as_str(), denied.count))
            .collect();
        assert_eq!(counts, [("mount", 3), ("socket", 1)]);
    });
}

#[test]
fn opened_files_are_recorded_when_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    fs_err::write(directory.path().join("read"), "").unwrap();
    let recorded_in = |monitor| {
        let options = FilterOptions {
            monitor,
            ..options()
        };
        watched(options, || {
            drop(fs_err::read(directory.path().join("read")).unwrap());
            fs_err::write(directory.path().join("written"), "").unwrap();
            let status = Command::new("cat")
                .current_dir(directory.path())
                .arg("read")
                .status()
                .unwrap();
            assert!(status.success());
        })
    };
    isolated(|| {
        let files = recorded_in(Monitor::Files).files;
        let ours: Vec<(PathBuf, bool)> = files
            .into_iter()
            .map(|file| (PathBuf::from(file.path), file.write))
            .filter(|(path, _)| path.starts_with(directory.path()))
            .collect();
        let path = |name| directory.path().join(name);
        assert_eq!(ours, [(path("read"), false), (path("written"), true)]);
        assert!(recorded_in(Monitor::Executions).files.is_empty());
    });
}

#[test]
fn rubbish_arguments_reach_the_kernel_and_hurt_nobody() {
    isolated(|| {
        let recorded = watched(
            FilterOptions {
                monitor: Monitor::Files,
                ..options()
            },
            || {
                for pointer in [0, 1, 4095, u64::MAX, 1 << 63] {
                    assert_ne!(errno_of(libc::SYS_execve, [pointer; 4]), 0);
                    assert_ne!(errno_of(libc::SYS_renameat2, [pointer; 4]), 0);
                    assert_ne!(errno_of(libc::SYS_openat, [pointer; 4]), 0);
                    assert_ne!(errno_of(libc::SYS_openat2, [pointer; 4]), 0);
                }
            },
        );
        assert!(recorded.executions.is_empty());
    });
}

#[test]
fn a_process_that_dies_while_it_asks_is_forgotten() {
    isolated(|| {
        watched(options(), || {
            for _ in 0..50 {
                let mut child = Command::new("sh")
                    .args(["-c", "while :; do /bin/true; done"])
                    .spawn()
                    .unwrap();
                child.kill().unwrap();
                child.wait().unwrap();
            }
            assert!(Command::new("true").status().unwrap().success());
        });
    });
}

#[test]
fn the_handler_stops_when_it_is_woken() {
    isolated(|| {
        let (wake, end) = rustix::pipe::pipe().unwrap();
        let filter = Filter::build(&options());
        std::thread::scope(|scope| {
            let (sender, listener) = channel();
            let (release, released) = channel::<()>();
            scope.spawn(move || {
                sender
                    .send(install(filter.program(), true).unwrap())
                    .unwrap();
                // Holds the filter until the handler has stopped.
                released.recv().unwrap_err();
            });
            let mut handler = Handler::new(listener.recv().unwrap().unwrap());
            drop(end);
            handler.serve(wake.as_fd(), drop::<Event>).unwrap();
            drop(release);
        });
    });
}

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
