//! C21: no client stands in the way of the others, nor fills the machine.
//!
//! Bodies without end, headers without end, connections that say nothing, streams by the hundred
//! that nobody reads: each is bounded, and the person's own request is answered meanwhile.

use crate::AGAR;
use agar_testkit::World;
use agar_testkit::http::{Served, connect};
use agar_testkit::wait::until;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

#[test]
fn bodies_that_are_too_large_are_refused_unread() {
    let world = World::with_repository(AGAR);
    let served = Served::start(&world);
    let client = served.client();
    // Said to be large, and not sent.
    let claims = client.clone().with("content-length", "99999999999");
    claims.post("/v1/sandboxes", "{}").expect(413);
    // Sent without saying how large.
    let mut socket = connect(served.address);
    let head = format!(
        "POST /v1/sandboxes HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n",
        served.address, served.token
    );
    socket.write_all(head.as_bytes()).unwrap();
    let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x10000));
    // It stops reading, and then the socket breaks.
    while socket.write_all(chunk.as_bytes()).is_ok() && !has_answered(&socket) {}
    let mut told = Vec::new();
    drop(socket.read_to_end(&mut told));
    assert!(
        told.is_empty() || told.starts_with(b"HTTP/1.1 413"),
        "{told:?}"
    );
    let deep = format!(
        "{{\"text\": {}1{}}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    client.post("/v1/suggestions", &deep).expect(400);
    let long = format!("{{\"text\": \"{}\"}}", "x".repeat(900_000));
    client.post("/v1/suggestions", &long).expect(400);
    client.get("/healthz").expect(200);
    served.stop();
}

fn has_answered(socket: &TcpStream) -> bool {
    socket.set_nonblocking(true).unwrap();
    let answered = !matches!(socket.peek(&mut [0]), Err(error) if error.kind() == std::io::ErrorKind::WouldBlock);
    socket.set_nonblocking(false).unwrap();
    answered
}

#[test]
fn clients_that_say_nothing_hold_nobody_up() {
    let world = World::with_repository(AGAR);
    let served = Served::start(&world);
    let silent: Vec<TcpStream> = (0..200)
        .map(|number| {
            let mut socket = connect(served.address);
            if number % 2 == 0 {
                socket
                    .write_all(b"GET /v1/sandboxes HTTP/1.1\r\nhost: x")
                    .unwrap();
            }
            socket
        })
        .collect();
    for _ in 0..5 {
        served.client().get("/v1/sandboxes").expect(200);
    }
    // They are not waited for at the end either.
    served.stop();
    drop(silent);
}

#[test]
fn streams_are_bounded_and_unread_ones_do_not_grow() {
    let world = World::with_repository(AGAR);
    let served = Served::start(&world);
    let client = served.client();
    let request = format!(
        "GET /v1/events HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n\
         accept: text/event-stream\r\n\r\n",
        served.address, served.token
    );
    let mut open = Vec::new();
    let mut refused = false;
    for _ in 0..600 {
        let mut socket = connect(served.address);
        socket.write_all(request.as_bytes()).unwrap();
        let mut head = [0; 12];
        socket.read_exact(&mut head).unwrap();
        refused |= head == *b"HTTP/1.1 429";
        open.push(socket);
    }
    assert!(refused, "600 streams were opened");
    // Nobody reads them; what happens is still done and told to whoever asks.
    client
        .post("/v1/suggestions", r#"{"text": "x"}"#)
        .expect(201);
    let told = client.get("/v1/events?limit=100").expect(200).text();
    assert!(told.contains("suggestion.offered"), "{told}");
    // Once they go, there is room again.
    drop(open);
    until("the streams to be gone", || {
        client
            .get("/metrics")
            .text()
            .contains("agar_http_streams 0\n")
    });
    served.stop();
}

#[test]
fn guessing_is_slowed_down_and_slows_nobody_else() {
    let world = World::with_repository(AGAR);
    let served = Served::start(&world);
    let guess = served.stranger().with("authorization", "Bearer guess");
    let statuses: Vec<u16> = (0..120)
        .map(|_| guess.get("/v1/sandboxes").status)
        .collect();
    assert!(statuses.contains(&429), "{statuses:?}");
    assert!(statuses.iter().all(|status| matches!(status, 401 | 429)));
    served.client().get("/v1/sandboxes").expect(200);
    served.stop();
}
