//! The JSON shape of a change set, documented at [`ChangeSet`](super::ChangeSet).

use super::{Action, Bulk, Change, Side, Unread};
use crate::spelling::base64;
use agar_core::text::printable_bytes;
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

impl Serialize for Change {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        name(&mut map, "path", self.path.as_os_str())?;
        map.serialize_entry("action", self.action.word())?;
        match &self.action {
            Action::Renamed {
                from, similarity, ..
            } => {
                name(&mut map, "from", from.as_os_str())?;
                map.serialize_entry("similarity", similarity)?;
            }
            Action::Added
            | Action::Modified
            | Action::Deleted
            | Action::ModeChanged
            | Action::TypeChanged => {}
        }
        map.serialize_entry("role", self.role.word())?;
        map.serialize_entry("masked", &self.masked)?;
        map.serialize_entry("binary", &self.binary)?;
        map.serialize_entry("lines", &self.lines)?;
        map.serialize_entry("before", &self.before)?;
        map.serialize_entry("after", &self.after)?;
        if let Some(below) = &self.below {
            map.serialize_entry("below", below)?;
        }
        map.end()
    }
}

impl Serialize for Side {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("kind", self.kind.word())?;
        map.serialize_entry("mode", &format!("{:04o}", self.mode))?;
        map.serialize_entry("size", &self.size)?;
        if let Some(target) = &self.target {
            name(&mut map, "target", target)?;
        }
        map.end()
    }
}

impl Serialize for Bulk {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        name(&mut map, "path", self.path.as_os_str())?;
        map.serialize_entry("tally", &self.tally)?;
        if !self.changes.is_empty() {
            map.serialize_entry("changes", &self.changes)?;
        }
        map.end()
    }
}

impl Serialize for Unread {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        name(&mut map, "path", self.path.as_os_str())?;
        map.serialize_entry("reason", &self.reason)?;
        map.end()
    }
}

/// A name as text, and beside it its exact bytes when text cannot hold them.
pub(super) fn name<M: SerializeMap>(map: &mut M, key: &str, value: &OsStr) -> Result<(), M::Error> {
    if let Some(text) = value.to_str() {
        return map.serialize_entry(key, text);
    }
    map.serialize_entry(key, &printable_bytes(value.as_bytes()))?;
    map.serialize_entry(&format!("{key}_base64"), &base64(value.as_bytes()))
}
