//! Writes one function again, with what [`super::body`] decided.

use super::body::{Body, Change, Edit};
use super::operator::{Bulk, Width};
use wasm_encoder::{BlockType, Encode, InstructionSink, ValType};

/// The least that a frame counts for: a call costs the engines something even without locals.
pub(crate) const FRAME_SLOTS_MIN: u32 = 16;

/// Where the additions of a module have their places.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    /// The imported function that grants more instructions, and the first index after the
    /// genome's own imports: everything from there on moves up by one.
    pub(crate) meter: u32,
    /// The global that holds what is left of the grant.
    pub(crate) fuel: u32,
    /// The global that holds the slots left.
    pub(crate) depth: u32,
    /// What memory and table can grow to.
    pub(crate) pages_max: u32,
    pub(crate) elements_max: u32,
}

impl Layout {
    /// The new index of a function.
    pub(crate) const fn function(self, old: u32) -> u32 {
        if old < self.meter { old } else { old + 1 }
    }
}

/// The locals that the additions need, as far as they need them.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    declared: Vec<ValType>,
    first: u32,
    fuel: Option<u32>,
    count: Option<u32>,
    pieces: Option<[u32; 3]>,
    f32: Option<u32>,
    f64: Option<u32>,
}

impl Scratch {
    fn place(declared: &mut Vec<ValType>, first: u32, slot: &mut Option<u32>, ty: ValType) -> u32 {
        *slot.get_or_insert_with(|| {
            declared.push(ty);
            first + u32::try_from(declared.len() - 1).unwrap_or_default()
        })
    }

    /// For work by pieces: where to, where from or with what, and how much now.
    pub(super) fn pieces(&mut self) -> [u32; 3] {
        let (declared, first) = (&mut self.declared, self.first);
        *self.pieces.get_or_insert_with(|| {
            [(); 3].map(|()| {
                declared.push(ValType::I32);
                first + u32::try_from(declared.len() - 1).unwrap_or_default()
            })
        })
    }

    pub(super) fn fuel(&mut self) -> u32 {
        Self::place(&mut self.declared, self.first, &mut self.fuel, ValType::I64)
    }

    pub(super) fn count(&mut self) -> u32 {
        Self::place(
            &mut self.declared,
            self.first,
            &mut self.count,
            ValType::I32,
        )
    }

    fn number(&mut self, width: Width) -> u32 {
        let (slot, ty) = match width {
            Width::F32 => (&mut self.f32, ValType::F32),
            Width::F64 => (&mut self.f64, ValType::F64),
        };
        Self::place(&mut self.declared, self.first, slot, ty)
    }
}

/// Writes the function, with its length in front, as a code section holds it.
///
/// Without a layout nothing is counted: the host knows what the function costs.
pub(crate) fn function(
    module: &[u8],
    body: &Body,
    layout: Option<Layout>,
    results: BlockType,
    out: &mut Vec<u8>,
) {
    let mut scratch = Scratch {
        first: body.locals,
        ..Scratch::default()
    };
    let mut code = Vec::with_capacity(body.code.len() + 64);
    let wrapped = layout.filter(|_| body.calls);
    if let Some(layout) = wrapped {
        descend(layout, body, scratch.count(), &mut code);
        InstructionSink::new(&mut code).block(results);
    }
    let mut from = body.code.start;
    for edit in &body.edits {
        let Some(past) = replace(edit, layout, wrapped.is_some()) else {
            continue;
        };
        code.extend_from_slice(module.get(from..edit.at).unwrap_or_default());
        write(&edit.change, layout, &mut scratch, &mut code);
        from = past;
    }
    code.extend_from_slice(module.get(from..body.code.end).unwrap_or_default());
    if let Some(layout) = wrapped {
        ascend(layout, body, &mut code);
    }
    let mut whole = Vec::with_capacity(code.len() + body.groups_bytes.len() + 16);
    let added = u32::try_from(scratch.declared.len()).unwrap_or_default();
    (body.groups + added).encode(&mut whole);
    whole.extend_from_slice(module.get(body.groups_bytes.clone()).unwrap_or_default());
    for ty in scratch.declared {
        1_u32.encode(&mut whole);
        ty.encode(&mut whole);
    }
    whole.extend_from_slice(&code);
    whole.as_slice().encode(out);
}

/// Where the original goes on after the edit, if the edit is to be made at all.
fn replace(edit: &Edit, layout: Option<Layout>, wrapped: bool) -> Option<usize> {
    match edit.change {
        Change::Canonical(_) | Change::Part => Some(edit.at),
        Change::Charge(_) => layout.map(|_| edit.at),
        Change::Bulk { bulk, end } => layout.map(|_| match bulk {
            Bulk::Fill | Bulk::Copy | Bulk::Pages => end,
            Bulk::Bytes | Bulk::Elements | Bulk::Slots => edit.at,
        }),
        Change::Call { end, .. } | Change::Reference { end, .. } => layout.map(|_| end),
        Change::Return { end, .. } => wrapped.then_some(end),
    }
}

