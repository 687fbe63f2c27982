//! A process of its own for what cannot be taken back.

use rustix::process::{Pid, WaitOptions, WaitStatus, waitpid};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

/// Runs the checks in a forked child, and fails when one of them does.
///
/// The child has one thread, whatever the test program has.
pub(crate) fn isolated(checks: impl FnOnce()) {
    let status = wait(spawn(checks));
    assert_eq!(
        status.exit_status(),
        Some(0),
        "the child ended with {status:?}"
    );
}

/// The signal that ends a child which does this.
pub(crate) fn killed_by(action: impl FnOnce()) -> Option<i32> {
    wait(spawn(action)).terminating_signal()
}

/// Lets children speak for themselves: the harness keeps what is printed to itself.
fn hear_children() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let parent = rustix::process::getpid();
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if rustix::process::getpid() == parent {
                return usual(panic);
            }
            let text = format!("in the child: {panic}\n");
            let _ = rustix::io::write(rustix::stdio::stderr(), text.as_bytes());
        }));
    });
}

/// Starts a child that runs the checks and ends.
pub(crate) fn spawn(checks: impl FnOnce()) -> Pid {
    hear_children();
    // SAFETY: the child runs the closure and leaves without returning into the test harness; the
    // C library makes its allocator usable in a forked child.
    match unsafe { libc::fork() } {
        0 => {
            let failed = catch_unwind(AssertUnwindSafe(checks)).is_err();
            // SAFETY: ends the process at once; nothing of the parent's is run or flushed.
            unsafe { libc::_exit(i32::from(failed)) }
        }
        pid => Pid::from_raw(pid).expect("fork works"),
    }
}

/// Waits for the child to end.
pub(crate) fn wait(pid: Pid) -> WaitStatus {
    loop {
        match waitpid(Some(pid), WaitOptions::empty()) {
            Ok(Some((_, status))) => return status,
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => panic!("cannot wait: {error}"),
        }
    }
}

/// Makes a system call by number and gives its error, zero for none.
pub(crate) fn errno_of(number: i64, arguments: [u64; 4]) -> i32 {
    let [a, b, c, d] = arguments;
    // SAFETY: every call tried here is either denied before it acts or given arguments without
    // pointers.
    let code = unsafe { libc::syscall(number, a, b, c, d) };
    if code >= 0 {
        return 0;
    }
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}
