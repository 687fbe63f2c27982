//! Expressions, computed without an engine: they have nothing that would have to be contained.
//!
//! Their limits are those of any cell: each point is charged what the expression's module would be,
//! and a deadline is looked at between rows of points.

use super::host::{Halt, Host};
use crate::genome::Genome;
use crate::tree::{Desk, ENTRY, ROW, Tree};
use crate::value::Value;

/// A live expression.
#[derive(Debug)]
pub(crate) struct Plain {
    genome: Genome,
    host: Host,
    /// What is left of the grant.
    grant: i64,
}

impl Plain {
    pub(crate) fn new(genome: &Genome) -> Self {
        Self {
            genome: genome.clone(),
            host: Host::default(),
            grant: 0,
        }
    }

    pub(crate) const fn host(&mut self) -> &mut Host {
        &mut self.host
    }

    pub(crate) const fn set_counters(&mut self, grant: i64) {
        self.grant = grant;
    }

    pub(crate) const fn grant(&self) -> i64 {
        self.grant
    }

    pub(crate) fn charge(&mut self, cost: u64) -> Result<(), Halt> {
        let charged = self.host.charge(&mut self.grant, cost);
        charged.map_err(Halt::Stop)
    }

    fn tree(&self, name: &str) -> Result<&Tree, Halt> {
        let tree = self.genome.tree().filter(|_| name == ENTRY);
        tree.ok_or_else(super::missing)
    }

    pub(crate) fn call(
        &self,
        name: &str,
        arguments: &[Value],
        results: &mut [Value],
    ) -> Result<(), Halt> {
        let tree = self.tree(name)?;
        let point: Vec<f64> = arguments.iter().filter_map(|it| it.f64()).collect();
        let mut out = Vec::with_capacity(1);
        // One point, also of an expression without arguments.
        let point = if point.is_empty() { &[0.0] } else { &*point };
        Desk::default().compute(tree, point, &mut out);
        match (results, out.as_slice()) {
            ([result], [value]) => {
                *result = Value::F64(*value);
                Ok(())
            }
            ([..], [..]) => Err(super::missing()),
        }
    }

    /// Computes the expression at each point; each costs `cost`.
    pub(crate) fn map(
        &mut self,
        name: &str,
        (arity, points): (usize, &[f64]),
        cost: u64,
        out: &mut Vec<f64>,
    ) -> Result<(), Halt> {
        let mut desk = Desk::default();
        for row in points.chunks(ROW * arity.max(1)) {
            let count = (row.len() / arity.max(1)) as u64;
            self.charge(cost.saturating_mul(count))?;
            desk.compute(self.tree(name)?, row, out);
        }
        Ok(())
    }
}
