//! Keeping the files few: rows become a file, files of about one size become one.
//!
//! One process at a time does this, under a lock; whoever finds it held goes on without. The table
//! says in one transaction which files are in force, so a crash anywhere leaves either the old ones
//! or the new one, and at worst a file that nobody names, which the next upkeep removes.

use crate::error::MemoryError;
use crate::index::build::Draft;
use crate::index::file::SegmentFile;
use crate::index::{Index, TAIL_MAX};
use agar_store::memory::{MemoryStore, Segment};
use fs_err::File;
use rustix::fs::{FlockOperation, flock};
use std::io::{self, BufWriter, Write as _};
use std::path::PathBuf;

/// How many files of about one size become one.
const FAN_IN: usize = 8;

/// Larger results than this are made only when nobody waits.
const WAITED_FOR: u64 = 20_000;

/// Whether somebody waits for the end of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Upkeep {
    /// A person waits: only what takes milliseconds.
    Quick,
    /// Nobody waits: everything.
    Thorough,
}

/// Makes files of the rows that have none, and one file of many.
pub(crate) fn upkeep(
    index: &Index,
    store: &mut MemoryStore,
    how: Upkeep,
) -> Result<(), MemoryError> {
    let (segments, last) = store
        .snapshot(|reader| Ok::<_, MemoryError>((reader.segments()?, reader.last_evidence()?)))?;
    let indexed = segments.last().map_or(0, |segment| segment.last);
    let sound = segments
        .iter()
        .all(|segment| SegmentFile::open(&index.directory().join(&segment.name), segment).is_ok());
    let crowded = segments.len() >= FAN_IN;
    let tail_is_short = last - indexed < TAIL_MAX;
    if tail_is_short && sound && (how == Upkeep::Quick || !crowded) {
        return Ok(());
    }
    let Some(_lock) = lock(index)? else {
        return Ok(());
    };
    if !sound {
        mend(index, store)?;
    }
    if !tail_is_short {
        add_tail(index, store)?;
    }
    while merge_once(index, store, how)? {}
    if how == Upkeep::Thorough {
        sweep(index, store)?;
    }
    Ok(())
}

/// Takes documents out of every file that holds one of them. Waits for its turn: what is to be
/// forgotten must go.
pub(crate) fn drop_documents(
    index: &Index,
    store: &mut MemoryStore,
    numbers: &[i64],
) -> Result<(), MemoryError> {
    fs_err::create_dir_all(index.directory()).map_err(MemoryError::io)?;
    let lock = File::create(index.directory().join("lock")).map_err(MemoryError::io)?;
    flock(&lock, FlockOperation::LockExclusive).map_err(|error| MemoryError::io(error.into()))?;
    for segment in store.read().segments()? {
        let holds = numbers
            .iter()
            .any(|number| (segment.first..=segment.last).contains(number));
        if !holds {
            continue;
        }
        let mut draft = Draft::default();
        let file = SegmentFile::open(&index.directory().join(&segment.name), &segment);
        let read = file.and_then(|file| draft.absorb(&file, numbers));
        match read {
            Ok(()) if draft.len() > 0 => {
                publish(index, store, std::slice::from_ref(&segment), draft)?;
            }
            // Nothing is left of it, or it cannot be read: the rows are the truth.
            Ok(()) | Err(_) => retire(index, store, std::slice::from_ref(&segment))?,
        }
    }
    Ok(())
}

fn lock(index: &Index) -> Result<Option<File>, MemoryError> {
    fs_err::create_dir_all(index.directory()).map_err(MemoryError::io)?;
    let file = File::create(index.directory().join("lock")).map_err(MemoryError::io)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(MemoryError::io(error.into())),
    }
}

/// Makes damaged or missing files again from the rows.
fn mend(index: &Index, store: &mut MemoryStore) -> Result<(), MemoryError> {
    for segment in store.read().segments()? {
        let path = index.directory().join(&segment.name);
        if SegmentFile::open(&path, &segment).is_ok() {
            continue;
        }
        let draft = from_rows(store, segment.first, segment.last)?;
        if draft.len() == 0 {
            retire(index, store, std::slice::from_ref(&segment))?;
        } else {
            publish(index, store, std::slice::from_ref(&segment), draft)?;
        }
    }
    Ok(())
}

fn from_rows(store: &MemoryStore, first: i64, last: i64) -> Result<Draft, MemoryError> {
    let mut draft = Draft::default();
    store.read().each_evidence(first, last, |evidence| {
        if !draft.is_full() {
            draft.add(&evidence);
        }
        Ok::<(), MemoryError>(())
    })?;
    Ok(draft)
}

fn add_tail(index: &Index, store: &mut MemoryStore) -> Result<(), MemoryError> {
    let (first, last) = store.snapshot(|reader| {
        let indexed = reader.segments()?.last().map_or(0, |segment| segment.last);
        Ok::<_, MemoryError>((indexed + 1, reader.last_evidence()?))
    })?;
    let draft = from_rows(store, first, last)?;
    if draft.len() == 0 {
        return Ok(());
    }
    let range = Segment {
        name: String::new(),
        first,
        last,
        documents: 0,
        checksum: String::new(),
    };
    publish_range(index, store, &[], &range, draft)
}

