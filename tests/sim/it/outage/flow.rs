//! Updates that come, instances of the processor that are given batches of them, and what became of each. It goes from
//! one event to the next: an arrival, a message that shows, an answer.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fastrand::Rng;
use futures::StreamExt as _;
use futures::future::LocalBoxFuture;
use futures::stream::FuturesUnordered;
use penstock_batch::{Deadline, PATIENCE, Record};
use penstock_domain::breaker::Breaker;
use penstock_domain::ids::{LedgerKey, UpdateId, trace_id};
use penstock_domain::route::route;
use penstock_domain::time::Timestamp;
use penstock_formats::envelope::enclose;
use penstock_ports::{Clock as _, Deliveries as _, Enqueue};
use penstock_testkit::{FakeQueue, Row};
use processor::{Forwarding, StateCache};
use serde_json::json;

use super::lines::Lines;
use super::ports::{Chance, Jumping, Queue, Scripted, Seen, Site, Table, lock};
use crate::plan::BOT;
use crate::workers::TIMEOUT;

pub(super) const START: Timestamp = Timestamp::from_millis(1_790_000_000_000);
/// Processes at work.
pub(super) const INSTANCES: usize = 3;
/// Batches after which a story has no end.
const MOST_BATCHES: usize = 1_000_000;

type Processor = processor::Deps<Table, Queue, FakeQueue, Forwarding<Scripted, Table>, Jumping, Chance>;

/// An invocation that has ended: whose, and the deliveries that it handled.
type Ended = (Arc<Processor>, Vec<String>);

/// An Update on its way; its number is its id.
pub(super) struct Arrival {
    pub(super) at: Timestamp,
    pub(super) chat: usize,
}

pub(super) struct Flow {
    pub(super) updates: Vec<Arrival>,
    to_come: VecDeque<usize>,
    queue: Queue,
    table: Table,
    site: Arc<Mutex<Site>>,
    chance: Chance,
    clock: Jumping,
    idle: Vec<Arc<Processor>>,
    running: FuturesUnordered<LocalBoxFuture<'static, Ended>>,
    batches: usize,
    shut_at: Option<Timestamp>,
    /// For how long the door was shut, each time.
    pub(super) shut_for: Vec<Duration>,
}

impl Flow {
    /// Nothing comes yet, and the backend is there.
    pub(super) fn new(rng: &mut Rng) -> Self {
        let clock = Jumping::new();
        let queue = Queue {
            lines: Arc::new(Mutex::new(Lines::default())),
            clock,
        };
        let (table, site) = (Table::new(), Arc::new(Mutex::new(Site::default())));
        let chance = Chance(Arc::new(Mutex::new(rng.fork())));
        let backend = Scripted {
            site: Arc::clone(&site),
            clock,
        };
        let instance = |n| {
            Arc::new(Processor {
                inbox: table.clone(),
                updates: queue.clone(),
                outbound: FakeQueue::default(),
                bot: Forwarding::new(backend.clone(), table.clone(), &format!("instance {n}")),
                clock,
                draw: chance.clone(),
                states: StateCache::default(),
            })
        };
        Self {
            updates: Vec::new(),
            to_come: VecDeque::new(),
            idle: (0..INSTANCES).map(instance).collect(),
            queue,
            table,
            site,
            chance,
            clock,
            running: FuturesUnordered::new(),
            batches: 0,
            shut_at: None,
            shut_for: Vec::new(),
        }
    }

    /// An Update of that chat comes then, after those that were told before; its number.
    pub(super) fn arrive(&mut self, at: Timestamp, chat: usize) -> usize {
        let number = self.updates.len();
        self.updates.push(Arrival { at, chat });
        self.to_come.push_back(number);
        number
    }

    pub(super) fn is_away(&mut self, from: Timestamp, until: Timestamp) {
        lock(&self.site).away = Some(from..until);
    }

    pub(super) fn fells_its_worker(&mut self, update: usize) {
        lock(&self.site).poison.insert(update);
    }

    pub(super) async fn run_to_the_end(&mut self) {
        while self.step(None).await {}
    }

    pub(super) async fn run_until(&mut self, end: Timestamp) {
        while self.clock.now() < end && self.step(Some(end)).await {}
    }

