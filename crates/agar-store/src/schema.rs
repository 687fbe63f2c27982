//! The schema, as the numbered steps that lead to it.
//!
//! A step is never edited once it was released: a store made by an earlier agar takes the steps it
//! has not taken yet, in order, all in one transaction. The number of the last step is kept in the
//! file itself.

use rusqlite::Connection;

/// Each step, in order. The first has number 1.
const STEPS: [&str; VERSION as usize] = [
    include_str!("../migrations/0001_founding.sql"),
    include_str!("../migrations/0002_base_checks.sql"),
    include_str!("../migrations/0003_snapshots.sql"),
    include_str!("../migrations/0004_suggestions.sql"),
    include_str!("../migrations/0005_layers_by_name.sql"),
    include_str!("../migrations/0006_names_of_the_living.sql"),
];

/// The number of the newest schema that this agar knows.
pub const VERSION: u32 = 6;

/// Marks the file as agar's: "agar" in ASCII, where SQLite keeps such marks.
pub(crate) const MARK: u32 = 0x6167_6172;

/// Marks a memory: "agam", so that neither file is taken for the other.
const MEMORY_MARK: u32 = 0x6167_616d;

/// Each step towards the schema of a memory. See [`crate::memory`].
const MEMORY_STEPS: [&str; 1] = [include_str!("../memory/0001_founding.sql")];

/// Marks a database of searches: "agae".
const EVOLUTION_MARK: u32 = 0x6167_6165;

/// Each step towards the schema of searches. See [`crate::evolution`].
const EVOLUTION_STEPS: [&str; 2] = [
    include_str!("../evolution/0001_founding.sql"),
    include_str!("../evolution/0002_outside_and_cells.sql"),
];

/// One sort of database: how it is marked, and the steps that lead to its schema.
#[derive(Debug)]
pub(crate) struct Series {
    pub(crate) mark: u32,
    steps: &'static [&'static str],
}

/// The store of records.
pub(crate) const STORE: Series = Series {
    mark: MARK,
    steps: &STEPS,
};

/// The memory.
pub(crate) const MEMORY: Series = Series {
    mark: MEMORY_MARK,
    steps: &MEMORY_STEPS,
};

/// The searches.
pub(crate) const EVOLUTION: Series = Series {
    mark: EVOLUTION_MARK,
    steps: &EVOLUTION_STEPS,
};

impl Series {
    /// The number of the newest schema that this agar knows.
    #[expect(clippy::cast_possible_truncation, reason = "there are few steps")]
    pub(crate) const fn newest(&self) -> u32 {
        self.steps.len() as u32
    }
}

/// Takes every step after `from`. The caller holds the transaction.
pub(crate) fn advance(connection: &Connection, from: u32, series: &Series) -> rusqlite::Result<()> {
    advance_by(connection, from, series.steps)
}

/// The same for any list of steps, so that a test can make one fail.
pub(crate) fn advance_by(
    connection: &Connection,
    from: u32,
    steps: &[&str],
) -> rusqlite::Result<()> {
    for (number, step) in (1_u32..).zip(steps).filter(|&(number, _)| number > from) {
        connection.execute_batch(step)?;
        connection.pragma_update(None, "user_version", number)?;
    }
    Ok(())
}

/// The number of the last step this store took.
pub(crate) fn version(connection: &Connection) -> rusqlite::Result<u32> {
    connection
        .prepare_cached("PRAGMA user_version")?
        .query_row([], |row| row.get(0))
}

/// The mark in the file.
pub(crate) fn mark(connection: &Connection) -> rusqlite::Result<u32> {
    connection.query_row("PRAGMA application_id", [], |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_in_the_folder_is_taken_in_order() {
        for (folder, steps) in [
            (
                concat!(env!("CARGO_MANIFEST_DIR"), "/migrations"),
                STEPS.len(),
            ),
            (
                concat!(env!("CARGO_MANIFEST_DIR"), "/memory"),
                MEMORY_STEPS.len(),
            ),
            (
                concat!(env!("CARGO_MANIFEST_DIR"), "/evolution"),
                EVOLUTION_STEPS.len(),
            ),
        ] {
            every_step_is_listed(folder, steps);
        }
    }

    fn every_step_is_listed(folder: &str, steps: usize) {
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names.len(), steps, "a step is not listed");
        for (number, name) in (1..).zip(&names) {
            assert!(name.starts_with(&format!("{number:04}_")), "{name}");
        }
    }

    #[test]
    fn a_step_that_fails_leaves_the_store_as_it_was() {
        let mut connection = Connection::open_in_memory().unwrap();
        advance(&connection, 0, &STORE).unwrap();
        connection
            .execute("INSERT INTO project VALUES ('p', 'name', 1)", [])
            .unwrap();
        let mut steps = STEPS.to_vec();
        steps.push(
            "ALTER TABLE project ADD COLUMN colour TEXT; DELETE FROM project; CREATE TABLE run (x);",
        );
        let transaction = connection.transaction().unwrap();
        assert!(advance_by(&transaction, VERSION, &steps).is_err());
        drop(transaction);
        let names: u32 = connection
            .query_row("SELECT count(*) FROM project", [], |row| row.get(0))
            .unwrap();
        assert_eq!((names, version(&connection).unwrap()), (1, VERSION));
    }
}
