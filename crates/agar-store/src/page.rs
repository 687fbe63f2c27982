//! Sandboxes page by page: what a page costs is its own size, not the number of sandboxes.

use crate::sandbox::{COLUMNS, Sandbox, read};
use crate::store::{Reader, StoreError};
use agar_core::id::{ProjectId, SandboxId};
use agar_core::state::State;
use rusqlite::types::Value;
use rusqlite::{params, params_from_iter};
use std::fmt::Write as _;

/// In which order sandboxes are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// As they were made.
    #[default]
    OldestFirst,
    /// The other way round.
    NewestFirst,
}

/// Which sandboxes are on a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<'a> {
    /// Of which project; of all if left out.
    pub project: Option<ProjectId>,
    /// In one of these states.
    pub states: &'a [State],
    /// Whose alias, note or commands hold each of these words, in whatever case.
    pub words: &'a str,
    /// In which order.
    pub order: Order,
    /// Only those that follow this one in the order.
    pub after: Option<SandboxId>,
    /// How many at most.
    pub limit: Option<usize>,
}

/// More words than anybody types.
const WORDS_MAX: usize = 8;

impl Reader<'_> {
    /// One page of sandboxes.
    pub fn sandbox_page(&self, page: &Page<'_>) -> Result<Vec<Sandbox>, StoreError> {
        let states: Vec<String> = page
            .states
            .iter()
            .map(|state| format!("'{}'", state.word()))
            .collect();
        let (follows, direction) = match page.order {
            Order::OldestFirst => (">", "ASC"),
            Order::NewestFirst => ("<", "DESC"),
        };
        // Ids grow with time, so that their order is the one in which sandboxes were made.
        let mut query = format!(
            "SELECT {COLUMNS} FROM sandbox WHERE (?1 IS NULL OR project = ?1)
             AND (?2 IS NULL OR id {follows} ?2) AND state IN ({})",
            states.join(", ")
        );
        let text = |id: String| Value::Text(id);
        let mut values = vec![
            page.project.map_or(Value::Null, |id| text(id.to_string())),
            page.after.map_or(Value::Null, |id| text(id.to_string())),
            Value::Integer(
                page.limit
                    .and_then(|limit| i64::try_from(limit).ok())
                    .unwrap_or(-1),
            ),
        ];
        for word in page.words.split_whitespace().take(WORDS_MAX) {
            values.push(text(like(word)));
            let n = values.len();
            // Writing to a string cannot fail.
            let _ = write!(
                query,
                " AND (alias LIKE ?{n} ESCAPE '\\' OR note LIKE ?{n} ESCAPE '\\' OR EXISTS
                 (SELECT 1 FROM run WHERE run.sandbox = sandbox.id AND argv LIKE ?{n} ESCAPE '\\'))"
            );
        }
        let _ = write!(query, " ORDER BY id {direction} LIMIT ?3");
        let mut statement = self.connection.prepare_cached(&query)?;
        let found = statement.query_map(params_from_iter(values), read)?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    }

    /// How many sandboxes are in each state, of one project or of all.
    pub fn sandbox_counts(
        &self,
        project: Option<ProjectId>,
    ) -> Result<Vec<(State, u64)>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT state, count(*) FROM sandbox WHERE (?1 IS NULL OR project = ?1) GROUP BY state",
        )?;
        let project = project.map(|id| id.to_string());
        let found = statement.query_map(params![project], |row| {
            Ok((crate::column::word(row, 0, State::from_word)?, row.get(1)?))
        })?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    }
}

/// A word as a pattern that finds it anywhere.
pub(crate) fn like(word: &str) -> String {
    let mut pattern = String::from("%");
    for letter in word.chars() {
        if matches!(letter, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern.push('%');
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_looked_for_as_it_is_written() {
        assert_eq!(like("100%_a\\b"), "%100\\%\\_a\\\\b%");
    }
}
