//! Pages of other origins: allowed once by the person, and then for two things only.

use super::{json, served};
use agar_testkit::http::{Client, Served};
use serde_json::json as value;

const ORIGIN: &str = "http://localhost:3000";

/// The person's browser, on agar's own page.
fn person(served: &Served) -> Client {
    let opened = served.stranger().get(&format!("/open?key={}", served.key));
    let cookie = opened.header("set-cookie").unwrap().split(';').next();
    let own = format!("http://{}", served.address);
    let client = served.stranger().with("cookie", cookie.unwrap());
    client.with("origin", &own)
}

/// Allows the origin; its token.
fn allowed(person: &Client) -> String {
    let body = value!({ "origin": ORIGIN }).to_string();
    let told = json(&person.post("/v1/origins", &body).expect(201));
    told["token"].as_str().unwrap().to_owned()
}

/// A page of another origin with a token.
fn page(served: &Served, origin: &str, token: &str) -> Client {
    served
        .stranger()
        .with("origin", origin)
        .with("sec-fetch-site", "cross-site")
        .with("authorization", &format!("Bearer {token}"))
}

#[test]
fn a_page_that_was_allowed_may_offer_and_ask_how_likely() {
    let (_world, served) = served();
    let person = person(&served);
    let token = allowed(&person);
    assert_eq!(allowed(&person), token, "allowed twice is allowed once");
    let guest = page(&served, ORIGIN, &token);
    for path in ["/v1/suggestions", "/api/confidence/calculate"] {
        let asked = guest
            .clone()
            .without("authorization")
            .send("OPTIONS", path, b"");
        let told = asked.expect(204);
        assert_eq!(told.header("access-control-allow-origin"), Some(ORIGIN));
        assert_eq!(told.header("access-control-allow-methods"), Some("POST"));
        assert_eq!(told.header("access-control-allow-credentials"), None);
    }
    let context = value!({
        "wish": "apply", "agent": "claude", "userId": "ann", "project_path": "/", "projectPath": "/",
        "template": "network",
    });
    let body =
        value!({ "text": "Use a faster sort", "agent": "somebody else", "context": context });
    let body = body.to_string();
    let told = guest.post("/v1/suggestions", &body).expect(201);
    assert_eq!(told.header("access-control-allow-origin"), Some(ORIGIN));
    assert_eq!(
        json(&told)["agent"],
        ORIGIN,
        "the person sees where it is from"
    );
    let kept = &json(&told)["context"];
    assert_eq!(
        *kept,
        value!({ "wish": "apply" }),
        "and nothing it says of itself"
    );
    let body = value!({ "suggestion": "Use a faster sort" }).to_string();
    let told = guest.post("/api/confidence/calculate", &body).expect(200);
    assert_eq!(json(&told)["similar_experiments"], value!([]));
    // The script itself, as a module of another origin is fetched.
    let script = guest
        .without("authorization")
        .get("/assets/try-this-safely.js");
    let script = script.expect(200);
    assert_eq!(script.header("access-control-allow-origin"), Some(ORIGIN));
    let inbox = json(&person.get("/v1/suggestions").expect(200));
    assert_eq!(inbox["suggestions"].as_array().unwrap().len(), 1, "{inbox}");
    served.stop();
}

#[test]
fn it_may_do_nothing_else_and_nobody_may_do_it_in_its_place() {
    let (world, served) = served();
    let person = person(&served);
    let token = allowed(&person);
    let guest = page(&served, ORIGIN, &token);
    let offer = value!({ "text": "x" }).to_string();
    for path in [
        "/v1/sandboxes",
        "/v1/suggestions",
        "/metrics",
        "/v1/origins",
        "/v1/events",
    ] {
        guest.get(path).expect(403);
    }
    for path in [
        "/v1/sandboxes",
        "/api/sandbox/create",
        "/v1/origins",
        "/v1/confidence",
    ] {
        let told = guest.post(path, "{}").expect(403);
        assert_eq!(told.header("access-control-allow-origin"), None, "{path}");
    }
    // Nor in another project.
    let elsewhere = format!("/v1/suggestions?project={}", world.project().display());
    guest.post(&elsewhere, &offer).expect(403);
    // Another origin with its token, or it with another token, or its token without its origin.
    page(&served, "http://evil.example", &token)
        .post("/v1/suggestions", &offer)
        .expect(403);
    let forged = page(&served, ORIGIN, "guest-0123");
    forged.post("/v1/suggestions", &offer).expect(401);
    let own = page(&served, ORIGIN, &served.token);
    own.post("/v1/suggestions", &offer).expect(401);
    let program = guest.clone().without("origin").without("sec-fetch-site");
    program.post("/v1/suggestions", &offer).expect(401);
    // Who may offer is not for programs to say, nor for guests.
    served
        .client()
        .post("/v1/origins", &value!({ "origin": ORIGIN }).to_string())
        .expect(403);
    for origin in ["null", "*", "http://a/b", "http://a\\r\\nx: y"] {
        let body = value!({ "origin": origin }).to_string();
        person.post("/v1/origins", &body).expect(400);
    }
    // Taken off the list, it is a stranger at once, and its old token stays worthless.
    let path = format!("/v1/origins?origin={ORIGIN}");
    person.send("DELETE", &path, b"").expect(204);
    person.send("DELETE", &path, b"").expect(404);
    guest.post("/v1/suggestions", &offer).expect(403);
    assert_ne!(allowed(&person), token);
    guest.post("/v1/suggestions", &offer).expect(401);
    served.stop();
}

#[test]
fn an_origin_can_be_allowed_when_the_server_is_started() {
    let world = crate::world::repository();
    let served = Served::start_with(&world, &["--allow-origin", ORIGIN]);
    let listed = json(&person(&served).get("/v1/origins").expect(200));
    let token = listed["origins"][0]["token"].as_str().unwrap();
    let offer = value!({ "text": "x" }).to_string();
    page(&served, ORIGIN, token)
        .post("/v1/suggestions", &offer)
        .expect(201);
    served.stop();
    world
        .agar(["serve", "--port", "0", "--allow-origin", "not an origin"])
        .expect_code(2);
}
