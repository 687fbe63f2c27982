//! Many at once: streams that share one reader, terminals beside them, and commands by the hundred.

use super::{json, served};
use agar_testkit::Weight;
use agar_testkit::http::Client;
use agar_testkit::keepers;
use agar_testkit::leaks::processes_in;
use agar_testkit::wait::until;
use agar_testkit::websocket::Message;
use serde_json::{Value, json as value};
use std::collections::BTreeMap;

fn made(client: &Client) -> String {
    let made = json(&client.post("/v1/sandboxes", "{}").expect(201));
    made["sandbox"]["id"].as_str().unwrap().to_owned()
}

fn execute(client: &Client, id: &str, command: &str) -> Value {
    let body = value!({ "command": command }).to_string();
    let path = format!("/api/sandbox/{id}/execute");
    json(&client.post(&path, &body).expect(200))
}

#[track_caller]
fn wait_for_counts(client: &Client, counts: &[(&str, u32)]) {
    let mut told = String::new();
    let lines: Vec<String> = counts
        .iter()
        .map(|(name, count)| format!("agar_http_{name} {count}\n"))
        .collect();
    until(&format!("{lines:?}"), || {
        told = client.get("/metrics").text();
        lines.iter().all(|line| told.contains(line))
    });
}

/// So many numbered lines.
fn lines(before: &str, count: u32) -> String {
    let lines: Vec<String> = (1..=count).map(|n| format!("{before}{n}\n")).collect();
    lines.concat()
}

/// What a client heard.
#[derive(Debug, Default, PartialEq, Eq)]
struct Heard {
    events: Vec<u64>,
    printed: BTreeMap<u64, String>,
}

/// Hears everything until there is nothing more to hear. A client that is left because it was slow
/// comes back with the last id it has, as a browser does.
fn hear(client: &Client, id: &str, before: impl FnOnce()) -> Heard {
    let path = format!("/api/sandbox/{id}/stream");
    let mut heard = Heard::default();
    let mut stream = client.follow(&path);
    before();
    let mut last = String::new();
    loop {
        let mut count = 0;
        for (id, data) in stream.by_ref() {
            count += 1;
            assert_ne!(id, last, "an id says where its reader is");
            last = id;
            let data: Value = serde_json::from_str(&data).unwrap();
            match (data["number"].as_u64(), data["run"].as_u64()) {
                (Some(number), _) => heard.events.push(number),
                (None, Some(run)) => {
                    let text = data["text"].as_str().unwrap();
                    heard.printed.entry(run).or_default().push_str(text);
                }
                (None, None) => panic!("{data}"),
            }
        }
        if count == 0 {
            return heard;
        }
        stream = client.clone().with("last-event-id", &last).follow(&path);
    }
}

/// The numbers of everything that happened to a sandbox.
fn journal(client: &Client, id: &str) -> Vec<u64> {
    let page = json(
        &client
            .get(&format!("/v1/sandboxes/{id}/events?limit=500"))
            .expect(200),
    );
    let events = page["events"].as_array().unwrap().iter();
    events
        .map(|event| event["number"].as_u64().unwrap())
        .collect()
}

#[test]
fn streams_and_terminals_at_once_lose_nothing_and_share_one_reader() {
    const STREAMS: u32 = 20;
    const TERMINALS: u32 = 5;
    let (world, served) = served();
    let client = served.client();
    let id = made(&client);
    std::thread::scope(|scope| {
        let listeners: Vec<_> = (0..STREAMS)
            .map(|_| scope.spawn(|| hear(&client, &id, || {})))
            .collect();
        wait_for_counts(&client, &[("streams", STREAMS), ("stream_readers", 1)]);
        let viewers: Vec<_> = (0..TERMINALS)
            .map(|number| {
                let client = &client;
                scope.spawn(move || type_and_see(client, &made(client), number))
            })
            .collect();
        for run in 1..=4 {
            // Kept when it goes, because it changed something.
            let line = format!("touch changed.txt; for n in $(seq 200); do echo {run} $n; done");
            assert_eq!(execute(&client, &id, &line)["exitCode"], 0);
        }
        for viewer in viewers {
            viewer.join().unwrap();
        }
        world.agar(["rm", "--all", "--force"]).success();
        let expected = Heard {
            events: journal(&client, &id),
            printed: (1..=4)
                .map(|run| (run, lines(&format!("{run} "), 200)))
                .collect(),
        };
        for listener in listeners {
            assert_eq!(listener.join().unwrap(), expected);
        }
    });
    // What is gone is not read any more.
    let none = [("streams", 0), ("stream_readers", 0), ("terminals", 0)];
    wait_for_counts(&client, &none);
    served.stop();
}

