//! The ports of the processor: the ledger, of which writes are counted, the queue, the clock, and a backend that is away
//! when it is told. Never decides anything else.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fastrand::Rng;
use penstock_domain::breaker::ProbeAnswer;
use penstock_domain::data::{DataItem, DataKey};
use penstock_domain::failure::Failure;
use penstock_domain::gcra::Gcra;
use penstock_domain::ids::{BotId, LedgerKey};
use penstock_domain::intent::Call;
use penstock_domain::ledger::{ClaimRequest, Fence, Record};
use penstock_domain::retry::Jitter;
use penstock_domain::time::{Timestamp, ceil_secs};
use penstock_ports::{
    Backend, BackendError, BreakerChange, Breakers, Changed, Claim, Clock, Commit, Commitment, Debit,
    Deliveries, Draw, Excerpt, Filed, Forward, Inbox, PortError, RunAs, Settlement, StoredBreaker, Subject,
    TakeOver, Unreached, Verdict, VisibilityChange,
};
use penstock_testkit::FakeLedger;
use penstock_testkit::contract::RETENTION;
use processor::{Backends, NoBackend};
use tokio::time::Instant;

use super::flow::START;
use super::lines::Lines;

/// How long the backend takes for an Update.
const WORK: Duration = Duration::from_millis(50);

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The clock of the paused runtime, which jumps to the next timer when nothing else can go on.
#[derive(Clone, Copy)]
pub(super) struct Jumping(Instant);

impl Jumping {
    /// It begins now, at [`START`].
    pub(super) fn new() -> Self {
        Self(Instant::now())
    }

    pub(super) fn instant(&self, at: Timestamp) -> Instant {
        self.0 + at.since(START)
    }
}

impl Clock for Jumping {
    fn now(&self) -> Timestamp {
        START + self.0.elapsed()
    }
}

#[derive(Clone)]
pub(super) struct Chance(pub(super) Arc<Mutex<Rng>>);

impl Draw for Chance {
    fn draw(&self) -> Jitter {
        Jitter::new(lock(&self.0).f64())
    }
}

/// The updates queue, as the processor reaches it.
#[derive(Clone)]
pub(super) struct Queue {
    pub(super) lines: Arc<Mutex<Lines>>,
    pub(super) clock: Jumping,
}

impl Deliveries for Queue {
    async fn hide(&self, changes: Vec<VisibilityChange>) -> Result<usize, PortError> {
        let now = self.clock.now();
        let mut waits = changes.iter().map(|change| change.hidden_for);
        let receipts = changes.iter().map(|change| change.receipt.as_str());
        let refused = lock(&self.lines).change(receipts, now, |queue, receipt| {
            let wait = waits.next().unwrap_or_default();
            queue.hide(receipt, Duration::from_secs(ceil_secs(wait).into()), now)
        });
        Ok(refused)
    }

    async fn delete(&self, receipts: Vec<String>) -> Result<usize, PortError> {
        let now = self.clock.now();
        let receipts = receipts.iter().map(String::as_str);
        let refused = lock(&self.lines).change(receipts, now, |queue, receipt| queue.delete(receipt, now));
        Ok(refused)
    }
}

/// One try that the backend saw, or that found none.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    pub(super) update: usize,
    pub(super) at: Timestamp,
    pub(super) is_answered: bool,
}

/// What there is of the backend.
#[derive(Default)]
pub(super) struct Site {
    pub(super) away: Option<Range<Timestamp>>,
    /// Updates that fell their worker: a gateway answers for it.
    pub(super) poison: BTreeSet<usize>,
    pub(super) seen: Vec<Seen>,
}

/// The backend.
#[derive(Clone)]
pub(super) struct Scripted {
    pub(super) site: Arc<Mutex<Site>>,
    pub(super) clock: Jumping,
}

impl Scripted {
    fn is_away(&self) -> bool {
        let site = lock(&self.site);
        site.away
            .as_ref()
            .is_some_and(|away| away.contains(&self.clock.now()))
    }
}

