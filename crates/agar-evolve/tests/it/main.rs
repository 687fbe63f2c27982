//! Cells, from outside.

#[cfg(test)]
#[cfg(feature = "native")]
mod agreement;
#[cfg(test)]
mod containment;
mod evolving;
#[cfg(test)]
mod fire;
#[cfg(test)]
mod genomes;
#[cfg(test)]
mod kit;
#[cfg(test)]
mod states;
#[cfg(test)]
mod trees;
