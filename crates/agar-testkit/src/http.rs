//! A small HTTP client that says exactly what a test wants said, and a server to say it to.
//!
//! Plain sockets on purpose: half of the tests send what no library would.

use crate::invocation::Running;
use crate::wait::{PATIENCE, until};
use crate::world::World;
use std::io::{self, BufRead, BufReader, Read, Write as _};
use std::net::{SocketAddr, TcpStream};

/// What a server answered.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The headers, names in small letters.
    pub headers: Vec<(String, String)>,
    /// The body, without its framing.
    pub body: Vec<u8>,
}

impl Answer {
    /// The first header of this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The answer, if it has this status; else a panic that shows it.
    #[track_caller]
    #[expect(
        clippy::return_self_not_must_use,
        reason = "many tests want only the check"
    )]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text());
        self
    }
}

/// Talks to one server.
#[derive(Debug, Clone)]
pub struct Client {
    /// Where it is.
    pub address: SocketAddr,
    /// What is sent with every request.
    pub headers: Vec<(String, String)>,
}

impl Client {
    /// The same with one more header.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same without a header.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self
    }

    /// Asks for something.
    #[track_caller]
    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, b"")
    }

    /// Tells something, as JSON.
    #[track_caller]
    pub fn post(&self, path: &str, body: &str) -> Answer {
        let client = self.clone().with("content-type", "application/json");
        client.send("POST", path, body.as_bytes())
    }

    /// Sends a request and reads the whole answer.
    #[track_caller]
    pub fn send(&self, method: &str, path: &str, body: &[u8]) -> Answer {
        let client = self.clone().with("connection", "close");
        let (head, mut reader) = client.begin(method, path, body);
        let mut body = Vec::new();
        // A server may close a connection whose request it does not read.
        drop(reader.read_to_end(&mut body));
        Answer { body, ..head }
    }

    /// Sends a request and follows the stream of events that is its answer.
    #[track_caller]
    pub fn follow(&self, path: &str) -> Events {
        let client = self.clone().with("accept", "text/event-stream");
        let (head, reader) = client.begin("GET", path, b"");
        assert_eq!(head.status, 200, "{path}");
        Events { reader }
    }

    /// The same for a request with a body.
    #[track_caller]
    pub fn follow_post(&self, path: &str, body: &str) -> Events {
        let client = self.clone().with("accept", "text/event-stream");
        let client = client.with("content-type", "application/json");
        let (head, reader) = client.begin("POST", path, body.as_bytes());
        assert_eq!(head.status, 200, "{path}");
        Events { reader }
    }

    #[track_caller]
    fn begin(&self, method: &str, path: &str, body: &[u8]) -> (Answer, Box<dyn BufRead>) {
        let mut socket = connect(self.address);
        let mut text = self.words(method, path);
        if !self
            .headers
            .iter()
            .any(|(name, _)| name == "content-length")
        {
            text.extend(["content-length: ", &body.len().to_string(), "\r\n"]);
        }
        text.push_str("\r\n");
        // Whoever refuses a body may not read it.
        let sent = socket.write_all(text.as_bytes());
        drop(sent.and_then(|()| socket.write_all(body)));
        let mut reader = BufReader::new(socket);
        let answer = read_head(&mut reader);
        let reader: Box<dyn BufRead> = match answer.header("transfer-encoding") {
            Some("chunked") => Box::new(BufReader::new(Chunks { reader, left: 0 })),
            _ => Box::new(reader),
        };
        (answer, reader)
    }

    /// Asks to speak otherwise from here on: the answer, and the connection behind it. An answer that
    /// is a refusal has its body.
    #[track_caller]
    pub(crate) fn switch(&self, path: &str) -> (Answer, TcpStream) {
        let mut socket = connect(self.address);
        let text = self.words("GET", path) + "\r\n";
        socket.write_all(text.as_bytes()).expect("the server reads");
        // One byte at a time: what follows the head is not ours to read.
        let mut answer = read_head(&mut BufReader::with_capacity(1, &socket));
        if answer.status != 101 {
            let length = answer
                .header("content-length")
                .and_then(|it| it.parse().ok());
            let rest = (&socket).take(length.unwrap_or(0));
            drop(BufReader::new(rest).read_to_end(&mut answer.body));
        }
        (answer, socket)
    }

    /// The first line of a request and its headers.
    fn words(&self, method: &str, path: &str) -> String {
        let mut text = format!("{method} {path} HTTP/1.1\r\n");
        if !self.headers.iter().any(|(name, _)| name == "host") {
            text.extend(["host: ", &self.address.to_string(), "\r\n"]);
        }
        for (name, value) in &self.headers {
            text.extend([name, ": ", value, "\r\n"]);
        }
        text
    }
}

