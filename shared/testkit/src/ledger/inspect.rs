//! What a test may look at or do that no port offers: what is stored, and what a person would do.

use penstock_domain::ids::{BotId, LedgerKey};
use penstock_domain::intent::IntentState;
use penstock_domain::ledger::{Record, State};
use penstock_domain::time::Timestamp;

use super::{FakeLedger, Row};

impl FakeLedger {
    /// All that is kept of an Update.
    #[must_use]
    pub fn row(&self, key: &LedgerKey) -> Option<Row> {
        self.inner().store.rows.get(key).cloned()
    }

    /// Every row, in the order of the keys.
    #[must_use]
    pub fn rows(&self) -> Vec<Row> {
        let mut rows: Vec<_> = self.inner().store.rows.values().cloned().collect();
        rows.sort_by(|one, other| one.record.key.cmp(&other.record.key));
        rows
    }

    /// The record of an Update.
    #[must_use]
    pub fn record(&self, key: &LedgerKey) -> Option<Record> {
        self.row(key).map(|row| row.record)
    }

    /// The states of an Update's intents, in their order.
    #[must_use]
    pub fn intent_states(&self, key: &LedgerKey) -> Vec<IntentState> {
        self.record(key).map_or_else(Vec::new, |record| {
            record.intents.iter().map(|stored| stored.state).collect()
        })
    }

    /// Until when a chat is held.
    #[must_use]
    pub fn hold(&self, bot: BotId, chat: &str) -> Option<Timestamp> {
        self.inner().store.holds.get(&(bot, chat.to_owned())).copied()
    }

    /// Stores a row as it is, whatever was there.
    pub fn put(&self, row: Row) {
        self.inner().store.rows.insert(row.record.key.clone(), row);
    }

    /// Sends a dead Update again, as a person does; `false` if it is not dead.
    pub fn redrive(&self, key: &LedgerKey, redrive: u32, now: Timestamp) -> bool {
        let mut inner = self.inner();
        let expires_at = inner.store.retention.expires_at(1, now);
        let Some(row) = inner
            .store
            .rows
            .get_mut(key)
            .filter(|row| row.record.state == State::Dead)
        else {
            return false;
        };
        let record = &mut row.record;
        record.state = State::Pending;
        (record.redrive, record.attempts) = (redrive, 0);
        record.expires_at = expires_at;
        true
    }

    /// Has an intent that failed or is unknown sent again, as a person does; `false` if it is neither.
    pub fn resend(&self, key: &LedgerKey, n: u8, resend: u32, now: Timestamp) -> bool {
        let mut inner = self.inner();
        let expires_at = inner.store.retention.expires_at(1, now);
        let Some(row) = inner.store.rows.get_mut(key) else {
            return false;
        };
        let Some(stored) = row.record.intents.iter_mut().find(|stored| stored.intent.n == n) else {
            return false;
        };
        match stored.state {
            IntentState::Failed => row.record.open += 1,
            IntentState::Unknown => {}
            _ => return false,
        }
        stored.state = IntentState::Intended;
        stored.resend = resend;
        row.record.expires_at = expires_at;
        true
    }
}
