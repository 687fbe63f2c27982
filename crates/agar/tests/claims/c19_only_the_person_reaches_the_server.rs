//! C19: nobody but the person who started it gets anything out of the server.
//!
//! Tried from the outside as another program, as a page of another site, and as a page that made a
//! name of its own lead to this machine; each beside the same request that must work.

use crate::AGAR;
use agar_testkit::World;
use agar_testkit::http::{Client, Served};
use std::os::unix::fs::MetadataExt as _;

const PATHS: [&str; 4] = [
    "/v1/sandboxes",
    "/api/memory/lessons",
    "/metrics",
    "/openapi.json",
];

#[test]
fn without_the_token_nothing_is_told_and_nothing_is_done() {
    let world = World::with_repository(AGAR);
    let served = Served::start(&world);
    let stranger = served.stranger();
    let wrong = stranger
        .clone()
        .with("authorization", "Bearer 0123456789abcdef");
    let empty = stranger.clone().with("authorization", "Bearer ");
    let cookie = format!("agar-{}=1.2.3", served.address.port());
    let forged = stranger.clone().with("cookie", &cookie);
    for client in [&stranger, &wrong, &empty, &forged] {
        for path in PATHS {
            let told = client.get(path);
            assert!(matches!(told.status, 401 | 429), "{path}: {}", told.text());
        }
        let told = client.post(
            "/api/sandbox/create",
            r#"{"suggestion": "x", "commands": ["true"]}"#,
        );
        assert!(matches!(told.status, 401 | 429), "{}", told.text());
    }
    for path in PATHS {
        served.client().get(path).expect(200);
    }
    let listed = world.agar(["ls", "--json"]).success().stdout;
    assert!(listed.contains("\"sandboxes\": []"), "{listed}");
    served.stop();
}

#[test]
fn a_page_of_another_origin_is_turned_away_whatever_it_holds() {
    let world = World::with_repository(AGAR);
    let served = Served::start(&world);
    let port = served.address.port();
    let browser = browser(&served);
    let own = format!("http://127.0.0.1:{port}");
    let foreign: [(&str, String); 6] = [
        ("origin", "http://evil.example".to_owned()),
        ("origin", "null".to_owned()),
        ("origin", "http://127.0.0.1:1".to_owned()),
        ("origin", format!("https://127.0.0.1:{port}")),
        ("sec-fetch-site", "cross-site".to_owned()),
        ("sec-fetch-site", "same-site".to_owned()),
    ];
    for client in [&browser, &served.client()] {
        for (name, value) in &foreign {
            let client = client.clone().with(name, value);
            client.get("/v1/sandboxes").expect(403);
            client.post("/v1/sandboxes", "{}").expect(403);
        }
    }
    // A browser that does not say where it was told to change something is not believed.
    browser.post("/v1/sandboxes", "{}").expect(403);
    browser.get("/v1/sandboxes").expect(200);
    browser
        .with("origin", &own)
        .post("/v1/sandboxes", "{}")
        .expect(201);
    world.agar(["rm", "--all", "--force"]).success();
    served.stop();
}

#[test]
fn a_name_that_leads_to_this_machine_is_not_this_server() {
    let world = World::with_repository(AGAR);
    let served = Served::start(&world);
    let port = served.address.port();
    let browser = browser(&served);
    for host in [
        format!("evil.example:{port}"),
        format!("localhost.evil.example:{port}"),
        format!("127.0.0.1.nip.io:{port}"),
        "127.0.0.1".to_owned(),
        "localhost:1".to_owned(),
        String::new(),
    ] {
        for client in [&browser, &served.client()] {
            let told = client.clone().with("host", &host).get("/v1/sandboxes");
            assert!(
                matches!(told.status, 400 | 403 | 429),
                "{host}: {}",
                told.text()
            );
        }
    }
    // Also where the address itself names another host.
    let target = format!("http://evil.example:{port}/v1/sandboxes");
    assert!(matches!(
        served.client().get(&target).status,
        400 | 403 | 429
    ));
    let named = format!("localhost:{port}");
    served
        .client()
        .with("host", &named)
        .get("/v1/sandboxes")
        .expect(200);
    served.stop();
}

#[test]
fn a_link_works_once_and_its_cookie_is_out_of_reach_of_scripts() {
    let world = World::with_repository(AGAR);
    let served = Served::start(&world);
    let path = format!("/open?key={}", served.key);
    let opened = served.stranger().get(&path).expect(303);
    let cookie = opened.header("set-cookie").unwrap();
    for part in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    served.stranger().get(&path).expect(403);
    served.stranger().get("/open?key=guess").expect(403);
    let page = served.stranger().get("/").expect(200);
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'none'") && policy.contains("script-src 'self'"));
    assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"));
    assert!(
        !page.text().contains("<script>"),
        "no script is written into the page"
    );
    served.stop();
}

#[test]
fn the_token_is_for_its_owner_and_not_for_a_sandbox() {
    let world = World::with_repository(AGAR);
    let served = Served::start(&world);
    let token = world.state().join("agar/serve/token");
    assert_eq!(fs_err::metadata(&token).unwrap().mode() & 0o777, 0o600);
    let script = format!("cat {} || echo hidden", token.display());
    let inside = world
        .agar(["run", "--", "/bin/sh", "-c", &script])
        .success();
    assert_eq!(inside.stdout, "hidden\n");
    assert!(!inside.stderr.contains(&served.token));
    // It listens on this machine only.
    assert!(served.address.ip().is_loopback());
    served.stop();
}

#[test]
fn a_socket_opens_for_the_page_itself_and_for_no_other() {
    let world = World::with_repository(AGAR);
    let served = Served::start(&world);
    let port = served.address.port();
    let told = served.client().post("/v1/sandboxes", "{}").expect(201);
    let told = told.text();
    let from = told.find("\"id\":\"").unwrap() + 6;
    let path = format!("/v1/sandboxes/{}/terminal", &told[from..from + 36]);
    let browser = browser(&served);
    let own = format!("http://127.0.0.1:{port}");
    let refused = |client: &Client| client.upgrade(&path).unwrap_err().status;
    assert_eq!(refused(&served.stranger()), 401, "nobody");
    assert_eq!(refused(&browser), 403, "a browser says which page asks");
    for origin in ["http://evil.example", "null", "http://127.0.0.1:1"] {
        let client = browser.clone().with("origin", origin);
        assert_eq!(refused(&client), 403, "{origin}");
        let client = served.client().with("origin", origin);
        assert_eq!(refused(&client), 403, "{origin}");
    }
    let rebound = browser.clone().with("origin", &own);
    let rebound = rebound.with("host", &format!("evil.example:{port}"));
    assert_eq!(refused(&rebound), 403);
    assert!(browser.with("origin", &own).upgrade(&path).is_ok());
    assert!(served.client().upgrade(&path).is_ok());
    world.agar(["rm", "--all", "--force"]).success();
    served.stop();
}

/// A browser that opened the link.
fn browser(served: &Served) -> Client {
    let path = format!("/open?key={}", served.key);
    let opened = served.stranger().get(&path).expect(303);
    let cookie = opened.header("set-cookie").unwrap().split(';').next();
    served.stranger().with("cookie", cookie.unwrap())
}
