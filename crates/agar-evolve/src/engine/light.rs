//! wasmi: loads a genome in microseconds and interprets it.
//!
//! Each module has an engine of its own. wasmi's engines never give back the code of a module, and
//! making one costs less than a tenth of a microsecond.

use super::host::{Halt, Host, Stop, copy_cost};
use super::nearby::Nearby;
use crate::failure::Trap;
use crate::genome::{Facts, Genome, rebuild};
use crate::value::{Value, ValueType};
use wasmi::errors::{ErrorKind, InstantiationError, MemoryError, TableError};
use wasmi::{Caller, Config, Engine, Error, Extern, Func, Global, Memory, Store, TrapCode, Val};

impl wasmi::errors::HostError for Stop {}

/// Loads the module.
pub(crate) fn load(module: &[u8]) -> Result<wasmi::Module, Halt> {
    let mut config = Config::default();
    config
        .wasm_tail_call(false)
        .wasm_extended_const(false)
        .wasm_multi_memory(false)
        .allow_start_fn(false)
        .ignore_custom_sections(true)
        // Our own counter ends a recursion long before these would.
        .set_max_recursion_depth(1 << 20)
        .set_max_stack_height(64 << 20)
        // A stack is kept by every engine, and there is one for each genome.
        .set_max_cached_stacks(1);
    let engine = Engine::new(&config);
    wasmi::Module::new(&engine, module).map_err(|error| halt(&error))
}

/// A live instance.
#[derive(Debug)]
pub(crate) struct Light {
    store: Store<Host>,
    instance: wasmi::Instance,
    memory: Option<Memory>,
    counters: Option<(Global, Global)>,
    /// The mutable globals of a genome without memory, whose cells take turns.
    globals: Vec<Global>,
    /// What is left of the grant of a genome without counters.
    grant: i64,
}

impl Light {
    pub(crate) fn new(genome: &Genome, module: &wasmi::Module) -> Result<Self, Halt> {
        let facts = genome.facts();
        let mut store = Store::new(module.engine(), Host::default());
        let imports = imports(&mut store, facts);
        let instance = wasmi::Instance::new(&mut store, module, &imports).map_err(|e| halt(&e))?;
        let memory = facts
            .memory
            .and_then(|_| instance.get_memory(&store, rebuild::MEMORY));
        let counter = |name| instance.get_global(&store, name);
        let counters = if facts.metered {
            counter(rebuild::FUEL).zip(counter(rebuild::DEPTH))
        } else {
            None
        };
        let mut globals = Vec::new();
        if facts.memory.is_none() {
            for (index, _) in &facts.globals {
                globals.extend(instance.get_global(&store, &rebuild::global_name(*index)));
            }
        }
        Ok(Self {
            store,
            instance,
            memory,
            counters,
            globals,
            grant: 0,
        })
    }

    /// Where its parts lie, as far as this engine says.
    pub(crate) fn nearby(&mut self) -> Nearby {
        let near = Nearby::default().with(&raw const *self, size_of::<Self>());
        match self.memory {
            Some(memory) => near.with(memory.data_ptr(&self.store), 64),
            None => near,
        }
    }

    pub(crate) fn host(&mut self) -> &mut Host {
        self.store.data_mut()
    }

    pub(crate) fn set_counters(&mut self, grant: i64, slots: u32) {
        self.grant = grant;
        if let Some((fuel, depth)) = self.counters {
            let slots = Val::I32(slots.cast_signed());
            // Both are our own, mutable and of these types.
            drop(fuel.set(&mut self.store, Val::I64(grant)));
            drop(depth.set(&mut self.store, slots));
        }
    }

    /// What is left of the grant.
    pub(crate) fn grant(&self) -> i64 {
        match self.counters.map(|(fuel, _)| fuel.get(&self.store)) {
            Some(Val::I64(left)) => left,
            Some(_) | None => self.grant,
        }
    }

    /// Charges a cost that is known beforehand.
    pub(crate) fn charge(&mut self, cost: u64) -> Result<(), Halt> {
        let mut grant = self.grant();
        let charged = self.store.data_mut().charge(&mut grant, cost);
        self.grant = grant;
        if let Some((fuel, _)) = self.counters {
            drop(fuel.set(&mut self.store, Val::I64(grant)));
        }
        charged.map_err(Halt::Stop)
    }

    pub(crate) fn call(
        &mut self,
        name: &str,
        arguments: &[Value],
        results: &mut [Value],
    ) -> Result<(), Halt> {
        let function = self.instance.get_func(&self.store, name);
        let function = function.ok_or_else(super::missing)?;
        let arguments: Vec<Val> = arguments.iter().map(|value| to_val(*value)).collect();
        let mut answers: Vec<Val> = results.iter().map(|value| to_val(*value)).collect();
        let called = function.call(&mut self.store, &arguments, &mut answers);
        called.map_err(|error| self.halt(&error))?;
        for (result, answer) in results.iter_mut().zip(&answers) {
            *result = from_val(answer);
        }
        Ok(())
    }

