//! The filter as a person reads it: one numbered line an instruction, with the calls by name.

use super::{Arch, Filter, calls};
use libc::sock_filter;
use std::fmt;

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut loaded = 0;
        for (at, step) in self.program.iter().copied().enumerate() {
            if step.code == 0x20 {
                loaded = step.k;
            }
            write!(f, "{at:>3}  ")?;
            line(f, at, step, loaded, self.arch)?;
            writeln!(f)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filter")
            .field("arch", &self.arch)
            .field("steps", &self.program.len())
            .finish()
    }
}

fn line(
    f: &mut fmt::Formatter<'_>,
    at: usize,
    step: sock_filter,
    loaded: u32,
    arch: Arch,
) -> fmt::Result {
    let test = match step.code {
        0x20 => return write!(f, "load {}", Field(step.k)),
        0x54 => return write!(f, "and  {:#x}", step.k),
        0x06 => return write!(f, "{}", Answer(step.k)),
        0x15 => "==",
        0x35 => ">=",
        0x45 => "&",
        _ => return write!(f, "{:#x} {:#x}", step.code, step.k),
    };
    match name(step.k, loaded, arch) {
        Some(name) => write!(f, "if   {test} {name}")?,
        None => write!(f, "if   {test} {:#x}", step.k)?,
    }
    if step.jt > 0 {
        write!(f, " go {}", at + 1 + usize::from(step.jt))?;
    }
    if step.jf > 0 {
        write!(f, " else {}", at + 1 + usize::from(step.jf))?;
    }
    Ok(())
}

fn name(value: u32, loaded: u32, arch: Arch) -> Option<&'static str> {
    if loaded != super::offset::NUMBER {
        return None;
    }
    calls::TABLE
        .iter()
        .find(|call| call.number(arch).map(u32::from) == Some(value))
        .map(|call| call.name)
}

struct Field(u32);

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("number"),
            4 => f.write_str("architecture"),
            offset => write!(f, "argument {}", offset.saturating_sub(16) / 8),
        }
    }
}

struct Answer(u32);

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let errno = i32::try_from(self.0 & libc::SECCOMP_RET_DATA).unwrap_or_default();
        match self.0 & libc::SECCOMP_RET_ACTION_FULL {
            libc::SECCOMP_RET_ALLOW => f.write_str("allow"),
            libc::SECCOMP_RET_USER_NOTIF => f.write_str("ask the handler"),
            libc::SECCOMP_RET_KILL_PROCESS => f.write_str("kill"),
            libc::SECCOMP_RET_ERRNO if errno == libc::EPERM => f.write_str("fail EPERM"),
            libc::SECCOMP_RET_ERRNO if errno == libc::ENOSYS => f.write_str("fail ENOSYS"),
            other => write!(f, "answer {other:#x}"),
        }
    }
}
