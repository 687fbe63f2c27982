//! The memory from outside: lives of experiments, several processes, broken files.

#[cfg(test)]
mod life;
#[cfg(test)]
mod world;
