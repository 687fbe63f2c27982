//! The keys: their names, what may stand behind them, and what they are for.

use std::fmt;

/// What sort of value a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The name of a tier.
    Tier,
    /// `auto`, `frozen` or `live`.
    Base,
    /// `none`, `host`, or names that may be reached.
    Network,
    /// `off`, `executions` or `files`.
    Monitor,
    /// `keep` or `restore`.
    OnBreach,
    /// Percent of one processor, or `none`.
    Percent,
    /// An amount of bytes, a plain number being megabytes, or `none`.
    Size,
    /// A whole number, or `none`.
    Count,
    /// A time, a plain number being seconds, or `none`.
    Span,
    /// A number from 0 to 1.
    Share,
    /// Yes or no.
    Flag,
    /// A list of names or patterns.
    Names,
    /// A list of commands for a shell.
    Commands,
    /// Declared checks.
    Checks,
}

/// What happens when two layers set the same key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merge {
    /// The later one wins.
    Replace,
    /// Both hold.
    Join,
}

macro_rules! keys {
    ($($variant:ident, $name:literal, $kind:ident, $default:literal, $about:literal;)*) => {
        /// Something that can be set.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Key {
            $(#[doc = $about] $variant,)*
        }

        impl Key {
            /// Every key, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Its name in `agar.toml`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// What sort of value it takes.
            pub const fn kind(self) -> Kind {
                match self { $(Self::$variant => Kind::$kind),* }
            }

            /// Its value when nobody says anything, as one would write it; empty for none.
            pub const fn default_text(self) -> &'static str {
                match self { $(Self::$variant => $default),* }
            }

            /// What it is for.
            pub const fn about(self) -> &'static str {
                match self { $(Self::$variant => $about),* }
            }
        }
    };
}

keys! {
    Tier, "tier", Tier, "full",
        "The walls around a sandbox: full, helper, landlock or none. Never weaker than asked.";
    Base, "base", Base, "auto",
        "What a sandbox starts from: frozen (a picture of the project), live (the directory itself) or auto (whichever is quick).";
    Network, "network", Network, "none",
        "What a sandbox may reach: none, host, or `{ allow = [names] }`.";
    Monitor, "monitor", Monitor, "executions",
        "What is recorded about commands: off, executions or files.";
    Nested, "nested", Flag, "false",
        "Allow user namespaces inside, for browsers and container tools.";
    FakeRoot, "fake_root", Flag, "false",
        "Be root inside by name, for package managers that insist.";
    Mask, "mask", Names, "",
        "More files that do not exist inside: ~/path, /path, path/in/project or a name.";
    Unmask, "unmask", Names, "",
        "Files that are hidden by default and are to be there.";
    Env, "env", Names, "",
        "More environment variables that are passed inside, by name.";
    Bulk, "bulk", Names, "target, node_modules, .venv",
        "Ignored directories that stay live below a frozen base instead of being copied.";
    Setup, "setup", Commands, "",
        "Commands that prepare a sandbox made by `create` or `shell`, run inside it.";
    OldWays, "old_ways", Names, "",
        "Do as on an older kernel, to try it: `mount_options`, `no_landlock`, `no_cgroups`.";
    MaxConcurrentSandboxes, "max_concurrent_sandboxes", Count, "5",
        "Sandboxes of experiments that run at once.";
    LimitsCpu, "limits.cpu", Percent, "",
        "Percent of one processor; 200 is two. A person's own runs get the machine, an agent's 50.";
    LimitsMemory, "limits.memory", Size, "",
        "Memory of all processes together. A person's own runs get the machine, an agent's 512 MB.";
    LimitsProcesses, "limits.processes", Count, "",
        "Processes and threads alive at once. 8192 for a person, 1024 for an agent.";
    LimitsDisk, "limits.disk", Size, "",
        "How much a sandbox may write. A person's own runs get the disk, an agent's 100 MB.";
    LimitsTimeout, "limits.timeout", Span, "",
        "Time one run may take. No end for a person, 300 s for an agent.";
    LimitsOutput, "limits.output", Size, "",
        "Output of one run that is kept. No end for a person, 64 MB for an agent.";
    OnBreach, "on_breach", OnBreach, "keep",
        "What becomes of a sandbox whose command broke a limit or was denied a system call: keep it as it is, or restore what was before the command. Calls are not counted with `monitor = \"off\"`.";
    SnapshotsBeforeRun, "snapshots.before_run", Flag, "",
        "Take a snapshot before every command in a kept sandbox, so that it can be undone. Yes for an agent, no for a person.";
    SnapshotsKeepAutomatic, "snapshots.keep_automatic", Count, "50",
        "Snapshots taken before commands that are kept of each sandbox; older ones are cleaned up.";
    ApplyCommit, "apply.commit", Flag, "false",
        "Make a git commit of what is applied.";
    CleanupIdle, "cleanup.idle_s", Span, "3600",
        "Seconds after which an idle sandbox is cleaned up.";
    CleanupTtl, "cleanup.ttl_s", Span, "",
        "Seconds after which a sandbox is cleaned up once nothing runs in it, whatever happened to it meanwhile.";
    CleanupKeepLast, "cleanup.keep_last", Count, "10",
        "Finished sandboxes of a project that are kept in any case.";
    CleanupDiskBudget, "cleanup.disk_budget", Size, "10G",
        "Disk that sandboxes may hold together before old ones are cleaned up.";
    GraduationMinConfidence, "graduation.min_confidence", Share, "0.7",
        "Confidence from which a pattern may enter the project's memory.";
    GraduationMinSuccessRate, "graduation.min_success_rate", Share, "0.8",
        "Share of successes from which a pattern may enter the project's memory.";
    GraduationMinSimilarSuccesses, "graduation.min_similar_successes", Count, "2",
        "Similar successes that a pattern needs to enter the project's memory.";
    PatternsMinOccurrences, "patterns.min_occurrences", Count, "3",
        "Times something must be seen before it is a pattern.";
    PatternsConfidenceDecay, "patterns.confidence_decay", Share, "0.95",
        "What remains of the weight of evidence after a day.";
    PatternsMaxAge, "patterns.max_age_days", Count, "30",
        "Days after which a pattern that was not seen again expires.";
    UiShowConfidence, "ui.show_confidence", Flag, "true",
        "Say how likely an attempt is to work before it runs.";
    UiEnableTournaments, "ui.enable_tournaments", Flag, "true",
        "Offer tournaments on the page.";
    Check, "check", Checks, "",
        "Declared checks: `[[check]]` with name and run, and if wanted directory, `timeout_s`, report, format, `must_pass` and measure.";
}

