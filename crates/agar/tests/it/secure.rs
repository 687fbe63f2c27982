//! Endpoints over TLS: only one whose certificate the machine trusts is told anything.
//!
//! The certificates beside this file were made for these tests, are good for a hundred years and for
//! 127.0.0.1, and nobody else trusts them.

use crate::endpoint::{Endpoint, Said};
use crate::world::plain;
use agar_testkit::World;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

const AUTHORITY: &str = include_str!("secure/authority.pem");
const SERVER: &str = include_str!("secure/server.pem");
const RELAY: &str = include_str!("secure/relay.py");

/// TLS in front of a model.
struct Relay {
    child: Child,
    port: u16,
}

impl Relay {
    fn new(world: &World, model: &Endpoint) -> Self {
        world.write("relay.py", RELAY);
        world.write("server.pem", SERVER);
        let plain = model.url();
        let plain = plain.trim_end_matches("/v1").rsplit(':').next().unwrap();
        let mut child = Command::new("python3")
            .args(["relay.py", "server.pem", plain])
            .current_dir(world.project())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let told = child.stdout.take().unwrap();
        BufReader::new(told).read_line(&mut line).unwrap();
        let port = line.trim().parse().unwrap();
        Self { child, port }
    }

    /// A search that asks there.
    fn file(&self) -> String {
        let port = self.port;
        format!(
            "[task]\nkind = 'regression'\ntarget = 'x^3 - 2*x + 1'\n\
             [search]\nseed = 4\npopulation = 8\noutside = 0.5\n\
             stop = {{ generations = 2, solved = false }}\n\
             [outside]\nendpoint = 'https://127.0.0.1:{port}/v1'\nkey_env = 'MODEL_KEY'\n"
        )
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
fn an_endpoint_over_tls_is_asked_only_where_its_certificate_is_trusted() {
    let world = plain();
    let model = Endpoint::new(|_| Said::Words("```\nx*x\n```".to_owned()));
    let relay = Relay::new(&world, &model);
    world.write("it.toml", relay.file());
    let run = |authority: Option<&str>| {
        let command = world.command(["evolve", "run", "it.toml"]);
        let command = command.env("MODEL_KEY", "secret-key");
        match authority {
            Some(name) => command.env("SSL_CERT_FILE", world.project().join(name)),
            None => command,
        }
        .run()
    };

    let told = run(None).expect_code(4).stderr;
    assert!(told.contains("certificate"), "{told}");
    let told = run(Some("nowhere.pem")).expect_code(2).stderr;
    assert!(told.contains("nowhere.pem"), "{told}");
    world.write("empty.pem", "");
    let told = run(Some("empty.pem")).expect_code(2).stderr;
    assert!(told.contains("there are none in it"), "{told}");
    assert_eq!(model.asked().len(), 0, "the key went to a stranger");

    world.write("authority.pem", AUTHORITY);
    run(Some("authority.pem")).success();
    let asked = model.asked();
    assert!(!asked.is_empty());
    assert_eq!(asked[0].key, "Bearer secret-key");
}
