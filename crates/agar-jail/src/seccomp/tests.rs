//! The rules of the filter, tried on samples without a kernel.

use super::interpreter::{Sample, run};
use super::*;

const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
const EPERM: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM.unsigned_abs();
const ENOSYS: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs();
const ASK: u32 = libc::SECCOMP_RET_USER_NOTIF;
const KILL: u32 = libc::SECCOMP_RET_KILL_PROCESS;

fn every_choice() -> Vec<FilterOptions> {
    let mut all = Vec::new();
    for bits in 0..16_u8 {
        let flag = |bit: u8| bits & (1 << bit) != 0;
        let sockets = [Sockets::Internet, Sockets::UnixOnly][usize::from(flag(3))];
        for monitor in [Monitor::Off, Monitor::Executions, Monitor::Files] {
            for arch in [Arch::X86_64, Arch::Aarch64] {
                all.push(FilterOptions {
                    nested: flag(0),
                    monitor,
                    rename_shim: flag(1),
                    record_denied: flag(2),
                    sockets,
                    arch,
                });
            }
        }
    }
    all
}

fn number(name: &str, arch: Arch) -> Option<u32> {
    calls::TABLE
        .iter()
        .find(|call| call.name == name)
        .unwrap()
        .number(arch)
        .map(u32::from)
}

fn answer(options: FilterOptions, name: &str, arguments: &[u64]) -> u32 {
    let mut sample = Sample {
        number: number(name, options.arch).unwrap(),
        arch: options.arch.audit(),
        ..Sample::default()
    };
    sample.arguments[..arguments.len()].copy_from_slice(arguments);
    run(Filter::build(&options).program(), &sample).0
}

fn both() -> [FilterOptions; 2] {
    [Arch::X86_64, Arch::Aarch64].map(|arch| FilterOptions {
        arch,
        ..FilterOptions::default()
    })
}

#[test]
fn every_choice_of_options_makes_a_filter_the_kernel_can_hold() {
    for options in every_choice() {
        let filter = Filter::build(&options);
        assert!(filter.program().len() < 128, "{options:?}");
        for number in 0..600 {
            let sample = Sample {
                number,
                arch: options.arch.audit(),
                ..Sample::default()
            };
            run(filter.program(), &sample);
        }
    }
}

#[test]
fn a_foreign_architecture_is_killed() {
    let i386 = 0x4000_0003;
    let arm = 0x4000_0028;
    for options in every_choice() {
        let filter = Filter::build(&options);
        for arch in [i386, arm] {
            let sample = Sample {
                arch,
                ..Sample::default()
            };
            assert_eq!(run(filter.program(), &sample).0, KILL);
        }
    }
}

#[test]
fn an_x32_number_is_no_call_at_all() {
    let options = FilterOptions {
        arch: Arch::X86_64,
        ..FilterOptions::default()
    };
    for number in [X32_BIT, X32_BIT | 0x3B, X32_BIT | 0x208, u32::MAX] {
        let sample = Sample {
            number,
            arch: options.arch.audit(),
            ..Sample::default()
        };
        let filter = Filter::build(&options);
        assert_eq!(run(filter.program(), &sample).0, ENOSYS);
    }
}

#[test]
fn plain_calls_are_allowed_without_a_look_at_their_arguments() {
    // read, write, close, mmap, futex, stat, brk, getpid, wait4, pipe2, ptrace, process_vm_readv
    let plain = [0, 1, 3, 9, 202, 4, 12, 39, 61, 293, 101, 310];
    for options in every_choice() {
        if options.arch != Arch::X86_64 {
            continue;
        }
        for number in plain {
            let sample = Sample {
                number,
                arch: options.arch.audit(),
                arguments: [u64::MAX; 6],
            };
            assert_eq!(
                run(Filter::build(&options).program(), &sample),
                (ALLOW, false)
            );
        }
    }
}

#[test]
fn what_is_denied_fails_with_eperm() {
    for options in both() {
        for name in options.denied() {
            assert_eq!(answer(options, name, &[]), EPERM, "{name}");
        }
        assert!(options.denied().any(|name| name == "mount"));
    }
}

#[test]
fn what_is_denied_goes_to_the_handler_when_it_counts() {
    for options in both() {
        let options = FilterOptions {
            record_denied: true,
            ..options
        };
        assert_eq!(answer(options, "mount", &[]), ASK);
        assert_eq!(answer(options, "ioctl", &[0, 0x5412]), ASK);
        assert_eq!(answer(options, "clone3", &[]), ENOSYS);
    }
}

#[test]
fn new_namespaces_are_denied_unless_nested() {
    let namespaces = [
        0x0002_0000_u64,
        0x0200_0000,
        0x0400_0000,
        0x0800_0000,
        0x1000_0000,
        0x2000_0000,
        0x4000_0000,
    ];
    for options in both() {
        let nested = FilterOptions {
            nested: true,
            ..options
        };
        for flag in namespaces {
            // Rubbish in the upper half must not hide the flag.
            let hidden = flag | 0xDEAD_0000_0000_0000;
            for name in ["clone", "unshare"] {
                assert_eq!(answer(options, name, &[hidden | 0x11]), EPERM);
                assert_eq!(answer(nested, name, &[hidden | 0x11]), ALLOW);
            }
        }
        assert_eq!(answer(options, "unshare", &[0x80]), EPERM);
        assert_eq!(answer(options, "unshare", &[0x400]), ALLOW);
        // A thread and a plain child.
        assert_eq!(answer(options, "clone", &[0x003D_0F00]), ALLOW);
        assert_eq!(answer(options, "clone", &[0x0120_0011]), ALLOW);
        assert_eq!(answer(nested, "mount", &[]), ALLOW);
        assert_eq!(answer(nested, "clone3", &[]), ALLOW);
        assert_eq!(answer(nested, "bpf", &[]), EPERM);
    }
}

