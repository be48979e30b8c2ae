//! An invocation that is alive: its batch, group by group, and where each group stands. Never takes a step itself.

use crate::state::{Body, INTENTS, Queue};

/// What an invocation is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Function {
    /// Runs the bot.
    Processor,
    /// Calls the Bot API.
    Sender,
    /// Files what the queues gave up.
    DeadLetter,
}

/// An invocation that is alive.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Worker {
    /// Its code.
    pub function: Function,
    /// Where its batch came from.
    pub queue: Queue,
    /// The groups of its batch, which run beside each other.
    pub lanes: Vec<Lane>,
    /// The lane that must be alone.
    pub alone: Option<u8>,
    /// Visibilities are set; what is done is deleted next.
    pub hid: bool,
}

/// One group of a batch, handled in order.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Lane {
    /// Its messages.
    pub items: Vec<Item>,
    /// Where it stands with the first open one.
    pub pc: Pc,
    /// Token of its claim; 0 before the first write. A claim that has one is being repeated.
    pub owner: u8,
    /// Ticks since its claim was asked for.
    pub age: u8,
}

/// A delivery in hand.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Item {
    /// What it carries.
    pub body: Body,
    /// Receipt handle.
    pub receipt: u8,
    /// A first receive, which a built-in bot may run without a claim.
    pub first: bool,
    /// What became of it.
    pub verdict: Verdict,
}

/// What became of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verdict {
    /// Nothing yet.
    Open,
    /// It is deleted.
    Done,
    /// It comes back after so many ticks.
    Back(u8),
}

/// How a try ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum How {
    /// With an outcome; of a send: it is confirmed.
    Well,
    /// It may work later.
    Retry {
        /// The try counts.
        burned: bool,
    },
    /// It will not be tried again.
    Dead,
    /// Of a send: nobody knows.
    Unknown,
}

/// Right of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Claim {
    /// Its fence.
    pub fence: u8,
    /// Which try it is.
    pub attempt: u8,
}

/// Where a lane stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Pc {
    /// Before the first write.
    Begin,
    /// The bot runs without a claim.
    Unclaimed,
    /// A crash suspect, waiting to be alone for the take-over.
    Suspect {
        /// The fence that was seen.
        fence: u8,
    },
    /// It has a claim; the bot runs, or the call is about to be made.
    Claimed(Claim),
    /// The end is known and has to be written (again). Without a claim it is that of an unclaimed run, or of a send
    /// whose sender died.
    Settling(Option<Claim>, How),
    /// Intents of this set are put into the outbound queue, each with its resending.
    Dispatch([Option<u8>; INTENTS]),
}
