//! One file or directory inside a sandbox: looked at, written, removed; and the same place in main,
//! only looked at.
//!
//! Looking reads the layers as the kernel would merge them, whether the jail is up or not, and
//! follows nothing. Writing and removing happen inside, like everything that changes a sandbox: a
//! link there leads where it leads inside.

use crate::changes::kind_word;
use crate::copy_files::Reach;
use crate::relay::Source;
use crate::view::shown;
use crate::{Engine, EngineError, changes, chore, find, whereabouts};
use agar_core::run::End;
use agar_sandbox::layer::{Entry, Kind, Upper, View};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

/// Asks what is at a path inside.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LookRequest {
    /// Its alias, id or a unique beginning; may be left out when there is only one.
    pub sandbox: Option<String>,
    /// Absolute, or relative to the project.
    pub path: PathBuf,
    /// How much of a file is read at most.
    pub bytes_max: u64,
}

/// One name in a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryView {
    /// The name.
    pub name: String,
    /// What it is: `file`, `directory`, `symlink`, `fifo`, `socket`, `device`.
    pub what: String,
    /// Its size, of a file.
    pub bytes: u64,
    /// Whether the sandbox wrote it.
    pub changed: bool,
}

/// What is at a path inside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LookAnswer {
    /// The whole path.
    pub path: String,
    /// What it is: `file`, `directory`, `symlink`, `fifo`, `socket`, `device`.
    pub what: String,
    /// Its permissions, in octal.
    pub mode: String,
    /// Its size, of a file.
    pub bytes: u64,
    /// Where a symbolic link points. It was not followed.
    pub target: Option<String>,
    /// The names in a directory, sorted.
    pub entries: Vec<EntryView>,
    /// The content of a file.
    #[serde(skip)]
    pub content: Vec<u8>,
}

/// Shows a file, a directory or a link inside a sandbox.
pub fn look(engine: &Engine, request: &LookRequest) -> Result<LookAnswer, EngineError> {
    let here = engine.here()?;
    let record = find::sandbox(here, request.sandbox.as_deref())?;
    let blueprint = whereabouts::inside(here, changes::kept(&record, "look into")?);
    let path = blueprint.root.join(plain(&request.path)?);
    let reach = Reach::into(&blueprint);
    let entry = reach.find(&path)?.ok_or_else(|| EngineError::Missing {
        doing: "look into a sandbox",
        what: format!("{} in {}", shown(&path), record.alias),
    })?;
    describe(&path, &entry, request.bytes_max, || reach.children(&path))
}

/// Shows the same place in main: the project that a sandbox was made from, as it is now.
///
/// Nothing outside the project is shown, no link is followed, and what is masked inside is masked
/// here too: whoever may look into a sandbox sees no more of the machine by this.
pub fn look_at_main(engine: &Engine, request: &LookRequest) -> Result<LookAnswer, EngineError> {
    let here = engine.here()?;
    let record = find::sandbox(here, request.sandbox.as_deref())?;
    let blueprint = whereabouts::outside(here, changes::kept(&record, "look into")?);
    let below = plain(&request.path)?;
    if below.is_absolute() {
        return Err(EngineError::Invalid(
            "a path in main is relative to the project".to_owned(),
        ));
    }
    let path = blueprint.root.join(below);
    let hidden = |path: &Path| blueprint.masks.iter().any(|mask| path.starts_with(mask));
    let view = View::open([&blueprint.root], Upper::None)?;
    let found = view.lookup(below)?.filter(|_| !hidden(&path));
    let entry = found.ok_or_else(|| EngineError::Missing {
        doing: "look into main",
        what: shown(&path),
    })?;
    describe(&path, &entry, request.bytes_max, || {
        let mut children = view.read_dir(below)?;
        children.retain(|(name, _)| !hidden(&path.join(name)));
        Ok(children)
    })
}

