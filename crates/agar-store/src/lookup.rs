//! From what a person typed to the sandbox that was meant.

use crate::column::parsed_option;
use crate::sandbox::{COLUMNS, Sandbox, read};
use crate::store::{Reader, StoreError};
use agar_core::id::{ProjectId, SandboxId};
use rusqlite::{OptionalExtension, params};

/// What a name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup {
    /// This sandbox.
    Found(Box<Sandbox>),
    /// Nothing. The nearest alias, where one is near.
    Missing {
        /// What was probably meant.
        nearest: Option<String>,
    },
    /// Any of these.
    Ambiguous(Vec<Sandbox>),
}

/// More candidates than anybody reads.
const CANDIDATES: u32 = 20;

impl Reader<'_> {
    /// The sandbox of a whole alias, a whole id, or a prefix of either that fits only one.
    ///
    /// A whole alias or id wins over every prefix. Prefixes are tried in the project first, where
    /// one is given. Sandboxes of which only the record remains are found by their whole id only.
    pub fn find_sandbox(
        &self,
        name: &str,
        project: Option<ProjectId>,
    ) -> Result<Lookup, StoreError> {
        if let Some(sandbox) = self.exactly(name)? {
            return Ok(Lookup::Found(Box::new(sandbox)));
        }
        if name.is_empty() {
            return Ok(Lookup::Missing { nearest: None });
        }
        if let Some(project) = project {
            match self.beginning_with(name, Some(project))? {
                Lookup::Missing { .. } => {}
                found @ (Lookup::Found(_) | Lookup::Ambiguous(_)) => return Ok(found),
            }
        }
        self.beginning_with(name, None)
    }

    fn exactly(&self, name: &str) -> Result<Option<Sandbox>, StoreError> {
        Ok(self
            .connection
            .prepare_cached(&format!(
                "SELECT {COLUMNS} FROM sandbox WHERE (alias = ?1 AND state <> 'collected')
                 OR id = lower(?1) ORDER BY alias = ?1 DESC LIMIT 1"
            ))?
            .query_row([name], read)
            .optional()?)
    }

    fn beginning_with(
        &self,
        prefix: &str,
        project: Option<ProjectId>,
    ) -> Result<Lookup, StoreError> {
        let mut statement = self.connection.prepare_cached(&format!(
            "SELECT {COLUMNS} FROM sandbox WHERE state <> 'collected'
             AND (?2 IS NULL OR project = ?2)
             AND (substr(alias, 1, length(?1)) = ?1 OR substr(id, 1, length(?1)) = lower(?1))
             ORDER BY alias LIMIT ?3"
        ))?;
        let project = project.map(|id| id.to_string());
        let found = statement.query_map(params![prefix, project, CANDIDATES], read)?;
        let mut found: Vec<Sandbox> = found.collect::<rusqlite::Result<_>>()?;
        match found.len() {
            0 => Ok(Lookup::Missing {
                nearest: self.nearest(prefix)?,
            }),
            1 => Ok(Lookup::Found(Box::new(found.remove(0)))),
            _ => Ok(Lookup::Ambiguous(found)),
        }
    }

    fn nearest(&self, name: &str) -> Result<Option<String>, StoreError> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT alias FROM sandbox WHERE state <> 'collected'")?;
        let names = statement.query_map([], |row| row.get(0))?;
        let names: Vec<String> = names.collect::<rusqlite::Result<_>>()?;
        let names = names.iter().map(String::as_str);
        Ok(agar_core::suggest::nearest(name, names).map(str::to_owned))
    }

    /// The living children of a sandbox.
    pub fn children(&self, id: SandboxId) -> Result<Vec<SandboxId>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT id FROM sandbox WHERE parent = ?1 AND state <> 'collected' ORDER BY id",
        )?;
        let children = statement.query_map([id.to_string()], |row| parsed_option(row, 0))?;
        let children: Vec<Option<SandboxId>> = children.collect::<rusqlite::Result<_>>()?;
        Ok(children.into_iter().flatten().collect())
    }
}
