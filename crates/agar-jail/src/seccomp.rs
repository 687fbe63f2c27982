//! The system call filter: which calls a jailed process may make, and which are watched.
//!
//! A deny-list, because real build tools must run inside. It closes what the namespaces leave open:
//! kernel interfaces with a history of escapes, the ways to make more namespaces, sockets that
//! ignore the network namespace, and typing into a terminal that is not ours. The filter is plain
//! data made by a pure function: it can be printed, compared and interpreted without a kernel, and
//! [`install`] is the only step that cannot be taken back.

mod assembler;
mod calls;
mod install;
#[cfg(test)]
mod interpreter;
mod listing;

use agar_core::walls::Monitor;
use assembler::{Assembler, Label};
use calls::{Call, Rule};
use libc::sock_filter;
use serde::{Deserialize, Serialize};

pub(crate) use calls::{NoticedCall, noticed};
pub use install::{InstallError, install, listener_is_supported};

/// Which families of sockets exist inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sockets {
    /// Unix and internet sockets; the network namespace decides how far they reach.
    #[default]
    Internet,
    /// Unix sockets only: for a jail without a network namespace whose network is off.
    UnixOnly,
}

/// The instruction set that the filter is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arch {
    /// 64-bit x86, without the x32 numbers.
    X86_64,
    /// 64-bit ARM.
    Aarch64,
}

impl Arch {
    /// What this program was built for.
    #[cfg(target_arch = "x86_64")]
    pub const NATIVE: Self = Self::X86_64;
    /// What this program was built for.
    #[cfg(target_arch = "aarch64")]
    pub const NATIVE: Self = Self::Aarch64;

    /// The kernel's name for it, as `seccomp_data.arch` carries it.
    pub const fn audit(self) -> u32 {
        match self {
            Self::X86_64 => 0xC000_003E,
            Self::Aarch64 => 0xC000_00B7,
        }
    }
}

/// Everything that decides the filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FilterOptions {
    /// Allow new user namespaces and what they make possible (mounts, chroot).
    pub nested: bool,
    /// What the notification handler is told of.
    pub monitor: Monitor,
    /// Let the notification handler complete renames of base directories.
    pub rename_shim: bool,
    /// Let the notification handler count the calls that are denied.
    pub record_denied: bool,
    /// Which sockets may be made.
    pub sockets: Sockets,
    /// The instruction set.
    pub arch: Arch,
}

impl Default for FilterOptions {
    /// The strictest filter, which needs no handler.
    fn default() -> Self {
        Self {
            nested: false,
            monitor: Monitor::Off,
            rename_shim: false,
            record_denied: false,
            sockets: Sockets::default(),
            arch: Arch::NATIVE,
        }
    }
}

impl FilterOptions {
    /// Whether a filter with these options asks a handler, so that it needs a listener.
    ///
    /// A thread that already has a filter with a listener cannot install a second one (`EBUSY`):
    /// a jail inside a `nested` jail has to do without.
    pub const fn needs_listener(&self) -> bool {
        !matches!(self.monitor, Monitor::Off) || self.rename_shim || self.record_denied
    }

    /// The calls that are always denied under these options, for people to read.
    pub fn denied(&self) -> impl Iterator<Item = &'static str> {
        calls::TABLE
            .iter()
            .filter(move |call| call.number(self.arch).is_some() && self.denies(call))
            .map(|call| call.name)
    }

    fn denies(self, call: &Call) -> bool {
        match call.rule {
            Rule::Deny => true,
            Rule::DenyUnlessNested => !self.nested,
            Rule::Hide
            | Rule::CloneFlags
            | Rule::UnshareFlags
            | Rule::Terminal
            | Rule::Socket
            | Rule::SocketPair
            | Rule::Personality
            | Rule::Execution
            | Rule::Rename
            | Rule::Open => false,
        }
    }

    /// Where the dispatch sends the call, or `None` when it is simply allowed.
    fn target(self, call: &Call) -> Option<Label> {
        match call.rule {
            Rule::Deny => Some(Label::Deny),
            Rule::DenyUnlessNested => (!self.nested).then_some(Label::Deny),
            Rule::Hide => (!self.nested).then_some(Label::Missing),
            Rule::CloneFlags => (!self.nested).then_some(Label::CloneFlags),
            Rule::UnshareFlags => (!self.nested).then_some(Label::UnshareFlags),
            Rule::Terminal => Some(Label::Terminal),
            Rule::Socket => Some(Label::Socket),
            Rule::SocketPair => Some(Label::SocketPair),
            Rule::Personality => Some(Label::Personality),
            Rule::Execution => (self.monitor != Monitor::Off).then_some(Label::Notify),
            Rule::Rename => self.rename_shim.then_some(Label::Notify),
            Rule::Open => (self.monitor == Monitor::Files).then_some(Label::Notify),
        }
    }
}

/// A program for the kernel's filter machine.
#[derive(Clone)]
pub struct Filter {
    program: Vec<sock_filter>,
    arch: Arch,
}

