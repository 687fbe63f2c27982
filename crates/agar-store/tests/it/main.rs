//! The store from outside: records, journal, several processes, broken files.

#[cfg(test)]
mod records;
#[cfg(test)]
mod world;
