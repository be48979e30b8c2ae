//! A table in memory, and the processor's rules for a commit: all writes of an outcome or none, a rerun after a
//! conflict, the Update parked after the second. No ledger: what is delivered again is handled again, which is harder on
//! the bot than it will ever be.

use std::collections::BTreeMap;
use std::pin::pin;
use std::task::{Poll, Waker};

use penstock_domain::data::{self, Change, DataItem, DataKey};
use penstock_domain::ids::{BotId, LedgerKey, UpdateId};
use penstock_domain::intent;
use penstock_domain::kind::UpdateKind;
use penstock_domain::time::Timestamp;
use serde_json::{Value, json};

use crate::bot::{Bot, Context};
use crate::calls::MAX_CALLBACK_DATA;
use crate::example::ExampleBot;
use crate::incoming::Incoming;
use crate::outcome::Outcome;

pub(super) const CHAT: i64 = 5;

/// An Update with its key.
#[derive(Debug, Clone)]
pub(super) struct Delivery {
    pub(super) key: LedgerKey,
    pub(super) update: Incoming,
}

/// A run that has read and decided, and not written yet.
#[derive(Debug, Clone)]
pub(super) struct Run {
    pub(super) delivery: Delivery,
    pub(super) context: Context,
    pub(super) outcome: Outcome,
}

#[derive(Debug, PartialEq)]
pub(super) enum Commit {
    Done,
    /// A record was not as expected.
    Conflict,
    /// The chat's state was not as read.
    Stale,
}

#[derive(Debug, Clone)]
pub(super) struct World {
    pub(super) bot: ExampleBot,
    pub(super) now: Timestamp,
    pub(super) records: BTreeMap<DataKey, DataItem>,
    state: Option<(Value, u64)>,
    updates: i64,
}

impl World {
    pub(super) fn new(bot: ExampleBot) -> Self {
        Self {
            bot,
            now: Timestamp::from_millis(1_000_000),
            records: BTreeMap::new(),
            state: None,
            updates: 0,
        }
    }

    pub(super) fn delivery(&mut self, kind: UpdateKind, body: &Value) -> Delivery {
        self.updates += 1;
        let raw = json!({"update_id": self.updates, kind.name(): body}).to_string();
        Delivery {
            key: LedgerKey::new(BotId(1_234_567_890), UpdateId(self.updates)),
            update: Incoming::read(kind, &raw),
        }
    }

    pub(super) fn text(&mut self, from: i64, text: &str) -> Delivery {
        let body = json!({"message_id": 1, "chat": {"id": CHAT}, "from": {"id": from, "username": "boss"}, "text": text});
        self.delivery(UpdateKind::Message, &body)
    }

    pub(super) fn press(&mut self, from: i64, data: &str) -> Delivery {
        let body = json!({"id": "7", "data": data, "from": {"id": from, "username": "boss"},
            "message": {"message_id": 3, "chat": {"id": CHAT}}});
        self.delivery(UpdateKind::CallbackQuery, &body)
    }

    /// Reads and decides.
    pub(super) fn begin(&self, delivery: &Delivery, is_rerun: bool) -> Run {
        let reads = self.bot.reads(&delivery.update);
        assert!(reads.records.iter().all(data::is_valid_key), "{reads:?}");
        let found = |key: &DataKey| Some((key.clone(), self.records.get(key)?.clone()));
        let state = self.state.clone().filter(|_| reads.state);
        let context = Context {
            conflict: is_rerun,
            state_version: state.as_ref().map_or(0, |(_, version)| *version),
            state: state.map(|(state, _)| state),
            records: reads.records.iter().filter_map(found).collect(),
            ..Context::first_try(delivery.key.clone(), self.now)
        };
        let answer = pin!(self.bot.handle(&context, &delivery.update))
            .poll(&mut std::task::Context::from_waker(Waker::noop()));
        let Poll::Ready(Ok(outcome)) = answer else {
            panic!("the example bot waits for nothing and does not fail");
        };
        assert_eq!(data::check(&outcome.writes), Ok(()));
        intent::plan(BotId(1), outcome.calls.clone()).unwrap();
        Run {
            delivery: delivery.clone(),
            context,
            outcome,
        }
    }

    /// Writes all of it or nothing.
    pub(super) fn commit(&mut self, run: &Run) -> Commit {
        let is_met =
            |write: &data::DataWrite| data::is_as_expected(self.records.get(&write.key), write.expect);
        if !run.outcome.writes.iter().all(is_met) {
            return Commit::Conflict;
        }
        let version = self.state.as_ref().map_or(0, |(_, version)| *version);
        if let Some(state) = &run.outcome.new_state {
            if version != run.context.state_version {
                return Commit::Stale;
            }
            self.state = Some((state.clone(), version + 1));
        }
        for write in &run.outcome.writes {
            match &write.change {
                Change::Put(value) | Change::PutUntil(value, _) => {
                    let found = self.records.get(&write.key).map(|item| item.version);
                    let item = DataItem {
                        value: value.clone(),
                        version: data::next_version(found, self.now),
                        by: run.delivery.key.clone(),
                    };
                    self.records.insert(write.key.clone(), item);
                }
                Change::Remove => {
                    self.records.remove(&write.key);
                }
                Change::Check => {}
            }
        }
        Commit::Done
    }

    /// Handles an Update while nothing else runs.
    pub(super) fn deliver(&mut self, delivery: &Delivery) -> Outcome {
        let first = self.begin(delivery, false);
        self.finish(first).unwrap()
    }

    /// Commits a run, or runs once more with what is there now; `None` if that conflicts too and the Update is parked.
    pub(super) fn finish(&mut self, run: Run) -> Option<Outcome> {
        let again = match self.commit(&run) {
            Commit::Done => return Some(run.outcome),
            Commit::Conflict => self.begin(&run.delivery, true),
            Commit::Stale => self.begin(&run.delivery, false),
        };
        (self.commit(&again) == Commit::Done).then_some(again.outcome)
    }

    pub(super) fn record(&self, collection: &str, id: impl std::fmt::Display) -> Option<Value> {
        let item = self.records.get(&DataKey::new(collection, id))?;
        Some(serde_json::from_str(&item.value).unwrap())
    }

    pub(super) fn state(&self) -> Value {
        self.state
            .as_ref()
            .map_or(Value::Null, |(state, _)| state.clone())
    }
}

/// Parameters of an outcome's call.
pub(super) fn params(outcome: &Outcome, call: usize) -> Value {
    serde_json::from_str(&outcome.calls[call].params).unwrap()
}

/// The text of its first call.
pub(super) fn said(outcome: &Outcome) -> String {
    params(outcome, 0)["text"].as_str().unwrap().to_owned()
}

/// The data of the buttons of its first call.
pub(super) fn buttons(outcome: &Outcome) -> Vec<String> {
    let params = params(outcome, 0);
    let rows = params["reply_markup"]["inline_keyboard"].as_array().unwrap();
    let data: Vec<String> = rows
        .iter()
        .flat_map(|row| row.as_array().unwrap())
        .map(|button| button["callback_data"].as_str().unwrap().to_owned())
        .collect();
    assert!(
        data.iter().all(|data| data.len() <= MAX_CALLBACK_DATA),
        "{data:?}"
    );
    data
}