/// Joins the newest run of files of about one size, if there is one.
fn merge_once(index: &Index, store: &mut MemoryStore, how: Upkeep) -> Result<bool, MemoryError> {
    let segments = store.read().segments()?;
    let tier = |segment: &Segment| segment.documents.max(1).ilog(FAN_IN as u64);
    let Some(newest) = segments.last() else {
        return Ok(false);
    };
    let run = segments
        .iter()
        .rev()
        .take_while(|segment| tier(segment) <= tier(newest))
        .count();
    let enough = match how {
        Upkeep::Quick => run >= FAN_IN,
        Upkeep::Thorough => segments.len() >= FAN_IN,
    };
    let run = match how {
        Upkeep::Quick => run,
        Upkeep::Thorough => segments.len(),
    };
    let chosen = &segments[segments.len() - run..];
    let documents: u64 = chosen.iter().map(|segment| segment.documents).sum();
    let too_long = how == Upkeep::Quick && documents > WAITED_FOR;
    if !enough || too_long || documents > crate::index::file::DOCUMENTS_MAX as u64 {
        return Ok(false);
    }
    let mut draft = Draft::default();
    for segment in chosen {
        let path = index.directory().join(&segment.name);
        let file = SegmentFile::open(&path, segment).map_err(MemoryError::io)?;
        draft.absorb(&file, &[]).map_err(MemoryError::io)?;
    }
    publish(index, store, chosen, draft)?;
    Ok(true)
}

/// Puts the draft into force in place of the old files, over their whole range.
fn publish(
    index: &Index,
    store: &mut MemoryStore,
    old: &[Segment],
    draft: Draft,
) -> Result<(), MemoryError> {
    let (Some(first), Some(last)) = (old.first(), old.last()) else {
        return Ok(());
    };
    let range = Segment {
        name: String::new(),
        first: first.first,
        last: last.last,
        documents: 0,
        checksum: String::new(),
    };
    publish_range(index, store, old, &range, draft)
}

fn publish_range(
    index: &Index,
    store: &mut MemoryStore,
    old: &[Segment],
    range: &Segment,
    draft: Draft,
) -> Result<(), MemoryError> {
    let documents = draft.len() as u64;
    let (name, checksum) = write(index, range, draft).map_err(MemoryError::io)?;
    let new = Segment {
        name: name.clone(),
        documents,
        checksum,
        ..range.clone()
    };
    let in_force =
        store.write(|writer| Ok::<bool, MemoryError>(writer.replace_segments(old, Some(&new))?))?;
    let unneeded: Vec<&str> = if in_force {
        old.iter().map(|segment| segment.name.as_str()).collect()
    } else {
        vec![&name]
    };
    for old in unneeded {
        // The same documents make the same file, under the same name.
        if !in_force || old != name {
            remove(index, old)?;
        }
    }
    Ok(())
}

fn retire(index: &Index, store: &mut MemoryStore, old: &[Segment]) -> Result<(), MemoryError> {
    store.write(|writer| Ok::<bool, MemoryError>(writer.replace_segments(old, None)?))?;
    for segment in old {
        remove(index, &segment.name)?;
    }
    Ok(())
}

fn remove(index: &Index, name: &str) -> Result<(), MemoryError> {
    match fs_err::remove_file(index.directory().join(name)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(MemoryError::io(error)),
        _ => Ok(()),
    }
}

/// Writes the file under a name that no other file has had.
fn write(index: &Index, range: &Segment, draft: Draft) -> io::Result<(String, String)> {
    let aside: PathBuf = index
        .directory()
        .join(format!("new-{}", std::process::id()));
    let file = File::create(&aside)?;
    let mut out = Hashed {
        out: BufWriter::with_capacity(1 << 20, file),
        hasher: blake3::Hasher::new(),
    };
    draft.write(range.first, range.last, &mut out)?;
    out.out.flush()?;
    out.out.get_ref().sync_data()?;
    let checksum = out.hasher.finalize().to_hex().to_string();
    let name = format!("{}-{}-{}.idx", range.first, range.last, &checksum[..12]);
    fs_err::rename(&aside, index.directory().join(&name))?;
    Ok((name, checksum))
}

/// Removes files that nobody names.
fn sweep(index: &Index, store: &MemoryStore) -> Result<(), MemoryError> {
    let segments = store.read().segments()?;
    for entry in fs_err::read_dir(index.directory()).map_err(MemoryError::io)? {
        let entry = entry.map_err(MemoryError::io)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let named = segments.iter().any(|segment| segment.name == name);
        let ours = name.contains(".idx") || name.starts_with("new-");
        if ours && !named {
            remove(index, &name)?;
        }
    }
    Ok(())
}

/// Writes and hashes.
struct Hashed {
    out: BufWriter<File>,
    hasher: blake3::Hasher,
}

impl io::Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
