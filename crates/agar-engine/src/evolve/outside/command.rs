//! A command that makes children: a line of JSON in, a line of JSON out, in a sandbox.
//!
//! It is started when it is first asked and asked again for as long as it answers. One that is late
//! or says nonsense is ended, since what it says next could belong to the question before.

use super::answer::from_json;
use super::wish::OutsideWish;
use super::{EngineError, held};
use crate::process_cell::Sandboxes;
use crate::{Engine, SandboxOptions, Surroundings};
use agar_core::walls::Network;
use agar_evolve::outside::{NoChild, Question};
use agar_evolve::{Code, Launcher, Life};
use std::fmt;
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The longest line that is read.
const LINE_MAX: u64 = 1 << 20;

/// Programs that were started and wait for a question.
pub(super) struct Commands {
    launcher: Box<dyn Launcher>,
    timeout: Duration,
    idle: Mutex<Vec<Talk>>,
}

impl fmt::Debug for Commands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Commands")
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

impl Commands {
    pub(super) fn new(engine: &Engine, wish: &OutsideWish) -> Result<Self, EngineError> {
        let around = engine.surroundings();
        let beside = Engine::open(Surroundings {
            cwd: wish.directory.clone().unwrap_or_else(|| around.cwd.clone()),
            ..around.clone()
        })?;
        let options = SandboxOptions {
            network: wish.network.then_some(Network::Host),
            note: Some("makes children for a search".to_owned()),
            ..SandboxOptions::default()
        };
        let launcher = Sandboxes::new(&beside, options, wish.command.iter());
        Ok(Self::launched_by(
            Box::new(launcher),
            Duration::from_secs(wish.timeout_s),
        ))
    }

    fn launched_by(launcher: Box<dyn Launcher>, timeout: Duration) -> Self {
        Self {
            launcher,
            timeout,
            idle: Mutex::default(),
        }
    }

    /// Asks one of the programs, or a new one.
    pub(super) fn ask(&self, question: &Question) -> Result<Code, NoChild> {
        let mut line = serde_json::to_string(question).map_err(|error| NoChild::Nonsense {
            words: error.to_string(),
        })?;
        line.push('\n');
        let idle = held(&self.idle).pop();
        let mut talk = match idle {
            Some(talk) => talk,
            None => self.start()?,
        };
        let answer = talk.ask(&line, self.timeout);
        let code = answer.and_then(|answer| from_json(&answer, question.arguments));
        match &code {
            Ok(_) | Err(NoChild::Refused { .. } | NoChild::NotCode { .. }) => {
                held(&self.idle).push(talk);
            }
            Err(_) => talk.life.end(),
        }
        code
    }

    fn start(&self) -> Result<Talk, NoChild> {
        let launched = self.launcher.launch();
        let (stream, life) = launched.map_err(|why| NoChild::Gone {
            words: why.to_string(),
        })?;
        Ok(Talk {
            stream,
            life,
            read: Vec::new(),
        })
    }
}

/// A conversation with one program.
struct Talk {
    stream: UnixStream,
    life: Box<dyn Life>,
    /// What came after the last line.
    read: Vec<u8>,
}

impl Talk {
    fn ask(&mut self, line: &str, timeout: Duration) -> Result<String, NoChild> {
        let late = || NoChild::Timeout {
            seconds: timeout.as_secs(),
        };
        let deadline = Instant::now() + timeout;
        let explain = |error: &std::io::Error| {
            if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) {
                return late();
            }
            NoChild::Gone {
                words: error.to_string(),
            }
        };
        let left = || {
            let left = deadline.saturating_duration_since(Instant::now());
            (!left.is_zero()).then_some(left).ok_or_else(late)
        };
        self.stream
            .set_write_timeout(Some(left()?))
            .and_then(|()| self.stream.write_all(line.as_bytes()))
            .map_err(|error| explain(&error))?;
        let mut some = [0; 4_096];
        loop {
            if let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                let rest = self.read.split_off(end + 1);
                let line = std::mem::replace(&mut self.read, rest);
                return Ok(String::from_utf8_lossy(&line).into_owned());
            }
            if self.read.len() as u64 >= LINE_MAX {
                return Err(NoChild::TooLong { limit: LINE_MAX });
            }
            let count = self
                .stream
                .set_read_timeout(Some(left()?))
                .and_then(|()| self.stream.read(&mut some))
                .map_err(|error| explain(&error))?;
            if count == 0 {
                return Err(NoChild::Gone {
                    words: "the command ended without an answer".to_owned(),
                });
            }
            self.read.extend(some.iter().take(count));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agar_evolve::Unlaunched;
    use agar_evolve::outside::Wanted;
    use std::io::{BufRead as _, BufReader};

