//! What a handled Update leads to: calls, a new state, records. Values only; never performs any of it.

use penstock_domain::data::{Change, DataKey, DataWrite, Expect};
use penstock_domain::intent::Call;
use penstock_domain::time::Timestamp;
use serde_json::Value;

use crate::calls::IntoCalls;

/// What a handled Update leads to. Committed as a whole or not at all.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// Calls of the Bot API, in order; at most ten.
    pub calls: Vec<Call>,
    /// The chat's new state. Heeded only if [`Bot::reads`](crate::Bot::reads) asked for the old one.
    pub new_state: Option<Value>,
    /// Records of the bot's own to write, each under its condition; if one is not met nothing of the outcome is
    /// written, and the handler runs once more with [`Context::conflict`](crate::Context::conflict).
    pub writes: Vec<DataWrite>,
    /// A short result for people who trace the Update: no text, no names.
    pub result: &'static str,
}

impl Outcome {
    /// Nothing to send.
    #[must_use]
    pub fn ignored() -> Self {
        Self::of("ignored")
    }

    /// An outcome with a result.
    #[must_use]
    pub fn of(result: &'static str) -> Self {
        Self {
            result,
            ..Self::default()
        }
    }

    /// An outcome that only sends these; its result is `sent`.
    #[must_use]
    pub fn send(calls: impl IntoCalls) -> Self {
        Self::of("sent").then(calls)
    }

    /// Adds a call of any method; `params` is a JSON object.
    #[must_use]
    pub fn call(self, method: &str, params: &Value) -> Self {
        self.then(Call::new(method, params.to_string()))
    }

    /// Adds calls: one, perhaps one ([`Option`]), or several.
    #[must_use]
    pub fn then(mut self, calls: impl IntoCalls) -> Self {
        calls.add_to(&mut self.calls);
        self
    }

    /// Writes a record of the bot's own if it is found as expected.
    #[must_use]
    pub fn put(self, key: DataKey, expect: Expect, value: &Value) -> Self {
        self.write(key, expect, Change::Put(value.to_string()))
    }

    /// The same for a record that is of no use after an instant, and may be cleaned away from then on.
    #[must_use]
    pub fn put_until(self, key: DataKey, expect: Expect, value: &Value, until: Timestamp) -> Self {
        self.write(key, expect, Change::PutUntil(value.to_string(), until))
    }

    /// Removes a record of the bot's own if it is found as expected.
    #[must_use]
    pub fn remove(self, key: DataKey, expect: Expect) -> Self {
        self.write(key, expect, Change::Remove)
    }

    /// Needs a record of the bot's own to be as expected when the outcome is written.
    #[must_use]
    pub fn check(self, key: DataKey, expect: Expect) -> Self {
        self.write(key, expect, Change::Check)
    }

    fn write(mut self, key: DataKey, expect: Expect, change: Change) -> Self {
        self.writes.push(DataWrite { key, expect, change });
        self
    }

    /// Sets the chat's new state.
    #[must_use]
    pub fn state(mut self, state: Value) -> Self {
        self.new_state = Some(state);
        self
    }
}
