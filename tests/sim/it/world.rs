//! What exists once: the table, the queues, Telegram, the true time; and the book of what was seen of them.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fastrand::Rng;
use penstock_domain::secret::{BotSecret, BotToken, InstantAck, PathKey, WebhookSecret};
use penstock_domain::time::Timestamp;
use penstock_ports::Clock as _;
use penstock_testkit::contract::RETENTION;
use penstock_testkit::{FakeLedger, FakeSecrets, FifoQueue, Handed, ManualClock};

use crate::book::Book;
use crate::hub::Hub;
use crate::plan::{BOT, ENOUGH_RECEIVES, Post};

pub(crate) const PATH_KEY: &str = "path-key-of-the-simulation";
pub(crate) const WEBHOOK_SECRET: &str = "webhook-secret-of-the-simulation";
/// When every seed begins.
const START: Timestamp = Timestamp::from_millis(1_790_000_000_000);
/// The queues' visibility (template: 120 s).
const VISIBILITY: Duration = Duration::from_secs(120);

/// The queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Name {
    Updates,
    Outbound,
    UpdatesDead,
    OutboundDead,
}

impl Name {
    pub(crate) const ALL: [Self; 4] = [
        Self::Updates,
        Self::Outbound,
        Self::UpdatesDead,
        Self::OutboundDead,
    ];

    /// Where it gives up to.
    fn dead(self) -> Option<Self> {
        match self {
            Self::Updates => Some(Self::UpdatesDead),
            Self::Outbound => Some(Self::OutboundDead),
            Self::UpdatesDead | Self::OutboundDead => None,
        }
    }
}

/// A write that was lost on the way and arrives later.
type LateWrite = Box<dyn FnOnce(&World) + Send>;

pub(crate) struct World {
    pub(crate) ledger: FakeLedger,
    pub(crate) secrets: FakeSecrets,
    pub(crate) clock: ManualClock,
    pub(crate) hub: Hub,
    max_receives: u32,
    queues: Mutex<BTreeMap<Name, FifoQueue>>,
    late: Mutex<Vec<LateWrite>>,
    draws: Mutex<Rng>,
    book: Mutex<Book>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl World {
    pub(crate) fn new(posts: Vec<Post>, max_receives: u32, draws: Rng, is_traced: bool) -> Self {
        let secret = BotSecret {
            token: BotToken::new("7:token-of-the-simulation".to_owned()),
            webhook_secret: Some(WebhookSecret::new(WEBHOOK_SECRET.to_owned())),
            path_key: Some(PathKey::new(PATH_KEY.to_owned())),
            instant_ack: InstantAck::Off,
            backend: penstock_domain::secret::BackendSecret::default(),
        };
        let queues = [
            (Name::Updates, "m", Some(max_receives)),
            (Name::Outbound, "o", Some(max_receives)),
            (Name::UpdatesDead, "dm", None),
            (Name::OutboundDead, "do", None),
        ];
        Self {
            ledger: FakeLedger::new(RETENTION),
            secrets: FakeSecrets::with(BOT, secret),
            clock: ManualClock::at(START),
            hub: Hub::default(),
            max_receives,
            queues: Mutex::new(
                queues
                    .into_iter()
                    .map(|(name, prefix, most)| (name, FifoQueue::new(prefix, VISIBILITY, most)))
                    .collect(),
            ),
            late: Mutex::default(),
            draws: Mutex::new(draws),
            book: Mutex::new(Book::new(posts, is_traced)),
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn book(&self) -> MutexGuard<'_, Book> {
        lock(&self.book)
    }

    pub(crate) fn draw(&self) -> f64 {
        lock(&self.draws).f64()
    }

    /// Works on one queue.
    pub(crate) fn queue<T>(&self, name: Name, work: impl FnOnce(&mut FifoQueue) -> T) -> T {
        work(lock(&self.queues).get_mut(&name).unwrap())
    }

    /// Receives from one group; what is given up goes where it belongs.
    pub(crate) fn receive(
        &self,
        name: Name,
        group: &penstock_domain::ids::MessageGroupId,
        at_most: usize,
    ) -> Vec<Handed> {
        let now = self.now();
        let received = self.queue(name, |queue| queue.receive(group, at_most, now));
        for given_up in received.given_up {
            if self.max_receives == ENOUGH_RECEIVES {
                let how = format!("{} was received {ENOUGH_RECEIVES} times", given_up.id);
                self.broken("what can be handled is not given up", how);
            }
            self.book().gave_up(&given_up.body);
            self.trace(|| format!("queue gave {} up after too many receives", given_up.id));
            if let Some(dead) = name.dead() {
                self.queue(dead, |queue| queue.take_in(given_up, now));
            }
        }
        received.handed
    }

    pub(crate) fn lose_for_now(&self, write: LateWrite) {
        lock(&self.late).push(write);
    }

    pub(crate) fn late_writes(&self) -> usize {
        lock(&self.late).len()
    }

    /// A lost write arrives.
    pub(crate) fn arrive(&self, index: usize) {
        let write = lock(&self.late).remove(index);
        self.book().reached("a write that was taken for lost arrived");
        self.trace(|| "a late write arrives:".to_owned());
        write(self);
    }

    pub(crate) fn trace(&self, line: impl FnOnce() -> String) {
        let now = self.now();
        self.book().trace(now.millis_since(START), line);
    }

    /// A promise was seen broken.
    pub(crate) fn broken(&self, promise: &'static str, how: String) {
        let now = self.now();
        let mut book = self.book();
        book.trace(now.millis_since(START), || format!("BROKEN {promise}: {how}"));
        book.broken.push(format!("{promise}: {how}"));
    }
}
