//! One file a command: its help text, its arguments, one function.

pub mod apply;
pub mod approve;
pub mod attach;
pub mod batch;
pub mod check;
pub mod completion;
pub mod confidence;
pub mod config;
pub mod cp;
pub mod create;
pub mod diff;
pub mod doctor;
pub mod evolve;
pub mod exec;
pub mod experiments;
pub mod fork;
pub mod help;
pub mod init;
pub mod inspect;
pub mod jail;
pub mod logs;
pub mod ls;
pub mod man;
pub mod memory;
pub mod merge;
pub mod pause;
pub mod prune;
pub mod ps;
pub mod restore;
pub mod rm;
pub mod run;
pub mod schema;
pub mod serve;
pub mod shell;
pub mod snapshot;
pub mod snapshots;
pub mod stop;
pub mod top;
pub mod tree;
pub mod try_change;
pub mod undo;
pub mod upkeep;

use crate::args::Verb;
use crate::context::Context;
use crate::report::Failure;
use crate::ui::signals::Signals;
use agar_core::fault::Kind;

/// The exit status of `run` and `exec` when agar itself failed, as container tools have it.
pub const OWN_FAILURE: u8 = 125;

/// Does what was typed; the answer is the exit status.
pub fn dispatch(verb: &Verb, context: &Context) -> Result<u8, Failure> {
    match verb {
        Verb::Try(args) => try_change::run(args, context),
        Verb::Run(args) => run::run(args, context).map_err(own),
        Verb::Create(args) => create::run(args, context),
        Verb::Exec(args) => exec::run(args, context).map_err(own),
        Verb::Attach(args) => attach::run(args, context),
        Verb::Shell(args) => shell::run(args, context),
        Verb::Batch(args) => batch::run(args, context),
        Verb::Ls(args) => ls::run(args, context),
        Verb::Top(args) => top::run(args, context),
        Verb::Ps(args) => ps::run(args, context),
        Verb::Logs(args) => logs::run(args, context),
        Verb::Inspect(args) => inspect::run(args, context),
        Verb::Cp(args) => cp::run(args, context),
        Verb::Diff(args) => diff::run(args, context),
        Verb::Confidence(args) => confidence::run(args, context),
        Verb::Experiments(args) => experiments::run(args, context),
        Verb::Memory(args) => memory::run(args, context),
        Verb::Evolve(args) => evolve::run(args, context),
        Verb::Check(args) => check::run(args, context),
        Verb::Apply(args) => apply::run(args, context),
        Verb::Merge(args) => merge::run(args, context),
        Verb::Undo(args) => undo::run(args, context),
        Verb::Stop(args) => stop::run(args, context),
        Verb::Snapshot(args) => snapshot::run(args, context),
        Verb::Snapshots(args) => snapshots::run(args, context),
        Verb::Restore(args) => restore::run(args, context),
        Verb::Fork(args) => fork::run(args, context),
        Verb::Tree(args) => tree::run(args, context),
        Verb::Pause(args) => pause::run(args, context),
        Verb::Resume(args) => pause::run_resume(args, context),
        Verb::Rm(args) => rm::run(args, context),
        Verb::Prune(args) => prune::run(args, context),
        Verb::Serve(args) => serve::run(args, context),
        Verb::Doctor(args) => doctor::run(args, context),
        Verb::Jail(args) => jail::run(args, context),
        Verb::Config(args) => config::run(args, context),
        Verb::Approve(args) => approve::run(args, context),
        Verb::Init(args) => init::run(args, context),
        Verb::Completion(args) => completion::run(args, context),
        Verb::Schema(args) => schema::run(args, context),
        Verb::Man(args) => man::run(args, context),
        Verb::Help(args) => help::run(args, context),
        Verb::Upkeep(args) => upkeep::run(args, context),
    }
}

/// A failure of agar, where the exit status otherwise belongs to the command.
fn own(failure: Failure) -> Failure {
    if failure.exit() == crate::DONE || failure.kind() == Kind::Interrupted {
        return failure;
    }
    failure.with_exit(OWN_FAILURE)
}

/// Takes over the signals of this process.
fn signals() -> Result<Signals, Failure> {
    Signals::watch()
        .map_err(|error| Failure::because(Kind::Internal, "cannot watch for signals", &error))
}
