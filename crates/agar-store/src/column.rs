//! Between our types and SQLite's columns.

use agar_core::seam::Timestamp;
use rusqlite::types::Type;
use rusqlite::{Error, Result, Row};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A column whose text our types cannot read.
#[derive(Debug, thiserror::Error)]
#[error("`{text}` is not what belongs into column {column}")]
struct Unreadable {
    column: usize,
    text: String,
}

fn unreadable(column: usize, text: &str) -> Error {
    let text = text.chars().take(80).collect();
    Error::FromSqlConversionFailure(column, Type::Text, Box::new(Unreadable { column, text }))
}

/// A value with a textual form, such as an id.
pub(crate) fn parsed<T: FromStr>(row: &Row<'_>, column: usize) -> Result<T> {
    let text: String = row.get(column)?;
    text.parse().map_err(|_| unreadable(column, &text))
}

/// The same where there may be none.
pub(crate) fn parsed_option<T: FromStr>(row: &Row<'_>, column: usize) -> Result<Option<T>> {
    let text: Option<String> = row.get(column)?;
    text.map(|text| text.parse().map_err(|_| unreadable(column, &text)))
        .transpose()
}

/// A value that has one word, found by that word.
pub(crate) fn word<T>(
    row: &Row<'_>,
    column: usize,
    find: impl FnOnce(&str) -> Option<T>,
) -> Result<T> {
    let text: String = row.get(column)?;
    find(&text).ok_or_else(|| unreadable(column, &text))
}

/// A value kept as JSON.
pub(crate) fn json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> Result<T> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|_| unreadable(column, &text))
}

/// The same where there may be none.
pub(crate) fn json_option<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> Result<Option<T>> {
    let text: Option<String> = row.get(column)?;
    text.map(|text| serde_json::from_str(&text).map_err(|_| unreadable(column, &text)))
        .transpose()
}

/// A path, as bytes.
pub(crate) fn path(row: &Row<'_>, column: usize) -> Result<PathBuf> {
    let bytes: Vec<u8> = row.get(column)?;
    Ok(std::ffi::OsString::from_vec(bytes).into())
}

/// A moment.
pub(crate) fn moment(row: &Row<'_>, column: usize) -> Result<Timestamp> {
    row.get(column).map(Timestamp::from_millis)
}

/// A moment that may not have come yet.
pub(crate) fn moment_option(row: &Row<'_>, column: usize) -> Result<Option<Timestamp>> {
    Ok(row
        .get::<_, Option<u64>>(column)?
        .map(Timestamp::from_millis))
}

/// The bytes of a path, for a parameter.
pub(crate) fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

/// JSON for a parameter. Our own types always have one.
pub(crate) fn to_json<T: Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::ToSqlConversionFailure(Box::new(error)))
}
