//! What a state of the model is made of: records, messages, workers, and what is remembered only to judge it.
//! Never decides: every change of it is made by an actor.
//!
//! Times are ticks from now, not instants, so that two states that differ only in when they happened are one.

use penstock_domain::intent::IntentState;
use penstock_domain::ledger::State;

use crate::promise::Promise;
use crate::scenario::Budget;
pub use crate::worker::{Claim, Function, How, Item, Lane, Pc, Verdict, Worker};

/// Most Updates of a scenario.
pub const UPDATES: usize = 3;
/// Most intents of an Update.
pub const INTENTS: usize = 2;

/// Ticks that a lease lasts. It is suspect after one more, the margin.
pub const LEASE: i8 = 1;
/// Ticks that a received message is hidden: longer than a lease and its margin, as the functions have it.
pub const VISIBILITY: u8 = 3;
/// Ticks of every wait that grows in the real thing.
pub const WAIT: u8 = 1;

/// The ledger record of an Update.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Row {
    /// Its state.
    pub state: Plain,
    /// Its generation.
    pub redrive: u8,
    /// Tries burned.
    pub attempts: u8,
    /// Grows with every claim.
    pub fence: u8,
    /// Who claimed it last; 0 is nobody.
    pub owner: u8,
    /// Ticks until the lease ends; -1 is "over, margin included".
    pub lease: Option<i8>,
    /// Ticks until it may be claimed.
    pub next: Option<u8>,
    /// It outlived its life, but not yet the table's cleaning.
    pub expired: bool,
    /// A person finds it in the index.
    pub attention: bool,
    /// Its raw body is kept.
    pub raw: bool,
    /// Its outcome.
    pub intents: Vec<Sending>,
}

/// An intent inside a record.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sending {
    /// Its state, as a number of [`IntentState::ALL`].
    pub state: Plain,
    /// How often a person has had it sent again.
    pub resend: u8,
    /// Tries burned.
    pub attempts: u8,
    /// Who claimed it last; 0 is nobody.
    pub owner: u8,
    /// As a record's.
    pub lease: Option<i8>,
    /// As a record's.
    pub next: Option<u8>,
    /// A person finds it in the index.
    pub attention: bool,
}

/// A state of the domain by its place in `ALL`: the domain's own enums have no order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Plain(pub u8);

impl Plain {
    /// Of an Update.
    #[must_use]
    pub fn of(state: State) -> Self {
        Self(place(State::ALL.iter().position(|other| *other == state)))
    }

    /// Of an intent.
    #[must_use]
    pub fn of_intent(state: IntentState) -> Self {
        Self(place(IntentState::ALL.iter().position(|other| *other == state)))
    }
}

fn place(position: Option<usize>) -> u8 {
    u8::try_from(position.unwrap_or(0)).unwrap_or(0)
}

impl Row {
    /// Its state.
    #[must_use]
    pub fn state(&self) -> State {
        State::ALL[usize::from(self.state.0)]
    }
}

impl Sending {
    /// Its state.
    #[must_use]
    pub fn state(&self) -> IntentState {
        IntentState::ALL[usize::from(self.state.0)]
    }

    /// Nothing will happen to it by itself any more.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        !self.state().holds_successors()
    }

    /// Those after it in its chat may begin.
    #[must_use]
    pub fn lets_successors_pass(&self) -> bool {
        self.resend > 0 || self.has_ended()
    }
}

/// A queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Queue {
    /// `updates.fifo`.
    Updates,
    /// `updates-dlq.fifo`.
    UpdatesDead,
    /// `outbound.fifo`.
    Outbound,
    /// `outbound-dlq.fifo`.
    OutboundDead,
}

impl Queue {
    /// Every queue.
    pub const ALL: [Self; 4] = [
        Self::Updates,
        Self::UpdatesDead,
        Self::Outbound,
        Self::OutboundDead,
    ];
}

/// What a message carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Body {
    /// An Update.
    Update {
        /// Which.
        u: u8,
        /// Its generation.
        redrive: u8,
        /// Written by a newer release.
        newer: bool,
    },
    /// An intent.
    Intent {
        /// Of which Update.
        u: u8,
        /// Its number.
        n: u8,
        /// Generation of the Update.
        redrive: u8,
        /// Which resending.
        resend: u8,
        /// The one that it waits for.
        previous: Option<u8>,
    },
}

impl Body {
    /// The Update that it is about.
    #[must_use]
    pub fn update(self) -> usize {
        match self {
            Self::Update { u, .. } | Self::Intent { u, .. } => usize::from(u),
        }
    }
}

