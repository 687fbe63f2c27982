//! A person's consent to a project's settings.

use crate::settings::SUBJECT;
use crate::view::shown;
use crate::wishes;
use crate::{Engine, EngineError};
use agar_core::settings::Who;
use serde::{Deserialize, Serialize};

/// Gives or asks about consent to the project's settings, exactly as they are now.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ApproveRequest {
    /// The hash the person looked at; consent is to that content and no other. Only asks if left
    /// out.
    pub hash: Option<String>,
}

/// What waits for consent, or has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApproveAnswer {
    /// The settings file.
    pub path: String,
    /// The hash of its content.
    pub hash: String,
    /// What it loosens, and the commands it would run outside a sandbox.
    pub loosens: Vec<String>,
    /// Whether this content is approved now.
    pub approved: bool,
}

/// Records a person's consent to the project's settings, or says what it would be to.
pub fn approve(engine: &Engine, request: &ApproveRequest) -> Result<ApproveAnswer, EngineError> {
    let here = engine.here()?;
    let known = here.project(engine)?;
    let loaded = wishes::load(engine, here, Who::Person)?;
    let Some(consent) = loaded.asked.consent.clone() else {
        return Err(EngineError::Missing {
            doing: "approve settings",
            what: "settings file in this project".to_owned(),
        });
    };
    let mut approved = loaded.approved;
    match &request.hash {
        Some(hash) if *hash == consent.hash => {
            here.write(|store| store.approve(known.id, hash, SUBJECT, engine.now()))?;
            approved = true;
        }
        Some(_) => return Err(EngineError::Moved),
        None => {}
    }
    // What is held back while nothing is approved is what the approval is about.
    let unapproved = loaded.asked.resolve(Who::Person, false);
    Ok(ApproveAnswer {
        path: consent
            .files
            .iter()
            .map(|path| shown(path))
            .collect::<Vec<_>>()
            .join(", "),
        hash: consent.hash,
        loosens: unapproved
            .held_back
            .iter()
            .map(|held| format!("{} = {}", held.key, held.value))
            .collect(),
        approved,
    })
}
