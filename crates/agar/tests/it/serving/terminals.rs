//! Terminals over a `WebSocket`: the one that `agar attach` shows, for many, and for as long as it lives.

use super::{json, served};
use agar_testkit::http::{Client, Served};
use agar_testkit::wait::until;
use agar_testkit::websocket::{Message, Socket};
use agar_testkit::{Session, World};

fn made(client: &Client) -> String {
    let made = json(&client.post("/v1/sandboxes", "{}").expect(201));
    made["sandbox"]["id"].as_str().unwrap().to_owned()
}

/// Whether there is tmux or not.
const WAYS: [&str; 2] = ["", "?plain=true"];

/// A viewer that sees something: a terminal that is still being set up swallows keys.
#[track_caller]
fn viewer(client: &Client, id: &str, how: &str) -> Socket {
    let mut socket = client.socket(&format!("/v1/sandboxes/{id}/terminal{how}"));
    match socket.next_message() {
        Some(Message::Text(text)) => assert!(text.contains("\"type\":\"ready\""), "{text}"),
        other => panic!("{other:?}"),
    }
    match socket.next_message() {
        Some(Message::Binary(_)) => socket,
        other => panic!("{other:?}"),
    }
}

fn end(world: &World, id: &str, served: Served) {
    world.agar(["rm", "--force", id]).success();
    served.stop();
}

#[test]
fn viewers_share_one_terminal_and_the_last_to_leave_ends_nothing() {
    for how in WAYS {
        let (world, served) = served();
        let client = served.client();
        let id = made(&client);
        let mut first = viewer(&client, &id, how);
        let mut second = viewer(&client, &id, how);
        first.send(b"echo \"sum $((40+2))\"; word=kept\r");
        first.until("sum 42");
        second.until("sum 42");
        second.send("echo grü$((1))ße\r".as_bytes());
        first.until("grü1ße");
        // Both go without a word, as a browser does that is closed.
        drop((first, second));
        until("the viewers to be gone", || {
            client
                .get("/metrics")
                .text()
                .contains("agar_http_terminals 0\n")
        });
        let mut again = viewer(&client, &id, how);
        again.send(b"echo \"again $word\"\r");
        again.until("again kept");
        end(&world, &id, served);
    }
}

#[test]
fn ctrl_c_interrupts_and_a_new_size_is_known_inside() {
    for how in WAYS {
        let (world, served) = served();
        let client = served.client();
        let id = made(&client);
        let mut socket = viewer(&client, &id, how);
        // It says that it began once it would hear the key.
        let line = "sh -c 'trap \"echo cau\"\"ght; exit\" INT; echo be\"\"gun; while :; do sleep 0.1; done'\r";
        socket.send(line.as_bytes());
        socket.until("begun");
        socket.send(&[3]);
        socket.until("caught");
        socket.say(r#"{"type":"resize","rows":30,"columns":97}"#);
        // tmux keeps a line for itself, and a shell hears of it a moment later.
        socket.send(b"until stty size | grep -q ' 97$'; do :; done; echo wi''de\r");
        socket.until("wide");
        end(&world, &id, served);
    }
}

#[test]
fn it_is_the_terminal_that_attach_shows() {
    let (world, served) = served();
    let client = served.client();
    let id = made(&client);
    let mut socket = viewer(&client, &id, "?plain=true");
    let mut session = Session::start(world.command(["attach", &id]));
    session.expect("Ctrl-b d");
    socket.send(b"echo \"seen $((6*7))\"\r");
    session.expect("seen 42");
    session.send("echo \"back $((7*7))\"\r");
    socket.until("back 49");
    drop(session);
    end(&world, &id, served);
}

#[test]
fn a_terminal_that_is_over_says_so_and_the_next_viewer_opens_another() {
    for how in WAYS {
        let (world, served) = served();
        let client = served.client();
        let id = made(&client);
        let mut socket = viewer(&client, &id, how);
        socket.send(b"exit\r");
        let (mut said, mut code) = (String::new(), 0);
        while let Some(message) = socket.next_message() {
            match message {
                Message::Text(text) => said = text,
                Message::Close(with, _) => code = with,
                Message::Binary(_) => {}
            }
        }
        assert_eq!(
            (said.as_str(), code),
            ("{\"type\":\"over\"}", 1000),
            "{how}"
        );
        let mut next = viewer(&client, &id, how);
        next.send(b"echo an''other\r");
        next.until("another");
        end(&world, &id, served);
    }
}

#[test]
fn a_server_that_stops_says_goodbye_and_the_terminal_goes_on() {
    let (world, served) = served();
    let client = served.client();
    let id = made(&client);
    let mut socket = viewer(&client, &id, "");
    socket.send(b"word=kept; echo re''ady\r");
    socket.until("ready");
    let listener = std::thread::spawn(move || socket.end());
    served.stop();
    let (code, _) = listener.join().unwrap().unwrap();
    assert_eq!(code, 1001, "going away");
    let served = Served::start(&world);
    let mut again = viewer(&served.client(), &id, "");
    again.send(b"echo \"again $word\"\r");
    again.until("again kept");
    end(&world, &id, served);
}

#[test]
fn what_cannot_be_shown_is_refused_before_anything_is_switched() {
    let (world, served) = served();
    let client = served.client();
    let id = made(&client);
    let path = format!("/v1/sandboxes/{id}/terminal");
    client.get(&path).expect(400);
    for how in ["?rows=0", "?columns=70000", "?rows=x"] {
        let refused = client.upgrade(&format!("{path}{how}")).unwrap_err();
        assert_eq!(refused.status, 400, "{how}: {}", refused.text());
    }
    let refused = client.upgrade("/v1/sandboxes/no-such/terminal");
    assert_eq!(refused.unwrap_err().status, 404);
    // Neither do words that nobody understands change anything.
    for words in ["resize", "{}", r#"{"type":"resize","rows":0,"columns":1}"#] {
        let mut socket = viewer(&client, &id, "");
        socket.say(words);
        assert_eq!(socket.end().map(|(code, _)| code), Some(1003), "{words}");
    }
    // A message that is too large ends its own connection.
    let mut socket = viewer(&client, &id, "");
    drop(socket.frame(2, &vec![b'x'; 100 << 10]));
    socket.end();
    client.get("/healthz").expect(200);
    end(&world, &id, served);
}
