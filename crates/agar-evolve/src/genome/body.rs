//! Reads one function and decides what has to be added to it.
//!
//! Three things make a run the same on every engine, and all three are put into the code itself:
//!
//! - **Instructions** are charged a straight run of code at a time, before it is entered. Only code
//!   that is reached is charged, every instruction once, and each turn of a loop again.
//! - **Depth** is charged by functions that call others, in slots: what the frame holds.
//! - **NaN bits** that arithmetic leaves open are replaced by the canonical ones, but only where
//!   they can be seen. A sum that goes straight into a product cannot be told from any other NaN.
//!
//! The answer is a list of edits by byte offset; [`super::emit`] carries them out.

use super::operator::{self, Bulk, Width};
use super::refusal::GenomeError;
use super::rules::{Operation, Operations, Rules};
use super::survey::Frames;
use std::ops::Range;
use wasmparser::{
    FuncValidator, FunctionBody, Operator, OperatorsReader, ValidatorResources, WasmModuleResources,
};

/// One thing to insert or replace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    /// Make the NaN on top of the stack canonical. First of its offset: it belongs to what precedes.
    Canonical(Width),
    /// Keep the condition on top of the stack in a local as well: see [`operator::parts_choice`].
    Part,
    /// Charge this many instructions.
    Charge(u64),
    /// Charge by the number on top of the stack; fills, copies and growth end here, others go on as
    /// they are.
    Bulk { bulk: Bulk, end: usize },
    /// A call, to be written again with the function's new index.
    Call { function: u32, end: usize },
    /// A reference to a function, likewise.
    Reference { function: u32, end: usize },
    /// A return, to be written as a branch out of the wrapped body.
    Return { depth: u32, end: usize },
}

impl Change {
    const fn rank(&self) -> u8 {
        match self {
            Self::Canonical(_) => 0,
            Self::Part => 1,
            Self::Charge(_) => 2,
            Self::Bulk { .. } => 3,
            Self::Call { .. } | Self::Reference { .. } | Self::Return { .. } => 4,
        }
    }
}

/// A change and where it goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edit {
    pub(crate) at: usize,
    pub(crate) change: Change,
}

/// What one function needs.
#[derive(Debug)]
pub(crate) struct Body {
    /// Type index of the function.
    pub(crate) ty: u32,
    /// Parameters and locals.
    pub(crate) locals: u32,
    /// How many groups of locals are declared, and the bytes that declare them.
    pub(crate) groups: u32,
    pub(crate) groups_bytes: Range<usize>,
    /// The code, up to and with its last `end`.
    pub(crate) code: Range<usize>,
    /// In order of offset.
    pub(crate) edits: Vec<Edit>,
    /// Whether it calls anything.
    pub(crate) calls: bool,
    /// What its frame counts for: locals, operands and instructions. A compiler may keep the result
    /// of every instruction alive across a call, so only the last bounds what a frame can take.
    pub(crate) slots: u32,
    /// What it costs, if that is one number whatever the arguments.
    pub(crate) cost: Option<u64>,
}

/// Reads the function, refusing what the rules deny.
pub(crate) fn read(
    body: &FunctionBody<'_>,
    validator: &mut FuncValidator<ValidatorResources>,
    context: &Context<'_>,
    seen: &mut Operations,
) -> Result<Body, GenomeError> {
    let mut reader = body.get_binary_reader();
    let mut ahead = reader.clone();
    let groups = ahead.read_var_u32()?;
    let groups_start = ahead.original_position();
    validator.read_locals(&mut reader)?;
    let start = reader.original_position();
    let mut walk = Walk::new(start, context);
    let mut operators = OperatorsReader::new(reader);
    let mut height = 0;
    while !operators.eof() {
        let (operator, at) = operators.read_with_offset()?;
        let arity = operator.operator_arity(validator);
        validator.op(at, &operator)?;
        height = height.max(validator.operand_stack_height());
        let next = operators.original_position();
        walk.scan(&operator, seen)?;
        walk.step(&operator, at..next, arity.unwrap_or((0, 0)));
    }
    operators.finish()?;
    let held = height.saturating_add(validator.len_locals());
    if held > context.rules.frame_slots_max {
        return Err(GenomeError::TooLarge {
            what: "slots in one frame",
            limit: u64::from(context.rules.frame_slots_max),
            seen: u64::from(held),
        });
    }
    let slots = match context.frames {
        Frames::Worst => held.saturating_add(walk.instructions),
        Frames::Usual => held,
    };
    let ty = validator
        .resources()
        .type_index_of_function(validator.index())
        .unwrap_or_default();
    Ok(Body {
        ty,
        locals: validator.len_locals(),
        groups,
        groups_bytes: groups_start..start,
        code: start..body.range().end,
        slots,
        ..walk.finish()
    })
}

