//! What the faces show: plain data, the same for the terminal, `--json`, HTTP and MCP.

use agar_core::id::{ProjectId, SandboxId, SnapshotId};
use agar_core::limits::Limits;
use agar_core::run::{End, Usage};
use agar_core::seam::Timestamp;
use agar_core::snapshot::{SnapshotKind, Taken};
use agar_core::state::State;
use agar_core::walls::{BaseKind, Network, Tier};
use serde::{Deserialize, Serialize};

/// A sandbox as the faces show it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SandboxView {
    /// Its permanent id.
    pub id: SandboxId,
    /// Its two-word name.
    pub alias: String,
    /// Where it is in its life.
    pub state: State,
    /// The project it belongs to.
    pub project: ProjectId,
    /// The directory of that project.
    pub project_path: String,
    /// What it starts from.
    pub base: BaseView,
    /// The tier it runs under.
    pub tier: Tier,
    /// What it may reach.
    pub network: Network,
    /// The limits in force.
    pub limits: Limits,
    /// The agent that made it, or nobody: a person.
    pub agent: Option<String>,
    /// A few words about it.
    pub note: Option<String>,
    /// What it was forked from, if it is a fork.
    pub lineage: Option<LineageView>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When something last happened to it.
    pub touched_at: Timestamp,
    /// How many runs it has had.
    pub runs: u32,
    /// What a person should know: choices that weaken the walls, parts that stay live.
    pub warnings: Vec<String>,
}

/// What a fork descends from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineageView {
    /// The sandbox it was forked from, which may be gone.
    pub parent: SandboxId,
    /// The snapshot it began as, which may be gone.
    pub snapshot: Option<SnapshotId>,
    /// How many forks lie between it and a sandbox that was created.
    pub depth: u32,
}

/// A snapshot as the faces show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotView {
    /// Its permanent id.
    pub id: SnapshotId,
    /// What a person types: `calm-fern@name`.
    pub reference: String,
    /// Its name within the sandbox.
    pub name: String,
    /// The sandbox it is a point of.
    pub sandbox: SandboxId,
    /// Why it is there: `asked`, `before_run`, `before_restore`, `before_fork`.
    pub kind: SnapshotKind,
    /// A few words about it.
    pub note: Option<String>,
    /// The snapshot that the state it holds descends from.
    pub parent: Option<SnapshotId>,
    /// In which state the sandbox was: `stopped`, `idle`, `running`.
    pub taken: Taken,
    /// How long processes stood still for it, in microseconds.
    pub frozen_us: Option<u64>,
    /// When it was taken.
    pub created_at: Timestamp,
}

/// What a sandbox starts from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaseView {
    /// Frozen or live.
    pub kind: BaseKind,
    /// The generation, of a frozen base.
    pub generation: Option<u64>,
    /// Ignored directories that stay live below a frozen base.
    pub live_below: Vec<String>,
}

/// A run as the faces show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunView {
    /// Its number within the sandbox, from 1.
    pub number: u32,
    /// The command, as one line for a reader.
    pub command: String,
    /// The command, word by word.
    pub argv: Vec<String>,
    /// The directory it started in.
    pub cwd: String,
    /// When it started.
    pub started_at: Timestamp,
    /// How it ended; nothing while it goes on.
    pub end: Option<End>,
    /// Whether the caller interrupted it.
    pub interrupted: bool,
    /// What it used.
    pub usage: Usage,
    /// Bytes of output that were kept.
    pub output_bytes: u64,
    /// Whether there was more output than was kept.
    pub output_truncated: bool,
    /// How many programs were executed, where that was recorded.
    pub executions: Option<u64>,
    /// Calls the jail denied, with how often.
    pub denied: Vec<DeniedView>,
    /// Processes that outlived the command inside the sandbox.
    pub left_running: u32,
    /// Remarks of the jail: limits that could only be watched, and the like.
    pub notes: Vec<String>,
}

/// Calls the jail denied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeniedView {
    /// The system call.
    pub call: String,
    /// How often.
    pub count: u64,
}

/// The difference between a sandbox and its base, as the faces show it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ChangeView {
    /// Changes to the project, by path.
    pub files: Vec<ChangedFile>,
    /// Changes outside the project: listed, and never applied unless named.
    pub outside: Vec<ChangedFile>,
    /// Paths below a mask that were made inside: never applied unless named.
    pub masked: Vec<String>,
    /// Ignored directories that changed, summed up.
    pub bulk: Vec<BulkView>,
    /// Commits made inside.
    pub commits: Vec<CommitView>,
    /// What could not be read, and therefore may hide changes.
    pub unread: Vec<String>,
    /// Lines added in all files.
    pub lines_added: u64,
    /// Lines removed in all files.
    pub lines_removed: u64,
}

impl ChangeView {
    /// Whether there is nothing to apply.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.commits.is_empty()
    }
}

/// Changes to one ignored directory, such as `target`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BulkView {
    /// Relative to the project.
    pub path: String,
    /// Files that were not there.
    pub added: u64,
    /// Files that were written.
    pub modified: u64,
    /// Files that are gone.
    pub deleted: u64,
    /// The size of what was added or written.
    pub bytes: u64,
}

/// What happened to a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "change")]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// Its content changed.
    Modified,
    /// It is gone.
    Deleted,
    /// It moved.
    Renamed {
        /// Where it was.
        from: String,
    },
    /// Only its permissions changed.
    Mode {
        /// Before, in octal.
        from: String,
        /// After, in octal.
        to: String,
    },
    /// It became another kind of thing: a file became a symlink.
    Retyped {
        /// What it was.
        from: String,
        /// What it is.
        to: String,
    },
}

/// One changed path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFile {
    /// The path, relative to the project, or absolute outside it.
    pub path: String,
    /// What happened to it.
    #[serde(flatten)]
    pub kind: ChangeKind,
    /// What it is: `file`, `directory`, `symlink`, `fifo`, `socket`.
    pub what: String,
    /// Lines added; nothing for what has no lines.
    pub added: Option<u64>,
    /// Lines removed.
    pub removed: Option<u64>,
    /// Whether its content is not text.
    pub binary: bool,
    /// Its size inside.
    pub bytes: u64,
}

/// A commit made inside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitView {
    /// The commit.
    pub id: String,
    /// The first line of its message.
    pub subject: String,
    /// The branch it is on.
    pub reference: String,
}