/// What there is to say about an entry.
fn describe(
    path: &Path,
    entry: &Entry,
    bytes_max: u64,
    children: impl FnOnce() -> Result<Vec<(OsString, Entry)>, EngineError>,
) -> Result<LookAnswer, EngineError> {
    let mut answer = LookAnswer {
        path: shown(path),
        what: kind_word(entry.kind).to_owned(),
        mode: format!("{:04o}", entry.mode & 0o7777),
        bytes: entry.size,
        target: None,
        entries: Vec::new(),
        content: Vec::new(),
    };
    match entry.kind {
        Kind::File => answer.content = content(entry, bytes_max, path)?,
        Kind::Directory => answer.entries = children()?.iter().map(listed).collect(),
        Kind::Symlink => {
            let target = entry.place.read_link();
            let target = target.map_err(EngineError::io(format!("read {}", shown(path))))?;
            answer.target = Some(shown(Path::new(&target)));
        }
        Kind::Fifo | Kind::Socket | Kind::Device => {}
    }
    Ok(answer)
}

fn content(entry: &Entry, bytes_max: u64, path: &Path) -> Result<Vec<u8>, EngineError> {
    let read = entry.place.read(bytes_max);
    let read = read.map_err(EngineError::io(format!("read {}", shown(path))))?;
    read.ok_or_else(|| {
        EngineError::Invalid(format!(
            "{} is longer than {bytes_max} bytes; `agar cp` copies files of any size",
            shown(path)
        ))
    })
}

fn listed((name, entry): &(OsString, Entry)) -> EntryView {
    EntryView {
        name: shown(Path::new(name)),
        what: kind_word(entry.kind).to_owned(),
        bytes: entry.size,
        changed: entry.is_upper,
    }
}

/// A path that goes down and nowhere else.
fn plain(path: &Path) -> Result<&Path, EngineError> {
    let odd = |part: Component<'_>| !matches!(part, Component::Normal(_) | Component::RootDir);
    if path.as_os_str().as_bytes().contains(&0) || path.components().any(odd) {
        return Err(EngineError::Invalid(format!(
            "`{}` is not a plain path: leave out `.` and `..`",
            shown(path)
        )));
    }
    Ok(path)
}

/// Writes a file: `$1` where to.
const WRITE: &str = r#"mkdir -p -- "$(dirname -- "$1")" && cat > "$1""#;

/// Removes a file or a directory with all in it: `$1` which.
const REMOVE: &str = r#"if [ -e "$1" ] || [ -L "$1" ]; then rm -r -- "$1"; else exit 3; fi"#;

/// Writes a file inside a sandbox, making its directories.
pub fn write_file(
    engine: &Engine,
    (sandbox, path): (&str, &Path),
    content: &[u8],
) -> Result<(), EngineError> {
    inside(engine, (sandbox, path), (WRITE, content), "write a file in").map(drop)
}

/// Removes a file, or a directory with all in it, inside a sandbox.
pub fn remove_file(engine: &Engine, (sandbox, path): (&str, &Path)) -> Result<(), EngineError> {
    if plain(path)?.file_name().is_none() {
        return Err(EngineError::Invalid("say which file".to_owned()));
    }
    inside(engine, (sandbox, path), (REMOVE, b""), "remove a file in")
}

/// Runs a small command inside, in a jail that is put up for it where there is none.
fn inside(
    engine: &Engine,
    (sandbox, path): (&str, &Path),
    (script, input): (&str, &[u8]),
    doing: &'static str,
) -> Result<(), EngineError> {
    let here = engine.here()?;
    let record = find::sandbox(here, Some(sandbox))?;
    let blueprint = changes::kept(&record, doing)?;
    let target = blueprint.root.join(plain(path)?);
    let (place, words) = ((&record, blueprint.root.as_path()), [target.as_os_str()]);
    let input = Source::Bytes(input);
    let done = chore::run((engine, here), place, (script, &words), input)?;
    match done.end.as_ref().map(End::exit_code) {
        Some(0) => Ok(()),
        Some(3) if script == REMOVE => Err(EngineError::Missing {
            doing: "remove a file",
            what: format!("{} in {}", shown(&target), record.alias),
        }),
        Some(_) | None => Err(done.failed(doing, record)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_goes_down_and_nowhere_else() {
        for good in ["a", "a/b", "/etc/x", ""] {
            assert!(plain(Path::new(good)).is_ok(), "{good}");
        }
        for bad in ["..", "a/../b", "/..", "./a", "a\0b"] {
            assert!(plain(Path::new(bad)).is_err(), "{bad}");
        }
    }
}