fn write(change: &Change, layout: Option<Layout>, scratch: &mut Scratch, code: &mut Vec<u8>) {
    match (change, layout) {
        (Change::Canonical(width), _) => canonical(*width, scratch.number(*width), code),
        (Change::Part, _) => {
            InstructionSink::new(code).local_tee(scratch.count());
        }
        (Change::Charge(cost), Some(layout)) => {
            let cost = i64::try_from(*cost).unwrap_or(i64::MAX);
            charge(layout, scratch.fuel(), code, |sink| {
                sink.i64_const(cost);
            });
        }
        (Change::Bulk { bulk, .. }, Some(layout)) => match bulk {
            Bulk::Fill | Bulk::Copy => super::piece::by_pieces(*bulk, layout, scratch, code),
            Bulk::Pages => super::piece::growth(layout, scratch, code),
            Bulk::Bytes | Bulk::Elements | Bulk::Slots => {
                by_count(*bulk, layout, scratch, code);
            }
        },
        (Change::Call { function, .. }, Some(layout)) => {
            InstructionSink::new(code).call(layout.function(*function));
        }
        (Change::Reference { function, .. }, Some(layout)) => {
            InstructionSink::new(code).ref_func(layout.function(*function));
        }
        (Change::Return { depth, .. }, _) => {
            InstructionSink::new(code).br(*depth);
        }
        (
            Change::Charge(_)
            | Change::Bulk { .. }
            | Change::Call { .. }
            | Change::Reference { .. },
            None,
        ) => {}
    }
}

/// Takes the cost from the grant; where that falls below zero, asks the host for more.
pub(super) fn charge(
    layout: Layout,
    left: u32,
    code: &mut Vec<u8>,
    cost: impl FnOnce(&mut InstructionSink<'_>),
) {
    let mut sink = InstructionSink::new(code);
    sink.global_get(layout.fuel);
    cost(&mut sink);
    sink.i64_sub()
        .local_tee(left)
        .i64_const(0)
        .i64_lt_s()
        .if_(BlockType::Empty)
        .local_get(left)
        .call(layout.meter)
        .local_set(left)
        .end()
        .local_get(left)
        .global_set(layout.fuel);
}

/// Charges by the number on top of the stack, and leaves it there.
fn by_count(bulk: Bulk, layout: Layout, scratch: &mut Scratch, code: &mut Vec<u8>) {
    let count = scratch.count();
    let fuel = scratch.fuel();
    InstructionSink::new(code).local_set(count);
    charge(layout, fuel, code, |sink| match bulk {
        Bulk::Bytes | Bulk::Fill | Bulk::Copy | Bulk::Pages => {
            sink.local_get(count)
                .i64_extend_i32_u()
                .i64_const(3)
                .i64_shr_u();
        }
        Bulk::Elements => {
            sink.local_get(count).i64_extend_i32_u();
        }
        Bulk::Slots => up_to(sink, count, layout.elements_max),
    });
    InstructionSink::new(code).local_get(count);
}

/// One for each of `count`, but nothing for more than can be had.
fn up_to(sink: &mut InstructionSink<'_>, count: u32, most: u32) {
    sink.i64_const(0)
        .local_get(count)
        .i64_extend_i32_u()
        .local_get(count)
        .i32_const(most.cast_signed())
        .i32_gt_u()
        .select();
}

/// Makes the NaN on top of the stack the canonical one.
fn canonical(width: Width, number: u32, code: &mut Vec<u8>) {
    let mut sink = InstructionSink::new(code);
    sink.local_tee(number);
    match width {
        Width::F32 => sink.f32_const(wasm_encoder::Ieee32::new(0x7fc0_0000)),
        Width::F64 => sink.f64_const(wasm_encoder::Ieee64::new(0x7ff8_0000_0000_0000)),
    };
    sink.local_get(number).local_get(number);
    match width {
        Width::F32 => sink.f32_eq(),
        Width::F64 => sink.f64_eq(),
    };
    sink.select();
}

/// What a frame counts for.
fn slots(body: &Body) -> i32 {
    i32::try_from(body.slots.saturating_add(FRAME_SLOTS_MIN)).unwrap_or(i32::MAX)
}

/// Takes the frame's slots; traps with a negative rest where there are too few.
fn descend(layout: Layout, body: &Body, left: u32, code: &mut Vec<u8>) {
    InstructionSink::new(code)
        .global_get(layout.depth)
        .i32_const(slots(body))
        .i32_sub()
        .local_tee(left)
        .global_set(layout.depth)
        .local_get(left)
        .i32_const(0)
        .i32_lt_s()
        .if_(BlockType::Empty)
        .unreachable()
        .end();
}

/// Gives them back, and ends the function.
fn ascend(layout: Layout, body: &Body, code: &mut Vec<u8>) {
    InstructionSink::new(code)
        .global_get(layout.depth)
        .i32_const(slots(body))
        .i32_add()
        .global_set(layout.depth)
        .end();
}
