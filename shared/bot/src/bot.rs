//! The trait of a built-in bot.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use penstock_domain::data::{DataItem, DataKey, Expect};
use penstock_domain::ids::{BotId, LedgerKey};
use penstock_domain::retry::{RetryPolicy, UpdateClass};
use penstock_domain::time::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::incoming::Incoming;
use crate::outcome::Outcome;

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

    /// The value of a record that was asked for; `None` if there is none.
    ///
    /// # Errors
    /// [`BotError::Permanent`] if it is not a `T`: no later try would read it otherwise.
    pub fn value<T: DeserializeOwned>(&self, key: &DataKey) -> Result<Option<T>, BotError> {
        let Some(item) = self.record(key) else {
            return Ok(None);
        };
        serde_json::from_str(&item.value)
            .map(Some)
            .map_err(|error| BotError::Permanent {
                code: "unreadable_record",
                // Only where and of which sort: the error's own words may repeat a part of the value.
                message: format!(
                    "a record of {} is not as expected: {:?} error in line {}, column {}",
                    key.collection,
                    error.classify(),
                    error.line(),
                    error.column()
                ),
            })
    }

    /// What a write has to expect so that it rests on this try's reading: the version that was read, or absence. Only
    /// for keys that [`Bot::reads`] named; of others nothing is known.
    #[must_use]
    pub fn as_read(&self, key: &DataKey) -> Expect {
        self.record(key)
            .map_or(Expect::Absent, |item| Expect::Version(item.version))
    }

    /// A first try at an Update received just now, with nothing read: what the tests of a handler begin with.
    #[must_use]
    pub fn first_try(key: LedgerKey, now: Timestamp) -> Self {
        Self {
            bot_id: BotId::of_name(key.as_str()),
            key,
            attempt: 1,
            now,
            received_at: now,
            time_left: Duration::from_secs(10),
            conflict: false,
            state: None,
            state_version: 0,
            records: BTreeMap::new(),
            trace_id: String::new(),
        }
    }
}

/// Why a handler failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BotError {
    /// It may work later.
    #[error("{code}: {message}")]
    Transient {
        /// Stable, short.
        code: &'static str,
        /// For people, without texts or names.
        message: String,
    },
    /// Somebody said when to come again.
    #[error("{code}: to be tried again in {} s", after.as_secs())]
    RetryAfter {
        /// Stable, short.
        code: &'static str,
        /// The earliest wait.
        after: Duration,
    },
    /// It will never work.
    #[error("{code}: {message}")]
    Permanent {
        /// Stable, short.
        code: &'static str,
        /// For people, without texts or names.
        message: String,
    },
    /// Nobody knows: tried a few times, then parked.
    #[error("{message}")]
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
