//! Cells, dishes and searches, from outside.

#[cfg(test)]
#[cfg(feature = "native")]
mod agreement;
#[cfg(test)]
mod baseline;
#[cfg(test)]
mod cheating;
#[cfg(test)]
mod containment;
#[cfg(test)]
mod dashboard;
#[cfg(test)]
mod dishes;
#[cfg(test)]
mod dormant;
#[cfg(test)]
mod evolving;
#[cfg(test)]
mod fire;
#[cfg(test)]
mod games;
#[cfg(test)]
mod genomes;
#[cfg(test)]
mod hostile_scripts;
#[cfg(test)]
mod kit;
#[cfg(test)]
mod neutral;
#[cfg(test)]
mod outside;
#[cfg(test)]
mod scripts;
#[cfg(test)]
mod states;
#[cfg(test)]
#[cfg(feature = "native")]
mod tiers;
#[cfg(test)]
mod trees;
#[cfg(test)]
mod turns;
