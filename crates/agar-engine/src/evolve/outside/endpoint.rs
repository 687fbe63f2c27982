//! A language model that makes children, behind an API that speaks OpenAI's chat completions.
//!
//! Nothing is followed elsewhere: no redirect, no proxy from the environment. The key comes from the
//! caller's environment, goes into one header, and is struck out of whatever the other side says.

use super::EngineError;
use super::answer::{from_words, some};
use super::roots::roots;
use super::wish::OutsideWish;
use crate::Engine;
use agar_evolve::Code;
use agar_evolve::outside::{NoChild, Question};
use serde::Deserialize;
use serde_json::json;
use std::fmt;
use std::time::Duration;
use ureq::tls::TlsConfig;

/// The longest answer that is read.
const BODY_MAX: u64 = 4 << 20;

/// What the model is told first.
const TASK: &str = "\
You improve small programs by evolution. You are given a JSON document: the task, the parents with \
their code, scores (more is better), what each case lost, and what they put out; the best so far; and \
candidates that failed, with the reason. Answer with one child that is likely to score higher than \
its parents. Put nothing but its code into one fenced block: a formula over x0, x1, … with + - * / ^ \
and functions such as min, max, abs, sqrt; or, where parents are modules, a module in WebAssembly's \
text format.";

/// A model behind an address.
pub(super) struct Endpoint {
    agent: ureq::Agent,
    url: String,
    key: Option<String>,
    model: String,
    temperature: Option<f64>,
    system: String,
    timeout: Duration,
}

impl fmt::Debug for Endpoint {
    /// Leaves the key out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("url", &self.url)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

/// As much of an answer as is looked at.
#[derive(Debug, Deserialize)]
struct Completion {
    choices: Vec<Choice>,
}

#[derive(Debug, Deserialize)]
struct Choice {
    message: Message,
}

#[derive(Debug, Deserialize)]
struct Message {
    #[serde(default)]
    content: Option<String>,
}

impl Endpoint {
    pub(super) fn new(engine: &Engine, wish: &OutsideWish, url: &str) -> Result<Self, EngineError> {
        let key = wish.key(engine)?;
        let timeout = Duration::from_secs(wish.timeout_s);
        let mut tls = TlsConfig::builder();
        if url.starts_with("https://") {
            tls = tls.root_certs(roots(engine)?);
        }
        let config = ureq::Agent::config_builder()
            .tls_config(tls.build())
            .timeout_global(Some(timeout))
            .max_redirects(0)
            .http_status_as_error(false)
            .proxy(None)
            .build();
        let more = wish.instructions.as_deref().unwrap_or_default();
        Ok(Self {
            agent: config.new_agent(),
            url: format!("{}/chat/completions", url.trim_end_matches('/')),
            key,
            model: wish.model.clone().unwrap_or_else(|| "default".to_owned()),
            temperature: wish.temperature,
            system: format!("{TASK}\n{more}").trim().to_owned(),
            timeout,
        })
    }

    /// Asks for one child.
    pub(super) fn ask(&self, question: &Question) -> Result<Code, NoChild> {
        let nonsense = |words: String| NoChild::Nonsense { words };
        let asked = serde_json::to_string(question).map_err(|error| nonsense(error.to_string()))?;
        let mut body = json!({
            "model": self.model,
            "seed": question.seed,
            "messages": [
                { "role": "system", "content": self.system },
                { "role": "user", "content": asked },
            ],
        });
        if let Some(temperature) = self.temperature {
            body["temperature"] = json!(temperature);
        }
        let (status, text) = self
            .send(&body.to_string())
            .map_err(|error| self.explain(&error))?;
        if status != 200 {
            return Err(NoChild::Refused {
                words: self.without_key(&format!("status {status}: {}", some(&text))),
            });
        }
        let completion: Completion = serde_json::from_str(&text)
            .map_err(|error| nonsense(format!("it is no chat completion: {error}")))?;
        let said = completion.choices.into_iter().next();
        let said = said.and_then(|choice| choice.message.content);
        from_words(&said.unwrap_or_default(), question.arguments)
    }

    fn send(&self, body: &str) -> Result<(u16, String), ureq::Error> {
        let mut request = self
            .agent
            .post(self.url.as_str())
            .header("content-type", "application/json");
        if let Some(key) = &self.key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        let mut response = request.send(body)?;
        let status = response.status().as_u16();
        let text = response
            .body_mut()
            .with_config()
            .limit(BODY_MAX)
            .lossy_utf8(true)
            .read_to_string()?;
        Ok((status, text))
    }

    fn explain(&self, error: &ureq::Error) -> NoChild {
        if matches!(error, ureq::Error::Timeout(_)) {
            return NoChild::Timeout {
                seconds: self.timeout.as_secs(),
            };
        }
        if matches!(error, ureq::Error::BodyExceedsLimit(_)) {
            return NoChild::TooLong { limit: BODY_MAX };
        }
        NoChild::Gone {
            words: self.without_key(&error.to_string()),
        }
    }

    fn without_key(&self, words: &str) -> String {
        match &self.key {
            Some(key) => words.replace(key.as_str(), "…"),
            None => words.to_owned(),
        }
    }
}
