//! What a check says about the untouched base: asked once per generation.

use super::has_layers;
use super::place::Place;
use crate::Engine;
use crate::blueprint::Blueprint;
use crate::failure::EngineError;
use crate::here::Here;
use crate::relay::Controls;
use agar_core::settings::Check;
use agar_review::Trial;
use agar_store::Sandbox;

/// What the check said about the base, or why nobody knows; and whether the caller stopped it.
pub(super) type Before = (Result<Trial, String>, bool);

/// Looks the answer up, or asks and remembers it.
pub(super) fn before<'a>(
    engine: &'a Engine,
    here: &'a Here,
    (record, blueprint): (&Sandbox, &Blueprint),
    check: &Check,
    (place, controls): (&mut Option<Place<'a>>, &mut dyn Controls),
) -> Result<Before, EngineError> {
    let Some(generation) = record.generation.filter(|_| has_layers(record.tier)) else {
        // What changes while one looks at it cannot be compared with.
        return Ok((
            Err("the base is live, so there is nothing to compare with".to_owned()),
            false,
        ));
    };
    let key = key(record, blueprint, check, generation);
    let known = here.read(|store| store.base_check(record.project, &key))?;
    if let Some(trial) = known.and_then(|text| serde_json::from_str(&text).ok()) {
        return Ok((Ok(trial), false));
    }
    let place = match place {
        Some(place) => place,
        None => place.insert(Place::base(engine, here, (record, blueprint))?),
    };
    let (trial, interrupted) = place.try_check(check, controls)?;
    if interrupted {
        return Ok((Err("the checks were interrupted".to_owned()), true));
    }
    if let Ok(text) = serde_json::to_string(&trial) {
        here.write(|store| store.set_base_check(record.project, &key, &text, engine.now()))?;
    }
    Ok((Ok(trial), false))
}

/// Everything that could make the check answer differently.
fn key(record: &Sandbox, blueprint: &Blueprint, check: &Check, generation: u64) -> String {
    let mut hasher = blake3::Hasher::new();
    let parts = serde_json::json!([
        FORM,
        generation,
        blueprint.root.to_string_lossy(),
        blueprint.project_stack().map(|stack| &stack.lowers),
        check,
        record.network,
        record.identity,
        record.limits,
    ]);
    hasher.update(parts.to_string().as_bytes());
    hasher.finalize().to_hex()[..32].to_owned()
}

/// Counts the forms that answers have been kept in.
const FORM: u32 = 1;