#[test]
fn typing_into_a_terminal_is_denied_whatever_the_upper_half_says() {
    for options in both() {
        for request in [0x5412, 0x541C, 0x1_0000_5412, 0xFFFF_FFFF_0000_541C] {
            assert_eq!(answer(options, "ioctl", &[0, request]), EPERM);
        }
        for request in [0x5401, 0x5413, 0x540F, 0x5421] {
            assert_eq!(answer(options, "ioctl", &[0, request]), ALLOW);
        }
    }
}

#[test]
fn only_sockets_that_a_network_namespace_can_hold_exist() {
    let (stream, datagram, raw, packet) = (1, 2, 3, 10);
    let nonblocking = 0x800;
    for options in both() {
        for family in [1, 2, 10] {
            assert_eq!(answer(options, "socket", &[family, stream]), ALLOW);
            let kind = datagram | nonblocking;
            assert_eq!(answer(options, "socket", &[family, kind]), ALLOW);
        }
        for family in [2, 10] {
            assert_eq!(answer(options, "socket", &[family, raw]), EPERM);
            assert_eq!(
                answer(options, "socket", &[family, raw | nonblocking]),
                EPERM
            );
            assert_eq!(answer(options, "socket", &[family, packet]), EPERM);
        }
        assert_eq!(answer(options, "socket", &[16, raw, 0]), ALLOW);
        for protocol in [4, 9, 12, 15, 16] {
            assert_eq!(answer(options, "socket", &[16, raw, protocol]), EPERM);
        }
        // key, packet, alg, vsock, bluetooth, xdp, can, tipc, rds
        for family in [15, 17, 38, 40, 31, 44, 29, 30, 21] {
            assert_eq!(answer(options, "socket", &[family, stream]), EPERM);
        }
        assert_eq!(answer(options, "socketpair", &[1, stream]), ALLOW);
        assert_eq!(answer(options, "socketpair", &[40, stream]), EPERM);
    }
}

#[test]
fn without_a_network_namespace_only_unix_sockets_exist() {
    for options in both() {
        let options = FilterOptions {
            sockets: Sockets::UnixOnly,
            ..options
        };
        assert_eq!(answer(options, "socket", &[1, 1]), ALLOW);
        for family in [2, 10, 16, 40] {
            assert_eq!(answer(options, "socket", &[family, 1]), EPERM);
        }
    }
}

#[test]
fn a_personality_cannot_weaken_memory_protection() {
    for options in both() {
        for allowed in [0, 8, 0x0004_0000, 0x0002_0008, 0xFFFF_FFFF] {
            assert_eq!(answer(options, "personality", &[allowed]), ALLOW);
        }
        for denied in [0x0040_0000, 0x0010_0000, 0x0020_0000] {
            assert_eq!(answer(options, "personality", &[denied]), EPERM);
        }
    }
}

#[test]
fn only_what_is_monitored_is_asked() {
    for options in both() {
        let of = |monitor, rename_shim| FilterOptions {
            monitor,
            rename_shim,
            ..options
        };
        let off = of(Monitor::Off, false);
        let executions = of(Monitor::Executions, false);
        let files = of(Monitor::Files, false);
        let shim = of(Monitor::Off, true);
        for (name, expected) in [
            ("execve", [ALLOW, ASK, ASK, ALLOW]),
            ("execveat", [ALLOW, ASK, ASK, ALLOW]),
            ("openat", [ALLOW, ALLOW, ASK, ALLOW]),
            ("openat2", [ALLOW, ALLOW, ASK, ALLOW]),
            ("renameat", [ALLOW, ALLOW, ALLOW, ASK]),
            ("renameat2", [ALLOW, ALLOW, ALLOW, ASK]),
        ] {
            let answers = [off, executions, files, shim].map(|by| answer(by, name, &[]));
            assert_eq!(answers, expected, "{name}");
        }
        assert!(!off.needs_listener());
        assert!(
            [executions, files, shim]
                .iter()
                .all(FilterOptions::needs_listener)
        );
    }
}

#[test]
fn a_filter_reads_as_a_list_of_tests() {
    let options = FilterOptions {
        arch: Arch::X86_64,
        ..FilterOptions::default()
    };
    let listing = Filter::build(&options).to_string();
    let lines: Vec<&str> = listing.lines().take(5).collect();
    assert_eq!(lines[0], "  0  load architecture");
    assert!(lines[1].starts_with("  1  if   == 0xc000003e else "));
    assert_eq!(lines[2], "  2  load number");
    assert!(lines[4].contains("== ioctl go "));
    assert!(listing.contains("fail EPERM") && listing.contains("kill"));
}
