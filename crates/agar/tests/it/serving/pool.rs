//! `agar serve --pool`: sandboxes whose jails stood before they were asked for.

use super::json;
use agar_testkit::http::{Client, Served};
use agar_testkit::wait::until;
use serde_json::json as value;

fn counter(client: &Client, name: &str) -> u64 {
    let text = client.get("/metrics").expect(200).text();
    let line = text
        .lines()
        .find(|line| line.starts_with(&format!("{name} ")));
    let number = line.and_then(|line| line.rsplit(' ').next());
    number.and_then(|number| number.parse().ok()).unwrap()
}

#[test]
fn a_sandbox_like_the_last_one_has_a_jail_already_and_is_like_any_other() {
    let world = crate::world::repository();
    // A pool keeps what it can keep: jails over a frozen base.
    let served = Served::start_with(&world, &["--pool", "1"]);
    let client = served.client();
    let make = || {
        let told = json(
            &client
                .post("/v1/sandboxes", r#"{"base":"frozen"}"#)
                .expect(201),
        );
        told["sandbox"].clone()
    };
    let first = make();
    if first["tier"] != "full" {
        agar_testkit::skip!("pool", "jails wait in the full tier only");
    }
    until("a jail to stand ready", || {
        counter(&client, "agar_pool_ready") == 1
    });
    let second = make();
    assert_eq!(counter(&client, "agar_pool_taken_total"), 1);
    assert_eq!(second["limits"], first["limits"]);
    let id = second["id"].as_str().unwrap();
    let body = value!({ "command": "cat notes.txt | head -1; echo more > more.txt" });
    let ran = json(&client.post(&format!("/v1/sandboxes/{id}/exec"), &body.to_string()));
    assert_eq!(ran["stdout"], "first\n");
    let diff = json(&client.get(&format!("/v1/sandboxes/{id}/diff")).expect(200));
    assert_eq!(diff["changes"]["files"][0]["path"], "more.txt");
    // It outlives the server like any other; the jail that waits does not.
    served.stop();
    let ran = world.agar(["exec", id, "--", "cat", "more.txt"]).success();
    assert_eq!(ran.stdout, "more\n");
    world.agar(["rm", "--all", "--force"]).success();
}
