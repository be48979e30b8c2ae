//! Breakers over memory.

use penstock_domain::breaker::{Breaker, Meter};
use penstock_domain::gcra::Gcra;
use penstock_domain::ids::BotId;
use penstock_domain::ledger::Owner;
use penstock_domain::time::Timestamp;
use penstock_ports::{
    BreakerChange, Breakers, Changed, Debit, HELD_BACK_EVERY, HORIZON, PortError, StoredBreaker,
};

use super::{FakeLedger, Store};

/// A bot's item.
#[derive(Debug, Default)]
pub(super) struct Row {
    stored: StoredBreaker,
    writer: Option<Owner>,
    tat: Option<Timestamp>,
}

impl Store {
    fn change_breaker(&mut self, bot: BotId, change: &BreakerChange) -> Changed {
        let row = self.breakers.entry(bot).or_default();
        if row.stored.version == change.seen {
            row.writer = Some(change.writer.clone());
            row.stored.breaker = change.breaker.clone();
            row.stored.meter = change.meter.clone();
            row.stored.version += 1;
            return Changed::Done;
        }
        if row.stored.version == change.seen + 1 && row.writer.as_ref() == Some(&change.writer) {
            return Changed::Done;
        }
        Changed::Lost(Box::new(row.stored.clone()))
    }

    fn reserve(&mut self, bot: BotId, gate: Gcra, cells: u32, now: Timestamp) -> Debit {
        let row = self.breakers.entry(bot).or_default();
        let tat = row.tat.map_or(now, |tat| tat.max(now));
        let ahead = (tat - gate.tolerance).since(now);
        if ahead > HORIZON {
            let is_noted = |noted_at: Timestamp| noted_at > now - HELD_BACK_EVERY;
            if !row.stored.held_back_at.is_some_and(is_noted) {
                row.stored.held_back_at = Some(now);
            }
            return Debit::Full { ahead };
        }
        row.tat = Some(tat + gate.interval * cells);
        Debit::Reserved { ahead }
    }
}

impl FakeLedger {
    /// A bot's breaker and its counts, without a call.
    #[must_use]
    pub fn breaker_of(&self, bot: BotId) -> (Breaker, Meter) {
        let inner = self.inner();
        let row = inner.store.breakers.get(&bot);
        row.map_or_else(Default::default, |row| {
            (row.stored.breaker.clone(), row.stored.meter.clone())
        })
    }
}

impl Breakers for FakeLedger {
    async fn breaker(&self, bot: BotId) -> Result<StoredBreaker, PortError> {
        self.call("ledger.breaker", |store| {
            let row = store.breakers.get(&bot);
            row.map_or_else(StoredBreaker::default, |row| row.stored.clone())
        })
    }

    async fn change(
        &self,
        bot: BotId,
        change: &BreakerChange,
        _now: Timestamp,
    ) -> Result<Changed, PortError> {
        self.call("ledger.change_breaker", |store| store.change_breaker(bot, change))
    }

    async fn reserve(&self, bot: BotId, gate: Gcra, cells: u32, now: Timestamp) -> Result<Debit, PortError> {
        self.call("ledger.reserve", |store| store.reserve(bot, gate, cells, now))
    }
}
