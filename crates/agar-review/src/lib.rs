//! Judges what a change did, by evidence: what a check printed, what its report says, and what the
//! same check said about the untouched base.
//!
//! Everything here is a pure function over bytes. The engine runs the commands; what it read of them
//! is hostile until proven otherwise, since the code under test wrote it: no report may cost more
//! than its size, and none that cannot be read in full may count as a pass.

pub mod compare;
pub mod judge;
pub mod lines;
pub mod report;
pub mod verdict;

pub use compare::Comparison;
pub use judge::{Ended, Judgement, Trial, judge};
pub use report::{Counts, Format, Report, Status, TestResult, Unreadable};
pub use verdict::Verdict;
