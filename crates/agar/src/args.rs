//! What can be typed.
//!
//! A command's own arguments are in its file under `commands/`; here is what several share, and
//! the list of all. Everything typed is read into these types and nothing else looks at the
//! command line.

mod alone;

use crate::commands;
use crate::ui::human;
use agar_core::limits::Limits;
use agar_core::size::Bytes;
use agar_core::walls::{BaseKind, Monitor, Network, Tier};
use agar_engine::experiment::Proposal;
use agar_engine::memory::{ChangeType, proposal};
use agar_engine::{Caller, EngineError, SandboxOptions};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Parser as _, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// Try any change in an instant, isolated, copy-on-write copy of your machine
///
/// agar runs a command in a sandbox that sees your whole machine and your project as they are on
/// disk, uncommitted edits included. Whatever the command does stays inside. You see what it
/// changed, and decide: apply it to the real project, look closer, or throw it away.
#[derive(Debug, clap::Parser)]
#[command(
    name = "agar",
    version,
    max_term_width = 100,
    disable_help_subcommand = true,
    after_long_help = "\
Examples:
  agar try -- npm update          run it in a sandbox, look at the changes, then decide
  agar run -- make test           run it in a sandbox and pass its exit status on
  agar diff                       what the only sandbox changed
  agar apply calm-fern            merge a sandbox's changes into the project
  agar undo                       take the last apply back

A sandbox is named by its two words or any unique beginning of them; with only one sandbox the
name may be left out. Exit status: 0 done, 1 refused or failed, 2 wrong request, 3 not found,
4 conflict, 5 limit, 6 this machine cannot, 7 undecided, 70 a defect of agar, 130 interrupted;
`run` and `exec` pass the command's own."
)]
pub struct Cli {
    /// What every command takes.
    #[command(flatten)]
    pub global: GlobalArgs,
    /// The command.
    #[command(subcommand)]
    pub verb: Verb,
}

impl Cli {
    /// Reads a command line, without the program's name.
    pub fn read(typed: &[OsString]) -> Result<Self, clap::Error> {
        if let Some(cli) = alone::read(typed) {
            return Ok(cli);
        }
        let program = [OsString::from("agar")];
        Self::try_parse_from(program.iter().chain(typed))
    }
}

/// What every command takes.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Everywhere")]
pub struct GlobalArgs {
    /// Answer as one JSON document on stdout
    ///
    /// `agar schema COMMAND` prints its schema. A failure is `{"error": {"code", "message",
    /// "remedy"}}`. What a sandboxed command prints goes to stderr.
    #[arg(long, global = true)]
    pub json: bool,

    /// Show the causes of an error
    #[arg(short, long, global = true)]
    pub verbose: bool,

    /// When to use colours
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_short_help = true
    )]
    pub color: Colour,

    /// Work as if started in this directory
    #[arg(short = 'C', long, global = true, value_name = "DIR", value_hint = clap::ValueHint::DirPath, hide_short_help = true)]
    pub directory: Option<PathBuf>,
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Colour {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Into pipes too.
    Always,
    /// Never.
    Never,
}

/// Every command.
#[derive(Debug, clap::Subcommand)]
#[expect(
    missing_docs,
    reason = "each is documented by the help text of its arguments"
)]
pub enum Verb {
    Try(commands::try_change::TryArgs),
    Run(commands::run::RunArgs),
    Create(commands::create::CreateArgs),
    Exec(commands::exec::ExecArgs),
    Attach(commands::attach::AttachArgs),
    Shell(commands::shell::ShellArgs),
    Batch(commands::batch::BatchArgs),
    Ls(commands::ls::LsArgs),
    Top(commands::top::TopArgs),
    Ps(commands::ps::PsArgs),
    Logs(commands::logs::LogsArgs),
    Inspect(commands::inspect::InspectArgs),
    Cp(commands::cp::CpArgs),
    Diff(commands::diff::DiffArgs),
    Check(commands::check::CheckArgs),
    Confidence(commands::confidence::ConfidenceArgs),
    Experiments(commands::experiments::ExperimentsArgs),
    Memory(commands::memory::MemoryArgs),
    Evolve(commands::evolve::EvolveArgs),
    Apply(commands::apply::ApplyArgs),
    Merge(commands::merge::MergeArgs),
    Undo(commands::undo::UndoArgs),
    Stop(commands::stop::StopArgs),
    Snapshot(commands::snapshot::SnapshotArgs),
    Snapshots(commands::snapshots::SnapshotsArgs),
    Restore(commands::restore::RestoreArgs),
    Fork(commands::fork::ForkArgs),
    Tree(commands::tree::TreeArgs),
    Pause(commands::pause::PauseArgs),
    Resume(commands::pause::ResumeArgs),
    Rm(commands::rm::RmArgs),
    Prune(commands::prune::PruneArgs),
    Serve(commands::serve::ServeArgs),
    Doctor(commands::doctor::DoctorArgs),
    Jail(commands::jail::JailArgs),
    Config(commands::config::ConfigArgs),
    Approve(commands::approve::ApproveArgs),
    Init(commands::init::InitArgs),
    Completion(commands::completion::CompletionArgs),
    Schema(commands::schema::SchemaArgs),
    #[command(hide = true)]
    Man(commands::man::ManArgs),
    Help(commands::help::HelpArgs),
    #[command(hide = true)]
    Upkeep(commands::upkeep::UpkeepArgs),
}