/// A message in a queue.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Message {
    /// What it carries.
    pub body: Body,
    /// Its message group: the chat.
    pub group: u8,
    /// Ticks until it is visible.
    pub hidden: u8,
    /// Handle of its last receive; 0 before the first.
    pub receipt: u8,
    /// How often it was received.
    pub count: u8,
}

/// A deduplication id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DedupId {
    /// `{key}` or `{key}:r{n}`.
    Update(u8, u8),
    /// `{key}:{n}` or `{key}:{n}:s{k}`.
    Intent(u8, u8, u8),
}

/// A person at work on a record: between a transaction and its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Person {
    /// Nothing begun.
    Idle,
    /// The redrive is written.
    Redriving {
        /// Which Update.
        u: u8,
        /// Its new generation.
        redrive: u8,
    },
    /// The resend is written.
    Resending {
        /// Which Update.
        u: u8,
        /// Which intent.
        n: u8,
        /// Its new number.
        resend: u8,
    },
}

/// What no function sees: it is kept to judge the promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Ghost {
    /// How often it was accepted under this id.
    pub lives: u8,
    /// Outcomes that were committed.
    pub commits: u8,
    /// Redrives and resends that have an audit row.
    pub audits: u8,
    /// It failed, crashed or was too slow in this generation.
    pub harmed: bool,
    /// Tries that another's crash burned.
    pub burned_by_neighbour: u8,
    /// A dead-letter queue or a person had it: it comes late by nature.
    pub late: bool,
    /// The person who redrove it knows that the message is sent.
    pub redrive_sent: bool,
    /// Highest fence seen.
    pub fence: u8,
    /// Filed raw, as a body of a newer release.
    pub filed_raw: bool,
    /// Deliveries of each intent in its latest resending.
    pub delivered: [u8; INTENTS],
    /// It was delivered in some resending.
    pub ever_delivered: [bool; INTENTS],
    /// The person who resent it knows that the message is sent.
    pub resend_sent: [bool; INTENTS],
}

/// A state.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct World {
    /// The ledger.
    pub rows: [Option<Row>; UPDATES],
    /// The queues, in the order of [`Queue::ALL`].
    pub queues: [Vec<Message>; 4],
    /// Ids that the queues remember.
    pub dedup: Vec<DedupId>,
    /// Invocations that are alive.
    pub workers: Vec<Worker>,
    /// How many Updates the ingress has accepted.
    pub accepted: u8,
    /// The person.
    pub person: Person,
    /// An old release runs.
    pub rolled_back: bool,
    /// Accidents that may still happen.
    pub budget: Budget,
    /// For the judge.
    pub ghosts: [Ghost; UPDATES],
    /// Promises broken by a step, one bit each.
    pub broken: u16,
}

impl World {
    /// A queue.
    #[must_use]
    pub fn queue(&self, queue: Queue) -> &Vec<Message> {
        &self.queues[queue as usize]
    }

    /// A queue, to change it.
    pub fn queue_mut(&mut self, queue: Queue) -> &mut Vec<Message> {
        &mut self.queues[queue as usize]
    }

    /// Notes that a step broke a promise.
    pub fn breaks(&mut self, promise: Promise) {
        self.broken |= promise.bit();
    }

    /// The smallest token that nobody has: tokens are only ever compared with those that still exist.
    #[must_use]
    pub fn fresh_owner(&self) -> u8 {
        let lanes = self.workers.iter().flat_map(|worker| &worker.lanes);
        let used =
            |token: u8| {
                lanes.clone().any(|lane| lane.owner == token)
                    || self.rows.iter().flatten().any(|row| {
                        row.owner == token || row.intents.iter().any(|sending| sending.owner == token)
                    })
            };
        (1..=u8::MAX).find(|token| !used(*token)).unwrap_or(u8::MAX)
    }

    /// The smallest receipt handle that nobody has.
    #[must_use]
    pub fn fresh_receipt(&self) -> u8 {
        let items = self
            .workers
            .iter()
            .flat_map(|worker| worker.lanes.iter().flat_map(|lane| &lane.items));
        let used = |token: u8| {
            items.clone().any(|item| item.receipt == token)
                || self
                    .queues
                    .iter()
                    .flatten()
                    .any(|message| message.receipt == token)
        };
        (1..=u8::MAX).find(|token| !used(*token)).unwrap_or(u8::MAX)
    }
}
