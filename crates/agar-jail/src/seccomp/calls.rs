//! The calls that the filter has an opinion on, with their numbers on each instruction set.
//!
//! The order is the order of the tests in the filter: what is called often and not always allowed
//! comes first. A call that is not listed is allowed.

use super::Arch;

/// What the filter does with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// Denied.
    Deny,
    /// Denied, unless namespaces may be made inside.
    DenyUnlessNested,
    /// Answered as if the kernel were older, so that the C library uses the call we can look into.
    Hide,
    /// Denied with a flag for a new namespace.
    CloneFlags,
    /// The same, with the one flag that `clone` cannot take.
    UnshareFlags,
    /// Denied when it types into a terminal.
    Terminal,
    /// Allowed for a few families.
    Socket,
    /// Allowed for Unix sockets.
    SocketPair,
    /// Denied for flags that weaken memory protection.
    Personality,
    /// Noticed while executions are monitored.
    Execution,
    /// Noticed for the rename shim.
    Rename,
    /// Noticed while files are monitored.
    Open,
}

/// One line of the table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    pub(super) name: &'static str,
    pub(super) rule: Rule,
    x86_64: u16,
    aarch64: u16,
}

impl Call {
    /// The number, where the instruction set has the call.
    pub(super) const fn number(&self, arch: Arch) -> Option<u16> {
        let number = match arch {
            Arch::X86_64 => self.x86_64,
            Arch::Aarch64 => self.aarch64,
        };
        if number == NONE { None } else { Some(number) }
    }
}

/// What the notification handler has to do with a call that it was told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoticedCall {
    /// Record the program that is executed.
    Execution,
    /// Complete the rename.
    Rename,
    /// Record the file that is opened.
    Open,
    /// Refuse it, and count it under its name.
    Denied(&'static str),
}

/// Why the filter told the handler of this call, on the instruction set of this program.
pub(crate) fn noticed(number: i32) -> NoticedCall {
    let known = TABLE
        .iter()
        .find(|call| call.number(Arch::NATIVE).map(i32::from) == Some(number));
    match known.map(|call| (call.rule, call.name)) {
        Some((Rule::Execution, _)) => NoticedCall::Execution,
        Some((Rule::Rename, _)) => NoticedCall::Rename,
        Some((Rule::Open, _)) => NoticedCall::Open,
        Some((
            Rule::Deny
            | Rule::DenyUnlessNested
            | Rule::Hide
            | Rule::CloneFlags
            | Rule::UnshareFlags
            | Rule::Terminal
            | Rule::Socket
            | Rule::SocketPair
            | Rule::Personality,
            name,
        )) => NoticedCall::Denied(name),
        None => NoticedCall::Denied("unknown"),
    }
}

const NONE: u16 = u16::MAX;

const fn call(name: &'static str, x86_64: u16, aarch64: u16, rule: Rule) -> Call {
    Call {
        name,
        rule,
        x86_64,
        aarch64,
    }
}