/// What a walk over a function's code needs to know of its module.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) rules: &'a Rules,
    pub(crate) frames: Frames,
    /// Functions with a smaller index are imported.
    pub(crate) imported: u32,
    /// The function being read.
    pub(crate) function: u32,
}

/// One open block.
#[derive(Debug)]
struct Frame {
    kind: FrameKind,
    /// Operands below it.
    height: usize,
    /// Whether a branch leaves it.
    left: bool,
    /// Whether it was entered by code that is never reached.
    dead: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FrameKind {
    Block,
    Loop,
    If,
}

/// No open NaN.
const SETTLED: u32 = u32::MAX;

/// The state of reading a function's code.
#[derive(Debug)]
struct Walk<'a> {
    context: &'a Context<'a>,
    edits: Vec<Edit>,
    frames: Vec<Frame>,
    /// For each operand: the index of the instruction that may have made its NaN, in `makers`.
    operands: Vec<u32>,
    /// Where a canonical NaN may have to be made, and whether it must.
    makers: Vec<(usize, Width, bool)>,
    /// The straight run of code that is being read.
    run: (usize, u64),
    /// What the code after a branch is: never reached.
    dead: bool,
    found: Found,
    instructions: u32,
    /// Whether the instruction before compares floating-point numbers.
    after_comparison: bool,
}

/// What keeps a function's cost from being one number.
#[derive(Debug, Default)]
struct Found {
    calls: bool,
    bulk: bool,
    loops: bool,
}

impl<'a> Walk<'a> {
    fn new(start: usize, context: &'a Context<'a>) -> Self {
        Self {
            context,
            edits: Vec::new(),
            frames: vec![Frame {
                kind: FrameKind::Block,
                height: 0,
                left: false,
                dead: false,
            }],
            operands: Vec::new(),
            makers: Vec::new(),
            run: (start, 0),
            dead: false,
            found: Found::default(),
            instructions: 0,
            after_comparison: false,
        }
    }

    /// Notes what sort of operation it is, and refuses a denied one.
    fn scan(&self, operator: &Operator<'_>, seen: &mut Operations) -> Result<(), GenomeError> {
        let sort = if let Operator::Call { function_index } = operator {
            Some(if *function_index < self.context.imported {
                Operation::HostCall
            } else {
                Operation::Call
            })
        } else {
            operator::sort(operator)
        };
        let Some(operation) = sort else { return Ok(()) };
        if self.context.rules.denied.has(operation) {
            return Err(GenomeError::Denied {
                operation,
                function: self.context.function,
            });
        }
        seen.add(operation);
        Ok(())
    }

    fn step(&mut self, operator: &Operator<'_>, place: Range<usize>, arity: (u32, u32)) {
        self.instructions += 1;
        if !operator::is_free(operator) && !self.dead {
            self.run.1 += 1;
        }
        self.note_changes(operator, &place);
        let (pops, pushes) = (arity.0 as usize, arity.1 as usize);
        self.consume(pops, operator::is_blind_to_nan_bits(operator));
        self.follow(operator, place.end);
        if let Some(width) = operator::makes_nan(operator) {
            let maker = u32::try_from(self.makers.len()).unwrap_or(SETTLED);
            self.makers.push((place.end, width, false));
            self.operands.push(maker);
        } else {
            self.operands.extend(std::iter::repeat_n(SETTLED, pushes));
        }
    }

    /// What has to be written differently for its own sake.
    fn note_changes(&mut self, operator: &Operator<'_>, place: &Range<usize>) {
        let change = if let Some(bulk) = operator::bulk(operator) {
            self.found.bulk = true;
            Some(Change::Bulk {
                bulk,
                end: place.end,
            })
        } else {
            self.note_reference(operator, place.end)
        };
        let parts = operator::parts_choice(operator, self.after_comparison);
        let change = change.or(parts.then_some(Change::Part));
        self.after_comparison = operator::compares_numbers(operator);
        if let Some(change) = change {
            let at = place.start;
            self.edits.push(Edit { at, change });
        }
    }

    fn note_reference(&mut self, operator: &Operator<'_>, end: usize) -> Option<Change> {
        if let Operator::Call { function_index } = operator {
            self.found.calls = true;
            let function = *function_index;
            return Some(Change::Call { function, end });
        }
        if let Operator::RefFunc { function_index } = operator {
            let function = *function_index;
            return Some(Change::Reference { function, end });
        }
        if matches!(operator, Operator::Return) {
            let depth = u32::try_from(self.frames.len() - 1).unwrap_or(u32::MAX);
            return Some(Change::Return { depth, end });
        }
        self.found.calls |= matches!(operator, Operator::CallIndirect { .. });
        None
    }

