//! The commits that only the sandbox has, told by git itself.
//!
//! git is run on an empty repository of our own that borrows the objects of the layers, so none of
//! the sandbox's configuration, hooks, monitors or replacement refs is ever read. What it borrows
//! from the upper was written by whatever ran inside: that part is looked over first, and git is
//! given a fixed time.

use super::refs::{self, Refs};
use super::{Commit, Pair};
use crate::layer::{Kind, ViewError};
use std::collections::BTreeSet;
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// The program that is asked.
const GIT: &str = "git";

/// How many commits are listed.
const COMMITS_MAX: usize = 1000;

/// How much git may say about them.
const OUTPUT_BYTES_MAX: u64 = 16 << 20;

/// How long git may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// What each commit is asked for: five fields, each ended by a zero.
const FORMAT: &str = "--format=tformat:%H%x00%P%x00%an%x00%at%x00%s";

/// The commits found, and why there may be more.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) commits: Vec<Commit>,
    pub(super) incomplete: Option<String>,
}

impl Listing {
    fn none(why: &str) -> Self {
        Self {
            commits: Vec::new(),
            incomplete: Some(why.to_owned()),
        }
    }
}

/// Lists the commits that the refs after reach and the refs before do not.
pub(super) fn commits(pair: &Pair, before: &Refs, after: &Refs) -> Result<Listing, ViewError> {
    let ids = |refs: &Refs| -> BTreeSet<String> {
        refs.values()
            .filter(|id| refs::is_id(id))
            .cloned()
            .collect()
    };
    let (old, new) = (ids(before), ids(after));
    if new.is_subset(&old) {
        return Ok(Listing::default());
    }
    if let Some(why) = distrust(pair)? {
        return Ok(Listing::none(why));
    }
    let mut input = String::new();
    for id in new.difference(&old) {
        input.extend([id, "\n"]);
    }
    for id in &old {
        input.extend(["^", id, "\n"]);
    }
    let shallow = match pair.merged.lookup(&pair.path.join("shallow"))? {
        Some(entry) => entry.place.read(OUTPUT_BYTES_MAX).ok().flatten(),
        None => None,
    };
    let wide = new.iter().any(|id| id.len() == 64);
    let objects = pair.objects()?;
    Ok(match scratch(shallow.as_deref(), wide) {
        Ok(scratch) => ask(command(GIT, scratch.path(), &objects), input),
        Err(error) => Listing::none(&format!("no place to list commits in: {error}")),
    })
}

/// Why the objects that the sandbox wrote cannot be handed to git, if they cannot.
fn distrust(pair: &Pair) -> Result<Option<&'static str>, ViewError> {
    let mut folders = vec![pair.path.join("objects")];
    while let Some(path) = folders.pop() {
        for (name, entry) in pair.written.read_dir(&path)? {
            match entry.kind {
                Kind::Directory => folders.push(path.join(&name)),
                Kind::File if name == "alternates" => {
                    return Ok(Some("the sandbox borrows objects from elsewhere"));
                }
                Kind::File => {}
                Kind::Symlink | Kind::Fifo | Kind::Socket | Kind::Device => {
                    return Ok(Some("the sandbox's objects are not plain files"));
                }
            }
        }
    }
    Ok(None)
}

/// An empty repository.
fn scratch(shallow: Option<&[u8]>, wide: bool) -> io::Result<tempfile::TempDir> {
    let directory = tempfile::Builder::new().prefix("agar-git-").tempdir()?;
    let path = directory.path();
    fs_err::create_dir(path.join("objects"))?;
    fs_err::create_dir(path.join("refs"))?;
    fs_err::write(path.join("HEAD"), "ref: refs/heads/none\n")?;
    let (version, format) = if wide {
        (1, "[extensions]\n\tobjectFormat = sha256\n")
    } else {
        (0, "")
    };
    let config = format!("[core]\n\trepositoryFormatVersion = {version}\n\tbare = true\n{format}");
    fs_err::write(path.join("config"), config)?;
    if let Some(shallow) = shallow {
        fs_err::write(path.join("shallow"), shallow)?;
    }
    Ok(directory)
}

