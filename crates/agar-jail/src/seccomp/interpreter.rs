//! The kernel's filter machine in a page, so that a rule can be tested on any instruction set.

use libc::sock_filter;

/// A call as the filter sees it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sample {
    pub(super) number: u32,
    pub(super) arch: u32,
    pub(super) arguments: [u64; 6],
}

impl Sample {
    fn word(&self, offset: u32) -> u32 {
        let offset = offset as usize;
        let half = |value: u64, upper: bool| {
            let shifted = if upper { value >> 32 } else { value };
            (shifted & 0xFFFF_FFFF) as u32
        };
        match offset {
            0 => self.number,
            4 => self.arch,
            16..64 if offset.is_multiple_of(4) => {
                half(self.arguments[(offset - 16) / 8], !offset.is_multiple_of(8))
            }
            _ => panic!("the filter reads at {offset}"),
        }
    }
}

/// What the filter answers, and whether it looked at an argument on the way.
pub(super) fn run(program: &[sock_filter], sample: &Sample) -> (u32, bool) {
    let mut register = 0;
    let mut at = 0;
    let mut looked = false;
    loop {
        let step = program[at];
        at += 1;
        let jump = |taken: bool| usize::from(if taken { step.jt } else { step.jf });
        match step.code {
            0x20 => {
                looked |= step.k >= 16;
                register = sample.word(step.k);
            }
            0x54 => register &= step.k,
            0x15 => at += jump(register == step.k),
            0x35 => at += jump(register >= step.k),
            0x45 => at += jump(register & step.k != 0),
            0x06 => return (step.k, looked),
            code => panic!("the kernel cannot evaluate {code:#x} ahead"),
        }
    }
}
