//! The last walls, which belong to threads: capabilities, Landlock, the filter.

use super::{Runs, spawn};
use crate::landlock::{self, Wall};
use crate::limit::{self, Sharing};
use crate::mount::{During, Failed};
use crate::plan::Plan;
use crate::policy::{Nested, OldWay};
use crate::protocol::{self, News};
use crate::{capability, seccomp, syscall};
use agar_core::fault::Fault;
use rustix::fd::OwnedFd;
use std::error::Error;
use std::sync::mpsc;

/// Little is on these stacks, and each touched page is paid for by every idle sandbox.
const STACK_BYTES: usize = 128 * 1024;

/// Starts the thread that starts commands and the one that answers its filter.
pub(super) fn start(plan: &Plan, socket: &OwnedFd, runs: &Runs) -> Result<(), Failed> {
    limit::carry(&plan.policy.limits, Sharing::Own).map_err(|error| told(&error))?;
    let (ready, wait) = mpsc::channel();
    let (for_thread, runs) = (plan.clone(), runs.clone());
    let far = socket
        .try_clone()
        .during(|| "share the keeper's socket".into())?;
    thread("commands", move || {
        let outcome = wear(&for_thread);
        let failed = outcome.is_err();
        if ready.send(outcome).is_ok() && !failed {
            spawn::serve(&far, &runs);
        }
        // The keeper went away, or the walls could not be raised.
        syscall::exit(i32::from(failed))
    })?;
    let gone = || Failed {
        step: "put on the walls".into(),
        errno: libc::EPIPE,
    };
    let notes = wait.recv().map_err(|_| gone())??;
    keep_what_remounting_takes()?;
    protocol::send(socket, &News::Ready { notes }, &[]).during(|| "report to the keeper".into())
}

fn thread(name: &str, body: impl FnOnce() + Send + 'static) -> Result<(), Failed> {
    std::thread::Builder::new()
        .name(name.into())
        .stack_size(STACK_BYTES)
        .spawn(body)
        .map(drop)
        .during(|| "start a thread of the init".into())
}

/// Puts on what every command inherits, in the order that each step still allows the next.
/// Irreversible for this thread.
fn wear(plan: &Plan) -> Result<Vec<String>, Failed> {
    let mut notes = Vec::new();
    let kept = plan
        .capabilities
        .iter()
        .fold(capability::Set::empty(), |set, number| {
            set | capability::Set::from_bits_retain(1 << number)
        });
    capability::keep_in_bounding(kept).map_err(|error| told(&error))?;
    capability::keep_only(kept).map_err(|error| told(&error))?;
    if plan.policy.old_ways.contains(&OldWay::NoLandlock) {
        notes.push("no Landlock: switched off by a setting".into());
    } else {
        let wall = match plan.policy.nested {
            Nested::Refused => Wall::second(plan.writable.iter().map(crate::wire::Raw::as_path)),
            Nested::Allowed => Wall::nested(),
        };
        let raised = landlock::raise(&wall).map_err(|error| told(&error))?;
        notes.extend(
            raised
                .missing()
                .map(|guard| format!("Landlock cannot guard {guard} here")),
        );
    }
    let filter = seccomp::Filter::build(&plan.filter());
    seccomp::install(filter.program(), false).map_err(|error| told(&error))?;
    Ok(notes)
}

/// The first thread gives up everything but what it takes to lay layers anew.
fn keep_what_remounting_takes() -> Result<(), Failed> {
    let kept = capability::Set::SYS_ADMIN
        | capability::Set::DAC_OVERRIDE
        | capability::Set::DAC_READ_SEARCH
        | capability::Set::FOWNER
        | capability::Set::CHOWN
        | capability::Set::FSETID;
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
