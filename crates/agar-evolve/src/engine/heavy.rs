//! wasmtime: compiles a genome once and runs it at the machine's speed.
//!
//! There is no fuel and no epoch here: genomes bring their own counters, and ask the host for more.

mod pool;

pub(crate) use self::pool::Pool;

use super::host::{Halt, Host, Stop, copy_cost};
use super::lodge::Lodge;
use super::nearby::Nearby;
use crate::failure::Trap;
use crate::genome::{Facts, Genome, Import, rebuild};
use crate::value::{Value, ValueType};
use std::sync::OnceLock;
use wasmtime::{
    Caller, Config, Engine, Error, Extern, Func, Global, InstancePre, Linker, Memory, Module,
    ModuleExport, Store, Val,
};

/// Both compilers and pools.
pub(crate) struct Heavy {
    tiny: Workshop,
    standard: Workshop,
    script: OnceLock<Result<Workshop, Halt>>,
}

struct Workshop {
    engine: Engine,
    linker: Linker<Host>,
}

impl Workshop {
    fn new(config: &Config) -> Result<Self, Halt> {
        let engine = Engine::new(config).map_err(|e| halt(&e))?;
        let linker = linker(&engine).map_err(|e| halt(&e))?;
        Ok(Self { engine, linker })
    }
}

impl Heavy {
    /// Reserves the pools: address space, not memory.
    pub(crate) fn new() -> Result<Self, Halt> {
        Ok(Self {
            tiny: Workshop::new(&pool::tiny())?,
            standard: Workshop::new(&pool::standard())?,
            script: OnceLock::new(),
        })
    }

    fn workshop(&self, pool: Pool) -> Result<&Workshop, Halt> {
        match pool {
            Pool::Tiny => Ok(&self.tiny),
            Pool::Standard => Ok(&self.standard),
            Pool::Script => {
                let workshop = self.script.get_or_init(|| Workshop::new(&pool::script()));
                workshop.as_ref().map_err(Clone::clone)
            }
        }
    }

    /// Compiles the genome.
    pub(crate) fn compile(&self, genome: &Genome) -> Result<Compiled, Halt> {
        let workshop = self.workshop(Pool::of(genome))?;
        let module = Module::new(&workshop.engine, genome.module()).map_err(|e| halt(&e))?;
        let find = |name: &str| module.get_export_index(name);
        let exports = Exports {
            memory: find(rebuild::MEMORY),
            fuel: find(rebuild::FUEL),
            depth: find(rebuild::DEPTH),
            some: genome
                .facts()
                .functions
                .first()
                .and_then(|function| find(&function.name)),
        };
        let pre = workshop.linker.instantiate_pre(&module);
        Ok(Compiled {
            pre: pre.map_err(|e| halt(&e))?,
            exports,
            lodge: Lodge::default(),
        })
    }
}

#[derive(Clone, Copy)]
struct Exports {
    memory: Option<ModuleExport>,
    fuel: Option<ModuleExport>,
    depth: Option<ModuleExport>,
    some: Option<ModuleExport>,
}

/// A genome's native code, ready to be brought to life.
pub(crate) struct Compiled {
    pre: InstancePre<Host>,
    exports: Exports,
    /// Instances that cells take turns in.
    lodge: Lodge,
}

impl Compiled {
    pub(crate) const fn lodge(&self) -> &Lodge {
        &self.lodge
    }
}

/// How the engine's store lies around what it keeps for us, and its instance around the entry of a
/// function in it. Neither is documented: these are windows that were seen to help.
const STORE_BEFORE: usize = 576;
const STORE_BYTES: usize = 640;
const INSTANCE_BEFORE: usize = 320;
const INSTANCE_BYTES: usize = 384;

/// A live instance.
pub(crate) struct Live {
    store: Store<Host>,
    instance: wasmtime::Instance,
    memory: Option<Memory>,
    counters: Option<(Global, Global)>,
    /// The mutable globals of a genome without memory, whose cells take turns.
    globals: Vec<Global>,
    /// A function of it, by which the instance is found.
    some: Option<Func>,
    /// What is left of the grant of a genome without counters.
    grant: i64,
}

impl std::fmt::Debug for Live {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Live").finish_non_exhaustive()
    }
}

