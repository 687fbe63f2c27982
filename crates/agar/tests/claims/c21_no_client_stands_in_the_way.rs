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
fn clients_that_never_come_to_the_point_are_left() {
    let world = World::with_repository(AGAR);
    let served = Served::start(&world);
    let begin = |text: &str| {
        let mut socket = connect(served.address);
        socket.write_all(text.as_bytes()).unwrap();
        socket
    };
    let head = format!(
        "POST /v1/suggestions HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\ncontent-length: 100\r\n\r\n{{",
        served.address, served.token
    );
    // Headers that do not end, and a body that does not come.
    let slow = [begin("GET /healthz HTTP/1.1\r\nhost: x"), begin(&head)];
    for mut socket in slow {
        let mut told = Vec::new();
        drop(socket.read_to_end(&mut told));
        let told = String::from_utf8_lossy(&told);
        assert!(
            told.is_empty() || told.starts_with("HTTP/1.1 408"),
            "{told}"
        );
    }
    served.client().get("/healthz").expect(200);
    served.stop();
}

#[test]
fn headers_without_end_are_cut_short() {
    let world = World::with_repository(AGAR);
    let served = Served::start(&world);
    let mut socket = connect(served.address);
    socket.write_all(b"GET /healthz HTTP/1.1\r\n").unwrap();
    let line = format!("x-more: {}\r\n", "y".repeat(4000));
    let mut sent = 0;
    while sent < (16 << 20) && socket.write_all(line.as_bytes()).is_ok() && !has_answered(&socket) {
        sent += line.len();
    }
    assert!(sent < (16 << 20), "{sent} bytes of headers were taken");
    served.client().get("/healthz").expect(200);
    served.stop();
}

#[test]
fn a_viewer_that_does_not_read_holds_up_nobody() {
    let world = World::with_repository(AGAR);
    let served = Served::start(&world);
    let client = served.client();
    let told = client.post("/v1/sandboxes", "{}").expect(201).text();
    let from = told.find("\"id\":\"").unwrap() + 6;
    let id = &told[from..from + 36];
    let path = format!("/v1/sandboxes/{id}/terminal");
    // Connected, and never read from.
    let deaf: Vec<_> = (0..3).map(|_| client.socket(&path)).collect();
    let mut viewer = client.socket(&path);
    viewer.until("[");
    // Far more than all the buffers on the way hold.
    viewer.send(b"seq 1 400000; echo fi''nished\r");
    viewer.until("finished");
    // There is an end to how many look at once.
    let mut more = Vec::new();
    let full = (0..200).any(|_| match client.upgrade(&path) {
        Ok(socket) => {
            more.push(socket);
            false
        }
        Err(answer) => answer.status == 429,
    });
    assert!(full, "{} more terminals were opened", more.len());
    drop((deaf, more, viewer));
    until("the viewers to be gone", || {
        let told = client.get("/metrics").text();
        told.contains("agar_http_terminals 0\n")
    });
    world.agar(["rm", "--all", "--force"]).success();
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