impl Key {
    /// The key of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|key| key.name() == name)
    }

    /// Whether keys of other names lie below this name, as in `limits`.
    pub fn is_group(name: &str) -> bool {
        Self::ALL
            .iter()
            .filter_map(|key| key.name().split_once('.'))
            .any(|(group, _)| group == name)
    }

    /// The environment variable that sets it: `AGAR_LIMITS_MEMORY`.
    pub fn variable(self) -> String {
        format!("AGAR_{}", self.name().replace('.', "_").to_uppercase())
    }

    /// What happens when two layers set it.
    pub const fn merge(self) -> Merge {
        match self {
            Self::Mask | Self::Unmask | Self::Env => Merge::Join,
            Self::Tier
            | Self::Base
            | Self::Network
            | Self::Monitor
            | Self::Nested
            | Self::FakeRoot
            | Self::Bulk
            | Self::Setup
            | Self::OldWays
            | Self::MaxConcurrentSandboxes
            | Self::LimitsCpu
            | Self::LimitsMemory
            | Self::LimitsProcesses
            | Self::LimitsDisk
            | Self::LimitsTimeout
            | Self::LimitsOutput
            | Self::OnBreach
            | Self::SnapshotsBeforeRun
            | Self::SnapshotsKeepAutomatic
            | Self::ApplyCommit
            | Self::CleanupIdle
            | Self::CleanupTtl
            | Self::CleanupKeepLast
            | Self::CleanupDiskBudget
            | Self::GraduationMinConfidence
            | Self::GraduationMinSuccessRate
            | Self::GraduationMinSimilarSuccesses
            | Self::PatternsMinOccurrences
            | Self::PatternsConfidenceDecay
            | Self::PatternsMaxAge
            | Self::UiShowConfidence
            | Self::UiEnableTournaments
            | Self::Check => Merge::Replace,
        }
    }

    /// The known name nearest to a mistyped one: of the same group where there is one.
    pub fn suggest(name: &str) -> Option<&'static str> {
        let names = || Self::ALL.iter().map(|key| key.name());
        if let Some(found) = crate::suggest::nearest(name, names()) {
            return Some(found);
        }
        // `memory` for `limits.memory`, `timeOut` for `limits.timeout`.
        let last = name.rsplit('.').next().unwrap_or(name).to_lowercase();
        let lasts = || names().map(|name| name.rsplit('.').next().unwrap_or(name));
        let near = crate::suggest::nearest(&last, lasts())?;
        names().find(|name| name.rsplit('.').next() == Some(near))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
