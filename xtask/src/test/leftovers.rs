//! Nothing that the tests made may be there when they are done.

use agar_testkit::{leaks, wait};
use anyhow::{Result, bail};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What of agar's making was on the machine at one moment.
#[derive(Debug)]
pub(crate) struct Picture {
    cgroups: BTreeSet<PathBuf>,
    temporary: BTreeSet<PathBuf>,
}

impl Picture {
    /// The machine now.
    pub(crate) fn take() -> Self {
        Self {
            cgroups: leaks::abandoned_cgroups().into_iter().collect(),
            temporary: temporary(),
        }
    }

    /// An error that names what is there now and was not then, or is tied to the tests' directory.
    pub(crate) fn compare(&self, tests: &Path) -> Result<()> {
        let settled = wait::holds_within(Duration::from_secs(10), || self.left(tests).is_empty());
        if settled {
            return Ok(());
        }
        bail!("the tests left behind:\n{}", self.left(tests).join("\n"))
    }

    fn left(&self, tests: &Path) -> Vec<String> {
        let now = Self::take();
        let mut left: Vec<String> = leaks::left_in(tests).lines().map(str::to_owned).collect();
        let new = |before: &BTreeSet<PathBuf>, after: &BTreeSet<PathBuf>| -> Vec<String> {
            after
                .difference(before)
                .map(|path| path.display().to_string())
                .collect()
        };
        left.extend(new(&self.cgroups, &now.cgroups));
        left.extend(new(&self.temporary, &now.temporary));
        left.extend(worlds(tests));
        left
    }
}

/// Directories and tmux servers in `/tmp` and `/dev/shm` with our name.
fn temporary() -> BTreeSet<PathBuf> {
    let list = |directory: &Path| fs_err::read_dir(directory).into_iter().flatten();
    let ours = |entry: &fs_err::DirEntry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name.starts_with("agar") || name.starts_with("sandbox_")
    };
    let mut places = vec![
        PathBuf::from("/tmp"),
        PathBuf::from("/dev/shm"),
        PathBuf::from("/var/tmp"),
    ];
    places.extend(
        list(Path::new("/tmp"))
            .filter_map(Result::ok)
            .filter(|entry| entry.file_name().to_string_lossy().starts_with("tmux-"))
            .map(|entry| entry.path()),
    );
    places
        .iter()
        .flat_map(|place| list(place))
        .filter_map(Result::ok)
        .filter(ours)
        .map(|entry| entry.path())
        .collect()
}

/// Worlds that no test removed.
fn worlds(tests: &Path) -> Vec<String> {
    let list = fs_err::read_dir(tests)
        .into_iter()
        .flatten()
        .filter_map(Result::ok);
    list.filter(|entry| entry.file_name().to_string_lossy().starts_with("world-"))
        .map(|entry| entry.path().display().to_string())
        .collect()
}
