//! Projects, found again wherever their directory went.

use crate::column::{bytes, moment, parsed, path};
use crate::place::{Place, Repository};
use crate::store::{Reader, Store, StoreError, Writer};
use agar_core::id::ProjectId;
use agar_core::seam::Timestamp;
use rusqlite::{OptionalExtension, Row, ToSql, params};
use std::path::PathBuf;

/// A directory a person works in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// Its permanent name.
    pub id: ProjectId,
    /// What people call it: the last part of its path when it was first seen.
    pub name: String,
    /// Where it was last seen. The place asked about, when one was asked about.
    pub path: PathBuf,
    /// When agar first saw it.
    pub created: Timestamp,
}

/// How well a remembered place fits a directory, best first.
const FIND: [&str; 4] = [
    // The directory itself, where it was.
    "SELECT project FROM place WHERE path = ?1 AND inode = ?2 AND device = ?3
     AND (born_ns IS NULL OR ?4 IS NULL OR born_ns = ?4)",
    // The directory itself, moved. Its birth must be known: inode numbers are given out again.
    "SELECT project FROM place WHERE inode = ?2 AND device = ?3 AND born_ns = ?4
     ORDER BY seen_ms DESC",
    // Another directory where the project was: it was cloned or restored again.
    "SELECT project FROM place WHERE path = ?1",
    // Another worktree of the same repository, the same distance below its top.
    "SELECT project FROM place WHERE within = ?8
     AND (common_dir = ?5 OR (common_inode = ?6 AND common_device = ?7))
     ORDER BY seen_ms DESC",
];

impl Reader<'_> {
    /// The project at this place, if agar knows it.
    pub fn project_at(&self, place: &Place) -> Result<Option<Project>, StoreError> {
        let Some(id) = self.project_id_at(place)? else {
            return Ok(None);
        };
        let mut project = self.project(id)?;
        project.path.clone_from(&place.path);
        Ok(Some(project))
    }

    fn project_id_at(&self, place: &Place) -> Result<Option<ProjectId>, StoreError> {
        let repository = place.repository.as_ref();
        let values: [&dyn ToSql; 8] = [
            &bytes(&place.path),
            &place.inode.cast_signed(),
            &place.device.cast_signed(),
            &place.born_ns,
            &repository.map(|it| bytes(&it.common_dir)),
            &repository.map(|it| it.inode.cast_signed()),
            &repository.map(|it| it.device.cast_signed()),
            &repository.map(|it| bytes(&it.within)),
        ];
        for query in FIND {
            let mut statement = self.connection.prepare_cached(query)?;
            let wanted = statement.parameter_count();
            // A query that stops at ?4 takes the first four.
            let found = statement
                .query_row(&values[..wanted], |row| parsed(row, 0))
                .optional()?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// The project of this id.
    pub fn project(&self, id: ProjectId) -> Result<Project, StoreError> {
        self.connection
            .prepare_cached(
                "SELECT id, name, created_ms, coalesce((SELECT path FROM place
                 WHERE project = id ORDER BY seen_ms DESC LIMIT 1), x'') FROM project WHERE id = ?1",
            )?
            .query_row([id.to_string()], read)
            .optional()?
            .ok_or_else(|| StoreError::Missing {
                what: "project",
                name: id.to_string(),
            })
    }

    /// Every project, oldest first.
    pub fn projects(&self) -> Result<Vec<Project>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT id, name, created_ms, coalesce((SELECT path FROM place
             WHERE project = id ORDER BY seen_ms DESC LIMIT 1), x'') FROM project ORDER BY id",
        )?;
        let projects = statement.query_map([], read)?;
        Ok(projects.collect::<rusqlite::Result<_>>()?)
    }

    /// Every place of a project, most recently seen first.
    pub fn places(&self, id: ProjectId) -> Result<Vec<Place>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT path, device, inode, born_ns, common_dir, common_device, common_inode, within
             FROM place WHERE project = ?1 ORDER BY seen_ms DESC, path",
        )?;
        let places = statement.query_map([id.to_string()], read_place)?;
        Ok(places.collect::<rusqlite::Result<_>>()?)
    }

    /// Where a directory was last seen, whatever it was called before.
    pub fn path_of(
        &self,
        device: u64,
        inode: u64,
        born_ns: i64,
    ) -> Result<Option<PathBuf>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT path FROM place WHERE inode = ?1 AND device = ?2 AND born_ns = ?3
             ORDER BY seen_ms DESC",
        )?;
        let values = params![inode.cast_signed(), device.cast_signed(), born_ns];
        Ok(statement.query_row(values, |row| path(row, 0)).optional()?)
    }

    /// Whether the place is on record exactly as it is.
    fn is_on_record(&self, place: &Place) -> Result<bool, StoreError> {
        let known = self
            .connection
            .prepare_cached(
                "SELECT path, device, inode, born_ns, common_dir, common_device, common_inode, within
                 FROM place WHERE path = ?1",
            )?
            .query_row([bytes(&place.path)], read_place)
            .optional()?;
        Ok(known.as_ref() == Some(place))
    }
}

