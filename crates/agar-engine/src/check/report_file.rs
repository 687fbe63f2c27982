//! The files that a check wrote its report to, read without trusting a single name in them.
//!
//! They lie in a layer that hostile code has filled: see [`crate::beneath`].

use crate::beneath;
use crate::blueprint::Blueprint;
use agar_core::settings::Check;
use agar_review::report::REPORT_BYTES_MAX;
use agar_sandbox::stack::owner;
use rustix::fs::AtFlags;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

/// More files than this are not one report.
const FILES_MAX: usize = 1000;

/// Reads every file that the place names. `*` in its last part stands for anything.
pub(super) fn read(place: &str, blueprint: &Blueprint) -> Result<Vec<Vec<u8>>, String> {
    let (directory, names) = found(place, blueprint)?;
    let mut files = Vec::new();
    let mut left = REPORT_BYTES_MAX;
    for name in names {
        let bytes = beneath::read(&directory, &name, left)
            .map_err(|error| format!("{}: {error}", printable(&name)))?;
        left = left.saturating_sub(bytes.len());
        files.push(bytes);
    }
    Ok(files)
}

/// Removes what is there before a check runs.
pub(super) fn remove(check: &Check, blueprint: &Blueprint) {
    let Some(place) = check.report.as_deref().filter(|place| *place != "-") else {
        return;
    };
    if let Ok((directory, names)) = found(place, blueprint) {
        for name in names {
            // What cannot be removed was not written by the check either, and is then read: it can
            // only be a leftover of an earlier check of this very place.
            let _ = rustix::fs::unlinkat(&directory, name.as_str(), AtFlags::empty());
        }
    }
}

/// The directory in the layer that the check writes to, and the names in it that fit.
fn found(place: &str, blueprint: &Blueprint) -> Result<(OwnedFd, Vec<String>), String> {
    let absent = || format!("it wrote no {place}");
    let path = Path::new(place);
    if !path
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
    {
        return Err(format!("{place} is not inside the project"));
    }
    let pattern = path
        .file_name()
        .and_then(|name| name.to_str())
        .ok_or_else(absent)?;
    let (layer, within) = layer(path, blueprint).ok_or_else(absent)?;
    let directory = beneath::directory(&layer, &within).map_err(|_| absent())?;
    if !pattern.contains('*') {
        return Ok((directory, vec![pattern.to_owned()]));
    }
    let mut names = Vec::new();
    let entries = rustix::fs::Dir::read_from(&directory).map_err(|error| error.to_string())?;
    for entry in entries.flatten() {
        if let Ok(name) = entry.file_name().to_str()
            && fits(pattern, name)
        {
            names.push(name.to_owned());
        }
    }
    names.sort();
    names.truncate(FILES_MAX);
    Ok((directory, names))
}

/// The layer that a check writes a path of the project to, and the path's directory in it.
fn layer(path: &Path, blueprint: &Blueprint) -> Option<(PathBuf, PathBuf)> {
    let target = blueprint.root.join(path);
    let stack = owner(&blueprint.stacks, &target)?;
    let within = target.strip_prefix(&stack.target).ok()?.parent()?;
    Some((stack.upper.clone(), within.to_owned()))
}

/// Whether a name fits a pattern in which `*` stands for anything.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(name) = name.strip_prefix(head) else {
        return false;
    };
    (0..=name.len())
        .filter(|&at| name.is_char_boundary(at))
        .any(|at| fits(rest, &name[at..]))
}

fn printable(name: &str) -> String {
    agar_core::text::printable(name).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        assert!(fits("TEST-*.xml", "TEST-com.example.Cart.xml"));
        assert!(!fits("TEST-*.xml", "TEST-com.example.Cart.txt"));
        assert!(fits("*", "") && fits("a*b*c", "aXbYc") && !fits("a*b", "ba"));
    }
}
