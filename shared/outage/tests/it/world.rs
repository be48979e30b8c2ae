//! A backend, its Updates, and the processes that work through them, event by event in virtual time. Each Update has a
//! chat of its own, so that nobody waits for anybody but by the breaker.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use penstock_domain::breaker::{Breaker, Cause, FIRST_WAIT, ProbeAnswer, Sign, asks_first};
use penstock_domain::failure::Disposition;
use penstock_domain::ids::{BotId, LedgerKey, MessageGroupId};
use penstock_domain::ledger::Owner;
use penstock_domain::retry::{Jitter, RetryDecision, RetryPolicy};
use penstock_domain::time::Timestamp;
use penstock_outage::{Outage, Turn};
use penstock_testkit::FakeLedger;

pub(crate) const BOT: BotId = BotId(7);
pub(crate) const START: Timestamp = Timestamp::from_millis(2_000_000_000_000);

/// Deliveries after which a story has no end.
const MOST_DELIVERIES: usize = 1_000_000;

pub(crate) fn secs(secs: u64) -> Timestamp {
    START + Duration::from_secs(secs)
}

pub(crate) fn millis(millis: u64) -> Timestamp {
    START + Duration::from_millis(millis)
}

pub(crate) fn sign(update: usize, at: Timestamp) -> Sign {
    Sign {
        key: LedgerKey::from_stored(format!("7:{update}")),
        group: MessageGroupId(format!("7:c:{update}")),
        at,
    }
}

/// One Update on its way.
#[derive(Debug, Clone, Default)]
pub(crate) struct Update {
    pub(crate) received_at: Timestamp,
    /// Its request is answered by a bad gateway, whenever it is made.
    pub(crate) is_poison: bool,
    pub(crate) attempts: u32,
    pub(crate) receives: u32,
    pub(crate) is_dead: bool,
    pub(crate) done_at: Option<Timestamp>,
    last: Option<Cause>,
}

/// When the backend is away, and how that shows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Away {
    pub(crate) from: Timestamp,
    pub(crate) until: Timestamp,
    pub(crate) cause: Cause,
}

pub(crate) struct World<'a> {
    ledger: &'a FakeLedger,
    processes: Vec<Outage<&'a FakeLedger>>,
    away: Option<Away>,
    due: BinaryHeap<Reverse<(Timestamp, usize)>>,
    draws: u64,
    pub(crate) updates: Vec<Update>,
    /// When the backend got a request.
    pub(crate) tries: Vec<Timestamp>,
    pub(crate) heads: usize,
    /// How often the door was shut, and for how long in all.
    pub(crate) shuts: usize,
    pub(crate) shut_for: Duration,
    shut_at: Option<Timestamp>,
}

impl<'a> World<'a> {
    pub(crate) fn new(ledger: &'a FakeLedger, processes: usize, away: Option<Away>) -> Self {
        let process = |n| Outage::new(ledger, format!("process {n}"));
        Self {
            ledger,
            processes: (0..processes).map(process).collect(),
            away,
            due: BinaryHeap::new(),
            draws: 7,
            updates: Vec::new(),
            tries: Vec::new(),
            heads: 0,
            shuts: 0,
            shut_for: Duration::ZERO,
            shut_at: None,
        }
    }

    /// So many Updates, one each `every` from then on.
    pub(crate) fn arrive(&mut self, from: Timestamp, every: Duration, count: u32, is_poison: bool) {
        for n in 0..count {
            let received_at = from + every * n;
            self.due.push(Reverse((received_at, self.updates.len())));
            self.updates.push(Update {
                received_at,
                is_poison,
                ..Update::default()
            });
        }
    }

    /// The same every time (xorshift), so that a story that fails can be told again.
    fn draw(&mut self) -> u64 {
        self.draws ^= self.draws << 13;
        self.draws ^= self.draws >> 7;
        self.draws ^= self.draws << 17;
        self.draws
    }

    fn jitter(&mut self) -> Jitter {
        let thousandths = u32::try_from(self.draw() % 1_000).unwrap();
        Jitter::new(f64::from(thousandths) / 1_000.0)
    }

    fn is_away_at(&self, at: Timestamp) -> Option<Cause> {
        let away = self.away.filter(|away| away.from <= at && at < away.until)?;
        Some(away.cause)
    }

