//! Individuals that live and compete together.

use super::{Dish, held};
use agar_core::fault::{Fault, Kind};

/// A population, in the seed's fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Population {
    /// The generation it has come to.
    pub generation: u32,
    /// Its members, by name.
    pub members: Vec<String>,
    /// The population it came from.
    pub parent_population_id: Option<String>,
}

/// There is no such population.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no population `{0}`")]
pub struct NotFound(pub String);

impl Fault for NotFound {
    fn kind(&self) -> Kind {
        Kind::NotFound
    }
}

impl Dish {
    /// Makes a population of these, or makes it anew. Names that nobody has are left out.
    pub fn create_population(&self, name: &str, ids: &[String], parent: Option<&str>) -> usize {
        let members: Vec<String> = {
            let known = self.members();
            ids.iter()
                .filter(|id| known.contains_key(id.as_str()))
                .cloned()
                .collect()
        };
        let count = members.len();
        let mut populations = held(&self.populations);
        let inherited = parent.and_then(|parent| populations.get(parent));
        let population = Population {
            generation: inherited.map_or(0, |parent| parent.generation),
            members,
            parent_population_id: parent.map(str::to_owned),
        };
        populations.insert(name.to_owned(), population);
        count
    }

    /// Every population, by name.
    pub fn populations(&self) -> Vec<(String, Population)> {
        let populations = held(&self.populations);
        populations
            .iter()
            .map(|(name, it)| (name.clone(), it.clone()))
            .collect()
    }

    /// Who is in a population.
    pub fn get_members(&self, name: &str) -> Result<Vec<String>, NotFound> {
        let populations = held(&self.populations);
        let found = populations.get(name).map(|it| it.members.clone());
        found.ok_or_else(|| NotFound(name.to_owned()))
    }

    /// Lets a population come to its next generation, with these members. Those who are in it no
    /// more are for the collection.
    pub fn advance_generation(&self, name: &str, members: &[String]) -> Result<u32, NotFound> {
        let mut populations = held(&self.populations);
        let found = populations.get_mut(name);
        let population = found.ok_or_else(|| NotFound(name.to_owned()))?;
        population.generation += 1;
        population.members = members.to_vec();
        Ok(population.generation)
    }

    pub(super) fn is_in_a_population(&self, id: &str) -> bool {
        let populations = held(&self.populations);
        populations
            .values()
            .any(|it| it.members.iter().any(|member| member == id))
    }
}
