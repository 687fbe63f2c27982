//! All sources together: what each says, what needs consent, and what follows.

use super::failure::SettingsError;
use super::{file, hints};
use agar_core::id::ProjectId;
use agar_core::settings::{Key, Layer, Origin, Resolved, Source, Who, resolve};
use agar_core::suggest;
use agar_store::Reader;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

/// The project's settings file.
pub const FILE_NAME: &str = "agar.toml";

/// What approvals of settings are filed under in the store.
pub const SUBJECT: &str = "settings";

/// What our variables begin with.
const PREFIX: &str = "AGAR_";

/// Where settings come from, as data.
#[derive(Debug, Clone)]
pub struct Sources<'a> {
    /// The user's file: `$XDG_CONFIG_HOME/agar/config.toml`.
    pub user: &'a Path,
    /// The project's directory, where there is a project.
    pub project: Option<&'a Path>,
    /// The caller's environment.
    pub environment: &'a [(OsString, OsString)],
    /// What was typed, if anything.
    pub flags: Option<&'a Layer>,
}

/// What the sources say, before anything is decided.
#[derive(Debug, Clone)]
pub struct Asked {
    before: Vec<Layer>,
    project: Vec<Layer>,
    after: Vec<Layer>,
    /// The content of the project's files that a person may be asked to approve.
    pub consent: Option<Consent>,
    /// The files that were read, weakest first.
    pub files: Vec<PathBuf>,
    /// Files of other tools that could not be understood.
    pub unreadable: Vec<PathBuf>,
}

/// One exact content of a project's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consent {
    /// The hash that stands for it.
    pub hash: String,
    /// The files.
    pub files: Vec<PathBuf>,
}

/// Decided settings, with what they depend on.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The values, where each came from, and what the project asked for in vain.
    pub resolved: Resolved,
    /// What the sources said.
    pub asked: Asked,
    /// Whether a person approved the project's files as they are now.
    pub approved: bool,
}

impl Asked {
    /// Decides every value.
    pub fn resolve(&self, who: Who, approved: bool) -> Resolved {
        let source = if approved {
            Source::ApprovedProject
        } else {
            Source::Project
        };
        let project = self.project.iter().cloned().map(|mut layer| {
            layer.source = source;
            layer
        });
        let layers: Vec<Layer> = (self.before.iter().cloned())
            .chain(project)
            .chain(self.after.iter().cloned())
            .collect();
        resolve(who, &layers)
    }
}

/// Reads every source and decides every value, asking the store what a person approved.
pub fn load(
    sources: &Sources<'_>,
    who: Who,
    approvals: Option<(&Reader<'_>, ProjectId)>,
) -> Result<Loaded, SettingsError> {
    let asked = read(sources)?;
    let approved = match (&asked.consent, approvals) {
        (Some(consent), Some((reader, project))) => {
            reader.is_approved(project, &consent.hash, SUBJECT)?
        }
        (None, _) | (_, None) => false,
    };
    Ok(Loaded {
        resolved: asked.resolve(who, approved),
        asked,
        approved,
    })
}

/// Reads every source.
pub fn read(sources: &Sources<'_>) -> Result<Asked, SettingsError> {
    let mut asked = Asked {
        before: Vec::new(),
        project: Vec::new(),
        after: Vec::new(),
        consent: None,
        files: Vec::new(),
        unreadable: Vec::new(),
    };
    if let Some(text) = content(sources.user)? {
        let path = sources.user.to_owned();
        let origin = Origin::User { path: path.clone() };
        let layer = file::parse(&path, &text, Source::Person, &origin)?;
        asked.before.push(layer);
        asked.files.push(path);
    }
    if let Some(project) = sources.project {
        read_project(&mut asked, project)?;
    }
    asked.after.push(variables(sources.environment)?);
    asked.after.extend(sources.flags.cloned());
    Ok(asked)
}

fn read_project(asked: &mut Asked, project: &Path) -> Result<(), SettingsError> {
    let mut hasher = blake3::Hasher::new();
    let hints = hints::read(project);
    for layer in &hints.layers {
        // Only what agar takes from another tool's file: the rest of it may change as it likes.
        for (key, (value, _)) in &layer.values {
            part(&mut hasher, key.name().as_bytes());
            part(&mut hasher, value.show(key.kind()).as_bytes());
        }
    }
    asked.project.extend(hints.layers);
    asked.unreadable = hints.unreadable;
    let mut files = hints.used;
    let path = project.join(FILE_NAME);
    if let Some(text) = content(&path)? {
        part(&mut hasher, FILE_NAME.as_bytes());
        part(&mut hasher, text.as_bytes());
        let origin = Origin::Project { path: path.clone() };
        let layer = file::parse(&path, &text, Source::Project, &origin)?;
        asked.project.push(layer);
        files.push(path);
    }
    asked.files.extend(files.iter().cloned());
    if !files.is_empty() {
        asked.consent = Some(Consent {
            hash: hasher.finalize().to_hex().to_string(),
            files,
        });
    }
    Ok(())
}

/// Adds a part of a content so that no two contents run together to the same bytes.
fn part(hasher: &mut blake3::Hasher, bytes: &[u8]) {
    hasher.update(&(bytes.len() as u64).to_le_bytes());
    hasher.update(bytes);
}

/// The text of a file, or none where there is no such file.
fn content(path: &Path) -> Result<Option<String>, SettingsError> {
    match fs_err::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            Ok(None)
        }
        Err(source) => Err(SettingsError::Unreadable {
            path: path.to_owned(),
            source,
        }),
    }
}

/// What the `AGAR_*` variables say. An empty one says nothing.
fn variables(environment: &[(OsString, OsString)]) -> Result<Layer, SettingsError> {
    let mut layer = Layer::new(Source::Person);
    for (name, value) in environment {
        let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else {
            continue;
        };
        let Some(key) = Key::ALL.iter().copied().find(|key| key.variable() == name) else {
            unknown(name)?;
            continue;
        };
        if !value.is_empty() {
            set(&mut layer, key, name, value)?;
        }
    }
    Ok(layer)
}

fn set(layer: &mut Layer, key: Key, name: &str, value: &OsStr) -> Result<(), SettingsError> {
    let origin = Origin::Environment {
        variable: name.to_owned(),
    };
    layer
        .set_text(key, &value.to_string_lossy(), origin)
        .map_err(|fault| SettingsError::BadVariable {
            variable: name.to_owned(),
            fault: Box::new(fault),
        })
}

/// A variable that is almost a setting was meant to be one; any other is somebody else's.
///
/// Only the part that differs is compared: `AGAR_PAGER` is as far from `AGAR_TIER` as a pager is
/// from a tier.
fn unknown(name: &str) -> Result<(), SettingsError> {
    let variables: Vec<String> = Key::ALL.iter().map(|key| key.variable()).collect();
    let parts = variables
        .iter()
        .filter_map(|name| name.strip_prefix(PREFIX));
    match suggest::nearest(name.trim_start_matches(PREFIX), parts) {
        Some(near) => Err(SettingsError::UnknownVariable {
            variable: name.to_owned(),
            suggestion: format!("{PREFIX}{near}"),
        }),
        None => Ok(()),
    }
}
