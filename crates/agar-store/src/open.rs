//! Opening the store: making it, bringing it up to date, or saying why not.
//!
//! A new store is built aside and then linked into place, so that no process ever meets a half-made
//! one and two processes that start at once end up with the same. An existing file is never
//! replaced, whatever is in it.

use crate::schema::{self, Series};
use crate::store::Store;
use agar_core::fault::{Fault, Kind, Remedy};
use fs_err::os::unix::fs::OpenOptionsExt;
use rusqlite::config::DbConfig;
use rusqlite::ffi::SQLITE_IOERR_SHMSIZE;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a command waits for another one's transaction. Ours take well under a millisecond.
const PATIENCE: Duration = Duration::from_secs(10);

/// Pages in the write-ahead log before they are folded into the main file by whoever wrote the last
/// one. A short log keeps the next open fast, which has to read all of it; upkeep folds it earlier,
/// when nobody waits.
const LOG_PAGES: u32 = 1000;

/// The store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A newer agar has been here.
    #[error(
        "{} was written by a newer agar (schema {found}; this agar knows {known})", .path.display()
    )]
    Newer {
        /// The store.
        path: PathBuf,
        /// The schema number it has.
        found: u32,
        /// The schema number this agar has.
        known: u32,
    },
    /// The file is no database, or a broken one.
    #[error(
        "{} is damaged ({what}); move it away to start with an empty store, nothing else is lost: \
         sandboxes keep their files beside it", .path.display()
    )]
    Damaged {
        /// The store.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// The file is a database of some other program.
    #[error("{} belongs to another program, not to agar", .path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// Another process held it for too long.
    #[error("{} is held by another agar command", .path.display())]
    Busy {
        /// The store.
        path: PathBuf,
    },
    /// The disk is full.
    #[error("the disk that holds {} is full", .path.display())]
    Full {
        /// The store.
        path: PathBuf,
    },
    /// The store is of an earlier agar and a step towards the present schema failed.
    #[error("cannot bring {} from schema {from} to {to}; it is unchanged", .path.display())]
    Migration {
        /// The store.
        path: PathBuf,
        /// The schema number it has.
        from: u32,
        /// The schema number this agar has.
        to: u32,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// The file or its directory cannot be used.
    #[error("cannot open agar's store {}", .path.display())]
    Unusable {
        /// The store.
        path: PathBuf,
        /// What the system said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl Fault for OpenError {
    fn kind(&self) -> Kind {
        match self {
            Self::Newer { .. } | Self::Foreign { .. } | Self::Unusable { .. } => Kind::Unsupported,
            Self::Busy { .. } => Kind::Conflict,
            Self::Full { .. } => Kind::Limit,
            Self::Damaged { .. } | Self::Migration { .. } => Kind::Internal,
        }
    }

    fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::Damaged { path, .. } | Self::Foreign { path } => Some(Remedy::Command {
                line: move_away(path),
            }),
            Self::Newer { .. }
            | Self::Busy { .. }
            | Self::Full { .. }
            | Self::Migration { .. }
            | Self::Unusable { .. } => None,
        }
    }
}

/// The command that sets a damaged store aside, log and all.
fn move_away(path: &Path) -> String {
    let quoted = path.display().to_string().replace('\'', "'\\''");
    format!(
        "mkdir -p '{quoted}.damaged' && mv '{quoted}' '{quoted}'-wal '{quoted}'-shm '{quoted}.damaged'"
    )
}

impl Store {
    /// Opens the store, and makes it where there is none.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let connection = open(path, &schema::STORE)?;
        Ok(Self::new(connection, path.to_owned()))
    }
}

/// Opens a database of this series, and makes it where there is none.
pub(crate) fn open(path: &Path, series: &Series) -> Result<Connection, OpenError> {
    let connection = connect(path).or_else(|_| {
        if !path.exists() {
            found(path, series)?;
        }
        // Where there is one now, somebody else may have made it since the first look.
        connect(path).map_err(|error| explain(path, error))
    })?;
    ready(connection, path, series)
}

/// Looks at the marks in the file and brings an earlier schema up to date.
fn ready(
    mut connection: Connection,
    path: &Path,
    series: &Series,
) -> Result<Connection, OpenError> {
    let said = |error| explain(path, error);
    let version = schema::version(&connection).map_err(said)?;
    if version > series.newest() {
        return Err(newer(path, version, series));
    }
    if version == 0 || schema::mark(&connection).map_err(said)? != series.mark {
        return Err(nobodys(&connection, path, series));
    }
    if version < series.newest() {
        migrate(&mut connection, path, series)?;
    }
    Ok(connection)
}

/// An existing file, with what every connection needs.
fn connect(path: &Path) -> rusqlite::Result<Connection> {
    // Without the URI flag: a path that begins with `file:` is still a path.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    // The last command to leave would otherwise fold the log into the file and sync twice, at the
    // moment when a person waits for the prompt.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    // A prepared query is otherwise planned anew each time that it is given other values.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(64);
    connection.execute_batch(&format!(
        "PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = {LOG_PAGES}"
    ))?;
    Ok(connection)
}