/// A connection that does not wait for ever.
#[track_caller]
pub fn connect(address: SocketAddr) -> TcpStream {
    let socket = TcpStream::connect(address).expect("the server can be reached");
    socket
        .set_read_timeout(Some(PATIENCE))
        .expect("a time can be set");
    socket
}

#[track_caller]
fn read_head(reader: &mut impl BufRead) -> Answer {
    let first = line(reader).expect("the server answers");
    let status = first.split(' ').nth(1).and_then(|text| text.parse().ok());
    let mut headers = Vec::new();
    while let Some(text) = line(reader).filter(|text| !text.is_empty()) {
        let (name, value) = text.split_once(':').expect("a header has a name");
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    Answer {
        status: status.unwrap_or_else(|| panic!("`{first}` is not an answer")),
        headers,
        body: Vec::new(),
    }
}

fn line(reader: &mut impl BufRead) -> Option<String> {
    let mut text = String::new();
    match reader.read_line(&mut text) {
        Ok(1..) => Some(text.trim_end_matches(['\r', '\n']).to_owned()),
        Ok(0) | Err(_) => None,
    }
}

/// A body that comes in chunks.
struct Chunks<R> {
    reader: R,
    left: usize,
}

impl<R: BufRead> Read for Chunks<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            let size = line(&mut self.reader).unwrap_or_default();
            let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
            if size == 0 {
                return Ok(0);
            }
            self.left = size;
        }
        let wanted = self.left.min(buffer.len());
        let count = self.reader.read(&mut buffer[..wanted])?;
        self.left -= count;
        if self.left == 0 {
            line(&mut self.reader);
        }
        Ok(count)
    }
}

/// A stream of events.
pub struct Events {
    reader: Box<dyn BufRead>,
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events").finish_non_exhaustive()
    }
}

impl Iterator for Events {
    /// The id and the data of a message; comments are skipped.
    type Item = (String, String);

    fn next(&mut self) -> Option<(String, String)> {
        let (mut id, mut data) = (String::new(), Vec::new());
        loop {
            let text = line(&mut self.reader)?;
            if let Some(value) = text.strip_prefix("id: ") {
                value.clone_into(&mut id);
            } else if let Some(value) = text.strip_prefix("data: ") {
                data.push(value.to_owned());
            } else if text.is_empty() && !data.is_empty() {
                return Some((id, data.join("\n")));
            }
        }
    }
}

/// A server of a world.
#[derive(Debug)]
pub struct Served {
    running: Option<Running>,
    /// Where it listens.
    pub address: SocketAddr,
    /// The token for programs.
    pub token: String,
    /// The secret of the link that works once.
    pub key: String,
}

impl Served {
    /// Starts `agar serve` in the world's project and waits until it listens.
    #[track_caller]
    pub fn start(world: &World) -> Self {
        Self::start_with(world, &[])
    }

    /// The same with further words on its command line.
    #[track_caller]
    pub fn start_with(world: &World, more: &[&str]) -> Self {
        let command = ["serve", "--port", "0", "--json", "--grace", "2"];
        let running = world.command(command).args(more).spawn();
        until("the server to listen", || running.printed().contains('\n'));
        let said = running.printed();
        let field = |name: &str| {
            let from = said.find(&format!("\"{name}\":\"")).expect("a field") + name.len() + 4;
            said[from..]
                .split('"')
                .next()
                .unwrap_or_default()
                .to_owned()
        };
        let link = field("link");
        let token = fs_err::read_to_string(field("token_file")).expect("the token is there");
        Self {
            running: Some(running),
            address: field("address").parse().expect("an address"),
            token: token.trim().to_owned(),
            key: link.split("key=").nth(1).unwrap_or_default().to_owned(),
        }
    }

    /// A client that may ask.
    pub fn client(&self) -> Client {
        self.stranger()
            .with("authorization", &format!("Bearer {}", self.token))
    }

    /// A client that may not.
    pub fn stranger(&self) -> Client {
        Client {
            address: self.address,
            headers: Vec::new(),
        }
    }

    /// The process of the server.
    pub fn id(&self) -> u32 {
        self.running.as_ref().map_or(0, Running::id)
    }

    /// Asks it to end, and waits for it.
    #[track_caller]
    pub fn stop(self) {
        self.stop_and_read();
    }

    /// The same; gives what it said on stderr.
    #[track_caller]
    pub fn stop_and_read(mut self) -> String {
        let running = self.running.take().expect("the server runs");
        running.signal(rustix::process::Signal::TERM);
        let outcome = running.finish();
        assert_eq!(outcome.code(), 0, "{outcome}");
        outcome.stderr
    }

    /// Ends it as a power failure would.
    pub fn kill(mut self) {
        if let Some(mut running) = self.running.take() {
            running.kill();
        }
    }
}
