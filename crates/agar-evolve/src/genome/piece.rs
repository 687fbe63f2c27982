//! Fills, copies and growth of memory, a piece at a time.
//!
//! An engine does them in one go, however long, and nothing can end it meanwhile: sixty-four
//! mebibytes take longer than a killed cell may. In pieces the meter is asked between. That a piece
//! may be done before a later one traps cannot be seen: the memory goes with the trap.

use super::emit::{Layout, Scratch, charge};
use super::operator::Bulk;
use wasm_encoder::{BlockType, InstructionSink};

/// How much is done at a time: memory that is touched for the first time takes a millisecond for
/// each mebibyte.
const PIECE: i32 = 1 << 18;

/// Pages of memory that are added at a time; an interpreter clears them.
const PAGES: i32 = 16;

/// What one page of memory costs: about what clearing it takes.
const PAGE_COST: i64 = 4_096;

/// Writes growth in place of the instruction; the number of pages is on the stack. Nothing is
/// charged for what cannot be had.
pub(super) fn growth(layout: Layout, scratch: &mut Scratch, code: &mut Vec<u8>) {
    let left = scratch.count();
    let fuel = scratch.fuel();
    let [answer, _, now] = scratch.pieces();
    InstructionSink::new(code)
        .local_set(left)
        .memory_size(0)
        .local_tee(answer)
        .i32_const(layout.pages_max.cast_signed())
        .local_get(left)
        .i32_sub()
        .i32_gt_s()
        .local_get(left)
        .i32_const(layout.pages_max.cast_signed())
        .i32_gt_u()
        .i32_or()
        .if_(BlockType::Empty)
        .i32_const(-1)
        .local_set(answer)
        .else_()
        .loop_(BlockType::Empty);
    least(&mut InstructionSink::new(code), left, PAGES, now);
    charge(layout, fuel, code, |sink| {
        sink.local_get(now)
            .i64_extend_i32_u()
            .i64_const(PAGE_COST)
            .i64_mul();
    });
    InstructionSink::new(code)
        .local_get(left)
        .local_get(now)
        .i32_sub()
        .local_set(left)
        .local_get(now)
        .memory_grow(0)
        .i32_const(-1)
        .i32_eq()
        .if_(BlockType::Empty)
        // The machine has no more, although the genome may have it.
        .i32_const(-1)
        .local_set(answer)
        .i32_const(0)
        .local_set(left)
        .end()
        .local_get(left)
        .br_if(0)
        .end()
        .end()
        .local_get(answer);
}

/// The lesser of what is left and a number.
fn least(sink: &mut InstructionSink<'_>, left: u32, most: i32, now: u32) {
    sink.local_get(left)
        .i32_const(most)
        .local_get(left)
        .i32_const(most)
        .i32_lt_u()
        .select()
        .local_set(now);
}

/// Writes the loop in place of the instruction; its three operands are on the stack.
pub(super) fn by_pieces(bulk: Bulk, layout: Layout, scratch: &mut Scratch, code: &mut Vec<u8>) {
    let left = scratch.count();
    let fuel = scratch.fuel();
    let [to, from, now] = scratch.pieces();
    InstructionSink::new(code)
        .local_set(left)
        .local_set(from)
        .local_set(to)
        .loop_(BlockType::Empty);
    least(&mut InstructionSink::new(code), left, PIECE, now);
    charge(layout, fuel, code, |sink| {
        sink.local_get(now)
            .i64_extend_i32_u()
            .i64_const(3)
            .i64_shr_u();
    });
    let mut sink = InstructionSink::new(code);
    sink.local_get(left)
        .local_get(now)
        .i32_sub()
        .local_set(left);
    if bulk == Bulk::Fill {
        fill(&mut sink, to, from, now);
    } else {
        copy(&mut sink, [to, from, now], left);
    }
    sink.local_get(left).br_if(0).end();
}

fn fill(sink: &mut InstructionSink<'_>, to: u32, value: u32, now: u32) {
    sink.local_get(to)
        .local_get(value)
        .local_get(now)
        .memory_fill(0);
    advance(sink, to, now);
}

/// Upwards where the target lies below the source, else downwards from the end: a piece must not
/// overwrite what a later one reads.
fn copy(sink: &mut InstructionSink<'_>, [to, from, now]: [u32; 3], left: u32) {
    sink.local_get(to)
        .local_get(from)
        .i32_le_u()
        .if_(BlockType::Empty)
        .local_get(to)
        .local_get(from)
        .local_get(now)
        .memory_copy(0, 0);
    advance(sink, to, now);
    advance(sink, from, now);
    sink.else_()
        .local_get(to)
        .local_get(left)
        .i32_add()
        .local_get(from)
        .local_get(left)
        .i32_add()
        .local_get(now)
        .memory_copy(0, 0)
        .end();
}

fn advance(sink: &mut InstructionSink<'_>, local: u32, by: u32) {
    sink.local_get(local)
        .local_get(by)
        .i32_add()
        .local_set(local);
}