    /// Answers each line by what it is asked for, from a thread.
    struct Script(fn(u32, &mut UnixStream));

    struct Ended;

    impl Life for Ended {
        fn end(&mut self) {}
    }

    impl Launcher for Script {
        fn launch(&self) -> Result<(UnixStream, Box<dyn Life>), Unlaunched> {
            let answer = self.0;
            let (ours, mut stream) = UnixStream::pair()?;
            let reader = BufReader::new(stream.try_clone()?);
            std::thread::spawn(move || {
                let lines = reader.lines().map_while(Result::ok);
                (0..)
                    .zip(lines)
                    .for_each(|(number, _)| answer(number, &mut stream));
            });
            Ok((ours, Box::new(Ended)))
        }
    }

    fn question() -> Question {
        Question {
            wanted: Wanted {
                generation: 1,
                island: 0,
                place: 2,
            },
            seed: 7,
            task: "regression".to_owned(),
            arguments: 1,
            nodes_max: 63,
            parents: Vec::new(),
            best: None,
            failures: Vec::new(),
        }
    }

    fn word(script: fn(u32, &mut UnixStream)) -> &'static str {
        within(Duration::from_mins(1), script)
    }

    fn within(timeout: Duration, script: fn(u32, &mut UnixStream)) -> &'static str {
        let commands = Commands::launched_by(Box::new(Script(script)), timeout);
        match commands.ask(&question()) {
            Ok(_) => "child",
            Err(reason) => reason.word(),
        }
    }

    fn say(stream: &mut UnixStream, text: &str) {
        drop(stream.write_all(text.as_bytes()));
    }

    #[test]
    fn every_way_to_fail_has_a_word_of_its_own() {
        assert_eq!(word(|_, out| say(out, "{\"formula\": \"x\"}\n")), "child");
        assert_eq!(word(|_, out| say(out, "{\"error\": \"no\"}\n")), "refused");
        assert_eq!(word(|_, out| say(out, "hello\n")), "nonsense");
        assert_eq!(
            word(|_, out| say(out, "{\"formula\": \"x +\"}\n")),
            "not_code"
        );
        let soon = Duration::from_millis(50);
        assert_eq!(within(soon, |_, _| {}), "timeout");
        assert_eq!(within(soon, |_, out| say(out, "half a line")), "timeout");
        let shut = |_: u32, out: &mut UnixStream| drop(out.shutdown(std::net::Shutdown::Both));
        assert_eq!(word(shut), "gone");
        assert_eq!(word(|_, out| say(out, &"x".repeat(2 << 20))), "too_long");
    }

    #[test]
    fn a_program_that_answers_is_asked_again_and_one_that_babbles_is_not() {
        let commands = Commands::launched_by(
            Box::new(Script(|number, out| match number {
                0 => say(out, "{\"formula\": \"x\"}\n"),
                1 => say(out, "{\"formula\": \"x + 1\"}\n"),
                _ => say(out, "nonsense\n"),
            })),
            Duration::from_secs(10),
        );
        let text = |code: Code| code.words();
        assert_eq!(commands.ask(&question()).map(text), Ok("x".to_owned()));
        assert_eq!(commands.ask(&question()).map(text), Ok("x + 1".to_owned()));
        assert!(commands.ask(&question()).is_err());
        // A new one begins from the beginning.
        assert_eq!(commands.ask(&question()).map(text), Ok("x".to_owned()));
    }
}