/// Looks at the terminal, types and sees each line answered.
fn type_and_see(client: &Client, id: &str, number: u32) {
    let mut socket = client.socket(&format!("/v1/sandboxes/{id}/terminal?plain=true"));
    let hello = socket.next_message();
    assert!(matches!(hello, Some(Message::Text(_))), "{hello:?}");
    // A terminal that is still being set up swallows keys.
    let shown = socket.next_message();
    assert!(matches!(shown, Some(Message::Binary(_))), "{shown:?}");
    for line in 0..10 {
        let keys = format!("echo \"v{number}-$(({line}+1000))\"\r");
        socket.send(keys.as_bytes());
        socket.until(&format!("v{number}-{}", line + 1000));
    }
}

#[test]
fn a_client_that_falls_behind_hears_everything_once() {
    let (world, served) = served();
    let client = served.client();
    let id = made(&client);
    // Far more than the ring and all the buffers on the way hold; nobody reads meanwhile. What
    // changed something is kept for a while when it goes, and what was printed with it.
    let heard = hear(&client, &id, || {
        let answer = execute(&client, &id, "seq 1000000; touch changed.txt");
        assert_eq!(answer["truncated"], false);
        world.agar(["rm", "--force", &id]).success();
    });
    assert_eq!(heard.events, journal(&client, &id));
    // Not shown: it is long.
    assert!(heard.printed[&1] == lines("", 1_000_000) && heard.printed.len() == 1);
    served.stop();
}

#[test]
fn the_last_to_leave_ends_the_reader_and_the_next_begins_another() {
    let (world, served) = served();
    let client = served.client();
    let ids = [made(&client), made(&client)];
    for _ in 0..2 {
        let streams: Vec<_> = ids
            .iter()
            .chain(&ids)
            .map(|id| {
                let mut stream = client.follow(&format!("/api/sandbox/{id}/stream"));
                stream.find(|(_, data)| data.contains("sandbox.created"));
                stream
            })
            .collect();
        let project = client.follow("/v1/events");
        wait_for_counts(&client, &[("streams", 5), ("stream_readers", 3)]);
        drop((streams, project));
        wait_for_counts(&client, &[("streams", 0), ("stream_readers", 0)]);
    }
    world.agar(["rm", "--all", "--force"]).success();
    served.stop();
}

#[test]
fn commands_leave_neither_descriptors_nor_processes_behind() {
    let (world, served) = served();
    let client = served.client();
    let id = made(&client);
    let some = |count: usize| {
        for number in 0..count {
            let answer = execute(&client, &id, &format!("echo {number}"));
            assert_eq!(answer["output"], format!("{number}\n"));
        }
    };
    let weigh = || {
        let weight = Weight::of(served.id());
        let all = processes_in(world.root()).len();
        (weight.descriptors, weight.children, all)
    };
    some(20);
    let before = weigh();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| some(50));
        }
    });
    let mut after = before;
    until(&format!("no more than {before:?} to be left"), || {
        after = weigh();
        after.0 <= before.0 && after.1 <= before.1 && after.2 <= before.2
    });
    world.agar(["rm", "--force", &id]).success();
    served.stop();
}

#[test]
fn a_status_asked_for_all_the_time_still_notices_a_crash_and_leaves_nothing_open() {
    let (world, served) = served();
    let client = served.client();
    let id = made(&client);
    let state = || {
        let path = format!("/api/sandbox/{id}/status");
        json(&client.get(&path).expect(200))["state"].clone()
    };
    assert_eq!(state(), "running");
    let before = Weight::of(served.id()).descriptors;
    for _ in 0..50 {
        assert_eq!(state(), "running");
    }
    client.get("/api/sandbox/no-such/status").expect(404);
    let root = world.state().join("agar");
    let keeper = keepers::of_sandbox(&root, &root.join("sandboxes").join(&id));
    keepers::kill(keeper.unwrap());
    until("the crash to be noticed", || state() != "running");
    // Once nobody asks, nothing is held open for them.
    until("what was opened to be closed", || {
        Weight::of(served.id()).descriptors < before
    });
    world.agar(["rm", "--force", &id]).success();
    served.stop();
}
