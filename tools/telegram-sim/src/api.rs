//! The shapes of failure: what the Bot API answers, and what this crate's own functions refuse.

use serde::Serialize;
use serde_json::{Value, json};

/// An error as the Bot API reports it.
#[derive(Debug, Clone, PartialEq, Serialize, thiserror::Error)]
#[error("{code} {description}")]
pub struct ApiError {
    /// HTTP status, repeated in the body as `error_code`.
    pub code: u16,
    /// Text after the status, as Telegram words it.
    pub description: String,
    /// `parameters` of the answer: `retry_after` in seconds, `migrate_to_chat_id`.
    pub parameters: Option<Value>,
}

impl ApiError {
    /// Any error with its status and text.
    #[must_use]
    pub fn new(code: u16, description: impl Into<String>) -> Self {
        Self {
            code,
            description: description.into(),
            parameters: None,
        }
    }

    /// 400 with Telegram's prefix.
    #[must_use]
    pub fn bad_request(text: &str) -> Self {
        Self::new(400, format!("Bad Request: {text}"))
    }

    /// 429 with the seconds to wait.
    #[must_use]
    pub fn too_many_requests(retry_after_s: u64) -> Self {
        Self {
            code: 429,
            description: format!("Too Many Requests: retry after {retry_after_s}"),
            parameters: Some(json!({ "retry_after": retry_after_s })),
        }
    }

    pub(crate) fn method_not_found() -> Self {
        Self::new(404, "Not Found: method not found")
    }

    pub(crate) fn query_too_old() -> Self {
        Self::bad_request("query is too old and response timeout expired or query ID is invalid")
    }

    /// The JSON body of this error.
    #[must_use]
    pub fn to_body(&self) -> Value {
        let mut body = json!({ "ok": false, "error_code": self.code, "description": self.description });
        if let (Some(parameters), Some(body)) = (&self.parameters, body.as_object_mut()) {
            body.insert("parameters".to_owned(), parameters.clone());
        }
        body
    }
}

/// Why a call made through [`crate::Sim::call`] has no result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CallError {
    /// Telegram answered with an error.
    #[error(transparent)]
    Refused(#[from] ApiError),
    /// An injected fault took the answer away; whether the call was executed depends on the fault.
    #[error("no answer came: an injected fault dropped the connection or answered with a web page")]
    NoAnswer,
}

/// Why a bot cannot be added.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BotError {
    /// The token has no numeric id before the colon, or nothing after it.
    #[error("the token is not of the form 123456:letters; give the simulated bot a token like that")]
    MalformedToken,
}

/// Why a button press makes no update.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PressError {
    /// The chat has no such message.
    #[error("chat {chat_id} has no message {message_id} to press a button of; reload the chat")]
    NoMessage {
        /// The chat looked in.
        chat_id: i64,
        /// The message looked for.
        message_id: i64,
    },
    /// The message has no button with this callback data.
    #[error("message {message_id} has no button with the data {data:?}; it may have been edited since")]
    NoButton {
        /// The message looked at.
        message_id: i64,
        /// The callback data looked for.
        data: String,
    },
    /// No bot is there to receive it, or it does not want callbacks.
    #[error("no bot takes callback_query updates; add a bot or widen its allowed_updates")]
    NotSubscribed,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_answer_carries_the_wait_twice() {
        let body = ApiError::too_many_requests(7).to_body();
        assert_eq!(body["error_code"], 429);
        assert_eq!(body["description"], "Too Many Requests: retry after 7");
        assert_eq!(body["parameters"]["retry_after"], 7);
    }

    #[test]
    fn an_error_without_parameters_has_no_such_key() {
        let body = ApiError::bad_request("chat not found").to_body();
        assert_eq!(body["description"], "Bad Request: chat not found");
        assert!(body.get("parameters").is_none());
    }
}
