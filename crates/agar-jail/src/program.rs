//! The keeper's program, carried inside this one.
//!
//! Every idle sandbox pays for its keeper, so the keeper is not the large program that people run
//! but a small static one, built by this crate's build script and embedded. It is written to the
//! state directory once and started from there: a file's pages are shared by all keepers, those of
//! a file in memory would be paid for by each.

use rustix::fs::{CWD, RenameFlags};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The program, empty only inside the program itself.
static PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/keeper"));

/// Distinguishes versions of the program.
const MARK: &str = env!("AGAR_KEEPER_MARK");

/// The program's file, written if it is not there.
pub(crate) fn file(directory: &Path) -> io::Result<PathBuf> {
    let path = directory.join(format!("keeper-{MARK}"));
    if !is_whole(&path) {
        write(directory, &path)?;
    }
    Ok(path)
}

fn is_whole(path: &Path) -> bool {
    std::fs::symlink_metadata(path)
        .is_ok_and(|found| found.is_file() && found.len() == PROGRAM.len() as u64)
}

/// Drafts that this process began: several of its threads may be the first at once.
static DRAFTS: AtomicU32 = AtomicU32::new(0);

fn write(directory: &Path, path: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .create(directory)?;
    let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
    let draft = directory.join(format!("keeper-{MARK}.{}-{number}", std::process::id()));
    let mut options = std::fs::OpenOptions::new();
    let mut file = options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o700)
        .open(&draft)?;
    io::Write::write_all(&mut file, PROGRAM)?;
    drop(file);
    // Somebody else may have written it meanwhile, and started it: what runs should keep its name.
    let apart = RenameFlags::NOREPLACE;
    if rustix::fs::renameat_with(CWD, &draft, CWD, path, apart).is_ok() {
        return Ok(());
    }
    if is_whole(path) {
        rustix::fs::unlink(&draft)?;
    } else {
        rustix::fs::rename(&draft, path)?;
    }
    Ok(())
}
