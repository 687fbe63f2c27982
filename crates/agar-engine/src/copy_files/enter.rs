//! Files into a sandbox.
//!
//! They go in the way everything does: a command inside writes them. A layer below a mounted
//! overlay is never written to from outside.

use super::CopyAnswer;
use crate::relay::Source;
use crate::view::shown;
use crate::{Engine, EngineError, chore, find, view};
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;

/// Writes one file: `$1` where to, `$2` its name if that is a directory, `$3` its mode.
const WRITE_FILE: &str = r#"to=$1; [ -d "$to" ] && to=$to/$2; cat > "$to" && chmod "$3" "$to""#;

/// Unpacks a directory: `$1` where to, `$2` its name if that is a directory already.
const WRITE_TREE: &str =
    r#"to=$1; [ -d "$to" ] && to=$to/$2; mkdir -p "$to" && tar -xpf - -C "$to""#;

/// Copies a file or directory of the machine into a sandbox.
pub(super) fn copy_in(
    engine: &Engine,
    from: &Path,
    (name, to): (&str, &Path),
) -> Result<CopyAnswer, EngineError> {
    let metadata = from.metadata().map_err(|source| EngineError::Unreadable {
        path: from.to_owned(),
        source,
    })?;
    let file_name = from.file_name().unwrap_or(OsStr::new("."));
    let counted = count(from);
    let failed = || EngineError::io(format!("read {}", shown(from)));
    if metadata.is_dir() {
        let mut tar = std::process::Command::new("tar")
            .args(["-cf", "-", "-C"])
            .arg(from)
            .arg(".")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(EngineError::io("start tar, which packs the directory"))?;
        let packed = tar.stdout.take();
        let words = [to.as_os_str(), file_name];
        let input = packed.as_ref().map(|packed| packed.as_fd());
        let written = write(engine, name, (WRITE_TREE, &words), input);
        drop(packed);
        tar.wait().map_err(failed())?;
        written?;
    } else {
        let file = fs_err::File::open(from).map_err(failed())?;
        let mode = OsString::from(format!("{:o}", metadata.permissions().mode() & 0o777));
        let words = [to.as_os_str(), file_name, &mode];
        write(engine, name, (WRITE_FILE, &words), Some(file.as_fd()))?;
    }
    let here = engine.here()?;
    let record = find::sandbox(here, Some(name))?;
    Ok(CopyAnswer {
        sandbox: view::sandbox(here, &record)?,
        files: counted.0,
        bytes: counted.1,
    })
}

/// Runs the writing command inside, in a jail that is put up for it where there is none.
fn write(
    engine: &Engine,
    name: &str,
    (script, words): (&str, &[&OsStr]),
    input: Option<BorrowedFd<'_>>,
) -> Result<(), EngineError> {
    let here = engine.here()?;
    let record = find::sandbox(here, Some(name))?;
    let blueprint = crate::changes::kept(&record, "copy files into")?;
    let input = input.map_or(Source::Empty, Source::Descriptor);
    let place = (&record, blueprint.root.as_path());
    let done = chore::run((engine, here), place, (script, words), input)?;
    match &done.end {
        Some(end) if end.is_success() => Ok(()),
        Some(_) | None => Err(done.failed("copy files into", record)),
    }
}

/// How many files, and how many bytes of them.
fn count(path: &Path) -> (u64, u64) {
    let Ok(metadata) = path.symlink_metadata() else {
        return (0, 0);
    };
    if !metadata.is_dir() {
        return (1, metadata.len());
    }
    let Ok(entries) = path.read_dir() else {
        return (0, 0);
    };
    entries.flatten().fold((0, 0), |(files, bytes), entry| {
        let (more_files, more_bytes) = count(&entry.path());
        (files + more_files, bytes + more_bytes)
    })
}
