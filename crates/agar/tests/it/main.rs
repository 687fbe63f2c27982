//! The command line as a person, a script and a program meet it: the real program, real sandboxes.

mod answers;
mod attaching;
mod browsing;
#[cfg(test)]
mod cells;
mod compiling;
mod crowd;
mod departing;
#[cfg(test)]
mod endpoint;
mod evolving;
mod exit_status;
mod help;
mod keeping;
mod learning;
mod leaving;
mod model;
mod mounts;
mod moving;
mod names;
#[cfg(test)]
mod outside;
mod pipes;
mod preparing;
mod preserving;
mod programs;
mod queueing;
mod said;
#[cfg(test)]
mod secure;
mod serving;
mod terminal;
mod trying;
mod world;