    /// Until the next event; `false` when there is none.
    async fn step(&mut self, end: Option<Timestamp>) -> bool {
        let now = self.clock.now();
        self.take_in(now);
        self.begin(now);
        self.watch(now);
        let comes_at = self.to_come.front().map(|update| self.updates[*update].at);
        let shows_at = lock(&self.queue.lines).due_at().filter(|_| !self.idle.is_empty());
        let next = [comes_at, shows_at].into_iter().flatten().min();
        if next.is_none() && self.running.is_empty() {
            return false;
        }
        let until = next.into_iter().chain(end).min();
        let sleep = async {
            match until {
                Some(until) => tokio::time::sleep_until(self.clock.instant(until)).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            Some((instance, handled)) = self.running.next(), if !self.running.is_empty() => {
                // What is named nowhere in the answer is deleted.
                let stale = self.queue.delete(handled).await.unwrap();
                assert_eq!(stale, 0, "a handled delivery is gone before its handle is stale");
                self.idle.push(instance);
            }
            () = sleep => {}
        }
        true
    }

    fn take_in(&mut self, now: Timestamp) {
        while let Some(update) = self
            .to_come
            .pop_front_if(|update| self.updates[*update].at <= now)
        {
            let chat = self.updates[update].chat;
            let raw = json!({"update_id": update, "message": {"message_id": 1, "chat": {"id": chat + 1}, "text": "hello"}});
            let raw = raw.to_string();
            let found = route(raw.as_bytes()).unwrap();
            let id = found.update_id;
            let message = Enqueue {
                group: found.group(BOT),
                deduplication: LedgerKey::new(BOT, id).deduplication_id(0),
                body: enclose(BOT, &found, &trace_id(BOT, id), &raw, now),
            };
            lock(&self.queue.lines).put(update, chat, message, now);
        }
    }

    /// Gives every idle instance a batch, as long as there is something.
    fn begin(&mut self, now: Timestamp) {
        while !self.idle.is_empty() {
            let mut rng = lock(&self.chance.0);
            let batch = lock(&self.queue.lines).hand_out(&mut rng, now);
            if batch.is_empty() {
                return;
            }
            let instance = self.idle.swap_remove(rng.usize(0..self.idle.len()));
            self.batches += 1;
            assert!(self.batches < MOST_BATCHES, "no end");
            self.running.push(Box::pin(invoke(instance, batch)));
        }
    }

    /// Whether the door is shut, for the figures.
    fn watch(&mut self, now: Timestamp) {
        let (breaker, _) = self.table.ledger().breaker_of(BOT);
        let is_shut = matches!(breaker, Breaker::Open { .. } | Breaker::HalfOpen { .. });
        match self.shut_at {
            None if is_shut => self.shut_at = Some(now),
            Some(shut_at) if !is_shut => {
                self.shut_for.push(now.since(shut_at));
                self.shut_at = None;
            }
            None | Some(_) => {}
        }
    }

    /// An Update's record.
    pub(super) fn row(&self, update: usize) -> Option<Row> {
        let id = UpdateId(update.try_into().unwrap());
        self.table.ledger().row(&LedgerKey::new(BOT, id))
    }

    /// Writes to records so far.
    pub(super) fn writes(&self) -> u64 {
        self.table.writes()
    }

    /// What the backend answered well, in that order.
    pub(super) fn answered(&self) -> Vec<Seen> {
        let seen = lock(&self.site).seen.clone();
        seen.into_iter().filter(|seen| seen.is_answered).collect()
    }

    /// What found no backend, or felled its worker.
    pub(super) fn failed(&self) -> Vec<Seen> {
        let seen = lock(&self.site).seen.clone();
        seen.into_iter().filter(|seen| !seen.is_answered).collect()
    }

    /// Requests that the backend got.
    pub(super) fn tried_in(&self, time: Range<Timestamp>) -> usize {
        let site = lock(&self.site);
        site.seen.iter().filter(|seen| time.contains(&seen.at)).count()
    }

    /// Messages that the queue gave up.
    pub(super) fn given_up(&self) -> usize {
        lock(&self.queue.lines).given_up
    }

    /// How often an Update was received.
    pub(super) fn receives(&self, update: usize) -> u32 {
        lock(&self.queue.lines).receives[&update]
    }

    /// Receives of the one that was received most.
    pub(super) fn most_received(&self) -> u32 {
        let lines = lock(&self.queue.lines);
        lines.receives.values().copied().max().unwrap_or(0)
    }
}

/// Lambda runs one batch.
async fn invoke(instance: Arc<Processor>, batch: Vec<Record>) -> Ended {
    let clock = instance.clock;
    let ends_at = (clock.now() + TIMEOUT).as_millis();
    let now_ms = move || clock.now().as_millis();
    let deadline = Deadline::new(ends_at.try_into().unwrap(), now_ms, processor::NEEDED, PATIENCE);
    let answer = processor::handle(&instance, &batch, &deadline).await;
    let failures = answer.batch_item_failures.into_iter();
    let failed: Vec<_> = failures.map(|failure| failure.item_identifier).collect();
    let handled = batch.into_iter().filter(|record| !failed.contains(&record.id));
    let handled = handled.map(|record| record.receipt).collect();
    (instance, handled)
}