/// Runs git and reads its answer.
fn ask(mut command: Command, input: String) -> Listing {
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Listing::none("git is not installed");
        }
        Err(error) => return Listing::none(&format!("git could not be started: {error}")),
    };
    let output = converse(&mut child, input);
    let ended = match output {
        Some(_) => child.wait(),
        None => child.kill().and_then(|()| child.wait()),
    };
    match (output, ended) {
        (Some(output), Ok(status)) if status.success() => listing(&output),
        (None, _) => Listing::none("git took too long"),
        (Some(_), _) => Listing::none("git could not read the sandbox's commits"),
    }
}

fn command(program: &str, scratch: &Path, objects: &[PathBuf]) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        // Found as the person's shell finds it; nothing else of the environment steers it.
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .env("HOME", scratch)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_ATTR_NOSYSTEM", "1")
        .env("GIT_NO_REPLACE_OBJECTS", "1")
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", alternates(objects))
        .args(["--no-pager", "-c", "core.hooksPath=/dev/null"])
        .args(["-c", "core.fsmonitor=false", "-c", "protocol.allow=never"])
        .arg("--git-dir")
        .arg(scratch)
        .args(["log", "-z", "--no-color", "--encoding=UTF-8", FORMAT])
        .arg(format!("--max-count={}", COMMITS_MAX + 1))
        .args(["--topo-order", "--ignore-missing", "--stdin"])
        .current_dir(scratch)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

/// The directories as git's variable wants them: between colons, odd names quoted.
fn alternates(objects: &[PathBuf]) -> std::ffi::OsString {
    let quoted = |path: &PathBuf| {
        let path = path.as_os_str().as_bytes();
        if !path.iter().any(|byte| matches!(byte, b':' | b'"')) {
            return path.to_vec();
        }
        let escaped = path.iter().flat_map(|byte| match byte {
            b'"' | b'\\' => vec![b'\\', *byte],
            byte => vec![*byte],
        });
        [vec![b'"'], escaped.collect(), vec![b'"']].concat()
    };
    let list: Vec<Vec<u8>> = objects.iter().map(quoted).collect();
    std::ffi::OsString::from_vec(list.join(&b':'))
}

/// Gives git its input and takes its output; `None` when it takes too long.
fn converse(child: &mut Child, input: String) -> Option<Vec<u8>> {
    let (mut stdin, stdout) = (child.stdin.take()?, child.stdout.take()?);
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        // If git does not listen, its answer tells.
        stdin.write_all(input.as_bytes()).ok();
    });
    std::thread::spawn(move || {
        let mut output = Vec::new();
        // A failed read leaves a shorter answer, which does not parse as success.
        stdout.take(OUTPUT_BYTES_MAX).read_to_end(&mut output).ok();
        sender.send(output).ok();
    });
    receiver.recv_timeout(PATIENCE).ok()
}

fn listing(output: &[u8]) -> Listing {
    let fields: Vec<String> = output
        .split(|byte| *byte == 0)
        .map(|field| String::from_utf8_lossy(field).into_owned())
        .collect();
    let mut commits: Vec<Commit> = fields.chunks_exact(5).map(commit).collect();
    let incomplete = (commits.len() > COMMITS_MAX)
        .then(|| format!("only the newest {COMMITS_MAX} commits are listed"));
    commits.truncate(COMMITS_MAX);
    Listing {
        commits,
        incomplete,
    }
}

fn commit(fields: &[String]) -> Commit {
    Commit {
        id: fields[0].clone(),
        parents: fields[1].split_whitespace().map(str::to_owned).collect(),
        author: fields[2].clone(),
        time: fields[3].parse().unwrap_or(0),
        subject: fields[4].clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_git_the_list_says_so() {
        let scratch = scratch(None, false).unwrap();
        let listing = ask(
            command("git-is-not-here", scratch.path(), &[]),
            String::new(),
        );
        assert_eq!(listing.incomplete.as_deref(), Some("git is not installed"));
    }

    #[test]
    fn a_colon_or_a_quote_in_a_path_does_not_split_it() {
        let paths = ["/plain".into(), "/odd:\"a\\".into()];
        assert_eq!(alternates(&paths), r#"/plain:"/odd:\"a\\""#);
    }
}
