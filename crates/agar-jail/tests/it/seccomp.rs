//! The system call filter on the real kernel, call by call, in a child that may die of it.

use crate::child::{errno_of, isolated, killed_by};
use agar_core::walls::Monitor;
use agar_jail::seccomp::{
    Filter, FilterOptions, InstallError, Sockets, install, listener_is_supported,
};
use std::os::fd::AsRawFd as _;

fn filtered(options: FilterOptions, checks: impl FnOnce()) {
    isolated(|| {
        install(Filter::build(&options).program(), false).unwrap();
        checks();
    });
}

#[test]
fn denied_calls_fail_and_plain_ones_work() {
    filtered(FilterOptions::default(), || {
        for number in [
            libc::SYS_mount,
            libc::SYS_umount2,
            libc::SYS_pivot_root,
            libc::SYS_chroot,
            libc::SYS_setns,
            libc::SYS_open_tree,
            libc::SYS_fsopen,
            libc::SYS_mount_setattr,
            libc::SYS_keyctl,
            libc::SYS_bpf,
            libc::SYS_perf_event_open,
            libc::SYS_userfaultfd,
            libc::SYS_io_uring_setup,
            libc::SYS_open_by_handle_at,
            libc::SYS_kexec_load,
            libc::SYS_reboot,
        ] {
            assert_eq!(errno_of(number, [0; 4]), libc::EPERM, "call {number}");
        }
        assert_eq!(errno_of(libc::SYS_clone3, [0; 4]), libc::ENOSYS);
        assert_eq!(errno_of(libc::SYS_getpid, [0; 4]), 0);
        assert!(fs_err::read("/proc/self/status").is_ok());
    });
}

#[test]
fn namespaces_cannot_be_made() {
    filtered(FilterOptions::default(), || {
        for flag in [0x1000_0000_u64, 0x0002_0000, 0x4000_0000, 0x80] {
            assert_eq!(errno_of(libc::SYS_unshare, [flag, 0, 0, 0]), libc::EPERM);
        }
        let user = 0x1000_0011_u64;
        assert_eq!(errno_of(libc::SYS_clone, [user, 0, 0, 0]), libc::EPERM);
    });
}

#[test]
fn threads_and_programs_start_behind_the_filter() {
    filtered(FilterOptions::default(), || {
        let answer = std::thread::spawn(|| 7).join().unwrap();
        assert_eq!(answer, 7);
        let status = std::process::Command::new("true").status().unwrap();
        assert!(status.success());
    });
}

#[test]
fn nested_jails_can_make_namespaces() {
    let options = FilterOptions {
        nested: true,
        ..FilterOptions::default()
    };
    filtered(options, || {
        assert_ne!(
            errno_of(libc::SYS_unshare, [0x1000_0000, 0, 0, 0]),
            libc::EPERM
        );
    });
}

#[test]
fn sockets_beyond_the_network_namespace_cannot_be_made() {
    filtered(FilterOptions::default(), || {
        let socket =
            |family, kind, protocol| errno_of(libc::SYS_socket, [family, kind, protocol, 0]);
        assert_eq!(socket(40, 1, 0), libc::EPERM, "vsock");
        assert_eq!(socket(17, 3, 0), libc::EPERM, "packet");
        assert_eq!(socket(2, 3, 1), libc::EPERM, "raw");
        assert_eq!(socket(16, 3, 15), libc::EPERM, "kernel events");
        assert_eq!(socket(16, 3, 0), 0, "routes");
        assert_eq!(socket(2, 1, 0), 0, "internet");
        assert_eq!(socket(1, 1, 0), 0, "unix");
    });
}

#[test]
fn the_internet_can_be_closed_without_a_namespace() {
    let options = FilterOptions {
        sockets: Sockets::UnixOnly,
        ..FilterOptions::default()
    };
    filtered(options, || {
        assert_eq!(errno_of(libc::SYS_socket, [2, 1, 0, 0]), libc::EPERM);
        assert_eq!(errno_of(libc::SYS_socket, [10, 2, 0, 0]), libc::EPERM);
        assert_eq!(errno_of(libc::SYS_socket, [1, 1, 0, 0]), 0);
    });
}

#[test]
fn nothing_can_be_typed_into_a_terminal() {
    filtered(FilterOptions::default(), || {
        let terminal = rustix::pty::openpt(rustix::pty::OpenptFlags::NOCTTY).unwrap();
        let descriptor = u64::try_from(terminal.as_raw_fd()).unwrap();
        let upper_half = 0x1_0000_0000;
        for request in [0x5412, 0x541C, 0x5412 | upper_half] {
            assert_eq!(
                errno_of(libc::SYS_ioctl, [descriptor, request, 0, 0]),
                libc::EPERM
            );
        }
        assert!(rustix::termios::tcgetwinsize(&terminal).is_ok());
    });
}

#[cfg(target_arch = "x86_64")]
#[test]
fn calls_of_another_architecture_kill_and_x32_calls_do_not_exist() {
    filtered(FilterOptions::default(), || {
        assert_eq!(errno_of(0x4000_0027, [0; 4]), libc::ENOSYS);
    });
    let signal = killed_by(|| {
        let options = FilterOptions::default();
        install(Filter::build(&options).program(), false).unwrap();
        // SAFETY: asks a 32-bit kernel entry for the process id; it touches no memory.
        unsafe { std::arch::asm!("int 0x80", inout("eax") 20 => _) };
    });
    assert_eq!(signal, Some(libc::SIGSYS));
}

#[test]
fn only_one_listener_can_watch_a_thread() {
    assert!(listener_is_supported());
    isolated(|| {
        let options = FilterOptions {
            monitor: Monitor::Executions,
            ..FilterOptions::default()
        };
        let filter = Filter::build(&options);
        let first = install(filter.program(), true).unwrap();
        assert!(first.is_some());
        let second = install(filter.program(), true);
        assert!(matches!(second, Err(InstallError::AlreadyWatched)));
    });
}
