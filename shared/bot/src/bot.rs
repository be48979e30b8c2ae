//! The trait of a built-in bot.

use std::collections::BTreeMap;
use std::time::Duration;

use penstock_domain::data::{Change, DataItem, DataKey, DataWrite, Expect};
use penstock_domain::ids::{BotId, LedgerKey};
use penstock_domain::intent::Call;
use penstock_domain::retry::{RetryPolicy, UpdateClass};
use penstock_domain::time::Timestamp;
use serde_json::Value;

use crate::incoming::Incoming;

/// What handling an Update reads. Said before, so that handlers do no I/O of Penstock's own and are given everything at
/// once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reads {
    /// The chat's state; an outcome may then write a new one.
    pub state: bool,
    /// Records of the bot's own.
    pub records: Vec<DataKey>,
}

impl Reads {
    /// Nothing.
    #[must_use]
    pub fn nothing() -> Self {
        Self::default()
    }

    /// The chat's state.
    #[must_use]
    pub fn state() -> Self {
        Self {
            state: true,
            records: Vec::new(),
        }
    }

    /// And this record.
    #[must_use]
    pub fn and(mut self, key: DataKey) -> Self {
        self.records.push(key);
        self
    }
}

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
    /// How long this try may still take; a run that is longer is cut off and counts as failed.
    pub time_left: Duration,
    /// Whether an earlier run of this try found a record that its outcome wanted to make or change in another state: the
    /// records here are as they are now. Who conflicts again is parked.
    pub conflict: bool,
    /// The chat's state, if [`Bot::reads`] asked for it and there is one.
    pub state: Option<Value>,
    /// Its version; 0 if there is none. The outcome is only written if it is still the same.
    pub state_version: u64,
    /// The records that [`Bot::reads`] asked for, as far as they exist.
    pub records: BTreeMap<DataKey, DataItem>,
    /// The id that runs through every hop.
    pub trace_id: String,
}

impl Context {
    /// The key of one action of this Update, for effects outside the outcome: the same in every try, different for every
    /// action and Update.
    #[must_use]
    pub fn idempotency_key(&self, action: &str) -> String {
        format!("{}:{action}", self.key)
    }

    /// A record that was asked for.
    #[must_use]
    pub fn record(&self, key: &DataKey) -> Option<&DataItem> {
        self.records.get(key)
    }
}

/// What a handled Update leads to. Committed as a whole or not at all.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// Calls of the Bot API, in order; at most ten.
    pub calls: Vec<Call>,
    /// The chat's new state. Heeded only if [`Bot::reads`] asked for the old one.
    pub new_state: Option<Value>,
    /// Records of the bot's own to write, each under its condition; if one is not met nothing of the outcome is
    /// written, and the handler runs once more with [`Context::conflict`].
    pub writes: Vec<DataWrite>,
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
        self.calls.push(Call::new(method, params.to_string()));
        self
    }

    /// Adds a call with all its choices.
    #[must_use]
    pub fn then(mut self, call: Call) -> Self {
        self.calls.push(call);
        self
    }

    /// Writes a record of the bot's own if it is found as expected.
    #[must_use]
    pub fn put(mut self, key: DataKey, expect: Expect, value: &Value) -> Self {
        self.writes.push(DataWrite {
            key,
            expect,
            change: Change::Put(value.to_string()),
        });
        self
    }

    /// Removes a record of the bot's own if it is found as expected.
    #[must_use]
    pub fn remove(mut self, key: DataKey, expect: Expect) -> Self {
        self.writes.push(DataWrite {
            key,
            expect,
            change: Change::Remove,
        });
        self
    }

    /// Needs a record of the bot's own to be as expected when the outcome is written.
    #[must_use]
    pub fn check(mut self, key: DataKey, expect: Expect) -> Self {
        self.writes.push(DataWrite {
            key,
            expect,
            change: Change::Check,
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
    /// What handling this Update reads. Each is a read before the run; a new state or a written record makes the commit
    /// a transaction.
    fn reads(&self, _update: &Incoming) -> Reads {
        Reads::nothing()
    }

    /// How often this Update is tried, and how long between (R097). By its class, unless a bot says otherwise.
    fn policy(&self, update: &Incoming) -> RetryPolicy {
        UpdateClass::of(update.kind, update.command().is_some())
            .preset()
            .policy()
    }

    /// Handles an Update. It may be called again for the same Update: only what is in the outcome happens once.
    fn handle(
        &self,
        context: &Context,
        update: &Incoming,
    ) -> impl Future<Output = Result<Outcome, BotError>> + Send;
}
