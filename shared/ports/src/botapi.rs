//! The Bot API, as the sender sees it.

use penstock_domain::failure::Disposition;
use penstock_domain::secret::BotToken;

/// A call that Telegram confirmed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ApiReply {
    /// The `message_id` of the result, where it has one.
    pub message_id: Option<i64>,
    /// It was refused with an answer that means that it had been done before.
    pub already_done: bool,
}

/// A call that failed. Never holds the token, a URL, or a text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApiError {
    /// Telegram answered with an error.
    #[error("the Bot API refused {method} with {code}: {description}")]
    Refused {
        /// The method.
        method: String,
        /// Its HTTP code.
        code: u16,
        /// Its description.
        description: String,
        /// How it is classed.
        disposition: Disposition,
        /// What it means beyond the class.
        meaning: Meaning,
    },
    /// The request did not leave: safe to repeat.
    #[error("the Bot API could not be reached for {method}")]
    NotSent {
        /// The method.
        method: String,
    },
    /// The request left and no answer came.
    #[error("the Bot API gave no answer to {method}")]
    NoAnswer {
        /// The method.
        method: String,
    },
}

/// What a refusal means beyond its class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// Nothing more.
    Plain,
    /// The chat cannot be reached any more.
    ChatUnreachable,
    /// The group became a supergroup with this id.
    MigratedTo(i64),
    /// The token is refused.
    BotRefused,
    /// The query's time is over.
    Expired,
    /// The topic or the message replied to is gone: once more without them.
    TargetGone,
}

impl ApiError {
    /// Its class.
    #[must_use]
    pub fn disposition(&self) -> Disposition {
        match self {
            Self::Refused { disposition, .. } => *disposition,
            Self::NotSent { .. } => Disposition::Transient,
            Self::NoAnswer { .. } => Disposition::Ambiguous,
        }
    }

    /// A stable code for stored failures and metrics.
    #[must_use]
    pub fn code(&self) -> String {
        match self {
            Self::Refused { code, .. } => format!("bot_api_{code}"),
            Self::NotSent { .. } => "bot_api_unreachable".to_owned(),
            Self::NoAnswer { .. } => "bot_api_no_answer".to_owned(),
        }
    }
}

/// Calls the Bot API.
pub trait BotApi: Send + Sync {
    /// Calls a method with its parameters, a JSON object.
    fn call(
        &self,
        token: &BotToken,
        method: &str,
        params: &str,
    ) -> impl Future<Output = Result<ApiReply, ApiError>> + Send;
}
