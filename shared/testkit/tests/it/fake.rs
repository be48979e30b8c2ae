//! The fake keeps the contract.

use std::sync::atomic::{AtomicI64, Ordering};

use penstock_domain::ids::{BotId, LedgerKey};
use penstock_domain::time::Timestamp;
use penstock_testkit::FakeLedger;
use penstock_testkit::contract::{RETENTION, World};

struct Memory {
    ledger: FakeLedger,
    last_update: AtomicI64,
}

async fn memory() -> Memory {
    Memory {
        ledger: FakeLedger::new(RETENTION),
        last_update: AtomicI64::new(0),
    }
}

impl World for Memory {
    type Ledger = FakeLedger;

    fn ledger(&self) -> &FakeLedger {
        &self.ledger
    }

    fn bot(&self) -> BotId {
        BotId(424_242)
    }

    fn fresh_update(&self) -> i64 {
        self.last_update.fetch_add(1, Ordering::SeqCst) + 1
    }

    async fn raw_body(&self, key: &LedgerKey) -> Option<String> {
        self.ledger.row(key).and_then(|row| row.raw)
    }

    async fn attention(&self, key: &LedgerKey) -> Option<String> {
        self.ledger
            .row(key)
            .and_then(|row| row.attention)
            .map(str::to_owned)
    }

    async fn hold(&self, bot: BotId, chat: &str) -> Option<Timestamp> {
        self.ledger.hold(bot, chat)
    }
}

penstock_testkit::contract_tests!(memory());
