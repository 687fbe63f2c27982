//! How much a memory holds.

use crate::memory::MemoryReader;
use crate::store::StoreError;
use agar_core::id::ProjectId;

/// How much there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Experiments of the project.
    pub experiments: u64,
    /// Experiments of all projects.
    pub experiments_everywhere: u64,
    /// Things seen in the project that could become patterns.
    pub features: u64,
    /// Graduated patterns of the project.
    pub patterns: u64,
    /// Lessons of the project.
    pub lessons: u64,
    /// Notes of the project.
    pub notes: u64,
    /// Bytes of the database.
    pub bytes: u64,
}

impl MemoryReader<'_> {
    /// Counts.
    pub fn tally(&self, project: ProjectId) -> Result<Tally, StoreError> {
        let id = project.to_string();
        let of = |query: &str| -> Result<u64, StoreError> {
            Ok(self
                .connection
                .prepare_cached(query)?
                .query_row([&id], |row| row.get(0))?)
        };
        let all = |query: &str| -> Result<u64, StoreError> {
            Ok(self
                .connection
                .prepare_cached(query)?
                .query_row([], |row| row.get(0))?)
        };
        Ok(Tally {
            experiments: of("SELECT count(*) FROM experiment WHERE project = ?1")?,
            experiments_everywhere: all("SELECT count(*) FROM evidence")?,
            features: of("SELECT count(*) FROM feature WHERE project = ?1")?,
            patterns: of("SELECT count(DISTINCT pattern_id) FROM sandbox_patterns
                 WHERE project = ?1 AND source = 'sandbox_graduation'")?,
            lessons: of("SELECT count(*) FROM lesson WHERE project = ?1")?,
            notes: of("SELECT count(*) FROM note WHERE project = ?1")?,
            bytes: all("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")?,
        })
    }
}
