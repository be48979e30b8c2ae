//! How an invocation ended, in Lambda's own words.

use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;

/// One finished invocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// Request id given to the function.
    pub request_id: String,
    /// Whether a process was started for it.
    pub cold_start: bool,
    /// How it ended.
    pub outcome: Outcome,
}

/// How an invocation ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The function answered.
    Answered(Bytes),
    /// The function failed, crashed, could not start or ran out of time.
    Failed(FunctionError),
    /// No instance was free in time, or the host is closing.
    Throttled,
}

/// A function error as Lambda reports it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{error_type}: {message}")]
pub struct FunctionError {
    /// For example `Runtime.ExitError`, `Sandbox.Timedout` or the function's own type.
    pub error_type: String,
    /// What happened.
    pub message: String,
}

impl FunctionError {
    pub(super) fn new(error_type: &str, message: String) -> Self {
        Self {
            error_type: error_type.to_owned(),
            message,
        }
    }

    /// The function ran longer than it may.
    pub(super) fn timed_out(request_id: &str, timeout: Duration) -> Self {
        let seconds = timeout.as_secs_f64();
        let message = format!("RequestId: {request_id} Error: Task timed out after {seconds:.2} seconds");
        Self::new("Sandbox.Timedout", message)
    }

    /// The process ended while it owed an answer.
    pub(super) fn exited(request_id: &str, status: &str) -> Self {
        let message = format!("RequestId: {request_id} Error: Runtime exited with error: {status}");
        Self::new("Runtime.ExitError", message)
    }

    /// What the process posted to `/invocation/{id}/error` or `/init/error`.
    pub(super) fn posted(header_type: Option<&str>, body: &[u8]) -> Self {
        let value: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        let error_type = text("errorType").or(header_type).unwrap_or("Unhandled");
        let message = match text("errorMessage") {
            Some(message) => message.to_owned(),
            None => String::from_utf8_lossy(body).into_owned(),
        };
        Self::new(error_type, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_is_worded_as_lambda_words_it() {
        let error = FunctionError::timed_out("abc", Duration::from_secs(20));
        assert_eq!(
            error.to_string(),
            "Sandbox.Timedout: RequestId: abc Error: Task timed out after 20.00 seconds"
        );
    }

    #[test]
    fn a_posted_error_keeps_its_type_and_message() {
        let error = FunctionError::posted(None, br#"{"errorType":"Boom","errorMessage":"it went"}"#);
        assert_eq!(error.to_string(), "Boom: it went");
        let error = FunctionError::posted(Some("Runtime.InitError"), b"no json");
        assert_eq!(error.to_string(), "Runtime.InitError: no json");
    }
}
