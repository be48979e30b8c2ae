//! The records of orders: order, charge, account. Never the rules that change them.

use penstock_domain::data::DataKey;
use penstock_domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::Item;

/// What everybody begins with, in play stars.
pub(super) const STARTING_STARS: u32 = 10;

/// Version of what is stored.
const VERSION: u8 = 1;

pub(super) fn order_key(id: &str) -> DataKey {
    DataKey::new("order", id)
}

/// Under the order's id: that there can be only one is what keeps an order from being charged twice. A payment provider
/// would be given this as its idempotency key, and never the Update's: two presses are two Updates.
pub(super) fn charge_key(order: &str) -> DataKey {
    DataKey::new("charge", order)
}

pub(super) fn account_key(user: i64) -> DataKey {
    DataKey::new("account", user)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    Open,
    Paid,
    Cancelled,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Order {
    v: u8,
    pub(super) state: State,
    pub(super) owner: i64,
    /// What it is called, as it was when it was ordered; the price too.
    pub(super) label: String,
    pub(super) stars: u32,
    /// Milliseconds since the epoch.
    ordered_at: i64,
}

impl Order {
    pub(super) fn new(owner: i64, item: &Item, now: Timestamp) -> Self {
        Self {
            v: VERSION,
            state: State::Open,
            owner,
            label: item.label.to_owned(),
            stars: item.stars,
            ordered_at: now.as_millis(),
        }
    }

    pub(super) fn now(self, state: State) -> Self {
        Self { state, ..self }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Charge {
    v: u8,
    pub(super) user: i64,
    pub(super) stars: u32,
    /// Milliseconds since the epoch.
    charged_at: i64,
}

impl Charge {
    pub(super) fn new(order: &Order, now: Timestamp) -> Self {
        Self {
            v: VERSION,
            user: order.owner,
            stars: order.stars,
            charged_at: now.as_millis(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Account {
    v: u8,
    pub(super) stars: u32,
}

/// That of somebody who has paid nothing yet.
impl Default for Account {
    fn default() -> Self {
        Self {
            v: VERSION,
            stars: STARTING_STARS,
        }
    }
}