/// Which walls a new sandbox gets.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Sandbox")]
pub struct WallArgs {
    /// What it starts from: a picture of the project, or the directory itself
    ///
    /// `frozen` never sees edits you make meanwhile. `live` is instant for a project of any size
    /// and guards against drift. `auto` freezes when that is quick.
    #[arg(long, value_name = "BASE")]
    pub base: Option<BaseChoice>,

    /// What it may reach over the network: none, or host for all that you can
    #[arg(long, value_name = "NETWORK")]
    pub net: Option<NetChoice>,

    /// Accept this set of walls, by name, where the full one is not to be had
    ///
    /// `full`, `helper` (the system's bubblewrap), `landlock`, `none`. agar never weakens the
    /// walls by itself; `agar doctor` says what this machine can do.
    #[arg(long, value_name = "TIER")]
    pub tier: Option<TierChoice>,

    /// Pass an environment variable in, beyond the usual ones
    #[arg(short, long, value_name = "NAME[=VALUE]")]
    pub env: Vec<OsString>,

    /// Show a masked path inside, such as ~/.npmrc
    #[arg(long, value_name = "PATH", hide_short_help = true)]
    pub unmask: Vec<String>,

    /// Hide a further path inside
    #[arg(long, value_name = "PATH", hide_short_help = true)]
    pub mask: Vec<String>,

    /// Be root inside, for package managers; nothing more is allowed outside
    #[arg(long, hide_short_help = true)]
    pub fake_root: bool,

    /// Allow user namespaces inside, for browsers and container tools
    #[arg(long, hide_short_help = true)]
    pub nested: bool,

    /// How much to record of what happens inside
    #[arg(long, value_name = "WHAT", hide_short_help = true)]
    pub monitor: Option<MonitorChoice>,

    /// Run on behalf of this agent: its name is recorded, and an agent's limits hold
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub agent: Option<String>,

    /// A few words for the list
    #[arg(long, value_name = "TEXT", hide_short_help = true)]
    pub note: Option<String>,

    /// Clean it up after this time, once nothing runs in it
    #[arg(long, value_name = "TIME", value_parser = human::parse_duration, hide_short_help = true)]
    pub ttl: Option<u64>,
}

/// What the command is meant to do.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Learning")]
pub struct ProposalArgs {
    /// What the command is meant to do, in words
    #[arg(long, value_name = "TEXT")]
    pub suggestion: Option<String>,

    /// What sort of change it is
    #[arg(long, value_name = "TYPE", value_parser = change_type(), hide_short_help = true)]
    pub change_type: Option<ChangeType>,

    /// What else is worth remembering, as a JSON object; `strategy`, `problem`, `language` and
    /// `files` have a meaning
    #[arg(long, value_name = "JSON", hide_short_help = true)]
    pub context: Option<String>,
}

impl ProposalArgs {
    /// What is proposed.
    pub fn proposal(&self) -> Result<Proposal, EngineError> {
        proposal(
            self.suggestion.clone(),
            self.change_type,
            self.context.as_deref(),
        )
    }
}

/// Reads the word for a sort of change.
pub fn change_type() -> impl TypedValueParser<Value = ChangeType> {
    PossibleValuesParser::new(ChangeType::ALL.map(ChangeType::word))
        .try_map(|word| word.parse::<ChangeType>())
}

/// How much of the machine a sandbox may use.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
#[command(next_help_heading = "Limits")]
pub struct LimitArgs {
    /// Memory of all processes together, such as 512M or 2G
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<Bytes>,

    /// Processor time, in percent of one: 200 is two whole processors
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub cpu: Option<u32>,

    /// Growth on disk
    #[arg(long, value_name = "SIZE")]
    pub disk: Option<Bytes>,

    /// Processes and threads alive at once
    #[arg(long, value_name = "COUNT")]
    pub processes: Option<u32>,

    /// Time a command may take, such as 90s, 5m or 2h
    #[arg(long, value_name = "TIME", value_parser = human::parse_duration)]
    pub timeout: Option<u64>,

    /// Output of a command that is passed on and kept
    #[arg(long, value_name = "SIZE")]
    pub output: Option<Bytes>,
}

impl LimitArgs {
    /// The limits that were asked for.
    pub const fn limits(&self) -> Limits {
        Limits {
            cpu_percent: self.cpu,
            memory_bytes: self.memory,
            processes: self.processes,
            disk_bytes: self.disk,
            timeout_ms: self.timeout,
            output_bytes: self.output,
        }
    }
}

