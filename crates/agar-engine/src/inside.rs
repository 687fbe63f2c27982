//! What a command finds inside: its directory, its environment, and what is not there.

use crate::Engine;
use crate::blueprint::Blueprint;
use crate::failure::EngineError;
use crate::here::{Here, Known};
use crate::keys;
use crate::options::{Command, SandboxOptions};
use crate::settings::hidden_in_home;
use crate::whereabouts;
use crate::wishes::Wishes;
use agar_core::environment;
use agar_core::mask::{Entry, MaskRules};
use agar_core::walls::Network;
use agar_jail::wire::Raw;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Where a command starts: the caller's own directory under its real name, or the project when the
/// caller stands elsewhere than inside can be reached.
pub(crate) fn directory(engine: &Engine, blueprint: &Blueprint, asked: Option<&Path>) -> PathBuf {
    let cwd = &engine.surroundings().cwd;
    let wanted = match asked {
        Some(asked) => cwd.join(asked),
        None => cwd.clone(),
    };
    // A directory that exists only inside cannot be resolved out here, and is used as it is.
    let mut real = wanted.canonicalize().unwrap_or(wanted);
    if let Ok(here) = engine.here() {
        whereabouts::enter(here, blueprint, &mut real);
    }
    let real = if asked.is_none() && is_fresh(&real, blueprint) {
        blueprint.root.clone()
    } else {
        real
    };
    match blueprint.copy.as_ref().filter(|copy| !copy.in_place) {
        Some(copy) => match real.strip_prefix(&blueprint.root) {
            Ok(within) => copy.project.join(within),
            Err(_) => copy.project.clone(),
        },
        None => real,
    }
}

/// Whether a path lies where the inside has an empty directory of its own.
fn is_fresh(path: &Path, blueprint: &Blueprint) -> bool {
    const FRESH: [&str; 6] = ["/tmp", "/var/tmp", "/run", "/dev", "/proc", "/sys"];
    let fresh = FRESH.iter().any(|fresh| path.starts_with(fresh));
    fresh && !path.starts_with(&blueprint.root)
}

/// Paths that do not exist inside: secrets by the rules, and agar's own state.
pub(crate) fn masks(
    engine: &Engine,
    here: &Here,
    known: &Known,
    (options, settings): (&SandboxOptions, &Wishes),
    network: &Network,
) -> Result<Vec<PathBuf>, EngineError> {
    let mask = [settings.mask.as_slice(), &options.mask].concat();
    let unmask = [settings.unmask.as_slice(), &options.unmask].concat();
    let rules = MaskRules::with(&mask, &unmask)?;
    let root = &known.found.root;
    let mut masks = rules.elsewhere();
    masks.retain(|path| path.symlink_metadata().is_ok());
    if let Some(home) = crate::layers::home(engine) {
        let project = root.strip_prefix(&home).ok();
        let skip: Vec<&Path> = project.into_iter().collect();
        masks.extend(hidden_in_home(&rules, &home, &skip));
        masks.extend(keys::known(here, &rules, &home, project));
    }
    if rules.concern_project(network) {
        let found = files_named(root, &|name| rules.may_hide_name(name, network));
        let inside = found.iter().filter_map(|path| path.strip_prefix(root).ok());
        let found = rules.hidden_in_project(network, inside);
        masks.extend(found.into_iter().map(|path| root.join(path)));
    }
    masks.push(here.state.path().to_owned());
    // Where the server's token lies, also when this project's state is on another filesystem.
    let own = engine.surroundings().state_home.join("agar");
    masks.extend(own.symlink_metadata().is_ok().then_some(own));
    masks.sort();
    masks.dedup();
    Ok(masks)
}

/// What a directory holds; nothing if it cannot be read, for then it cannot be read inside either.
fn entries(directory: &Path) -> Vec<Entry> {
    let Ok(entries) = directory.read_dir() else {
        return Vec::new();
    };
    entries
        .flatten()
        .map(|entry| Entry {
            name: entry.file_name(),
            is_directory: entry.file_type().is_ok_and(|kind| kind.is_dir()),
        })
        .collect()
}

/// Everything below a directory whose name is of interest. Walks the whole tree: only for a jail
/// whose network is open, or for masks that somebody added.
fn files_named(directory: &Path, of_interest: &dyn Fn(&OsStr) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut ahead = vec![directory.to_owned()];
    while let Some(directory) = ahead.pop() {
        for entry in entries(&directory) {
            let path = directory.join(&entry.name);
            if of_interest(&entry.name) {
                found.push(path);
            } else if entry.is_directory {
                ahead.push(path);
            }
        }
    }
    found
}