impl Filter {
    /// Makes the filter for the options. Pure: the same options give the same filter everywhere.
    ///
    /// The number of the call is compared before any argument is read, so that the kernel sees at
    /// installation which calls are always allowed and never runs the filter for them.
    pub fn build(options: &FilterOptions) -> Self {
        let mut code = Assembler::default();
        code.load(offset::ARCH);
        code.if_equal(options.arch.audit(), Label::Next, Label::Kill);
        code.load(offset::NUMBER);
        if options.arch == Arch::X86_64 {
            code.if_at_least(X32_BIT, Label::Missing, Label::Next);
        }
        for call in calls::TABLE {
            if let Some((number, target)) = call.number(options.arch).zip(options.target(call)) {
                code.if_equal(u32::from(number), target, Label::Next);
            }
        }
        code.give(libc::SECCOMP_RET_ALLOW);
        argument_tests(&mut code, *options);
        code.mark(Label::Missing);
        code.give(libc::SECCOMP_RET_ERRNO | errno(libc::ENOSYS));
        code.mark(Label::Kill);
        code.give(libc::SECCOMP_RET_KILL_PROCESS);
        code.mark(Label::Deny);
        if !options.record_denied {
            code.give(libc::SECCOMP_RET_ERRNO | errno(libc::EPERM));
        }
        if options.needs_listener() {
            code.mark(Label::Notify);
            code.give(libc::SECCOMP_RET_USER_NOTIF);
        }
        Self {
            program: code.finish(),
            arch: options.arch,
        }
    }

    /// The instructions, ready for [`install`].
    pub fn program(&self) -> &[sock_filter] {
        &self.program
    }
}

/// The sections that look at arguments. Each reads the low half only, as the kernel does: the upper
/// half of a 32-bit argument is whatever the register held, and comparing it lets a caller through.
fn argument_tests(code: &mut Assembler, options: FilterOptions) {
    code.mark(Label::Terminal);
    code.load(offset::argument(1));
    code.if_equal(TIOCSTI, Label::Deny, Label::Next);
    code.if_equal(TIOCLINUX, Label::Deny, Label::Allowed);

    if !options.nested {
        code.mark(Label::CloneFlags);
        code.load(offset::argument(0));
        code.if_any(NAMESPACES, Label::Deny, Label::Allowed);
        code.mark(Label::UnshareFlags);
        code.load(offset::argument(0));
        code.if_any(NAMESPACES | NEW_TIME, Label::Deny, Label::Allowed);
    }

    code.mark(Label::Personality);
    code.load(offset::argument(0));
    code.if_equal(PERSONALITY_QUERY, Label::Allowed, Label::Next);
    code.if_any(!PERSONALITY_ALLOWED, Label::Deny, Label::Allowed);

    code.mark(Label::SocketPair);
    code.load(offset::argument(0));
    code.if_equal(AF_UNIX, Label::Allowed, Label::Deny);

    code.mark(Label::Socket);
    code.load(offset::argument(0));
    match options.sockets {
        Sockets::UnixOnly => code.if_equal(AF_UNIX, Label::Allowed, Label::Deny),
        Sockets::Internet => {
            code.if_equal(AF_UNIX, Label::Allowed, Label::Next);
            code.if_equal(AF_INET, Label::SocketType, Label::Next);
            code.if_equal(AF_INET6, Label::SocketType, Label::Next);
            code.if_equal(AF_NETLINK, Label::Next, Label::Deny);
            code.load(offset::argument(2));
            code.if_equal(NETLINK_ROUTE, Label::Allowed, Label::Deny);
            code.mark(Label::SocketType);
            code.load(offset::argument(1));
            code.and(SOCK_TYPE_MASK);
            code.if_equal(SOCK_RAW, Label::Deny, Label::Next);
            code.if_equal(SOCK_PACKET, Label::Deny, Label::Allowed);
        }
    }
    code.mark(Label::Allowed);
    code.give(libc::SECCOMP_RET_ALLOW);
}

/// Where the fields of `seccomp_data` lie; both instruction sets are little-endian.
mod offset {
    pub(super) const NUMBER: u32 = 0;
    pub(super) const ARCH: u32 = 4;

    /// The low half of an argument.
    pub(super) const fn argument(index: u32) -> u32 {
        16 + 8 * index
    }
}

const fn errno(code: i32) -> u32 {
    code.unsigned_abs() & libc::SECCOMP_RET_DATA
}

/// Calls of the x32 convention carry this bit: they would pass the architecture test and have
/// numbers of their own.
const X32_BIT: u32 = 0x4000_0000;
const TIOCSTI: u32 = 0x5412;
const TIOCLINUX: u32 = 0x541C;
/// `CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET}`.
const NAMESPACES: u32 = 0x7E02_0000;
/// `CLONE_NEWTIME`: for `clone` this bit is part of the exit signal, so only `unshare` tests it.
const NEW_TIME: u32 = 0x80;
const PERSONALITY_QUERY: u32 = 0xFFFF_FFFF;
/// `PER_LINUX32`, `UNAME26` and `ADDR_NO_RANDOMIZE`: what `setarch` and debuggers use. The others
/// make memory executable or map the zero page.
const PERSONALITY_ALLOWED: u32 = 0x0008 | 0x0002_0000 | 0x0004_0000;
const AF_UNIX: u32 = 1;
const AF_INET: u32 = 2;
const AF_INET6: u32 = 10;
const AF_NETLINK: u32 = 16;
/// Address look-ups ask this for the interfaces; every other netlink family is closed.
const NETLINK_ROUTE: u32 = 0;
const SOCK_TYPE_MASK: u32 = 0xF;
const SOCK_RAW: u32 = 3;
const SOCK_PACKET: u32 = 10;

#[cfg(test)]
mod tests;
