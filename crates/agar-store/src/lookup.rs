//! From what a person typed to the sandbox that was meant.

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

/// Which sandboxes a beginning of a name may stand for.
#[derive(Debug, Clone, Copy)]
enum Among {
    Living,
    Trash,
}

impl Among {
    const fn condition(self) -> &'static str {
        match self {
            Self::Living => "state NOT IN ('discarded', 'collected')",
            Self::Trash => "state = 'discarded'",
        }
    }
}

impl Reader<'_> {
    /// The sandbox of a whole alias, a whole id, or a prefix of either that fits only one.
    ///
    /// A whole alias or id wins over every prefix, and the living win over those in the trash.
    /// Prefixes are tried in the project first, where one is given. Sandboxes of which only the record
    /// remains are found by their whole id only.
    pub fn find_sandbox(
        &self,
        name: &str,
        project: Option<ProjectId>,
    ) -> Result<Lookup, StoreError> {
        if let Some(sandbox) = self.exactly(name)? {
            return Ok(Lookup::Found(Box::new(sandbox)));
        }
        let own = [Among::Living, Among::Trash].map(|among| (among, project));
        let all = [Among::Living, Among::Trash].map(|among| (among, None));
        // What is nearest in the project comes first, so that nobody removes another one's by a slip.
        let own = own.into_iter().filter(|(_, project)| project.is_some());
        self.first_of(name, own.chain(all))
    }

    /// The same among those in the trash alone. Of several with the same alias the project's own, and
    /// the one that was removed last.
    pub fn find_in_trash(
        &self,
        name: &str,
        project: Option<ProjectId>,
    ) -> Result<Lookup, StoreError> {
        let whole = self
            .connection
            .prepare_cached(&format!(
                "SELECT {COLUMNS} FROM sandbox WHERE state = 'discarded'
                 AND (alias = ?1 OR id = lower(?1))
                 ORDER BY id = lower(?1) DESC, project IS ?2 DESC, updated_ms DESC, id DESC LIMIT 1"
            ))?
            .query_row(params![name, project.map(|id| id.to_string())], read)
            .optional()?;
        if let Some(sandbox) = whole {
            return Ok(Lookup::Found(Box::new(sandbox)));
        }
        let own = project.map(|project| (Among::Trash, Some(project)));
        self.first_of(name, own.into_iter().chain([(Among::Trash, None)]))
    }

    /// What a prefix stands for where it first stands for anything.
    fn first_of(
        &self,
        prefix: &str,
        places: impl Iterator<Item = (Among, Option<ProjectId>)>,
    ) -> Result<Lookup, StoreError> {
        if prefix.is_empty() {
            return Ok(Lookup::Missing { nearest: None });
        }
        for (among, project) in places {
            let mut found = self.beginning_with(prefix, among, project)?;
            match found.len() {
                0 => {}
                1 => return Ok(Lookup::Found(Box::new(found.remove(0)))),
                _ => return Ok(Lookup::Ambiguous(found)),
            }
        }
        Ok(Lookup::Missing {
            nearest: self.nearest(prefix)?,
        })
    }

    fn exactly(&self, name: &str) -> Result<Option<Sandbox>, StoreError> {
        Ok(self
            .connection
            .prepare_cached(&format!(
                "SELECT {COLUMNS} FROM sandbox WHERE (alias = ?1 AND state <> 'collected')
                 OR id = lower(?1) ORDER BY (alias = ?1 AND state <> 'discarded') DESC,
                 id = lower(?1) DESC, updated_ms DESC, id DESC LIMIT 1"
            ))?
            .query_row([name], read)
            .optional()?)
    }

    fn beginning_with(
        &self,
        prefix: &str,
        among: Among,
        project: Option<ProjectId>,
    ) -> Result<Vec<Sandbox>, StoreError> {
        let mut statement = self.connection.prepare_cached(&format!(
            "SELECT {COLUMNS} FROM sandbox WHERE {} AND (?2 IS NULL OR project = ?2)
             AND (substr(alias, 1, length(?1)) = ?1 OR substr(id, 1, length(?1)) = lower(?1))
             ORDER BY alias LIMIT ?3",
            among.condition()
        ))?;
        let project = project.map(|id| id.to_string());
        let found = statement.query_map(params![prefix, project, CANDIDATES], read)?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
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

    /// Whether a sandbox that was forked from this one has layers yet.
    pub fn has_forks(&self, id: SandboxId) -> Result<bool, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM sandbox WHERE parent = ?1 AND state <> 'collected')",
        )?;
        Ok(statement.query_row([id.to_string()], |row| row.get(0))?)
    }

    /// Whether another sandbox was ever forked from this one, living or not.
    pub fn was_forked(&self, id: SandboxId) -> Result<bool, StoreError> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT EXISTS (SELECT 1 FROM sandbox WHERE parent = ?1)")?;
        Ok(statement.query_row([id.to_string()], |row| row.get(0))?)
    }
}
