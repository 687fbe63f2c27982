//! What the checks need to know of single WebAssembly instructions.

use super::rules::Operation;
use wasmparser::Operator;

/// How wide a floating-point number is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Width {
    F32,
    F64,
}

/// The width of the result, if the instruction may make a NaN whose bits the specification leaves
/// open.
pub(crate) fn makes_nan(operator: &Operator<'_>) -> Option<Width> {
    use Operator as O;
    if matches!(
        operator,
        O::F64Add
            | O::F64Sub
            | O::F64Mul
            | O::F64Div
            | O::F64Min
            | O::F64Max
            | O::F64Sqrt
            | O::F64Ceil
            | O::F64Floor
            | O::F64Trunc
            | O::F64Nearest
            | O::F64PromoteF32
    ) {
        return Some(Width::F64);
    }
    matches!(
        operator,
        O::F32Add
            | O::F32Sub
            | O::F32Mul
            | O::F32Div
            | O::F32Min
            | O::F32Max
            | O::F32Sqrt
            | O::F32Ceil
            | O::F32Floor
            | O::F32Trunc
            | O::F32Nearest
            | O::F32DemoteF64
    )
    .then_some(Width::F32)
}

/// Whether the instruction gives the same result whatever the bits of a NaN among its operands,
/// or one that is itself treated as open.
pub(crate) fn is_blind_to_nan_bits(operator: &Operator<'_>) -> bool {
    use Operator as O;
    makes_nan(operator).is_some()
        || compares_numbers(operator)
        || matches!(
            operator,
            O::Drop
                | O::I32TruncF32S
                | O::I32TruncF32U
                | O::I32TruncF64S
                | O::I32TruncF64U
                | O::I64TruncF32S
                | O::I64TruncF32U
                | O::I64TruncF64S
                | O::I64TruncF64U
                | O::I32TruncSatF32S
                | O::I32TruncSatF32U
                | O::I32TruncSatF64S
                | O::I32TruncSatF64U
                | O::I64TruncSatF32S
                | O::I64TruncSatF32U
                | O::I64TruncSatF64S
                | O::I64TruncSatF64U
        )
}

/// Whether the instruction compares floating-point numbers.
pub(crate) fn compares_numbers(operator: &Operator<'_>) -> bool {
    use Operator as O;
    matches!(
        operator,
        O::F32Eq
            | O::F32Ne
            | O::F32Lt
            | O::F32Gt
            | O::F32Le
            | O::F32Ge
            | O::F64Eq
            | O::F64Ne
            | O::F64Lt
            | O::F64Gt
            | O::F64Le
            | O::F64Ge
    )
}

/// Whether the condition of a choice has to be kept apart from the choice.
///
/// The interpreter (wasmi 2.0.0) joins `i32.eqz`, or a comparison with zero, and `select` into one
/// instruction, and then reads the condition from the wrong place if what is compared is a local:
/// `(select (local.get 0) (local.get 1) (i32.eqz (local.get 2)))` may choose by whatever was computed
/// last. With a local in between they are not joined.
pub(crate) fn parts_choice(operator: &Operator<'_>, after_comparison: bool) -> bool {
    use Operator as O;
    matches!(operator, O::Select | O::TypedSelect { .. }) && !after_comparison
}

/// What an instruction costs beyond itself, by the number on top of the stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bulk {
    /// One for each eight bytes.
    Bytes,
    /// The same, done a piece at a time.
    Fill,
    /// The same, done a piece at a time.
    Copy,
    /// One for each element.
    Elements,
    /// Per page of memory that can be had, some at a time; nothing for a request that will be
    /// turned down.
    Pages,
    /// Per element of table that can be had.
    Slots,
}

/// The extra cost of the instruction, if its work is not constant.
pub(crate) fn bulk(operator: &Operator<'_>) -> Option<Bulk> {
    use Operator as O;
    if matches!(operator, O::MemoryFill { .. }) {
        return Some(Bulk::Fill);
    }
    if matches!(operator, O::MemoryCopy { .. }) {
        return Some(Bulk::Copy);
    }
    // Never longer than the genome itself.
    if matches!(operator, O::MemoryInit { .. }) {
        return Some(Bulk::Bytes);
    }
    if matches!(
        operator,
        O::TableCopy { .. } | O::TableFill { .. } | O::TableInit { .. }
    ) {
        return Some(Bulk::Elements);
    }
    if matches!(operator, O::MemoryGrow { .. }) {
        return Some(Bulk::Pages);
    }
    matches!(operator, O::TableGrow { .. }).then_some(Bulk::Slots)
}

/// Instructions that only shape the code, and cost nothing.
pub(crate) fn is_free(operator: &Operator<'_>) -> bool {
    use Operator as O;
    matches!(
        operator,
        O::Block { .. } | O::Loop { .. } | O::Else | O::End
    )
}

/// The sort of operation that the scan reports, for all but calls of functions by index.
pub(crate) fn sort(operator: &Operator<'_>) -> Option<Operation> {
    use Operator as O;
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the other several hundred instructions"
    )]
    match operator {
        O::CallIndirect { .. } => Some(Operation::IndirectCall),
        O::MemoryGrow { .. } => Some(Operation::MemoryGrow),
        O::MemoryCopy { .. } | O::MemoryFill { .. } | O::MemoryInit { .. } => {
            Some(Operation::BulkMemory)
        }
        O::TableSet { .. }
        | O::TableGrow { .. }
        | O::TableFill { .. }
        | O::TableCopy { .. }
        | O::TableInit { .. } => Some(Operation::TableWrite),
        O::DataDrop { .. } | O::ElemDrop { .. } => Some(Operation::SegmentDrop),
        O::I32ReinterpretF32
        | O::I64ReinterpretF64
        | O::F32ReinterpretI32
        | O::F64ReinterpretI64 => Some(Operation::Reinterpret),
        O::Loop { .. } => Some(Operation::Loop),
        _ => None,
    }
}
