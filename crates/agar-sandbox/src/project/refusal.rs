//! Directories that are never a project, however the person got there.
//!
//! A sandbox of `/`, of a home or of `/usr` would copy, compare and offer to overwrite far more
//! than anybody means by "my project".

use super::Surroundings;
use std::fmt;
use std::path::Path;

/// Why a directory is not taken as a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// It is `/`.
    Root,
    /// It is the user's home, or somebody else's, or holds homes.
    Home,
    /// It is a place for temporary files that everybody shares.
    Temporary,
    /// It belongs to the system.
    System,
    /// It lies in agar's own state.
    State,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Root => "it is the whole machine; go to a directory with a project in it",
            Self::Home => "it is a home directory; go to a directory below it",
            Self::Temporary => "everybody shares it; make a directory of your own below it",
            Self::System => "it belongs to the system; copy what you need to a place of your own",
            Self::State => "it is where agar keeps its own state",
        })
    }
}

/// Shared temporary places: refused themselves, fine below.
const TEMPORARY: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// System directories: refused themselves, fine below (`/srv/shop`, `/usr/src/linux`).
const SYSTEM: [&str; 28] = [
    "/usr",
    "/usr/bin",
    "/usr/sbin",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libexec",
    "/usr/share",
    "/usr/include",
    "/usr/local",
    "/usr/local/bin",
    "/usr/local/lib",
    "/usr/local/share",
    "/usr/src",
    "/var",
    "/var/lib",
    "/var/log",
    "/var/cache",
    "/var/spool",
    "/opt",
    "/srv",
    "/mnt",
    "/media",
    "/run",
    "/run/user",
    "/run/media",
    "/nix",
    "/snap",
];

/// System trees: refused with everything below.
const SYSTEM_TREES: [&str; 10] = [
    "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/sbin", "/sys",
];

/// Whether, and why, a directory (without symbolic links) is refused.
pub(super) fn check(directory: &Path, around: &Surroundings) -> Option<Refusal> {
    if directory == Path::new("/") {
        return Some(Refusal::Root);
    }
    let is_home = super::home(around).is_some_and(|home| home.starts_with(directory));
    let holds_or_is_home = directory == Path::new("/root")
        || directory == Path::new("/home")
        || directory.parent() == Some(Path::new("/home"));
    if is_home || holds_or_is_home {
        return Some(Refusal::Home);
    }
    if TEMPORARY.iter().any(|place| directory == Path::new(place)) {
        return Some(Refusal::Temporary);
    }
    let below_shared_memory = directory.starts_with("/dev/shm");
    let in_system_tree = SYSTEM_TREES.iter().any(|tree| directory.starts_with(tree));
    if SYSTEM.iter().any(|place| directory == Path::new(place))
        || (in_system_tree && !below_shared_memory)
    {
        return Some(Refusal::System);
    }
    let in_state = |state: &Path| {
        let state = state.canonicalize().unwrap_or_else(|_| state.to_owned());
        directory.starts_with(state)
    };
    super::state::preferred(around)
        .is_some_and(|state| in_state(&state))
        .then_some(Refusal::State)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn around() -> Surroundings {
        Surroundings {
            home: Some(PathBuf::from("/data/people/ann")),
            ..Surroundings::default()
        }
    }

    fn refused(directory: &str) -> Option<Refusal> {
        check(Path::new(directory), &around())
    }

    #[test]
    fn the_machine_and_homes_are_never_projects() {
        assert_eq!(refused("/"), Some(Refusal::Root));
        for home in [
            "/data/people/ann",
            "/data/people",
            "/data",
            "/home",
            "/home/bob",
            "/root",
        ] {
            assert_eq!(refused(home), Some(Refusal::Home), "{home}");
        }
    }

    #[test]
    fn shared_and_system_places_are_refused_and_what_people_make_below_is_not() {
        for place in ["/tmp", "/var/tmp", "/dev/shm"] {
            assert_eq!(refused(place), Some(Refusal::Temporary), "{place}");
            assert_eq!(refused(&format!("{place}/work")), None, "{place}");
        }
        for place in [
            "/usr",
            "/etc",
            "/etc/nginx",
            "/proc/self",
            "/sys",
            "/dev",
            "/var/lib",
        ] {
            assert_eq!(refused(place), Some(Refusal::System), "{place}");
        }
        for place in [
            "/srv/shop",
            "/usr/src/linux",
            "/opt/app",
            "/data/people/ann/shop",
        ] {
            assert_eq!(refused(place), None, "{place}");
        }
    }

    #[test]
    fn agars_own_state_is_not_a_project() {
        let state = "/data/people/ann/.local/state/agar/sandboxes";
        assert_eq!(refused(state), Some(Refusal::State));
    }
}
