//! What is remembered and told: the calls that were made, the events that others may follow, and views of
//! the state. Plain values; a token is in none of them.

use serde::Serialize;
use serde_json::Value;

use crate::api::ApiError;
use crate::people::{ChatInfo, User};

/// How a call came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Via {
    /// Over HTTP.
    Http,
    /// In the answer to a webhook request.
    WebhookAnswer,
    /// Through [`crate::Sim::call`].
    Rust,
}

/// A call of a bot.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SentCall {
    /// When it was executed or refused, milliseconds since the epoch in simulated time.
    pub at_ms: i64,
    /// Id of the bot.
    pub bot: i64,
    /// Name of the method as Telegram spells it, or as it was asked for if there is no such method.
    pub method: String,
    /// Parameters; an uploaded file is its name and size.
    pub params: Value,
    /// Chat the call was about, if one was named by number.
    pub chat_id: Option<i64>,
    /// What Telegram made of it. `None`: an injected fault kept it from being executed.
    pub outcome: Option<Result<Value, ApiError>>,
    /// Whether the caller got that answer: an injected fault may have dropped it.
    pub answered: bool,
    /// How the call came in.
    pub via: Via,
}

impl SentCall {
    /// Executed with success, whether or not the caller learnt it.
    #[must_use]
    pub fn is_done(&self) -> bool {
        matches!(self.outcome, Some(Ok(_)))
    }

    /// The status code of a refusal.
    #[must_use]
    pub fn error_code(&self) -> Option<u16> {
        self.outcome.as_ref()?.as_ref().err().map(|error| error.code)
    }
}

/// Something happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum SimEvent {
    /// A message appeared in a chat, from a person or from a bot.
    MessageSent {
        /// Where.
        chat_id: i64,
        /// The Message as the Bot API shapes it.
        message: Value,
    },
    /// A message changed.
    MessageEdited {
        /// Where.
        chat_id: i64,
        /// The Message after the change.
        message: Value,
    },
    /// A message is gone.
    MessageDeleted {
        /// Where.
        chat_id: i64,
        /// Which.
        message_id: i64,
    },
    /// The bot shows that it is typing, or a draft.
    ChatAction {
        /// Where.
        chat_id: i64,
        /// `typing` and so on; `draft` for a draft.
        action: String,
        /// Text of a draft.
        text: Option<String>,
    },
    /// The bot set its reaction to a message.
    Reaction {
        /// Where.
        chat_id: i64,
        /// To which.
        message_id: i64,
        /// The emoji, empty if it was taken back.
        emoji: Vec<String>,
    },
    /// A button press was answered.
    CallbackAnswered {
        /// Chat of the button, if it was in one.
        chat_id: Option<i64>,
        /// The query.
        query_id: String,
        /// What the person is shown.
        text: Option<String>,
        /// As an alert rather than at the top of the chat.
        show_alert: bool,
    },
    /// The webhook took an update.
    WebhookDelivered {
        /// Which.
        update_id: i64,
        /// Try, from 1.
        attempt: u32,
    },
    /// The webhook did not take an update.
    WebhookFailed {
        /// Which.
        update_id: i64,
        /// Try, from 1.
        attempt: u32,
        /// As in `last_error_message`.
        reason: String,
        /// When it is tried again; `None` if it never is.
        next_at_ms: Option<i64>,
    },
    /// A call was refused.
    CallRefused {
        /// Method.
        method: String,
        /// Chat, if one was named.
        chat_id: Option<i64>,
        /// Status.
        code: u16,
        /// Text.
        description: String,
    },
}

/// A chat with its messages, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChatView {
    /// What it is.
    pub info: ChatInfo,
    /// Who has written in it.
    pub members: Vec<User>,
    /// Messages as the Bot API shapes them.
    pub messages: Vec<Value>,
}

/// The webhook of a bot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WebhookStatus {
    /// Address; empty when there is none.
    pub url: String,
    /// Updates not yet confirmed.
    pub pending_update_count: usize,
    /// Deliveries under way.
    pub in_flight: usize,
    /// Last failure in Telegram's words, since the webhook was set.
    pub last_error_message: Option<String>,
    /// When that was, milliseconds.
    pub last_error_at_ms: Option<i64>,
}
