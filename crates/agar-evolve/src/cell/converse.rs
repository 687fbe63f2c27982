//! How host and genome pass bytes to each other.
//!
//! The genome exports `memory` and `alloc(length) -> pointer`. The host asks for room, writes,
//! calls, and reads what the answer points at: the pointer in the upper and the length in the lower
//! half of a 64-bit number, whose sign bit says that the genome refuses and the bytes say why.

use crate::engine::Instance;
use crate::engine::host::{Halt, Stop, copy_cost, slice};
use crate::genome::{Facts, Function};
use crate::value::{Value, ValueType};

/// What a genome answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reply {
    Bytes(Vec<u8>),
    /// In its own words.
    Refused(String),
}

/// The shape of a function of the convention.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Verb {
    pub(crate) name: &'static str,
    /// Parameters, all of 32 bits.
    params: usize,
    result: ValueType,
}

pub(crate) const fn verb(name: &'static str, params: usize, result: ValueType) -> Verb {
    Verb {
        name,
        params,
        result,
    }
}

pub(crate) const ALLOC: Verb = verb("alloc", 1, ValueType::I32);
pub(crate) const INIT: Verb = verb("init", 2, ValueType::I32);
pub(crate) const EVALUATE: Verb = verb("evaluate", 2, ValueType::I64);
pub(crate) const STEP: Verb = verb("step", 2, ValueType::I64);
pub(crate) const SAVE: Verb = verb("save", 0, ValueType::I64);
pub(crate) const LOAD: Verb = verb("load", 3, ValueType::I32);
pub(crate) const MIGRATE: Verb = verb("migrate", 3, ValueType::I64);
pub(crate) const WHY: Verb = verb("why", 0, ValueType::I64);
pub(crate) const SCHEMA: Verb = verb("schema", 0, ValueType::I32);

impl Verb {
    fn fits(self, function: &Function) -> bool {
        function.params.len() == self.params
            && function.params.iter().all(|ty| *ty == ValueType::I32)
            && function.results == [self.result]
    }

    /// Whether the genome has it.
    pub(crate) fn is_in(self, facts: &Facts) -> bool {
        let mut functions = facts.functions.iter();
        functions.any(|function| function.name == self.name && self.fits(function))
    }
}

const OUTSIDE: Halt = Halt::Stop(Stop::Convention("its answer lies outside its memory"));

/// An instance and what is known of its genome.
pub(crate) struct Talk<'a> {
    pub(crate) instance: &'a mut Instance,
    pub(crate) facts: &'a Facts,
}

impl Talk<'_> {
    /// Calls without bytes, and answers the number.
    pub(crate) fn ask(&mut self, verb: Verb, arguments: &[i32]) -> Result<i64, Halt> {
        let mut functions = self.facts.functions.iter();
        let function = functions.find(|function| function.name == verb.name);
        let function = function.ok_or(Halt::NoFunction(verb.name))?;
        if !verb.fits(function) {
            return Err(Halt::Stop(Stop::Convention("a function has another type")));
        }
        self.instance.charge(function.cost.unwrap_or(0))?;
        let arguments: Vec<Value> = arguments.iter().map(|it| Value::I32(*it)).collect();
        let mut result = [Value::zero(verb.result)];
        self.instance.call(verb.name, &arguments, &mut result)?;
        match result {
            [Value::I32(value)] => Ok(i64::from(value)),
            [Value::I64(value)] => Ok(value),
            [Value::F32(_) | Value::F64(_)] => Err(Halt::NoFunction(verb.name)),
        }
    }

    /// Writes the bytes into memory that the genome gives, and calls with their place and `more`.
    pub(crate) fn tell(&mut self, verb: Verb, bytes: &[u8], more: &[i32]) -> Result<i64, Halt> {
        let length = i32::try_from(bytes.len());
        let length = length.map_err(|_| Halt::Stop(Stop::Convention("the input is too long")))?;
        let pointer = self.ask(ALLOC, &[length])?;
        self.instance.charge(copy_cost(length))?;
        let pointer = i32::try_from(pointer).unwrap_or_default();
        let place = slice(self.instance.memory(), pointer, length);
        let place = place.ok_or(Halt::Stop(Stop::Convention(
            "`alloc` answers a place outside its memory",
        )))?;
        place.copy_from_slice(bytes);
        let arguments: Vec<i32> = [pointer, length].iter().chain(more).copied().collect();
        self.ask(verb, &arguments)
    }

    /// Tells, and answers why not where the genome says no.
    pub(crate) fn persuade(
        &mut self,
        verb: Verb,
        bytes: &[u8],
        more: &[i32],
    ) -> Result<Result<(), String>, Halt> {
        let code = self.tell(verb, bytes, more)?;
        if code == 0 {
            return Ok(Ok(()));
        }
        if WHY.is_in(self.facts) {
            let answer = self.ask(WHY, &[])?;
            if let Reply::Refused(words) = self.read(answer)? {
                return Ok(Err(words));
            }
        }
        Ok(Err(format!("`{}` answered {code}", verb.name)))
    }

    /// Reads what an answer points at, counting it as output.
    pub(crate) fn read(&mut self, answer: i64) -> Result<Reply, Halt> {
        let place = answer & i64::MAX;
        let pointer = i32::try_from(place >> 32).unwrap_or(i32::MAX);
        let length = u32::try_from(place & 0xffff_ffff).unwrap_or(u32::MAX);
        self.instance.host().put_out(length).map_err(Halt::Stop)?;
        self.instance.charge(copy_cost(length.cast_signed()))?;
        let bytes = slice(self.instance.memory(), pointer, length.cast_signed()).ok_or(OUTSIDE)?;
        if answer < 0 {
            let words = String::from_utf8_lossy(bytes);
            let words = agar_core::text::printable(&words).into_owned();
            return Ok(Reply::Refused(words));
        }
        Ok(Reply::Bytes(bytes.to_vec()))
    }

    /// Passes bytes in and reads bytes out.
    pub(crate) fn exchange(&mut self, verb: Verb, bytes: &[u8]) -> Result<Reply, Halt> {
        let answer = self.tell(verb, bytes, &[])?;
        self.read(answer)
    }
}
