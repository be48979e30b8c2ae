//! The breakers of the bots' backends, as whoever tries Updates sees them: one item for each bot, changed under its
//! version, and the gate of its ramp beside it.

use penstock_domain::breaker::{Breaker, Meter};
use penstock_domain::gcra::Gcra;
use penstock_domain::ids::BotId;
use penstock_domain::ledger::Owner;
use penstock_domain::time::Timestamp;

use crate::error::PortError;
use crate::outbox::Debit;

/// A breaker as it is stored. The default is that of a bot that has none: closed, version 0.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StoredBreaker {
    /// Its state.
    pub breaker: Breaker,
    /// How busy its backend was.
    pub meter: Meter,
    /// Grows with every change; 0 before the first.
    pub version: u64,
    /// When the gate of a ramp last had no place for somebody. Noted to [`HELD_BACK_EVERY`], and under no version.
    pub held_back_at: Option<Timestamp>,
}

/// That the gate holds Updates back is noted at most this often, since it is a write: often enough that no step of a
/// ramp (30 s) is without a note.
pub const HELD_BACK_EVERY: std::time::Duration = std::time::Duration::from_secs(5);

/// What a breaker shall become.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BreakerChange {
    /// The version that it was decided upon.
    pub seen: u64,
    /// Whose write it is: another one for every change, so that one which landed and was repeated is known.
    pub writer: Owner,
    /// The new state.
    pub breaker: Breaker,
    /// The new counts.
    pub meter: Meter,
}

/// What became of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changed {
    /// It is stored, under the version after the one that was seen.
    Done,
    /// Somebody was faster; this is what is stored.
    Lost(Box<StoredBreaker>),
}

/// The breakers of the bots' backends.
pub trait Breakers: Send + Sync {
    /// A bot's breaker, as the last change left it. One that cannot be read, or that a newer release wrote, is closed:
    /// no bot stands still for it.
    fn breaker(&self, bot: BotId) -> impl Future<Output = Result<StoredBreaker, PortError>> + Send;

    /// Changes a bot's breaker if its version is still the one that was seen. It lives for months after its last
    /// change, so that no outage outlives it.
    fn change(
        &self,
        bot: BotId,
        change: &BreakerChange,
        now: Timestamp,
    ) -> impl Future<Output = Result<Changed, PortError>> + Send;

    /// Reserves `cells` places at the gate of the bot's ramp: within [`crate::HORIZON`], beyond what the gate tolerates
    /// at once. Otherwise nothing is reserved, and that somebody was held back is noted. Never changes the version.
    fn reserve(
        &self,
        bot: BotId,
        gate: Gcra,
        cells: u32,
        now: Timestamp,
    ) -> impl Future<Output = Result<Debit, PortError>> + Send;
}

impl<B: Breakers> Breakers for &B {
    fn breaker(&self, bot: BotId) -> impl Future<Output = Result<StoredBreaker, PortError>> + Send {
        B::breaker(self, bot)
    }

    fn change(
        &self,
        bot: BotId,
        change: &BreakerChange,
        now: Timestamp,
    ) -> impl Future<Output = Result<Changed, PortError>> + Send {
        B::change(self, bot, change, now)
    }

    fn reserve(
        &self,
        bot: BotId,
        gate: Gcra,
        cells: u32,
        now: Timestamp,
    ) -> impl Future<Output = Result<Debit, PortError>> + Send {
        B::reserve(self, bot, gate, cells, now)
    }
}