    /// Calls a function of numbers once for each point; each costs `cost`.
    pub(crate) fn map(
        &mut self,
        name: &str,
        (arity, points): (usize, &[f64]),
        cost: u64,
        out: &mut Vec<f64>,
    ) -> Result<(), Halt> {
        let function = self.instance.get_func(&self.store, name);
        let function = function.ok_or_else(super::missing)?;
        let mut arguments = vec![Val::F64(0.0.into()); arity];
        let mut answer = [Val::F64(0.0.into())];
        for point in points.chunks_exact(arity.max(1)) {
            self.charge(cost)?;
            for (argument, value) in arguments.iter_mut().zip(point) {
                *argument = Val::F64((*value).into());
            }
            let called = function.call(&mut self.store, &arguments, &mut answer);
            called.map_err(|error| self.halt(&error))?;
            let [Val::F64(value)] = &answer else {
                return Err(super::missing());
            };
            out.push(f64::from(*value));
        }
        Ok(())
    }

    pub(crate) fn memory(&mut self) -> &mut [u8] {
        match self.memory {
            Some(memory) => memory.data_mut(&mut self.store),
            None => &mut [],
        }
    }

    pub(crate) fn grow(&mut self, pages: u64) -> Result<(), Halt> {
        let Some(memory) = self.memory else {
            return Ok(());
        };
        let grown = memory.grow(&mut self.store, pages);
        grown
            .map(drop)
            .map_err(|error| Halt::Engine(error.to_string()))
    }

    pub(crate) fn global(&self, index: u32) -> Option<Value> {
        let global = self
            .instance
            .get_global(&self.store, &rebuild::global_name(index))?;
        Some(from_val(&global.get(&self.store)))
    }

    pub(crate) fn set_global(&mut self, index: u32, value: Value) {
        let name = rebuild::global_name(index);
        if let Some(global) = self.instance.get_global(&self.store, &name) {
            drop(global.set(&mut self.store, to_val(value)));
        }
    }

    pub(crate) fn read_globals(&self, values: &mut [Value]) {
        for (global, value) in self.globals.iter().zip(values) {
            *value = from_val(&global.get(&self.store));
        }
    }

    pub(crate) fn write_globals(&mut self, values: &[Value]) {
        for (global, value) in self.globals.iter().zip(values) {
            // Mutable, and of the type that was read from it.
            drop(global.set(&mut self.store, to_val(*value)));
        }
    }

    fn halt(&self, error: &Error) -> Halt {
        let deepest = self.counters.map(|(_, depth)| depth.get(&self.store));
        if let Some(Val::I32(left)) = deepest
            && left < 0
        {
            return Halt::Stack;
        }
        halt(error)
    }
}

/// The functions that the genome imports, in its order; the meter comes last.
fn imports(store: &mut Store<Host>, facts: &Facts) -> Vec<Extern> {
    use crate::genome::Import;
    let mut imports: Vec<Extern> = Vec::with_capacity(facts.imports.len() + 1);
    for import in &facts.imports {
        let function = match import {
            Import::Input => Func::wrap(&mut *store, input),
            Import::Emit => Func::wrap(&mut *store, emit),
            Import::Random => Func::wrap(&mut *store, |mut caller: Caller<'_, Host>| -> i64 {
                caller.data_mut().random().cast_signed()
            }),
            Import::FuelLeft => {
                Func::wrap(&mut *store, |caller: Caller<'_, Host>| fuel_left(&caller))
            }
        };
        imports.push(function.into());
    }
    if facts.metered {
        let meter = |mut caller: Caller<'_, Host>, rest: i64| -> Result<i64, Error> {
            caller.data_mut().meter(rest).map_err(Error::host)
        };
        imports.push(Func::wrap(&mut *store, meter).into());
    }
    imports
}

fn input(
    mut caller: Caller<'_, Host>,
    index: i32,
    pointer: i32,
    capacity: i32,
) -> Result<i32, Error> {
    let taken = caller.data().share_of_case(index, capacity);
    charge(&mut caller, copy_cost(taken))?;
    let Some(memory) = memory_of(&caller) else {
        return Err(Error::host(Stop::Convention("input: it has no memory")));
    };
    let (memory, host) = memory.data_and_store_mut(&mut caller);
    host.input(memory, index, pointer, capacity)
        .map_err(Error::host)
}