impl Backend for Scripted {
    async fn deliver(&self, forward: &Forward<'_>) -> Result<Option<Call>, BackendError> {
        let number = forward.key.as_str().rsplit(':').next().expect("a key has an id");
        let update = number.parse().expect("its id is a number");
        let (at, is_away) = (self.clock.now(), self.is_away());
        let is_poison = lock(&self.site).poison.contains(&update);
        lock(&self.site).seen.push(Seen {
            update,
            at,
            is_answered: !is_away && !is_poison,
        });
        if is_away {
            return Err(BackendError::Unreachable(Unreached::Refused));
        }
        tokio::time::sleep(WORK).await;
        if is_poison {
            return Err(BackendError::Refused {
                status: 502,
                retry_after: None,
                excerpt: Excerpt::default(),
            });
        }
        Ok(None)
    }

    async fn probe(&self) -> ProbeAnswer {
        if self.is_away() {
            ProbeAnswer::Nothing
        } else {
            ProbeAnswer::Status(404)
        }
    }
}

impl Backends for Scripted {
    type Backend = Self;

    async fn of(&self, _bot: BotId) -> Result<Self, NoBackend> {
        Ok(self.clone())
    }
}

/// The records of Updates, of which writes are counted, and the breaker, of which they are not.
#[derive(Clone)]
pub(super) struct Table(Arc<(FakeLedger, Mutex<u64>)>);

impl Table {
    pub(super) fn new() -> Self {
        Self(Arc::new((FakeLedger::new(RETENTION), Mutex::default())))
    }

    pub(super) fn ledger(&self) -> &FakeLedger {
        &self.0.0
    }

    pub(super) fn writes(&self) -> u64 {
        *lock(&self.0.1)
    }

    fn written(&self) -> &FakeLedger {
        *lock(&self.0.1) += 1;
        self.ledger()
    }
}

impl Inbox for Table {
    async fn claim(&self, subject: &Subject, request: &ClaimRequest) -> Result<Claim, PortError> {
        self.written().claim(subject, request).await
    }

    async fn take_over(
        &self,
        subject: &Subject,
        request: &ClaimRequest,
        seen: Fence,
    ) -> Result<TakeOver, PortError> {
        self.written().take_over(subject, request, seen).await
    }

    async fn commit(
        &self,
        subject: &Subject,
        run: &RunAs,
        commit: &Commit,
        now: Timestamp,
    ) -> Result<Commitment, PortError> {
        self.written().commit(subject, run, commit, now).await
    }

    async fn settle(
        &self,
        subject: &Subject,
        run: &RunAs,
        verdict: &Verdict,
        now: Timestamp,
    ) -> Result<Settlement, PortError> {
        Inbox::settle(self.written(), subject, run, verdict, now).await
    }

    async fn file_dead(
        &self,
        subject: &Subject,
        redrive: u32,
        raw: &str,
        failure: &Failure,
        now: Timestamp,
    ) -> Result<Filed, PortError> {
        self.written()
            .file_dead(subject, redrive, raw, failure, now)
            .await
    }

    async fn read(&self, key: &LedgerKey) -> Result<Option<Record>, PortError> {
        self.ledger().read(key).await
    }

    async fn chat_state(&self, bot: BotId, chat: &str) -> Result<Option<(String, u64)>, PortError> {
        self.ledger().chat_state(bot, chat).await
    }

    async fn data(&self, bot: BotId, keys: &[DataKey]) -> Result<Vec<Option<DataItem>>, PortError> {
        self.ledger().data(bot, keys).await
    }
}

impl Breakers for Table {
    async fn breaker(&self, bot: BotId) -> Result<StoredBreaker, PortError> {
        self.ledger().breaker(bot).await
    }

    async fn change(&self, bot: BotId, change: &BreakerChange, now: Timestamp) -> Result<Changed, PortError> {
        self.ledger().change(bot, change, now).await
    }

    async fn reserve(&self, bot: BotId, gate: Gcra, cells: u32, now: Timestamp) -> Result<Debit, PortError> {
        self.ledger().reserve(bot, gate, cells, now).await
    }
}
