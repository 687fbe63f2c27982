//! The engine itself, without anything of ours: what it costs at least.

use anyhow::{Context as _, Result};
use wasmtime::{
    Config, Engine, InstanceAllocationStrategy, InstancePre, Linker, Module,
    PoolingAllocationConfig, Store,
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
        let engine = plain(Engine::new(&config))?;
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

/// The engine's error as ours.
fn plain<T>(result: wasmtime::Result<T>) -> Result<T> {
    result.map_err(|error| anyhow::anyhow!("{error:#}"))
}
