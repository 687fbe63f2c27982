//! The memory from outside: lives of experiments, several processes, broken files.

#[cfg(test)]
mod broken;
#[cfg(test)]
mod forgetting;
#[cfg(test)]
mod full;
#[cfg(test)]
mod life;
#[cfg(test)]
mod logs;
#[cfg(test)]
mod processes;
#[cfg(test)]
mod retrieval;
#[cfg(test)]
mod seed;
#[cfg(test)]
mod stream;
#[cfg(test)]
mod transfer;
#[cfg(test)]
mod world;
