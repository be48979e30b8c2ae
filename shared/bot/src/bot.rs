//! The trait of a built-in bot.

use std::time::Duration;

use penstock_domain::ids::{BotId, LedgerKey};
use penstock_domain::intent::{Call, OnUnknown};
use penstock_domain::time::Timestamp;
use serde_json::Value;

use crate::incoming::Incoming;

/// What is known about a try.
#[derive(Debug, Clone)]
pub struct Context {
    /// The bot.
    pub bot_id: BotId,
    /// The Update's key. Effects that the handler makes outside its outcome must carry it, since a try may be repeated.
    pub key: LedgerKey,
    /// Which try this is, from 1.
    pub attempt: u32,
    /// Now.
    pub now: Timestamp,
    /// When the ingress received the Update.
    pub received_at: Timestamp,
    /// The chat's state, if [`Bot::wants_state`] asked for it and there is one.
    pub state: Option<Value>,
    /// The id that runs through every hop.
    pub trace_id: String,
}

/// What a handled Update leads to. Committed as a whole or not at all.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// Calls of the Bot API, in order; at most ten.
    pub calls: Vec<Call>,
    /// The chat's new state. Heeded only if [`Bot::wants_state`] asked for the old one.
    pub new_state: Option<Value>,
    /// A short result for people who trace the Update: no text, no names.
    pub result: &'static str,
}

impl Outcome {
    /// Nothing to send.
    #[must_use]
    pub fn ignored() -> Self {
        Self {
            result: "ignored",
            ..Self::default()
        }
    }

    /// An outcome with a result.
    #[must_use]
    pub fn of(result: &'static str) -> Self {
        Self {
            result,
            ..Self::default()
        }
    }

    /// Adds a call of any method; `params` is a JSON object.
    #[must_use]
    pub fn call(mut self, method: &str, params: &Value) -> Self {
        self.calls.push(Call {
            method: method.to_owned(),
            params: params.to_string(),
            on_unknown: OnUnknown::Hold,
        });
        self
    }

    /// Sets the chat's new state.
    #[must_use]
    pub fn state(mut self, state: Value) -> Self {
        self.new_state = Some(state);
        self
    }
}

/// Why a handler failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BotError {
    /// It may work later.
    Transient {
        /// Stable, short.
        code: &'static str,
        /// For people, without texts or names.
        message: String,
    },
    /// Somebody said when to come again.
    RetryAfter {
        /// Stable, short.
        code: &'static str,
        /// The earliest wait.
        after: Duration,
    },
    /// It will never work.
    Permanent {
        /// Stable, short.
        code: &'static str,
        /// For people, without texts or names.
        message: String,
    },
    /// Nobody knows: tried a few times, then parked.
    Unclassified {
        /// For people, without texts or names.
        message: String,
    },
}

/// A bot that runs inside the processor.
pub trait Bot: Send + Sync {
    /// Whether handling this Update needs the chat's state: a read before and a transaction after.
    fn wants_state(&self, _update: &Incoming) -> bool {
        false
    }

    /// Handles an Update. It may be called again for the same Update: only what is in the outcome happens once.
    fn handle(
        &self,
        context: &Context,
        update: &Incoming,
    ) -> impl Future<Output = Result<Outcome, BotError>> + Send;
}
