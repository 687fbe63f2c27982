//! The store from outside: records, journal, several processes, broken files, a full disk.

#[cfg(test)]
mod broken;
#[cfg(test)]
mod forgetting;
#[cfg(test)]
mod full;
#[cfg(test)]
mod life;
#[cfg(test)]
mod places;
#[cfg(test)]
mod processes;
#[cfg(test)]
mod records;
#[cfg(test)]
mod world;