    fn head(&mut self, at: Timestamp) -> ProbeAnswer {
        self.heads += 1;
        match self.is_away_at(at) {
            None => ProbeAnswer::Status(405),
            Some(Cause::BadGateway) => ProbeAnswer::Status(502),
            Some(Cause::Unreachable) => ProbeAnswer::Nothing,
        }
    }

    /// Runs until nothing is due any more.
    pub(crate) async fn run(&mut self) {
        let mut deliveries = 0;
        while let Some(Reverse((now, update))) = self.due.pop() {
            deliveries += 1;
            assert!(
                deliveries <= MOST_DELIVERIES,
                "no end after {} s",
                now.since(START).as_secs()
            );
            let next = Box::pin(self.deliver(update, now)).await;
            self.due.extend(next.map(|next| Reverse((next, update))));
            self.watch(now);
        }
    }

    /// Whether the door is shut, for the figures.
    fn watch(&mut self, now: Timestamp) {
        let (breaker, _) = self.ledger.breaker_of(BOT);
        let is_shut = matches!(breaker, Breaker::Open { .. } | Breaker::HalfOpen { .. });
        match self.shut_at {
            None if is_shut => {
                self.shuts += 1;
                self.shut_at = Some(now);
            }
            Some(shut_at) if !is_shut => {
                self.shut_for += now.since(shut_at);
                self.shut_at = None;
            }
            None | Some(_) => {}
        }
    }

    /// One delivery; when the next one is.
    async fn deliver(&mut self, n: usize, now: Timestamp) -> Option<Timestamp> {
        self.updates[n].receives += 1;
        let process = usize::try_from(self.draw()).unwrap() % self.processes.len();
        let (draw, received_at) = (self.jitter(), self.updates[n].received_at);
        let mut turn = self.processes[process].entry(BOT, received_at, now, draw).await;
        if matches!(turn, Turn::Deferred(_)) {
            let owner = Owner(format!("{n}:{now}"));
            if self.processes[process]
                .probe_due(BOT, now, &owner)
                .await
                .is_some()
            {
                let answer = self.head(now);
                let process = &self.processes[process];
                process.probed(BOT, &owner, answer, now, draw).await;
                turn = process.entry(BOT, received_at, now, draw).await;
            }
        }
        let now = match turn {
            Turn::Free => now,
            Turn::In(wait) => now + wait,
            Turn::Deferred(wait) => return Some(now + wait),
        };
        let policy = RetryPolicy::default();
        let attempt = self.updates[n].attempts + 1;
        if asks_first(attempt, policy.max_attempts, self.updates[n].last) {
            let answer = self.head(now);
            let process = &self.processes[process];
            if let Turn::Deferred(wait) = process.asked_first(BOT, answer, received_at, now, draw).await {
                return Some(now + wait);
            }
        }
        self.attempt(n, process, attempt, &policy, now).await
    }

    async fn attempt(
        &mut self,
        n: usize,
        process: usize,
        attempt: u32,
        policy: &RetryPolicy,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let draw = self.jitter();
        self.tries.push(now);
        let poison = self.updates[n].is_poison.then_some(Cause::BadGateway);
        let process = &self.processes[process];
        let Some(cause) = self.is_away_at(now).or(poison) else {
            let received_at = self.updates[n].received_at;
            process.answered(BOT, received_at, now).await;
            self.updates[n].done_at = Some(now);
            return None;
        };
        let is_refunded = process.failed(BOT, cause, &sign(n, now), now).await;
        let update = &mut self.updates[n];
        update.last = Some(cause);
        if is_refunded {
            return Some(now + FIRST_WAIT);
        }
        update.attempts = attempt;
        match policy.decide(attempt, Disposition::Transient, draw) {
            RetryDecision::RetryIn(wait) => Some(now + wait),
            RetryDecision::GiveUp(_) => {
                update.is_dead = true;
                None
            }
        }
    }

    /// Updates that are no poison.
    pub(crate) fn healthy(&self) -> impl Iterator<Item = &Update> {
        self.updates.iter().filter(|update| !update.is_poison)
    }

    /// Requests to the backend in the minutes after `from`.
    pub(crate) fn minutes(&self, from: Timestamp, minutes: usize) -> Vec<usize> {
        let mut counts = vec![0; minutes];
        for at in self.tries.iter().filter(|at| **at >= from) {
            let minute = usize::try_from(at.since(from).as_secs() / 60).unwrap();
            if let Some(count) = counts.get_mut(minute) {
                *count += 1;
            }
        }
        counts
    }
}