impl Store {
    /// The project at this place; a new one under `fresh` if agar has never seen it.
    ///
    /// A place seen before and unchanged costs only reads.
    pub fn project(
        &mut self,
        place: &Place,
        fresh: ProjectId,
        at: Timestamp,
    ) -> Result<Project, StoreError> {
        if self.read().is_on_record(place)?
            && let Some(project) = self.read().project_at(place)?
        {
            return Ok(project);
        }
        self.write(|writer| writer.project(place, fresh, at))
    }
}

impl Writer<'_> {
    /// The project at this place, remembered there; a new one under `fresh` if agar has never seen
    /// it.
    pub fn project(
        &self,
        place: &Place,
        fresh: ProjectId,
        at: Timestamp,
    ) -> Result<Project, StoreError> {
        let known = self.read().project_id_at(place)?;
        let id = known.unwrap_or(fresh);
        if known.is_none() {
            let name = place.path.file_name().unwrap_or(place.path.as_os_str());
            self.transaction
                .prepare_cached("INSERT INTO project (id, name, created_ms) VALUES (?1, ?2, ?3)")?
                .execute(params![id.to_string(), name.to_string_lossy(), at.millis()])?;
        }
        self.remember(place, id, at)?;
        let mut project = self.read().project(id)?;
        project.path.clone_from(&place.path);
        Ok(project)
    }

    fn remember(&self, place: &Place, id: ProjectId, at: Timestamp) -> Result<(), StoreError> {
        // A directory is in one place: where it was before it moved is forgotten.
        self.transaction
            .prepare_cached(
                "DELETE FROM place WHERE inode = ?1 AND device = ?2 AND born_ns = ?3 AND path <> ?4",
            )?
            .execute(params![
                place.inode.cast_signed(),
                place.device.cast_signed(),
                place.born_ns,
                bytes(&place.path)
            ])?;
        let repository = place.repository.as_ref();
        self.transaction
            .prepare_cached(
                "INSERT OR REPLACE INTO place (path, project, device, inode, born_ns, common_dir,
                 common_device, common_inode, within, seen_ms)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            )?
            .execute(params![
                bytes(&place.path),
                id.to_string(),
                place.device.cast_signed(),
                place.inode.cast_signed(),
                place.born_ns,
                repository.map(|it| bytes(&it.common_dir)),
                repository.map(|it| it.device.cast_signed()),
                repository.map(|it| it.inode.cast_signed()),
                repository.map_or(&b""[..], |it| bytes(&it.within)),
                at.millis()
            ])?;
        Ok(())
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Project> {
    Ok(Project {
        id: parsed(row, 0)?,
        name: row.get(1)?,
        created: moment(row, 2)?,
        path: path(row, 3)?,
    })
}

fn read_place(row: &Row<'_>) -> rusqlite::Result<Place> {
    let repository = match row.get::<_, Option<Vec<u8>>>(4)? {
        Some(_) => Some(Repository {
            common_dir: path(row, 4)?,
            device: row.get::<_, i64>(5)?.cast_unsigned(),
            inode: row.get::<_, i64>(6)?.cast_unsigned(),
            within: path(row, 7)?,
        }),
        None => None,
    };
    Ok(Place {
        path: path(row, 0)?,
        device: row.get::<_, i64>(1)?.cast_unsigned(),
        inode: row.get::<_, i64>(2)?.cast_unsigned(),
        born_ns: row.get(3)?,
        repository,
    })
}
