//! The HTTP interface as a program meets it: the real server on loopback, real sandboxes.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test whose server answers nonsense must stop there and show it"
)]

mod crowds;
mod embedding;
mod inbox;
mod panels;
mod pool;
mod resources;
mod seed;
mod streams;
mod terminals;
mod tracing;

use agar_testkit::World;
use agar_testkit::http::{Answer, Client, Served};
use agar_testkit::wait::until;
use serde_json::Value;

/// A repository and its server.
fn served() -> (World, Served) {
    let world = crate::world::repository();
    let served = Served::start(&world);
    (world, served)
}

/// The answer as JSON.
#[track_caller]
fn json(answer: &Answer) -> Value {
    serde_json::from_slice(&answer.body)
        .unwrap_or_else(|error| panic!("{error}: {}", answer.text()))
}

/// Waits until the seed's status of a sandbox is this.
#[track_caller]
fn wait_for(client: &Client, id: &str, status: &str) -> Value {
    let path = format!("/api/sandbox/{id}/status");
    let mut seen = Value::Null;
    until(&format!("{id} to be {status}"), || {
        seen = json(&client.get(&path).expect(200));
        seen["status"] == status
    });
    seen
}

/// The id in an answer.
#[track_caller]
fn id_in(answer: &Answer) -> String {
    let told = json(answer);
    told["id"]
        .as_str()
        .unwrap_or_else(|| panic!("{told}"))
        .to_owned()
}
