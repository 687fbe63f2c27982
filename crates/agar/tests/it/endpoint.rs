//! A scripted language model on loopback: what the tests ask instead of a real one.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

/// The place in a search that a question is about.
pub(crate) type Place = (u64, u64, u64);

/// A question, as the server got it.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// Which question it is, from zero.
    pub(crate) number: usize,
    /// Where in the search the child is wanted.
    pub(crate) place: Place,
    /// The whole body.
    pub(crate) body: Value,
    /// The question inside it.
    pub(crate) question: Value,
    /// The header that carries the key.
    pub(crate) key: String,
}

/// How a question is answered: a status, and what the model says or the raw body.
pub(crate) enum Said {
    /// What a model says.
    Words(String),
    /// A body with a status.
    Raw(u16, String),
}

#[derive(Default)]
struct Log {
    asked: Vec<Asked>,
    answered: BTreeMap<Place, Vec<String>>,
    /// Questions from this one on wait until it is lifted.
    hold: Option<usize>,
}

/// The server; it ends with the process of the test.
#[derive(Clone)]
pub(crate) struct Endpoint {
    port: u16,
    log: Arc<(Mutex<Log>, Condvar)>,
}

impl Endpoint {
    /// A server that answers like this.
    pub(crate) fn new(answer: impl Fn(&Asked) -> Said + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = Self {
            port: listener.local_addr().unwrap().port(),
            log: Arc::default(),
        };
        let (server, answer) = (endpoint.clone(), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (server, answer) = (server.clone(), Arc::clone(&answer));
                std::thread::spawn(move || server.serve(&stream, answer.as_ref()));
            }
        });
        endpoint
    }

    /// Its base address.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// Lets questions from this one on wait.
    pub(crate) fn hold_from(&self, number: Option<usize>) {
        self.log.0.lock().unwrap().hold = number;
        self.log.1.notify_all();
    }

    /// Everything that was asked so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.log.0.lock().unwrap().asked.clone()
    }

    /// What was said to each place, in order.
    pub(crate) fn answered(&self) -> BTreeMap<Place, Vec<String>> {
        self.log.0.lock().unwrap().answered.clone()
    }

    fn serve(&self, stream: &TcpStream, answer: &dyn Fn(&Asked) -> Said) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        while let Some((body, key)) = request(&mut reader) {
            let asked = self.note(body, key);
            let said = answer(&asked);
            let (status, body) = match &said {
                Said::Raw(status, body) => (*status, body.clone()),
                Said::Words(words) => {
                    let message = json!({ "role": "assistant", "content": words });
                    (
                        200,
                        json!({ "choices": [{ "message": message }] }).to_string(),
                    )
                }
            };
            if let Said::Words(words) = said {
                let mut log = self.log.0.lock().unwrap();
                log.answered.entry(asked.place).or_default().push(words);
            }
            let head = format!(
                "HTTP/1.1 {status} Said\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                body.len()
            );
            let mut out = reader.get_ref();
            // A client that was killed does not listen.
            if out.write_all((head + &body).as_bytes()).is_err() {
                break;
            }
        }
    }

    /// Writes a question down and waits until it may be answered.
    fn note(&self, body: Value, key: String) -> Asked {
        let question = body["messages"][1]["content"].as_str().unwrap_or_default();
        let question: Value = serde_json::from_str(question).unwrap_or_default();
        let at = |name: &str| question[name].as_u64().unwrap_or(u64::MAX);
        let mut log = self.log.0.lock().unwrap();
        let asked = Asked {
            number: log.asked.len(),
            place: (at("generation"), at("island"), at("place")),
            body,
            question,
            key,
        };
        log.asked.push(asked.clone());
        drop(
            self.log
                .1
                .wait_while(log, |log| log.hold.is_some_and(|from| asked.number >= from)),
        );
        asked
    }
}

/// One request: its body and its key.
fn request(reader: &mut BufReader<TcpStream>) -> Option<(Value, String)> {
    let (mut length, mut key) = (0, String::new());
    let mut line = String::new();
    loop {
        line.clear();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let text = line.trim_end();
        if text.is_empty() {
            break;
        }
        let Some((name, value)) = text.split_once(": ") else {
            continue;
        };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().ok()?,
            "authorization" => value.clone_into(&mut key),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((serde_json::from_slice(&body).unwrap_or_default(), key))
}