    /// Takes operands off; whoever can see their bits settles them.
    fn consume(&mut self, count: usize, blind: bool) {
        let floor = self.frames.last().map_or(0, |frame| frame.height);
        for _ in 0..count {
            if self.operands.len() <= floor {
                // Code that is never reached may take what was never put there.
                return;
            }
            if let Some(maker) = self.operands.pop()
                && !blind
            {
                self.settle(maker);
            }
        }
    }

    fn settle(&mut self, maker: u32) {
        if let Some(maker) = self.makers.get_mut(maker as usize) {
            maker.2 = true;
        }
    }

    /// Follows the flow of control; called between taking operands and putting results.
    fn follow(&mut self, operator: &Operator<'_>, next: usize) {
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "the several hundred instructions that do not branch"
        )]
        match operator {
            Operator::Block { .. } => self.open(FrameKind::Block),
            Operator::Loop { .. } => {
                self.found.loops = true;
                self.open(FrameKind::Loop);
                self.begin_run(next);
            }
            Operator::If { .. } => {
                self.open(FrameKind::If);
                self.begin_run(next);
            }
            Operator::Else => self.turn(next),
            Operator::End => self.close(next),
            Operator::Br { relative_depth } => {
                self.leave(*relative_depth);
                self.dead = true;
            }
            Operator::BrIf { relative_depth } => {
                self.leave(*relative_depth);
                self.begin_run(next);
            }
            Operator::BrTable { targets } => {
                for target in targets.targets().flatten() {
                    self.leave(target);
                }
                self.leave(targets.default());
                self.dead = true;
            }
            Operator::Return | Operator::Unreachable => self.dead = true,
            _ => {}
        }
    }

    fn open(&mut self, kind: FrameKind) {
        self.frames.push(Frame {
            kind,
            height: self.operands.len(),
            left: false,
            dead: self.dead,
        });
    }

    fn leave(&mut self, depth: u32) {
        let index = self.frames.len().checked_sub(1 + depth as usize);
        if let Some(frame) = index.and_then(|index| self.frames.get_mut(index)) {
            frame.left = true;
        }
    }

    /// From the first arm of an `if` to the second.
    fn turn(&mut self, next: usize) {
        let Some(frame) = self.frames.last() else {
            return;
        };
        let (height, dead) = (frame.height, frame.dead);
        self.drop_to(height);
        self.dead = dead;
        self.begin_run(next);
    }

    fn close(&mut self, next: usize) {
        let Some(frame) = self.frames.pop() else {
            return;
        };
        self.drop_to(frame.height);
        let joins = match frame.kind {
            FrameKind::If => true,
            FrameKind::Block => frame.left,
            // Branches to a loop go to its head; only its own code reaches the end.
            FrameKind::Loop => false,
        };
        if joins {
            self.dead = frame.dead;
            self.begin_run(next);
        }
    }

    /// What is still on the stack here passes to code that may look at it.
    fn drop_to(&mut self, height: usize) {
        while self.operands.len() > height {
            if let Some(maker) = self.operands.pop() {
                self.settle(maker);
            }
        }
    }

    fn begin_run(&mut self, at: usize) {
        let (start, cost) = std::mem::replace(&mut self.run, (at, 0));
        if cost > 0 {
            self.edits.push(Edit {
                at: start,
                change: Change::Charge(cost),
            });
        }
    }

    fn finish(mut self) -> Body {
        self.begin_run(0);
        let charges = |edit: &&Edit| matches!(edit.change, Change::Charge(_));
        let straight = !self.found.calls
            && !self.found.bulk
            && !self.found.loops
            && self.edits.iter().filter(charges).count() <= 1;
        let total: u64 = self
            .edits
            .iter()
            .map(|edit| match edit.change {
                Change::Charge(cost) => cost,
                Change::Canonical(_)
                | Change::Part
                | Change::Bulk { .. }
                | Change::Call { .. }
                | Change::Reference { .. }
                | Change::Return { .. } => 0,
            })
            .sum();
        let canonical = self.makers.iter().filter(|maker| maker.2);
        self.edits.extend(canonical.map(|&(at, width, _)| Edit {
            at,
            change: Change::Canonical(width),
        }));
        self.edits.sort_by_key(|edit| (edit.at, edit.change.rank()));
        Body {
            ty: 0,
            locals: 0,
            groups: 0,
            groups_bytes: 0..0,
            code: 0..0,
            edits: self.edits,
            calls: self.found.calls,
            slots: 0,
            cost: straight.then_some(total),
        }
    }
}
