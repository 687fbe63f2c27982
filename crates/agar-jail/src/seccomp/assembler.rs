//! A few lines that turn tests and labels into instructions of the kernel's filter machine.
//!
//! The machine jumps forwards only, by at most 255 instructions, and knows no names. Only the
//! instructions that the kernel can evaluate for its table of always-allowed calls are offered.

use libc::sock_filter;

const LOAD: u16 = 0x20; // BPF_LD | BPF_W | BPF_ABS
const AND: u16 = 0x54; // BPF_ALU | BPF_AND | BPF_K
const EQUAL: u16 = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
const AT_LEAST: u16 = 0x35; // BPF_JMP | BPF_JGE | BPF_K
const ANY: u16 = 0x45; // BPF_JMP | BPF_JSET | BPF_K
const GIVE: u16 = 0x06; // BPF_RET | BPF_K

/// A place in the filter that a test can jump to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Label {
    /// The instruction that follows.
    Next,
    Allowed,
    Deny,
    Missing,
    Kill,
    Notify,
    Terminal,
    CloneFlags,
    UnshareFlags,
    Personality,
    Socket,
    SocketType,
    SocketPair,
}

const LABELS: usize = Label::SocketPair as usize + 1;

#[derive(Debug, Clone, Copy)]
struct Step {
    code: u16,
    value: u32,
    yes: Label,
    no: Label,
}

/// Collects the steps of a filter.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    steps: Vec<Step>,
    places: [Option<usize>; LABELS],
}

impl Assembler {
    /// Reads 32 bits of the call's description.
    pub(super) fn load(&mut self, offset: u32) {
        self.push(LOAD, offset, Label::Next, Label::Next);
    }

    /// Keeps only these bits of what was read.
    pub(super) fn and(&mut self, mask: u32) {
        self.push(AND, mask, Label::Next, Label::Next);
    }

    /// Ends the filter with this answer.
    pub(super) fn give(&mut self, answer: u32) {
        self.push(GIVE, answer, Label::Next, Label::Next);
    }

    pub(super) fn if_equal(&mut self, value: u32, yes: Label, no: Label) {
        self.push(EQUAL, value, yes, no);
    }

    pub(super) fn if_at_least(&mut self, value: u32, yes: Label, no: Label) {
        self.push(AT_LEAST, value, yes, no);
    }

    /// Whether any of these bits is set.
    pub(super) fn if_any(&mut self, mask: u32, yes: Label, no: Label) {
        self.push(ANY, mask, yes, no);
    }

    /// Puts the label before the step that comes next.
    pub(super) fn mark(&mut self, label: Label) {
        self.places[label as usize] = Some(self.steps.len());
    }

    fn push(&mut self, code: u16, value: u32, yes: Label, no: Label) {
        self.steps.push(Step {
            code,
            value,
            yes,
            no,
        });
    }

    /// The finished program.
    pub(super) fn finish(self) -> Vec<sock_filter> {
        let mut program = Vec::with_capacity(self.steps.len());
        for (at, step) in self.steps.iter().enumerate() {
            program.push(sock_filter {
                code: step.code,
                jt: self.distance(at, step.yes),
                jf: self.distance(at, step.no),
                k: step.value,
            });
        }
        program
    }

    fn distance(&self, at: usize, label: Label) -> u8 {
        if label == Label::Next {
            return 0;
        }
        self.places[label as usize]
            .and_then(|place| place.checked_sub(at + 1))
            .and_then(|distance| u8::try_from(distance).ok())
            .unwrap_or_else(|| {
                unreachable!(
                    "every label is marked at most 255 steps ahead; a test builds them all"
                )
            })
    }
}