/// Makes a new store beside the path and links it into place, unless somebody else was quicker.
pub(crate) fn found(path: &Path, series: &Series) -> Result<(), OpenError> {
    let unusable = |error: io::Error| from_io(path, error);
    let directory = path.parent().unwrap_or(Path::new("."));
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .map_err(unusable)?;
    let draft = Draft::new(path).map_err(unusable)?;
    build(&draft.0, series).map_err(|error| explain(path, error))?;
    fs_err::File::open(&draft.0)
        .and_then(|file| file.sync_all())
        .map_err(unusable)?;
    match publish(&draft.0, path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(unusable(error)),
    }
}

/// Gives the finished draft its name, unless the name is taken.
fn publish(draft: &Path, path: &Path) -> io::Result<()> {
    let linked = fs_err::hard_link(draft, path);
    match linked {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            // Some filesystems have no hard links.
            let flags = RenameFlags::NOREPLACE;
            renameat_with(CWD, draft, CWD, path, flags).map_err(|_| error)
        }
        other => other,
    }
}

/// Writes the schema into an empty file that nobody else knows of.
fn build(draft: &Path, series: &Series) -> rusqlite::Result<()> {
    let mut connection = Connection::open_with_flags(draft, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    // One sync at the end is enough: a crash before it leaves only a draft.
    connection.execute_batch("PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY")?;
    let transaction = connection.transaction()?;
    transaction.pragma_update(None, "application_id", series.mark)?;
    schema::advance(&transaction, 0, series)?;
    transaction.commit()?;
    let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    connection.close().map_err(|(_, error)| error)?;
    if mode == "wal" {
        Ok(())
    } else {
        Err(rusqlite::Error::SqliteFailure(
            rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_IOERR),
            Some("this filesystem cannot share memory between processes".to_owned()),
        ))
    }
}

/// A file name of our own beside the store; gone when dropped.
struct Draft(PathBuf);

impl Draft {
    fn new(path: &Path) -> io::Result<Self> {
        for attempt in 0..1000_u32 {
            let mut name = path.as_os_str().to_owned();
            name.push(format!(".new-{}-{attempt}", std::process::id()));
            let name = PathBuf::from(name);
            let made = fs_err::OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&name);
            match made {
                Ok(_) => return Ok(Self(name)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::from(io::ErrorKind::AlreadyExists))
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        for suffix in ["", "-wal", "-shm", "-journal"] {
            let mut name = self.0.as_os_str().to_owned();
            name.push(suffix);
            // Nothing depends on it: a draft left behind is a few unused kilobytes.
            drop(fs_err::remove_file(PathBuf::from(name)));
        }
    }
}

/// Takes the steps that this store has not taken, in one transaction.
fn migrate(connection: &mut Connection, path: &Path, series: &Series) -> Result<(), OpenError> {
    let failed = |from: u32| {
        move |source: rusqlite::Error| match source.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => OpenError::Busy {
                path: path.to_owned(),
            },
            Some(ErrorCode::DiskFull) => OpenError::Full {
                path: path.to_owned(),
            },
            _ => OpenError::Migration {
                path: path.to_owned(),
                from,
                to: series.newest(),
                source,
            },
        }
    };
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Exclusive)
        .map_err(failed(0))?;
    // Another process may have been quicker while this one waited for the lock.
    let from = schema::version(&transaction).map_err(failed(0))?;
    if from > series.newest() {
        return Err(newer(path, from, series));
    }
    schema::advance(&transaction, from, series).map_err(failed(from))?;
    transaction.commit().map_err(failed(from))
}

fn newer(path: &Path, found: u32, series: &Series) -> OpenError {
    OpenError::Newer {
        path: path.to_owned(),
        found,
        known: series.newest(),
    }
}

/// What to call a database without a schema number: ours never lack one.
fn nobodys(connection: &Connection, path: &Path, series: &Series) -> OpenError {
    let path = path.to_owned();
    let tables = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| {
        row.get::<_, u32>(0)
    });
    match (tables, schema::mark(connection)) {
        (Ok(0), Ok(_)) => OpenError::Damaged {
            path,
            what: "it is empty".to_owned(),
        },
        (Ok(_), Ok(mark)) if mark == series.mark => OpenError::Damaged {
            path,
            what: "it has lost its schema number".to_owned(),
        },
        (Ok(_), Ok(_)) => OpenError::Foreign { path },
        (Err(error), _) | (_, Err(error)) => explain(&path, error),
    }
}

/// What an I/O error means for the person.
pub(crate) fn from_io(path: &Path, error: io::Error) -> OpenError {
    let path = path.to_owned();
    let full = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded];
    if full.contains(&error.kind()) {
        return OpenError::Full { path };
    }
    OpenError::Unusable {
        path,
        source: Box::new(error),
    }
}

/// What an SQLite error means for the person.
pub(crate) fn explain(path: &Path, error: rusqlite::Error) -> OpenError {
    let path = path.to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => OpenError::Damaged {
            path,
            what: error.to_string(),
        },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => OpenError::Busy { path },
        Some(ErrorCode::DiskFull) => OpenError::Full { path },
        // The memory that processes share is a file, which found no room.
        Some(ErrorCode::SystemIoFailure) if code(&error) == Some(SQLITE_IOERR_SHMSIZE) => {
            OpenError::Full { path }
        }
        _ => OpenError::Unusable {
            path,
            source: Box::new(error),
        },
    }
}

fn code(error: &rusqlite::Error) -> Option<i32> {
    error.sqlite_error().map(|error| error.extended_code)
}
