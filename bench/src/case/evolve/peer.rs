//! The engine itself, without anything of ours: what it costs at least.

use anyhow::{Context as _, Result};
use wasmtime::{
    Config, Engine, InstanceAllocationStrategy, InstancePre, Linker, Memory, Module,
    PoolingAllocationConfig, Store, TypedFunc,
};

/// A module in a pool, ready to be brought to life.
pub(super) struct Bare {
    engine: Engine,
    pre: InstancePre<()>,
}

impl Bare {
    pub(super) fn new(text: &str) -> Result<Self> {
        let mut pool = PoolingAllocationConfig::new();
        pool.total_memories(1_000)
            .max_memory_size(64 << 10)
            .linear_memory_keep_resident(64 << 10);
        let mut config = Config::new();
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
        Self::with(&config, text)
    }

    /// The same in a pool with room for a hundred thousand, as the tiny one of cells is laid out.
    pub(super) fn crowded(text: &str) -> Result<Self> {
        let page = 64 << 10;
        let mut pool = PoolingAllocationConfig::new();
        pool.total_memories(131_072)
            .total_core_instances(131_072)
            .max_memory_size(page);
        let mut config = Config::new();
        config
            .memory_reservation(page as u64)
            .memory_guard_size(0)
            .guard_before_linear_memory(false)
            .memory_init_cow(false)
            .allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
        Self::with(&config, text)
    }

    fn with(config: &Config, text: &str) -> Result<Self> {
        let engine = plain(Engine::new(config))?;
        let module = plain(Module::new(&engine, wat::parse_str(text)?))?;
        let pre = plain(Linker::new(&engine).instantiate_pre(&module))?;
        Ok(Self { engine, pre })
    }

    /// Create, call, destroy.
    pub(super) fn life(&self) -> Result<()> {
        let mut store = Store::new(&self.engine, ());
        let instance = plain(self.pre.instantiate(&mut store))?;
        let add = instance
            .get_func(&mut store, "add")
            .context("no function")?;
        let add = plain(add.typed::<i64, i64>(&store))?;
        plain(add.call(&mut store, 1))?;
        Ok(())
    }
}

/// A live instance, with everything looked up that a call needs.
pub(super) struct Alive {
    store: Store<()>,
    work: Work,
}

enum Work {
    Add(TypedFunc<i64, i64>),
    Step(Memory, TypedFunc<(i32, i32), i64>),
}

impl Bare {
    pub(super) fn alive(&self) -> Result<Alive> {
        let mut store = Store::new(&self.engine, ());
        let instance = plain(self.pre.instantiate(&mut store))?;
        let work = match instance.get_memory(&mut store, "memory") {
            None => Work::Add(plain(instance.get_typed_func(&mut store, "add"))?),
            Some(memory) => {
                let step = plain(instance.get_typed_func(&mut store, "step"))?;
                Work::Step(memory, step)
            }
        };
        Ok(Alive { store, work })
    }
}

impl Alive {
    /// One call; with memory, a byte in and eight bytes out.
    pub(super) fn once(&mut self) -> Result<()> {
        match &self.work {
            Work::Add(add) => {
                plain(add.call(&mut self.store, 1))?;
            }
            Work::Step(memory, step) => {
                memory.write(&mut self.store, 1_024, &[1])?;
                plain(step.call(&mut self.store, (1_024, 1)))?;
                let mut out = [0; 8];
                memory.read(&self.store, 0, &mut out)?;
                std::hint::black_box(out);
            }
        }
        Ok(())
    }
}

/// The engine's error as ours.
fn plain<T>(result: wasmtime::Result<T>) -> Result<T> {
    result.map_err(|error| anyhow::anyhow!("{error:#}"))
}
