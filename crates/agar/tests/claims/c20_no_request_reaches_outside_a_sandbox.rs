//! C20: no request reads, writes or runs anything outside a sandbox, but for what a person applies.
//!
//! Paths that climb, links that lead out and words that look like commands, all with the token in
//! hand: an agent that may use the interface may still not touch the machine.

use crate::AGAR;
use agar_testkit::World;
use agar_testkit::http::{Client, Served};
use agar_testkit::wait::until;

fn made(client: &Client) -> String {
    let told = client.post("/v1/sandboxes", "{}").expect(201).text();
    let from = told.find("\"id\":\"").unwrap() + 6;
    told[from..from + 36].to_owned()
}

#[test]
fn paths_that_climb_are_refused() {
    let world = World::with_repository(AGAR);
    fs_err::write(world.outside().join("secret"), "SECRET").unwrap();
    let served = Served::start(&world);
    let client = served.client();
    let id = made(&client);
    for path in [
        "../../outside/secret",
        "..%2F..%2Foutside%2Fsecret",
        "src/../../../outside/secret",
        "%2e%2e/%2e%2e/outside/secret",
        "a%00b",
    ] {
        let at = format!("/v1/sandboxes/{id}/files?path={path}");
        let told = client.get(&at);
        assert!(matches!(told.status, 400 | 404), "{path}: {}", told.text());
        assert!(!told.text().contains("SECRET"), "{path}");
        let told = client.send("PUT", &at, b"OVERWRITTEN");
        assert!(told.status >= 400, "{path}: {}", told.text());
    }
    // A path of the inside is one of the inside, also where it looks like a way around.
    let users = fs_err::read("/etc/passwd").unwrap();
    let around = format!("/v1/sandboxes/{id}/files?path=/proc/self/root/etc/passwd");
    assert_ne!(client.get(&around).body, users);
    client.send("PUT", &around, b"OVERWRITTEN");
    assert_eq!(fs_err::read("/etc/passwd").unwrap(), users);
    for name in ["..", "%2e%2e", "..%2f..", "x%2Fy", "%00"] {
        let told = client.get(&format!("/v1/sandboxes/{name}/files?path=notes.txt"));
        assert!(told.status >= 400, "{name}");
        let told = client.get(&format!("/assets/{name}"));
        assert!(told.status >= 400, "{name}");
    }
    let secret = fs_err::read_to_string(world.outside().join("secret")).unwrap();
    assert_eq!(secret, "SECRET");
    served.stop();
}

#[test]
fn links_made_inside_lead_nowhere_outside() {
    let world = World::with_repository(AGAR);
    let secret = world.home().join(".ssh/id_ed25519");
    fs_err::create_dir_all(secret.parent().unwrap()).unwrap();
    fs_err::write(&secret, "SECRET").unwrap();
    let served = Served::start(&world);
    let client = served.client();
    let id = made(&client);
    let script = format!(
        "ln -s {} direct; ln -s {} folder; ln -s / root; mkfifo pipe",
        secret.display(),
        secret.parent().unwrap().display()
    );
    let body = format!("{{\"command\": \"{script}\"}}");
    client
        .post(&format!("/v1/sandboxes/{id}/exec"), &body)
        .expect(200);
    for path in ["direct", "folder/id_ed25519", "root/etc/hostname", "pipe"] {
        let at = format!("/v1/sandboxes/{id}/files?path={path}");
        let told = client.get(&at);
        assert!(!told.text().contains("SECRET"), "{path}: {}", told.text());
        assert_ne!(
            told.header("content-type"),
            Some("application/octet-stream"),
            "{path}"
        );
    }
    // Written through a link, a file changes inside and stays what it was outside.
    fs_err::write(world.home().join("diary.txt"), "mine").unwrap();
    let at = format!(
        "/v1/sandboxes/{id}/files?path=root{}/diary.txt",
        world.home().display()
    );
    let told = client.send("PUT", &at, b"theirs");
    assert!(matches!(told.status, 204 | 403), "{}", told.text());
    let diary = fs_err::read_to_string(world.home().join("diary.txt")).unwrap();
    assert_eq!(diary, "mine");
    served.stop();
}

#[test]
fn words_are_never_run_and_commands_run_inside() {
    let world = World::with_repository(AGAR);
    let served = Served::start(&world);
    let client = served.client();
    let target = world.outside().join("escaped");
    let words = format!("$(touch {0}); `touch {0}`; touch {0}", target.display());
    let body = format!(
        "{{\"suggestion\": \"{words}\", \"context\": {{\"agent\": \"{words}\"}}, \
         \"commands\": [\"touch {} || true\", \"echo done\"]}}",
        target.display()
    );
    let told = client.post("/api/sandbox/create", &body).expect(201).text();
    let from = told.find("\"id\":\"").unwrap() + 6;
    let id = &told[from..from + 36];
    until("the commands to end", || {
        let told = client.get(&format!("/api/sandbox/{id}/status")).expect(200);
        told.text().contains("\"status\":\"success\"")
    });
    assert!(!target.exists());
    client
        .post(
            &format!("/api/sandbox/{id}/finalize"),
            r#"{"decision": "accept"}"#,
        )
        .expect(200);
    assert!(
        !target.exists(),
        "what lies outside the project is not applied"
    );
    served.stop();
}
