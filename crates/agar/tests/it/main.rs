//! The command line as a person, a script and a program meet it: the real program, real sandboxes.

mod answers;
mod attaching;
mod crowd;
mod evolving;
mod exit_status;
mod help;
mod keeping;
mod learning;
mod model;
mod mounts;
mod names;
mod pipes;
mod preparing;
mod preserving;
mod programs;
mod queueing;
mod said;
mod terminal;
mod trying;
mod world;