/// The environment of a command: what the allow-list lets through of the caller's, what was asked
/// for by name, and what the sandbox itself adds.
pub(crate) fn environment(
    engine: &Engine,
    blueprint: &Blueprint,
    command: &Command,
    (alias, cwd): (&str, &Path),
) -> Result<Vec<(Raw, Raw)>, EngineError> {
    let asked = Asked::new([&blueprint.environment, &command.environment])?;
    let mut inside: BTreeMap<OsString, OsString> = BTreeMap::new();
    for (name, value) in &engine.surroundings().environment {
        let text = (name.to_str(), value.to_str());
        let keep = match text {
            (Some(name), Some(value)) => environment::keep(name, value, &asked.names),
            // Whatever is not text can be vouched for by its whole name only.
            (Some(name), None) => asked.names.iter().any(|asked| asked == name),
            (None, _) => false,
        };
        if keep {
            inside.insert(name.clone(), value.clone());
        }
    }
    inside.extend(asked.values);
    let temporary = match blueprint.copy.as_ref().filter(|copy| !copy.in_place) {
        Some(copy) => copy.temporary.as_path(),
        None => Path::new("/tmp"),
    };
    let own: [(&str, &OsStr); 4] = [
        ("AGAR_SANDBOX", OsStr::new(alias)),
        ("HOME", engine.surroundings().home.as_os_str()),
        ("PWD", cwd.as_os_str()),
        ("TMPDIR", temporary.as_os_str()),
    ];
    for (name, value) in own {
        inside.insert(name.into(), value.into());
    }
    inside
        .entry("PATH".into())
        .or_insert_with(|| DEFAULT_PATH.into());
    if blueprint.minimal_git_stat {
        trust_less(&mut inside);
    }
    Ok(inside
        .into_iter()
        .map(|(name, value)| (Raw::from(name), Raw::from(value)))
        .collect())
}

/// What a login without any settings would search.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Variables asked for by name, and those given with a value.
struct Asked {
    names: Vec<String>,
    values: Vec<(OsString, OsString)>,
}

impl Asked {
    fn new<'a>(lists: impl IntoIterator<Item = &'a Vec<OsString>>) -> Result<Self, EngineError> {
        let mut asked = Self {
            names: Vec::new(),
            values: Vec::new(),
        };
        for word in lists.into_iter().flatten() {
            let bytes = word.as_bytes();
            let (name, value) = match bytes.iter().position(|&byte| byte == b'=') {
                Some(at) => (&bytes[..at], Some(&bytes[at + 1..])),
                None => (bytes, None),
            };
            let name = std::str::from_utf8(name)
                .ok()
                .filter(|name| !name.is_empty())
                .ok_or_else(|| {
                    let word = agar_core::text::printable_bytes(bytes);
                    EngineError::Invalid(format!("`{word}` is not the name of a variable"))
                })?;
            if environment::is_never_kept(name) {
                return Err(EngineError::Invalid(format!(
                    "the variable {name} never enters a sandbox"
                )));
            }
            match value {
                Some(value) => asked
                    .values
                    .push((name.into(), OsStr::from_bytes(value).to_owned())),
                None => asked.names.push(name.to_owned()),
            }
        }
        Ok(asked)
    }
}

/// Tells git inside not to trust inode numbers and change times: the index remembers those of the
/// host's files.
fn trust_less(environment: &mut BTreeMap<OsString, OsString>) {
    let pairs = [("core.checkStat", "minimal"), ("core.trustctime", "false")];
    environment.insert("GIT_CONFIG_COUNT".into(), pairs.len().to_string().into());
    for (index, (key, value)) in pairs.iter().enumerate() {
        environment.insert(format!("GIT_CONFIG_KEY_{index}").into(), key.into());
        environment.insert(format!("GIT_CONFIG_VALUE_{index}").into(), value.into());
    }
}

/// The names of the variables that would be passed in, for a reader.
pub(crate) fn environment_names(engine: &Engine, blueprint: &Blueprint) -> Vec<String> {
    let inside = environment(
        engine,
        blueprint,
        &Command::default(),
        ("", &blueprint.root),
    );
    inside
        .unwrap_or_default()
        .iter()
        .map(|(name, _)| name.to_string())
        .collect()
}