impl Live {
    pub(crate) fn new(facts: &Facts, compiled: &Compiled) -> Result<Self, Halt> {
        let engine = compiled.pre.module().engine();
        let mut store = Store::new(engine, Host::default());
        let instance = compiled.pre.instantiate(&mut store);
        let instance = instance.map_err(|e| halt(&e))?;
        let Exports {
            memory,
            fuel,
            depth,
            some,
        } = compiled.exports;
        let mut find = |export: Option<ModuleExport>| {
            export.and_then(|export| instance.get_module_export(&mut store, &export))
        };
        let memory = find(memory).and_then(Extern::into_memory);
        let fuel = find(fuel).and_then(Extern::into_global);
        let depth = find(depth).and_then(Extern::into_global);
        let some = find(some).and_then(Extern::into_func);
        let mut globals = Vec::new();
        if facts.memory.is_none() {
            for (index, _) in &facts.globals {
                let name = rebuild::global_name(*index);
                globals.extend(instance.get_global(&mut store, &name));
            }
        }
        Ok(Self {
            store,
            instance,
            memory,
            globals,
            counters: fuel.zip(depth),
            some,
            grant: 0,
        })
    }

    /// Where its parts lie: what is ours, the engine's store, its instance, and the first of its
    /// memory.
    pub(crate) fn nearby(&mut self) -> Nearby {
        let data = &raw const *self.store.data();
        let near = Nearby::default().with(&raw const *self, size_of::<Self>());
        let near = near.with(data.cast::<u8>().wrapping_sub(STORE_BEFORE), STORE_BYTES);
        let some = self.some.map(|some| some.to_raw(&mut self.store));
        let near = match some {
            Some(some) => near.with(
                some.cast::<u8>().wrapping_sub(INSTANCE_BEFORE),
                INSTANCE_BYTES,
            ),
            None => near,
        };
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
    pub(crate) fn grant(&mut self) -> i64 {
        match self.counters {
            Some((fuel, _)) => fuel.get(&mut self.store).i64().unwrap_or_default(),
            None => self.grant,
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

    fn function(&mut self, name: &str) -> Result<Func, Halt> {
        let function = self.instance.get_func(&mut self.store, name);
        function.ok_or_else(super::missing)
    }

    pub(crate) fn call(
        &mut self,
        name: &str,
        arguments: &[Value],
        results: &mut [Value],
    ) -> Result<(), Halt> {
        let function = self.function(name)?;
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
        let function = self.function(name)?;
        if let Ok(one) = function.typed::<f64, f64>(&self.store) {
            for point in points {
                self.charge(cost)?;
                let called = one.call(&mut self.store, *point);
                out.push(called.map_err(|error| self.halt(&error))?);
            }
            return Ok(());
        }
        let mut arguments = vec![Val::F64(0); arity];
        let mut answer = [Val::F64(0)];
        for point in points.chunks_exact(arity.max(1)) {
            self.charge(cost)?;
            for (argument, value) in arguments.iter_mut().zip(point) {
                *argument = Val::F64(value.to_bits());
            }
            let called = function.call(&mut self.store, &arguments, &mut answer);
            called.map_err(|error| self.halt(&error))?;
            let [Val::F64(bits)] = &answer else {
                return Err(super::missing());
            };
            out.push(f64::from_bits(*bits));
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
        grown.map(drop).map_err(|error| halt(&error))
    }

    pub(crate) fn global(&mut self, index: u32) -> Option<Value> {
        let name = rebuild::global_name(index);
        let global = self.instance.get_global(&mut self.store, &name)?;
        Some(from_val(&global.get(&mut self.store)))
    }

    pub(crate) fn set_global(&mut self, index: u32, value: Value) {
        let name = rebuild::global_name(index);
        if let Some(global) = self.instance.get_global(&mut self.store, &name) {
            drop(global.set(&mut self.store, to_val(value)));
        }
    }

    pub(crate) fn read_globals(&mut self, values: &mut [Value]) {
        for (global, value) in self.globals.iter().zip(values) {
            *value = from_val(&global.get(&mut self.store));
        }
    }

    pub(crate) fn write_globals(&mut self, values: &[Value]) {
        for (global, value) in self.globals.iter().zip(values) {
            // Mutable, and of the type that was read from it.
            drop(global.set(&mut self.store, to_val(*value)));
        }
    }

    fn halt(&mut self, error: &Error) -> Halt {
        let depth = self.counters.map(|(_, depth)| depth.get(&mut self.store));
        if let Some(Val::I32(left)) = depth
            && left < 0
        {
            return Halt::Stack;
        }
        halt(error)
    }
}

/// Everything that a genome may import, and the meter.
fn linker(engine: &Engine) -> Result<Linker<Host>, Error> {
    let mut linker = Linker::new(engine);
    for import in Import::ALL {
        let name = import.name();
        match import {
            Import::Input => linker.func_wrap("agar", name, input)?,
            Import::Emit => linker.func_wrap("agar", name, emit)?,
            Import::Random => {
                linker.func_wrap("agar", name, |mut caller: Caller<'_, Host>| -> i64 {
                    caller.data_mut().random().cast_signed()
                })?
            }
            Import::FuelLeft => {
                linker.func_wrap("agar", name, |mut caller: Caller<'_, Host>| {
                    fuel_left(&mut caller)
                })?
            }
        };
    }
    let meter = |mut caller: Caller<'_, Host>, rest: i64| -> Result<i64, Error> {
        caller.data_mut().meter(rest).map_err(Error::new)
    };
    linker.func_wrap("agar", rebuild::METER, meter)?;
    Ok(linker)
}

fn input(
    mut caller: Caller<'_, Host>,
    index: i32,
    pointer: i32,
    capacity: i32,
) -> Result<i32, Error> {
    let taken = caller.data().share_of_case(index, capacity);
    charge(&mut caller, copy_cost(taken))?;
    let Some(memory) = memory_of(&mut caller) else {
        return Err(Error::new(Stop::Convention("input: it has no memory")));
    };
    let (memory, host) = memory.data_and_store_mut(&mut caller);
    host.input(memory, index, pointer, capacity)
        .map_err(Error::new)
}

fn emit(
    mut caller: Caller<'_, Host>,
    key: i32,
    key_length: i32,
    value: i32,
    value_length: i32,
) -> Result<(), Error> {
    charge(&mut caller, copy_cost(key_length) + copy_cost(value_length))?;
    let Some(memory) = memory_of(&mut caller) else {
        return Err(Error::new(Stop::Convention("emit: it has no memory")));
    };
    let (memory, host) = memory.data_and_store_mut(&mut caller);
    host.emit(memory, (key, key_length), (value, value_length))
        .map_err(Error::new)
}

fn fuel_left(caller: &mut Caller<'_, Host>) -> i64 {
    let grant = fuel_of(caller).map_or(0, |(_, left)| left);
    caller.data().remaining(grant).cast_signed()
}

fn memory_of(caller: &mut Caller<'_, Host>) -> Option<Memory> {
    caller
        .get_export(rebuild::MEMORY)
        .and_then(Extern::into_memory)
}

fn fuel_of(caller: &mut Caller<'_, Host>) -> Option<(Global, i64)> {
    let fuel = caller.get_export(rebuild::FUEL)?.into_global()?;
    let left = fuel.get(&mut *caller).i64()?;
    Some((fuel, left))
}

/// Charges the genome for work that the host does for it.
fn charge(caller: &mut Caller<'_, Host>, cost: u64) -> Result<(), Error> {
    let Some((fuel, mut left)) = fuel_of(caller) else {
        return Ok(());
    };
    let charged = caller.data_mut().charge(&mut left, cost);
    drop(fuel.set(&mut *caller, Val::I64(left)));
    charged.map_err(Error::new)
}

fn to_val(value: Value) -> Val {
    match value {
        Value::I32(value) => Val::I32(value),
        Value::I64(value) => Val::I64(value),
        Value::F32(value) => Val::F32(value.to_bits()),
        Value::F64(value) => Val::F64(value.to_bits()),
    }
}

fn from_val(value: &Val) -> Value {
    match value {
        Val::I32(value) => Value::I32(*value),
        Val::I64(value) => Value::I64(*value),
        Val::F32(bits) => Value::F32(f32::from_bits(*bits)),
        Val::F64(bits) => Value::F64(f64::from_bits(*bits)),
        // Not among the types that the host calls with.
        Val::V128(_)
        | Val::FuncRef(_)
        | Val::ExternRef(_)
        | Val::AnyRef(_)
        | Val::ExnRef(_)
        | Val::ContRef(_) => Value::zero(ValueType::I64),
    }
}

fn halt(error: &Error) -> Halt {
    use wasmtime::Trap as T;
    if let Some(stop) = error.downcast_ref::<Stop>() {
        return Halt::Stop(*stop);
    }
    if error.is::<wasmtime::PoolConcurrencyLimitError>() {
        return Halt::NoPlace;
    }
    match error.downcast_ref::<T>() {
        Some(T::UnreachableCodeReached) => Halt::Trap(Trap::Unreachable),
        Some(T::MemoryOutOfBounds) => Halt::Trap(Trap::MemoryOutOfBounds),
        Some(T::TableOutOfBounds) => Halt::Trap(Trap::TableOutOfBounds),
        Some(T::IndirectCallToNull) => Halt::Trap(Trap::IndirectCallToNull),
        Some(T::IntegerDivisionByZero) => Halt::Trap(Trap::DivisionByZero),
        Some(T::IntegerOverflow) => Halt::Trap(Trap::IntegerOverflow),
        Some(T::BadConversionToInteger) => Halt::Trap(Trap::BadConversion),
        Some(T::BadSignature) => Halt::Trap(Trap::BadSignature),
        Some(T::StackOverflow) => Halt::EngineStack,
        Some(_) | None => Halt::Engine(format!("{error:#}")),
    }
}
