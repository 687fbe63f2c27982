//! The numbers that cross between host and genome.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A sort of number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueType {
    /// 32-bit integer.
    I32,
    /// 64-bit integer.
    I64,
    /// 32-bit floating-point number.
    F32,
    /// 64-bit floating-point number.
    F64,
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::F32 => "f32",
            Self::F64 => "f64",
        })
    }
}

/// A number. Floating-point numbers are equal when their bits are, so that answers can be compared.
#[derive(Debug, Clone, Copy)]
pub enum Value {
    /// 32-bit integer.
    I32(i32),
    /// 64-bit integer.
    I64(i64),
    /// 32-bit floating-point number.
    F32(f32),
    /// 64-bit floating-point number.
    F64(f64),
}

impl Value {
    /// Its sort.
    pub const fn ty(self) -> ValueType {
        match self {
            Self::I32(_) => ValueType::I32,
            Self::I64(_) => ValueType::I64,
            Self::F32(_) => ValueType::F32,
            Self::F64(_) => ValueType::F64,
        }
    }

    /// Zero of that sort.
    pub const fn zero(ty: ValueType) -> Self {
        match ty {
            ValueType::I32 => Self::I32(0),
            ValueType::I64 => Self::I64(0),
            ValueType::F32 => Self::F32(0.0),
            ValueType::F64 => Self::F64(0.0),
        }
    }

    /// The number, if it is a 64-bit floating-point one.
    pub(crate) const fn f64(self) -> Option<f64> {
        match self {
            Self::F64(value) => Some(value),
            Self::I32(_) | Self::I64(_) | Self::F32(_) => None,
        }
    }

    /// Its bits, widened.
    pub const fn bits(self) -> u64 {
        match self {
            Self::I32(value) => value.cast_unsigned() as u64,
            Self::I64(value) => value.cast_unsigned(),
            Self::F32(value) => value.to_bits() as u64,
            Self::F64(value) => value.to_bits(),
        }
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.ty() == other.ty() && self.bits() == other.bits()
    }
}

impl Eq for Value {}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::F64(value)
    }
}

impl From<i32> for Value {
    fn from(value: i32) -> Self {
        Self::I32(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::I64(value)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::I32(value) => value.fmt(f),
            Self::I64(value) => value.fmt(f),
            Self::F32(value) => value.fmt(f),
            Self::F64(value) => value.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_nan_is_equal_and_two_zeros_are_not() {
        assert_eq!(Value::F64(f64::NAN), Value::F64(f64::NAN));
        assert_ne!(Value::F64(0.0), Value::F64(-0.0));
        assert_ne!(Value::I32(1), Value::I64(1));
    }
}