impl WallArgs {
    /// What a new sandbox should be. `agent` is the one the environment names.
    pub fn options(&self, limits: LimitArgs, agent: Option<String>) -> SandboxOptions {
        SandboxOptions {
            base: self.base.and_then(BaseChoice::kind),
            tier: self.tier.map(TierChoice::tier),
            network: self.net.map(NetChoice::network),
            fake_root: self.fake_root,
            nested: self.nested,
            monitor: self.monitor.map(MonitorChoice::monitor),
            limits: limits.limits(),
            environment: self.env.clone(),
            unmask: self.unmask.clone(),
            mask: self.mask.clone(),
            caller: caller(self.agent.clone().or(agent)),
            alias: None,
            note: self.note.clone(),
            ttl_ms: self.ttl,
        }
    }
}

/// What a new sandbox is called.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Sandbox")]
pub struct NameArgs {
    /// Its name, instead of two words drawn by chance
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub name: Option<String>,
}

impl NameArgs {
    /// The same options with this name.
    pub fn named(&self, options: SandboxOptions) -> SandboxOptions {
        SandboxOptions {
            alias: self.name.clone(),
            ..options
        }
    }
}

/// Who asks.
pub fn caller(agent: Option<String>) -> Caller {
    agent.map_or(Caller::Person, |name| Caller::Agent { name })
}

/// What a sandbox starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BaseChoice {
    /// Frozen when that is quick, live otherwise
    Auto,
    /// A picture of the project at this moment
    Frozen,
    /// The directory itself
    Live,
}

impl BaseChoice {
    const fn kind(self) -> Option<BaseKind> {
        match self {
            Self::Auto => None,
            Self::Frozen => Some(BaseKind::Frozen),
            Self::Live => Some(BaseKind::Live),
        }
    }
}

/// What a sandbox may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum NetChoice {
    /// Nothing: a network of its own with a loopback
    None,
    /// Everything that you can reach
    Host,
}

impl NetChoice {
    const fn network(self) -> Network {
        match self {
            Self::None => Network::None,
            Self::Host => Network::Host,
        }
    }
}

/// A set of walls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TierChoice {
    /// Namespaces, copy-on-write layers, seccomp and Landlock
    Full,
    /// The system's bubblewrap does the privileged part
    Helper,
    /// Landlock and seccomp over a copy of the project
    Landlock,
    /// A copy of the project and nothing more
    None,
}

impl TierChoice {
    const fn tier(self) -> Tier {
        match self {
            Self::Full => Tier::Full,
            Self::Helper => Tier::Helper,
            Self::Landlock => Tier::Landlock,
            Self::None => Tier::None,
        }
    }
}

/// What to record of the inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MonitorChoice {
    /// Output and status
    Off,
    /// Programs that were started, too
    Executions,
    /// Files that were opened, too
    Files,
}

impl MonitorChoice {
    const fn monitor(self) -> Monitor {
        match self {
            Self::Off => Monitor::Off,
            Self::Executions => Monitor::Executions,
            Self::Files => Monitor::Files,
        }
    }
}

/// Reads `150`, `150%`.
fn percent(text: &str) -> Result<u32, String> {
    let number = text.strip_suffix('%').unwrap_or(text);
    match number.parse() {
        Ok(percent) if percent > 0 => Ok(percent),
        Ok(_) | Err(_) => Err(format!(
            "`{text}` is not a percentage; write for example 50 or 200"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn nothing_is_loosened_unless_it_is_typed() {
        let options = WallArgs::default().options(LimitArgs::default(), None);
        assert_eq!(options, SandboxOptions::default());
    }

    #[test]
    fn flags_after_the_command_are_the_commands() {
        let cli = Cli::parse_from([
            "agar", "run", "--net", "none", "ls", "--json", "--tier", "x",
        ]);
        assert!(!cli.global.json);
        let Verb::Run(run) = cli.verb else {
            panic!("run was typed");
        };
        assert_eq!(run.command, ["ls", "--json", "--tier", "x"]);
    }

    #[test]
    fn an_unknown_flag_is_never_taken_for_a_command() {
        for verb in ["try", "run", "exec"] {
            for typed in [vec![verb, "--bogus"], vec![verb, "--bogus", "--", "ls"]] {
                let typed = ["agar"].into_iter().chain(typed);
                assert!(Cli::try_parse_from(typed).is_err(), "{verb}");
            }
        }
    }

    #[test]
    fn limits_are_read_with_their_units() {
        let cli = Cli::parse_from([
            "agar",
            "run",
            "--memory",
            "2G",
            "--cpu",
            "150%",
            "--timeout",
            "5m",
            "--",
            "true",
        ]);
        let Verb::Run(run) = cli.verb else {
            panic!("run was typed");
        };
        let limits = run.limits.limits();
        assert_eq!(limits.memory_bytes, Some(Bytes(2 << 30)));
        assert_eq!(limits.cpu_percent, Some(150));
        assert_eq!(limits.timeout_ms, Some(300_000));
    }
}
