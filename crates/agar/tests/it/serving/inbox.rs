//! The inbox: an agent offers, a person tries, applies or rejects.

use super::{id_in, json, served, wait_for};
use serde_json::json as value;

#[test]
fn an_offer_is_tried_and_applied() {
    let (world, served) = served();
    let client = served.client();
    let body = value!({
        "text": "add a licence",
        "commands": ["echo MIT > LICENCE"],
        "agent": "claude",
    });
    let offer = id_in(
        &client
            .post("/v1/suggestions", &body.to_string())
            .expect(201),
    );
    assert!(!world.has("LICENCE"), "an offer runs nothing");
    let inbox = json(&client.get("/v1/suggestions?state=open").expect(200));
    assert_eq!(inbox["suggestions"][0]["agent"], "claude");
    client
        .post(&format!("/v1/suggestions/{offer}/apply"), "{}")
        .expect(409);
    let tried = client
        .post(&format!("/v1/suggestions/{offer}/try"), "{}")
        .expect(201);
    let sandbox = id_in(&tried);
    client
        .post(&format!("/v1/suggestions/{offer}/try"), "{}")
        .expect(409);
    wait_for(&client, &sandbox, "success");
    client
        .post(&format!("/v1/suggestions/{offer}/apply"), "{}")
        .expect(200);
    assert_eq!(world.read("LICENCE"), "MIT\n");
    let now = json(&client.get(&format!("/v1/suggestions/{offer}")).expect(200));
    assert_eq!(now["state"], "applied");
    assert_eq!(now["sandbox"], sandbox.as_str());
    served.stop();
}

#[test]
fn a_rejected_offer_stays_rejected() {
    let (world, served) = served();
    let client = served.client();
    let body = value!({ "text": "delete everything", "commands": ["rm -rf ."] }).to_string();
    let offer = id_in(&client.post("/v1/suggestions", &body).expect(201));
    let path = format!("/v1/suggestions/{offer}/reject");
    let told = json(&client.post(&path, r#"{"feedback": "no"}"#).expect(200));
    assert_eq!(told["state"], "rejected");
    client
        .post(&format!("/v1/suggestions/{offer}/try"), "{}")
        .expect(409);
    client.post(&path, "{}").expect(409);
    assert!(world.has("notes.txt"));
    for wrong in [r#"{"text": " "}"#, r#"{"text": "x", "colour": 1}"#] {
        client.post("/v1/suggestions", wrong).expect(400);
    }
    client.get("/v1/suggestions/not-an-id").expect(400);
    served.stop();
}
