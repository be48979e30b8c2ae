//! The ledger in memory: the same conditions as the table's, over plain records. Never more lenient than the table;
//! the contract suite runs on both.

mod breakers;
mod inbox;
mod inspect;
mod outbox;
mod repairs;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use penstock_domain::data::{DataItem, DataKey};
use penstock_domain::failure::Failure;
use penstock_domain::ids::{BotId, LedgerKey};
use penstock_domain::intent::{IntentClaim, IntentRecord};
use penstock_domain::ledger::{ClaimRequest, Fence, Record, Retention};
use penstock_domain::pace::ChatGate;
use penstock_domain::time::Timestamp;
use penstock_ports::{
    Claim, Commit, Commitment, Filed, Inbox, IntentSettlement, IntentStart, Outbox, PortError, RunAs,
    Settlement, Subject, Swapped, TakeOver, Verdict,
};

use crate::fault::{Fault, Faults};

/// All that is kept of one Update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Its record.
    pub record: Record,
    /// What it is about.
    pub subject: Subject,
    /// Its raw body, once it was parked.
    pub raw: Option<String>,
    /// The kind under which it is in the index of what needs a person.
    pub attention: Option<&'static str>,
}

impl Row {
    fn needs_person(&self) -> bool {
        self.record.intents.iter().any(IntentRecord::needs_person)
    }
}

#[derive(Debug)]
struct Store {
    retention: Retention,
    rows: HashMap<LedgerKey, Row>,
    chats: HashMap<(BotId, String), (String, u64)>,
    data: HashMap<(BotId, DataKey), DataItem>,
    holds: HashMap<(BotId, String), Timestamp>,
    bot_holds: HashMap<BotId, Timestamp>,
    paces: HashMap<(BotId, String), (ChatGate, String)>,
    gates: HashMap<BotId, i64>,
    breakers: HashMap<BotId, breakers::Row>,
    hands: HashMap<LedgerKey, repairs::Hands>,
}

#[derive(Debug)]
struct Inner {
    store: Store,
    faults: Faults,
}

/// A ledger in memory.
#[derive(Debug)]
pub struct FakeLedger(Mutex<Inner>);

impl FakeLedger {
    /// An empty ledger.
    #[must_use]
    pub fn new(retention: Retention) -> Self {
        let store = Store {
            retention,
            rows: HashMap::new(),
            chats: HashMap::new(),
            data: HashMap::new(),
            holds: HashMap::new(),
            bot_holds: HashMap::new(),
            paces: HashMap::new(),
            gates: HashMap::new(),
            breakers: HashMap::new(),
            hands: HashMap::new(),
        };
        Self(Mutex::new(Inner {
            store,
            faults: Faults::default(),
        }))
    }

    /// Makes the next `count` calls fail.
    pub fn fail_next(&self, count: u64, fault: Fault) {
        self.inner().faults.fail_next(count, fault);
    }

    /// Makes the `nth` call fail, counted from 1 over all calls ever made.
    pub fn fail_call(&self, nth: u64, fault: Fault) {
        self.inner().faults.fail_call(nth, fault);
    }

    /// How many calls were made.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.inner().faults.calls()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn call<T>(&self, operation: &'static str, apply: impl FnOnce(&mut Store) -> T) -> Result<T, PortError> {
        let mut inner = self.inner();
        let Inner { store, faults } = &mut *inner;
        faults.call(operation, || apply(store))
    }
}

/// Whole seconds, rounded down: what expiry is compared with.
fn secs(now: Timestamp) -> i64 {
    now.as_millis().div_euclid(1000)
}

impl Inbox for FakeLedger {
    async fn claim(&self, subject: &Subject, request: &ClaimRequest) -> Result<Claim, PortError> {
        self.call("ledger.claim", |store| store.claim(subject, request))
    }

    async fn take_over(
        &self,
        subject: &Subject,
        request: &ClaimRequest,
        seen: Fence,
    ) -> Result<TakeOver, PortError> {
        self.call("ledger.take_over", |store| {
            store.take_over(subject, request, seen)
        })
    }

    async fn commit(
        &self,
        subject: &Subject,
        run: &RunAs,
        commit: &Commit,
        now: Timestamp,
    ) -> Result<Commitment, PortError> {
        self.call("ledger.commit", |store| store.commit(subject, run, commit, now))
    }

    async fn settle(
        &self,
        subject: &Subject,
        run: &RunAs,
        verdict: &Verdict,
        now: Timestamp,
    ) -> Result<Settlement, PortError> {
        self.call("ledger.settle", |store| store.settle(subject, run, verdict, now))
    }

    async fn file_dead(
        &self,
        subject: &Subject,
        redrive: u32,
        raw: &str,
        failure: &Failure,
        now: Timestamp,
    ) -> Result<Filed, PortError> {
        self.call("ledger.file_dead", |store| {
            store.file_dead(subject, redrive, raw, failure, now)
        })
    }

    async fn read(&self, key: &LedgerKey) -> Result<Option<Record>, PortError> {
        self.call("ledger.read", |store| {
            store.rows.get(key).map(|row| row.record.clone())
        })
    }

    async fn chat_state(&self, bot: BotId, chat: &str) -> Result<Option<(String, u64)>, PortError> {
        self.call("ledger.chat_state", |store| {
            store.chats.get(&(bot, chat.to_owned())).cloned()
        })
    }

    async fn data(&self, bot: BotId, keys: &[DataKey]) -> Result<Vec<Option<DataItem>>, PortError> {
        self.call("ledger.data", |store| {
            keys.iter()
                .map(|key| store.data.get(&(bot, key.clone())).cloned())
                .collect()
        })
    }
}

impl Outbox for FakeLedger {
    async fn start(&self, key: &LedgerKey, claim: &IntentClaim) -> Result<IntentStart, PortError> {
        self.call("ledger.start_intent", |store| store.start(key, claim))
    }

    async fn settle(&self, settlement: &IntentSettlement) -> Result<bool, PortError> {
        self.call("ledger.settle_intent", |store| store.settle_intent(settlement))
    }

    async fn give_up(&self, give_up: &penstock_ports::GiveUp) -> Result<penstock_ports::GivenUp, PortError> {
        self.call("ledger.give_up", |store| store.give_up(give_up))
    }

    async fn hold_chat(
        &self,
        bot: BotId,
        chat: &str,
        until: Timestamp,
        _now: Timestamp,
    ) -> Result<(), PortError> {
        self.call("ledger.hold", |store| store.hold(bot, chat, until))
    }

    async fn swap_chat_gate(
        &self,
        bot: BotId,
        chat: &str,
        seen: Option<&str>,
        next: &ChatGate,
        token: &str,
        _now: Timestamp,
    ) -> Result<Swapped, PortError> {
        self.call("ledger.pace", |store| {
            store.swap_gate(bot, chat, seen, next, token)
        })
    }

    async fn hold_bot(&self, bot: BotId, until: Timestamp, _now: Timestamp) -> Result<(), PortError> {
        self.call("ledger.hold_bot", |store| store.hold_bot(bot, until))
    }

    async fn debit_bot(
        &self,
        bot: BotId,
        cells: u32,
        now: Timestamp,
    ) -> Result<penstock_ports::Debit, PortError> {
        self.call("ledger.debit", |store| store.debit(bot, cells, now))
    }
}
