//! Where groups may be made: which hierarchies are mounted, where this process is in each, and how
//! far up it may write.

use super::{Controller, HOME, text};
use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::io::Errno;
use std::path::{Path, PathBuf};

/// How many processes are moved out of the way so that controllers can be switched on.
const EVACUATED_MAX: usize = 256;
/// Where they go.
const REST: &str = "agar-rest";

/// A mounted hierarchy, and the group in it below which ours are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hierarchy {
    version: Version,
    base: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Version {
    /// The controllers that version 2 has at the base.
    Two(Vec<String>),
    /// The controllers that share this hierarchy of version 1.
    One(Vec<String>),
}

/// The group of this process in each hierarchy.
#[derive(Debug, Default)]
pub(super) struct Membership {
    lines: Vec<(String, String)>,
}

impl Membership {
    /// Reads `/proc/self/cgroup`.
    pub(super) fn parse(text: &str) -> Self {
        let lines = text.lines().filter_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            Some((fields.next()?.to_owned(), fields.next()?.to_owned()))
        });
        Self {
            lines: lines.collect(),
        }
    }

    /// The path of the group; version 2 is the hierarchy without controllers.
    fn path(&self, controllers: &[String]) -> Option<&str> {
        let matches = |listed: &str| match controllers.first() {
            None => listed.is_empty(),
            Some(first) => listed.split(',').any(|one| one == first),
        };
        self.lines
            .iter()
            .find(|(listed, _)| matches(listed))
            .map(|(_, path)| path.as_str())
    }
}

/// Every hierarchy in which this user may make groups.
pub(super) fn find(
    root: &Path,
    mountinfo: &str,
    member: &Membership,
    root_user: bool,
) -> Vec<Hierarchy> {
    mountinfo
        .lines()
        .filter_map(Mount::parse)
        .filter_map(|mount| mount.hierarchy(root, member, root_user))
        .collect()
}

/// A line of `/proc/self/mountinfo` that is about control groups.
#[derive(Debug)]
struct Mount<'a> {
    /// Which part of the hierarchy is mounted.
    part: &'a str,
    target: &'a str,
    /// `None` for version 2.
    controllers: Option<Vec<String>>,
}

impl<'a> Mount<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (left, right) = line.split_once(" - ")?;
        let mut left = left.split(' ').skip(3);
        let (part, target) = (left.next()?, left.next()?);
        let mut right = right.split(' ');
        let controllers = match right.next()? {
            "cgroup2" => None,
            "cgroup" => {
                let options = right.nth(1)?.split(',');
                let known = options.filter(|option| {
                    Controller::ALL
                        .iter()
                        .any(|controller| controller.legacy_name() == *option)
                });
                Some(known.map(str::to_owned).collect())
            }
            _ => return None,
        };
        // A hierarchy of version 1 that only names processes limits nothing.
        if controllers.as_ref().is_some_and(Vec::is_empty) {
            return None;
        }
        Some(Self {
            part,
            target,
            controllers,
        })
    }

    fn hierarchy(&self, root: &Path, member: &Membership, root_user: bool) -> Option<Hierarchy> {
        let mount = root.join(self.target.trim_start_matches('/'));
        let path = member.path(self.controllers.as_deref().unwrap_or_default())?;
        let below = path.strip_prefix(self.part.trim_end_matches('/'))?;
        let below = Path::new(below.trim_start_matches('/'));
        let Some(controllers) = self.controllers.clone() else {
            let base = base_of_two(&mount, below, root_user)?;
            let listed = text::read(&base.join("cgroup.controllers")).unwrap_or_default();
            let controllers = listed.split_whitespace().map(str::to_owned).collect();
            return Some(Hierarchy {
                version: Version::Two(controllers),
                base,
            });
        };
        // Below our own group, so that what limits us limits the sandbox too.
        let base = mount.join(below);
        can_make_groups(&base).then_some(Hierarchy {
            version: Version::One(controllers),
            base,
        })
    }
}

/// The highest group above this process that the user may write: the same one for every command of
/// the user, and one that holds no processes itself where systemd delegated it.
fn base_of_two(mount: &Path, below: &Path, root_user: bool) -> Option<PathBuf> {
    if root_user && can_make_groups(mount) {
        return Some(mount.to_owned());
    }
    let mut base = mount.to_owned();
    for part in below.components() {
        base.push(part);
        if can_make_groups(&base) {
            return Some(base);
        }
    }
    None
}

fn can_make_groups(directory: &Path) -> bool {
    let may = |path: &Path, access| accessat(CWD, path, access, AtFlags::EACCESS).is_ok();
    may(directory, Access::WRITE_OK | Access::EXEC_OK)
        && may(&directory.join("cgroup.procs"), Access::WRITE_OK)
}

impl Hierarchy {
    pub(super) fn is_unified(&self) -> bool {
        matches!(self.version, Version::Two(_))
    }

    /// Whether it is of version 2 and has a controller that limits anything.
    pub(super) fn limits_in_two(&self) -> bool {
        let limits = [Controller::Memory, Controller::Cpu, Controller::Pids];
        self.is_unified() && limits.into_iter().any(|limit| self.offers(limit))
    }

    pub(super) fn offers(&self, controller: Controller) -> bool {
        let name = controller.legacy_name();
        match &self.version {
            Version::One(controllers) => controllers.iter().any(|one| one == name),
            Version::Two(controllers) => match controller {
                Controller::Core => true,
                Controller::Memory | Controller::Cpu | Controller::Pids => {
                    controllers.iter().any(|one| one == name)
                }
            },
        }
    }

    /// The directory of all our groups.
    pub(super) fn home(&self) -> PathBuf {
        self.base.join(HOME)
    }

    /// Makes the directory of our groups, and in version 2 hands the controllers down to it. What
    /// cannot be handed down shows when the limits are set.
    pub(super) fn open(&self) -> Result<PathBuf, Errno> {
        let home = self.home();
        make_directory(&home)?;
        let Version::Two(controllers) = &self.version else {
            return Ok(home);
        };
        for name in ["memory", "cpu", "pids"] {
            if controllers.iter().any(|one| one == name) {
                hand_down(&self.base, name);
                hand_down(&home, name);
            }
        }
        Ok(home)
    }
}

/// Makes a directory that may be there already.
pub(super) fn make_directory(path: &Path) -> Result<(), Errno> {
    match rustix::fs::mkdir(path, rustix::fs::Mode::from_raw_mode(0o755)) {
        Err(Errno::EXIST) => Ok(()),
        other => other,
    }
}

/// Switches a controller on for the groups below. A group that holds processes refuses; then they
/// move to a group of their own below it, which changes nothing for them.
fn hand_down(group: &Path, name: &str) {
    let control = group.join("cgroup.subtree_control");
    let on = text::read(&control).unwrap_or_default();
    if on.split_whitespace().any(|one| one == name) {
        return;
    }
    let command = format!("+{name}");
    if text::write(&control, &command) == Err(Errno::BUSY) && evacuate(group).is_ok() {
        let _ = text::write(&control, &command);
    }
}

fn evacuate(group: &Path) -> Result<(), Errno> {
    let processes = text::read(&group.join("cgroup.procs"))?;
    if processes.lines().count() > EVACUATED_MAX {
        return Err(Errno::BUSY);
    }
    let rest = group.join(REST);
    make_directory(&rest)?;
    for process in processes.lines() {
        match text::write(&rest.join("cgroup.procs"), process) {
            // It ended meanwhile.
            Ok(()) | Err(Errno::SRCH) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}
