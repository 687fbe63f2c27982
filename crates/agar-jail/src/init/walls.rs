//! The last walls, which belong to threads: capabilities, Landlock, the filter.

use super::remount::Desk;
use super::{Runs, spawn};
use crate::landlock::{self, Wall};
use crate::limit::{self, Sharing};
use crate::mount::{During, Failed};
use crate::notify::{Handler, Recorder};
use crate::plan::{Plan, Root};
use crate::policy::{Nested, OldWay};
use crate::protocol::{self, News};
use crate::seccomp::{self, Filter, FilterOptions, InstallError};
use crate::wire::Raw;
use crate::{capability, syscall};
use agar_core::fault::Fault;
use agar_core::walls::Tier;
use rustix::fd::{AsFd, OwnedFd};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};

/// Little is on these stacks, and each touched page is paid for by every idle sandbox.
const STACK_BYTES: usize = 128 * 1024;

/// Starts the thread that starts commands and the one that answers its filter.
pub(super) fn start(
    plan: &Plan,
    (socket, desk): (&OwnedFd, &Arc<Desk>),
    runs: &Runs,
    recorder: &Arc<Recorder>,
) -> Result<(), Failed> {
    limit::carry(&plan.policy.limits, Sharing::Own).map_err(|error| told(&error))?;
    let (hand_over, listener) = mpsc::channel();
    let recorder = Arc::clone(recorder);
    let kept = kept(plan);
    thread("answers", move || answer(kept, &listener, &recorder))?;
    let (ready, wait) = mpsc::channel();
    let (for_thread, runs, desk) = (plan.clone(), runs.clone(), Arc::clone(desk));
    let far = socket
        .try_clone()
        .during(|| "share the keeper's socket".into())?;
    thread("commands", move || {
        let outcome = wear(&for_thread, &hand_over);
        let failed = outcome.is_err();
        if ready.send(outcome).is_ok() && !failed {
            spawn::serve(&far, &runs, &desk);
            if for_thread.root == Root::Host {
                super::end_everyone();
            }
        }
        // The keeper went away, or the walls could not be raised.
        syscall::exit(i32::from(failed))
    })?;
    let gone = || Failed {
        step: "put on the walls".into(),
        errno: libc::EPIPE,
    };
    let notes = wait.recv().map_err(|_| gone())??;
    keep_what_remounting_takes(plan.policy.tier)?;
    protocol::send(socket, &News::Ready { notes }, &[]).during(|| "report to the keeper".into())
}

/// The thread that answers the filter, for as long as anything wears it.
fn answer(kept: capability::Set, listener: &mpsc::Receiver<OwnedFd>, recorder: &Recorder) {
    let prepared = capability::keep_only(kept).is_ok();
    // Without a listener there is nothing to answer.
    let Ok(listener) = listener.recv() else {
        return;
    };
    let never = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC);
    let served = match (prepared, never) {
        (true, Ok((never, _open))) => Handler::new(listener)
            .serve(never.as_fd(), |event| recorder.record(event))
            .is_ok(),
        (true | false, Ok(_) | Err(_)) => false,
    };
    if !served {
        // Every call that is asked about would now fail; a jail like that is of no use.
        syscall::exit(1)
    }
}

fn thread(name: &str, body: impl FnOnce() + Send + 'static) -> Result<(), Failed> {
    std::thread::Builder::new()
        .name(name.into())
        .stack_size(STACK_BYTES)
        .spawn(body)
        .map(drop)
        .during(|| "start a thread of the init".into())
}

/// The capabilities that commands hold within their own namespace.
fn kept(plan: &Plan) -> capability::Set {
    plan.capabilities
        .iter()
        .fold(capability::Set::empty(), |set, number| {
            set | capability::Set::from_bits_retain(1 << number)
        })
}

