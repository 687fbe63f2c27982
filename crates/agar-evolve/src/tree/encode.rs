//! Writes an expression as a WebAssembly module, in process and in about a microsecond.

use super::{Node, Operator, Tree};
use crate::genome::GenomeError;
use wasm_encoder::{
    CodeSection, ExportKind, ExportSection, Function, FunctionSection, Ieee64, InstructionSink,
    Module, TypeSection, ValType,
};

/// The most nodes that an expression may have.
const NODES_MAX: usize = 10_000;

/// The name that the function is exported by.
pub(crate) const ENTRY: &str = "f";

impl Tree {
    /// The expression as a module that exports `f`: as many 64-bit floating-point numbers in as it
    /// has arguments, one out.
    pub fn encode(&self) -> Result<Vec<u8>, GenomeError> {
        let nodes = self.nodes();
        if nodes.len() > NODES_MAX {
            return Err(GenomeError::TooLarge {
                what: "nodes",
                limit: NODES_MAX as u64,
                seen: nodes.len() as u64,
            });
        }
        Ok(self.encoded())
    }

    /// The same, for an expression that is known to be small enough.
    pub(crate) fn encoded(&self) -> Vec<u8> {
        let mut types = TypeSection::new();
        let params = std::iter::repeat_n(ValType::F64, usize::from(self.arguments()));
        types.ty().function(params, [ValType::F64]);
        let mut functions = FunctionSection::new();
        functions.function(0);
        let mut exports = ExportSection::new();
        exports.export(ENTRY, ExportKind::Func, 0);
        let mut code = CodeSection::new();
        code.function(&self.function());
        let mut module = Module::new();
        module
            .section(&types)
            .section(&functions)
            .section(&exports)
            .section(&code);
        module.finish()
    }

    /// What one call of the function costs: the instructions that it is made of.
    pub(crate) fn cost(&self) -> u64 {
        let cost = |node: &Node| match node {
            Node::Number(_) | Node::Argument(_) => 1,
            Node::Apply(operator) => instructions(*operator),
        };
        self.nodes().iter().map(cost).sum()
    }

    fn function(&self) -> Function {
        let scratch = |operator: &Operator| matches!(operator, Operator::Div | Operator::IfLess);
        let needs = self
            .nodes()
            .iter()
            .any(|node| matches!(node, Node::Apply(operator) if scratch(operator)));
        // For a divisor, for the two sides of a choice, and for the choice itself. A choice by
        // `select` rather than by a branch keeps the cost of an expression a known number.
        let locals: &[(u32, ValType)] = if needs {
            &[(3, ValType::F64), (1, ValType::I32)]
        } else {
            &[]
        };
        let mut function = Function::new(locals.iter().copied());
        let first = u32::from(self.arguments());
        let mut sink = function.instructions();
        for node in self.nodes() {
            match node {
                Node::Number(number) => {
                    sink.f64_const(Ieee64::from(*number));
                }
                Node::Argument(index) => {
                    sink.local_get(u32::from(*index));
                }
                Node::Apply(operator) => write(*operator, first, &mut sink),
            }
        }
        sink.end();
        function
    }
}

/// How many instructions [`write`] writes.
const fn instructions(operator: Operator) -> u64 {
    match operator {
        Operator::Add
        | Operator::Sub
        | Operator::Mul
        | Operator::Min
        | Operator::Max
        | Operator::Neg
        | Operator::Abs
        | Operator::Floor => 1,
        Operator::Sqrt => 2,
        Operator::Div => 7,
        Operator::IfLess => 8,
    }
}

fn write(operator: Operator, scratch: u32, sink: &mut InstructionSink<'_>) {
    match operator {
        Operator::Add => sink.f64_add(),
        Operator::Sub => sink.f64_sub(),
        Operator::Mul => sink.f64_mul(),
        Operator::Div => sink
            .local_tee(scratch)
            .f64_div()
            .f64_const(Ieee64::from(1.0))
            .local_get(scratch)
            .f64_const(Ieee64::from(0.0))
            .f64_ne()
            .select(),
        Operator::Min => sink.f64_min(),
        Operator::Max => sink.f64_max(),
        Operator::Neg => sink.f64_neg(),
        Operator::Abs => sink.f64_abs(),
        Operator::Sqrt => sink.f64_abs().f64_sqrt(),
        Operator::Floor => sink.f64_floor(),
        // On the stack: a, b, c, d. `select` wants c, d and the condition.
        Operator::IfLess => sink
            .local_set(scratch + 2)
            .local_set(scratch + 1)
            .f64_lt()
            .local_set(scratch + 3)
            .local_get(scratch + 1)
            .local_get(scratch + 2)
            .local_get(scratch + 3)
            .select(),
    };
}