fn emit(
    mut caller: Caller<'_, Host>,
    key: i32,
    key_length: i32,
    value: i32,
    value_length: i32,
) -> Result<(), Error> {
    charge(&mut caller, copy_cost(key_length) + copy_cost(value_length))?;
    let Some(memory) = memory_of(&caller) else {
        return Err(Error::host(Stop::Convention("emit: it has no memory")));
    };
    let (memory, host) = memory.data_and_store_mut(&mut caller);
    host.emit(memory, (key, key_length), (value, value_length))
        .map_err(Error::host)
}

fn fuel_left(caller: &Caller<'_, Host>) -> i64 {
    let grant = fuel_of(caller).map_or(0, |(_, left)| left);
    caller.data().remaining(grant).cast_signed()
}

fn memory_of(caller: &Caller<'_, Host>) -> Option<Memory> {
    caller
        .get_export(rebuild::MEMORY)
        .and_then(Extern::into_memory)
}

fn fuel_of(caller: &Caller<'_, Host>) -> Option<(Global, i64)> {
    let fuel = caller.get_export(rebuild::FUEL)?.into_global()?;
    match fuel.get(caller) {
        Val::I64(left) => Some((fuel, left)),
        Val::I32(_)
        | Val::F32(_)
        | Val::F64(_)
        | Val::V128(_)
        | Val::FuncRef(_)
        | Val::ExternRef(_) => None,
    }
}

/// Charges the genome for work that the host does for it.
fn charge(caller: &mut Caller<'_, Host>, cost: u64) -> Result<(), Error> {
    let Some((fuel, mut left)) = fuel_of(caller) else {
        return Ok(());
    };
    let charged = caller.data_mut().charge(&mut left, cost);
    drop(fuel.set(&mut *caller, Val::I64(left)));
    charged.map_err(Error::host)
}

fn to_val(value: Value) -> Val {
    match value {
        Value::I32(value) => Val::I32(value),
        Value::I64(value) => Val::I64(value),
        Value::F32(value) => Val::F32(value.into()),
        Value::F64(value) => Val::F64(value.into()),
    }
}

fn from_val(value: &Val) -> Value {
    match value {
        Val::I32(value) => Value::I32(*value),
        Val::I64(value) => Value::I64(*value),
        Val::F32(value) => Value::F32(f32::from_bits(value.to_bits())),
        Val::F64(value) => Value::F64(f64::from_bits(value.to_bits())),
        // Not among the types that the host calls with.
        Val::V128(_) | Val::FuncRef(_) | Val::ExternRef(_) => Value::zero(ValueType::I64),
    }
}

/// A segment that does not fit is a trap like any other, though this engine has other words for it.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "what no checked genome can cause"
)]
fn segment(kind: &ErrorKind) -> Option<Halt> {
    match kind {
        ErrorKind::Instantiation(InstantiationError::ElementSegmentDoesNotFit { .. })
        | ErrorKind::Table(TableError::InitOutOfBounds | TableError::CopyOutOfBounds) => {
            Some(Halt::Trap(Trap::TableOutOfBounds))
        }
        ErrorKind::Memory(MemoryError::OutOfBoundsAccess) => {
            Some(Halt::Trap(Trap::MemoryOutOfBounds))
        }
        ErrorKind::Memory(MemoryError::OutOfSystemMemory) => Some(Halt::NoMemory),
        _ => None,
    }
}

fn halt(error: &Error) -> Halt {
    if let Some(stop) = error.downcast_ref::<Stop>() {
        return Halt::Stop(*stop);
    }
    let Some(code) = error.as_trap_code() else {
        return segment(error.kind()).unwrap_or_else(|| Halt::Engine(error.to_string()));
    };
    match code {
        TrapCode::UnreachableCodeReached => Halt::Trap(Trap::Unreachable),
        TrapCode::MemoryOutOfBounds => Halt::Trap(Trap::MemoryOutOfBounds),
        TrapCode::TableOutOfBounds => Halt::Trap(Trap::TableOutOfBounds),
        TrapCode::IndirectCallToNull => Halt::Trap(Trap::IndirectCallToNull),
        TrapCode::IntegerDivisionByZero => Halt::Trap(Trap::DivisionByZero),
        TrapCode::IntegerOverflow => Halt::Trap(Trap::IntegerOverflow),
        TrapCode::BadConversionToInteger => Halt::Trap(Trap::BadConversion),
        TrapCode::BadSignature => Halt::Trap(Trap::BadSignature),
        TrapCode::StackOverflow => Halt::EngineStack,
        TrapCode::OutOfSystemMemory => Halt::NoMemory,
        TrapCode::OutOfFuel | TrapCode::GrowthOperationLimited => Halt::Engine(error.to_string()),
    }
}
