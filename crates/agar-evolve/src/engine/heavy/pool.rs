//! Where compiled instances live.
//!
//! Three pools, as measured. The *tiny* one holds cells of at most one page of memory that cannot
//! grow: their places lie side by side in one mapping, so that a hundred thousand cost hardly any
//! mappings, at the price of explicit bounds checks. The *standard* one maps each memory from an
//! image, which is fast for large ones and costs three mappings each. Neither keeps the memory of a
//! cell that is gone: a cell that sleeps gives back what it took. The one for *scripts* does: every
//! one of them touches the same pages of the same image, and putting those back is quicker than
//! mapping them anew. It has few places, so that what it keeps is little.

use crate::genome::Genome;
use wasmtime::{Config, Enabled, InstanceAllocationStrategy, PoolingAllocationConfig};

/// Places in the tiny pool.
const TINY_PLACES: u32 = 131_072;
/// Places in the standard pool.
const STANDARD_PLACES: u32 = 16_384;
/// Places in the pool for scripts, and what each keeps of its memory.
const SCRIPT_PLACES: u32 = 1_024;
const SCRIPT_KEPT: usize = 2 << 20;
/// Native stack for one run: twice what the genome's own counter allows at its highest setting.
/// Threads that run cells must have this much to spare.
const NATIVE_STACK: usize = 1 << 20;

/// The largest memory of a cell.
const LARGEST: usize = 64 << 20;

/// Which pool an instance lives in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pool {
    Tiny,
    Standard,
    Script,
}

impl Pool {
    /// The pool for such a genome.
    pub(crate) fn of(genome: &Genome) -> Self {
        if genome.script().is_some() {
            return Self::Script;
        }
        let facts = genome.facts();
        let fixed = facts
            .memory
            .is_none_or(|memory| memory.max <= 1 && memory.initial == memory.max);
        let few = facts.functions_defined as usize + facts.functions.len() < 64;
        if fixed && few && facts.table_elements.is_none() {
            Self::Tiny
        } else {
            Self::Standard
        }
    }
}

fn common() -> Config {
    let mut config = Config::new();
    config
        .max_wasm_stack(NATIVE_STACK)
        .wasm_simd(false)
        .wasm_relaxed_simd(false)
        .wasm_tail_call(false)
        .wasm_multi_memory(false)
        .wasm_memory64(false)
        .wasm_extended_const(false)
        .wasm_backtrace_max_frames(None)
        .generate_address_map(false)
        .native_unwind_info(false)
        .concurrency_support(false);
    config
}

pub(super) fn tiny() -> Config {
    let page = 64 << 10;
    let mut pool = PoolingAllocationConfig::new();
    pool.max_memory_size(page)
        .total_memories(TINY_PLACES)
        .total_core_instances(TINY_PLACES)
        .max_core_instance_size(16 << 10)
        .total_tables(1)
        .table_elements(1);
    let mut config = common();
    config
        .memory_reservation(page as u64)
        .memory_guard_size(0)
        .guard_before_linear_memory(false)
        .memory_init_cow(false)
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    config
}

pub(super) fn standard() -> Config {
    let mut pool = roomy(STANDARD_PLACES);
    pool.max_unused_warm_slots(1_000);
    mapped(pool)
}

pub(super) fn script() -> Config {
    let mut pool = roomy(SCRIPT_PLACES);
    pool.linear_memory_keep_resident(SCRIPT_KEPT)
        .pagemap_scan(Enabled::Auto);
    mapped(pool)
}

/// So many places, each for the largest memory that there is.
fn roomy(places: u32) -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::new();
    pool.max_memory_size(LARGEST)
        .total_memories(places)
        .total_core_instances(places)
        .total_tables(places)
        .table_elements(1 << 10);
    pool
}

/// Memory mapped from an image.
fn mapped(pool: PoolingAllocationConfig) -> Config {
    let mut config = common();
    config
        .memory_reservation(LARGEST as u64)
        .memory_guard_size(64 << 10)
        .memory_init_cow(true)
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    config
}
