//! Every failure in one shape: `{"error": {"code", "message", "remedy", "causes", "details"}}`.
//!
//! The same as the command line's, with its HTTP status from the one table in
//! [`agar_core::fault`].

use agar_core::fault::{Fault, Kind, Remedy, causes};
use agar_engine::EngineError;
use axum::Json;
use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::Value;

/// A request that was not done.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: StatusCode,
    /// Boxed: refusals are rare, and answers that may be one are many.
    error: Box<Wire>,
    /// Seconds after which the same request may work.
    retry_after: Option<u64>,
}

#[derive(Debug, Serialize)]
struct Wire {
    /// Whose move it is.
    code: &'static str,
    /// What agar was trying to do and what stood in the way.
    message: String,
    /// A way out, as data.
    remedy: Option<Remedy>,
    /// What caused it, nearest first.
    causes: Vec<String>,
    /// What a program needs to go on: conflicts, checks.
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Value>,
}

#[derive(Debug, Serialize)]
struct Envelope {
    error: Box<Wire>,
}

impl Refusal {
    /// A refusal of this kind.
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            status: StatusCode::from_u16(kind.http_status())
                .unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            error: Box::new(Wire {
                code: kind.code(),
                message: message.into(),
                remedy: None,
                causes: Vec::new(),
                details: None,
            }),
            retry_after: None,
        }
    }

    /// The request is wrong.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(Kind::Invalid, message)
    }

    /// A defect: the caller learns that there is one, and no more.
    pub(crate) fn defect() -> Self {
        Self::new(Kind::Internal, "agar failed; its log says why")
    }

    /// The same with another status of HTTP, where it knows a more exact one.
    pub(crate) fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// The same with what a program needs to go on.
    pub(crate) fn with_details(mut self, details: Value) -> Self {
        self.error.details = Some(details);
        self
    }

    /// The same with a way out.
    pub(crate) fn with_remedy(mut self, remedy: Remedy) -> Self {
        self.error.remedy = Some(remedy);
        self
    }

    /// The same with when to come back.
    pub(crate) fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// What it says, for a log.
    pub(crate) fn told(&self) -> &str {
        &self.error.message
    }
}

impl From<EngineError> for Refusal {
    fn from(error: EngineError) -> Self {
        let mut refusal = Self::new(error.kind(), error.to_string());
        // It is the person's own machine, and the person's own defect to report: causes are told.
        refusal.error.causes = causes(&error);
        refusal.error.remedy = error.remedy();
        refusal
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let retry_after = self.retry_after;
        let mut response = (self.status, Json(Envelope { error: self.error })).into_response();
        if let Some(seconds) = retry_after {
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        response
    }
}