/// Puts on what every command inherits, in the order that each step still allows the next.
/// Irreversible for this thread.
fn wear(plan: &Plan, hand_over: &mpsc::Sender<OwnedFd>) -> Result<Vec<String>, Failed> {
    let mut notes = Vec::new();
    if plan.policy.tier == Tier::None {
        notes.push("no walls: the command works on a copy, and that is all".into());
        return Ok(notes);
    }
    let kept = kept(plan);
    // Elsewhere there is nothing to take away, and no right to take it.
    if plan.policy.tier == Tier::Full {
        capability::keep_in_bounding(kept).map_err(|error| told(&error))?;
    }
    capability::keep_only(kept).map_err(|error| told(&error))?;
    if plan.policy.old_ways.contains(&OldWay::NoLandlock) {
        notes.push("no Landlock: switched off by a setting".into());
    } else {
        let raised = landlock::raise(&wall(plan)?).map_err(|error| told(&error))?;
        notes.extend(
            raised
                .missing()
                .map(|guard| format!("Landlock cannot guard {guard} here")),
        );
    }
    if plan.policy.tier == Tier::Full && !landlock::sysctl_is_closed() {
        return Err(Failed {
            step: "close the kernel's knobs".into(),
            errno: libc::EPERM,
        });
    }
    filter(plan, hand_over, &mut notes)?;
    Ok(notes)
}

fn wall(plan: &Plan) -> Result<Wall, Failed> {
    let writable = plan.writable.iter().map(Raw::as_path);
    match (plan.root, plan.policy.nested) {
        (Root::Host, _) => {
            let masks: Vec<PathBuf> = plan
                .policy
                .masks
                .iter()
                .cloned()
                .map(PathBuf::from)
                .collect();
            let readable = landlock::around(Path::new("/"), &masks)
                .during(|| "find what lies beside the masked paths".into())?;
            Ok(Wall::only(readable, writable))
        }
        (Root::ReadOnly | Root::Staged | Root::Helper, Nested::Refused) => {
            Ok(Wall::second(writable))
        }
        (Root::ReadOnly | Root::Staged | Root::Helper, Nested::Allowed) => Ok(Wall::nested()),
    }
}

/// Puts on the filter, and hands the descriptor on which the kernel asks to whoever answers.
fn filter(
    plan: &Plan,
    hand_over: &mpsc::Sender<OwnedFd>,
    notes: &mut Vec<String>,
) -> Result<(), Failed> {
    let wanted = plan.filter();
    let program = Filter::build(&wanted);
    match seccomp::install(program.program(), wanted.needs_listener()) {
        Ok(Some(listener)) => {
            let gone = |_| Failed {
                step: "answer the filter".into(),
                errno: libc::EPIPE,
            };
            hand_over.send(listener).map_err(gone)
        }
        Ok(None) => Ok(()),
        Err(InstallError::AlreadyWatched) => {
            notes.push("executions are not recorded: this machine is itself watched".into());
            let silent = FilterOptions {
                nested: wanted.nested,
                sockets: wanted.sockets,
                ..FilterOptions::default()
            };
            let program = Filter::build(&silent);
            seccomp::install(program.program(), false)
                .map(drop)
                .map_err(|error| told(&error))
        }
        Err(error) => Err(told(&error)),
    }
}

/// The first thread gives up everything but what it takes to lay layers anew, where it has that.
fn keep_what_remounting_takes(tier: Tier) -> Result<(), Failed> {
    let kept = match tier {
        Tier::Full => {
            capability::Set::SYS_ADMIN
                | capability::Set::DAC_OVERRIDE
                | capability::Set::DAC_READ_SEARCH
                | capability::Set::FOWNER
                | capability::Set::CHOWN
                | capability::Set::FSETID
        }
        Tier::Helper | Tier::Landlock => capability::Set::empty(),
        Tier::None => return Ok(()),
    };
    capability::keep_only(kept).map_err(|error| told(&error))
}

/// A fault of another module, as the step that failed and the kernel's reason.
fn told<E: Fault>(error: &E) -> Failed {
    let mut source = error.source();
    let mut errno = libc::EPERM;
    while let Some(cause) = source {
        if let Some(cause) = cause.downcast_ref::<rustix::io::Errno>() {
            errno = cause.raw_os_error();
        } else if let Some(cause) = cause.downcast_ref::<std::io::Error>() {
            errno = cause.raw_os_error().unwrap_or(errno);
        }
        source = cause_of(cause);
    }
    Failed {
        step: error.to_string(),
        errno,
    }
}

fn cause_of<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    error.source()
}