/// Every call with a rule.
pub(super) const TABLE: &[Call] = &[
    call("openat", 257, 56, Rule::Open),
    call("open", 2, NONE, Rule::Open),
    call("ioctl", 16, 29, Rule::Terminal),
    call("rename", 82, NONE, Rule::Rename),
    call("renameat", 264, 38, Rule::Rename),
    call("renameat2", 316, 276, Rule::Rename),
    call("clone", 56, 220, Rule::CloneFlags),
    call("clone3", 435, 435, Rule::Hide),
    call("execve", 59, 221, Rule::Execution),
    call("execveat", 322, 281, Rule::Execution),
    call("socket", 41, 198, Rule::Socket),
    call("socketpair", 53, 199, Rule::SocketPair),
    call("openat2", 437, 437, Rule::Open),
    call("creat", 85, NONE, Rule::Open),
    call("unshare", 272, 97, Rule::UnshareFlags),
    call("personality", 135, 92, Rule::Personality),
    // Asynchronous calls bypass this filter altogether.
    call("io_uring_setup", 425, 425, Rule::Deny),
    call("io_uring_enter", 426, 426, Rule::Deny),
    call("io_uring_register", 427, 427, Rule::Deny),
    // Mounts and roots.
    call("mount", 165, 40, Rule::DenyUnlessNested),
    call("umount2", 166, 39, Rule::DenyUnlessNested),
    call("pivot_root", 155, 41, Rule::DenyUnlessNested),
    call("chroot", 161, 51, Rule::DenyUnlessNested),
    call("setns", 308, 268, Rule::DenyUnlessNested),
    call("open_tree", 428, 428, Rule::DenyUnlessNested),
    call("move_mount", 429, 429, Rule::DenyUnlessNested),
    call("fsopen", 430, 430, Rule::DenyUnlessNested),
    call("fsconfig", 431, 431, Rule::DenyUnlessNested),
    call("fsmount", 432, 432, Rule::DenyUnlessNested),
    call("fspick", 433, 433, Rule::DenyUnlessNested),
    call("mount_setattr", 442, 442, Rule::DenyUnlessNested),
    call("open_tree_attr", 467, 467, Rule::DenyUnlessNested),
    // Files by handle escape every path rule.
    call("open_by_handle_at", 304, 265, Rule::Deny),
    call("name_to_handle_at", 303, 264, Rule::Deny),
    // Key rings are shared by the user's sandboxes and session.
    call("keyctl", 250, 219, Rule::Deny),
    call("add_key", 248, 217, Rule::Deny),
    call("request_key", 249, 218, Rule::Deny),
    // Large kernel interfaces that a build never needs.
    call("bpf", 321, 280, Rule::Deny),
    call("perf_event_open", 298, 241, Rule::Deny),
    call("userfaultfd", 323, 282, Rule::Deny),
    // The machine as a whole.
    call("kexec_load", 246, 104, Rule::Deny),
    call("kexec_file_load", 320, 294, Rule::Deny),
    call("init_module", 175, 105, Rule::Deny),
    call("finit_module", 313, 273, Rule::Deny),
    call("delete_module", 176, 106, Rule::Deny),
    call("reboot", 169, 142, Rule::Deny),
    call("swapon", 167, 224, Rule::Deny),
    call("swapoff", 168, 225, Rule::Deny),
    call("acct", 163, 89, Rule::Deny),
    call("quotactl", 179, 60, Rule::Deny),
    call("quotactl_fd", 443, 443, Rule::Deny),
    call("settimeofday", 164, 170, Rule::Deny),
    call("clock_settime", 227, 112, Rule::Deny),
    call("syslog", 103, 116, Rule::Deny),
    call("vhangup", 153, 58, Rule::Deny),
    call("iopl", 172, NONE, Rule::Deny),
    call("ioperm", 173, NONE, Rule::Deny),
    call("uselib", 134, NONE, Rule::Deny),
    call("nfsservctl", 180, 42, Rule::Deny),
    call("lookup_dcookie", 212, 18, Rule::Deny),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_call_is_listed_twice() {
        for arch in [Arch::X86_64, Arch::Aarch64] {
            let numbers: Vec<u16> = TABLE.iter().filter_map(|call| call.number(arch)).collect();
            let distinct: BTreeSet<&u16> = numbers.iter().collect();
            assert_eq!(numbers.len(), distinct.len(), "{arch:?}");
        }
        let names: BTreeSet<&str> = TABLE.iter().map(|call| call.name).collect();
        assert_eq!(names.len(), TABLE.len());
    }

    #[test]
    fn the_numbers_are_those_of_the_c_library() {
        let number = |name: &str| {
            TABLE
                .iter()
                .find(|call| call.name == name)
                .and_then(|call| call.number(Arch::NATIVE))
                .map(i64::from)
        };
        for (name, expected) in [
            ("execve", libc::SYS_execve),
            ("renameat2", libc::SYS_renameat2),
            ("openat", libc::SYS_openat),
            ("ioctl", libc::SYS_ioctl),
            ("clone", libc::SYS_clone),
            ("clone3", libc::SYS_clone3),
            ("socket", libc::SYS_socket),
            ("mount", libc::SYS_mount),
            ("umount2", libc::SYS_umount2),
            ("setns", libc::SYS_setns),
            ("unshare", libc::SYS_unshare),
            ("personality", libc::SYS_personality),
            ("keyctl", libc::SYS_keyctl),
            ("bpf", libc::SYS_bpf),
            ("perf_event_open", libc::SYS_perf_event_open),
            ("userfaultfd", libc::SYS_userfaultfd),
            ("io_uring_setup", libc::SYS_io_uring_setup),
            ("open_by_handle_at", libc::SYS_open_by_handle_at),
            ("kexec_load", libc::SYS_kexec_load),
            ("init_module", libc::SYS_init_module),
            ("mount_setattr", libc::SYS_mount_setattr),
            ("syslog", libc::SYS_syslog),
        ] {
            assert_eq!(number(name), Some(expected), "{name}");
        }
    }
}
